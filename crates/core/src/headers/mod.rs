//! HTTP headers: [`Headers`], exactly as received, and [`HeaderView`], the form in which they are
//! compared.
//!
//! The two are never mixed. Archived headers keep every byte, in their case and order, with
//! duplicates. Headers that are shown, stored in rows or diffed are a view of them: lower-cased,
//! sorted and redacted. The list itself and its parser belong to `varve-wire`.

mod names;
mod redaction;
mod view;

pub use names::{is_benign, is_order_sensitive};
pub use redaction::{REDACTED_VALUE, Redaction, is_sensitive};
pub use varve_wire::{Headers, decode_header_text};
pub use view::HeaderView;
