//! Silos: numbered WARC files, of which the last may be open.
//!
//! Owns their names, their files, appending to the open silo and walking any silo. Knows nothing of
//! records beyond the ids that the index needs.

mod description;
pub(crate) mod digest_chain;
mod files;
pub mod name;
pub mod next_number;
mod open_silo;
mod unread_file;
mod walk;

pub use description::describes_silo;
pub(crate) use description::{FILE_NAME_FIELD, is_description_of};
pub use files::{SiloError, SiloFile, SiloFiles};
pub(crate) use files::{SiloListing, missing_ranges};
pub(crate) use open_silo::{OpenSilo, ReservedSpace, create, is_large};
pub use unread_file::{UnreadReason, UnreadSiloFile};
pub(crate) use walk::ProgressReporter;
pub use walk::{SiloWalk, WalkError, WalkedRecords, walk, walk_from};
