//! When two URLs are the same: every rule by which varve reads, cleans, compares and orders URLs.
//!
//! There is no one right answer, so there is one file for each question, and none of them changes a URL behind
//! another's back:
//!
//! | question | file |
//! | --- | --- |
//! | what does this text say, byte for byte? | [`reference`] |
//! | the same page without tracking parameters | [`clean`] |
//! | the number under which rows are found | [`key`] |
//!
//! The `url` crate is used only where a browser's reading is wanted: elsewhere it does too much, since it
//! maps hosts, adds slashes and resolves dots, and a key made from what it prints would match no other program's.

pub mod clean;
mod error;
mod escape;
pub mod key;
pub mod query;
pub mod reference;

pub use clean::clean;
pub use error::{UrlError, UrlProblem};
pub use key::{KeyReport, key};
pub use reference::Reference;
