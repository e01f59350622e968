//! Silos: numbered WARC files, one of which grows.
//!
//! Owns their names, their files, appending to the last and walking through any. What is in the records, beyond the
//! ids that the index needs, it does not know.

pub(crate) mod chain;
mod description;
mod files;
pub mod name;
pub mod numbers;
mod open_silo;
mod walk;

pub(crate) use description::FILE_NAME;
pub use description::describes_silo;
pub use files::{SiloError, SiloFile, SiloFiles};
pub(crate) use open_silo::{OpenSilo, Reserved, create, is_large};
pub(crate) use walk::Way;
pub use walk::{Stretch, WalkError, Walked, walk, walk_from};
