//! `housekeeping`: merges recent index entries into the sorted ones, so that lookups stay fast.

use crate::error::ArchiveError;
use varve_repository::archive_writer::ArchiveWriter;

pub use varve_store::index::HousekeepingDone;

/// Runs housekeeping, whether or not it is due.
pub fn housekeeping(writer: &ArchiveWriter) -> Result<HousekeepingDone, ArchiveError> {
    Ok(writer.store().housekeeping()?)
}
