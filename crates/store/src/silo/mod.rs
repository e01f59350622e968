//! Silos: numbered WARC files, one of which grows.
//!
//! Owns their names, their files, appending to the last and walking through any. What is in the records, beyond the
//! ids that the index needs, it does not know.

pub(crate) mod chain;
mod files;
mod found;
pub mod name;
pub mod numbers;
mod open;
mod walk;

pub use files::{FileSource, SiloError, SiloFile, SiloFiles};
pub use found::{OTHER_ID, OtherId, entries, ids, other_digits, other_id, parse_id, prefixes};
pub(crate) use open::{OpenSilo, Reserved, create, is_large};
pub(crate) use walk::Way;
pub use walk::{Stretch, WalkError, Walked, walk, walk_from};
