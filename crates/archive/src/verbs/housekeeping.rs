//! `housekeeping`: merges recent index entries into the sorted ones, so that finding stays quick.

use crate::error::ArchiveError;
use varve_repository::archive_writer::ArchiveWriter;

pub use varve_store::index::HousekeepingDone;

/// Does it, whether it is due or not.
pub fn housekeeping(writer: &ArchiveWriter) -> Result<HousekeepingDone, ArchiveError> {
    Ok(writer.store().housekeeping()?)
}
