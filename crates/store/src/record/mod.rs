//! What a record's header means to the store: its ids, its index entries and varve's own fields.
//!
//! Pure functions of a header. Nothing here reads a file.

mod expected_id;
pub mod field;
mod ids;

pub(crate) use expected_id::id_it_should_have;
pub use ids::{OTHER_ID, OtherId, entries, ids, other_digits, other_id, parse_id, prefixes};
