//! `rebuild`: makes the index again from the silos alone.

use varve_store::index::IndexOptions;
use varve_store::rebuild::{bytes_to_read as silo_bytes, rebuild as rebuild_store};

use crate::archive::silo_files;
use crate::error::ArchiveError;
use crate::layout::Layout;
use crate::writer::{ArchiveWriter, Opening};

pub use varve_store::rebuild::RebuildDone;

/// Bytes that the rebuild will read, for those who show progress.
pub fn bytes_to_read(layout: &Layout) -> Result<u64, ArchiveError> {
    Ok(silo_bytes(&silo_files(layout))?)
}

/// Makes the index of the archive at `layout` again. Nobody else may write meanwhile, which the lock sees to.
pub fn rebuild(
    layout: &Layout,
    opening: Opening,
    progress: &(impl Fn(u64) + Sync),
) -> Result<RebuildDone, ArchiveError> {
    let lock = ArchiveWriter::lock(layout, &opening)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let done =
        rebuild_store(&silo_files(layout), &layout.index(), IndexOptions::default(), threads, progress)?;
    drop(lock);
    Ok(done)
}
