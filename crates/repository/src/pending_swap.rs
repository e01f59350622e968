//! Archives with a pending swap: the silos were replaced, and the files derived from them are not
//! in place yet.
//!
//! `purge` swaps two folders of silos in one step. Index, catalog and HEAD follow in separate
//! steps, so for some milliseconds they do not all match the silos. The new silos contain a marker
//! file for this state, which is removed when everything is in place. Readers wait until the marker
//! is gone. If the process was killed, the next writer completes the swap by renaming the prepared
//! files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use varve_store::disk::DiskError;
use varve_store::steps::step;

use crate::archive_paths::ArchivePaths;
use crate::backends::Backends;
use crate::error::RepositoryError;

/// How long a reader waits for a pending swap, which usually takes only a few renames.
const SWAP_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval at which a waiting reader checks again.
const SWAP_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The folder where new silos and the files derived from them are prepared.
pub fn prepared_paths(layout: &ArchivePaths) -> ArchivePaths {
    layout.inside(&layout.temporary().join("purge"))
}

/// Opens several files that must match each other, and retries if the silos were swapped meanwhile.
pub fn retry_while_swapping<T>(
    layout: &ArchivePaths,
    mut open: impl FnMut() -> Result<T, RepositoryError>,
) -> Result<T, RepositoryError> {
    let begin = Instant::now();
    loop {
        let before = swap_state(layout);
        let opened = open();
        if before.is_settled && before == swap_state(layout) {
            return opened;
        }
        if begin.elapsed() > SWAP_TIMEOUT {
            return Err(RepositoryError::PendingSwap { path: layout.root().to_owned() });
        }
        std::thread::sleep(SWAP_POLL_INTERVAL);
    }
}

/// The identity of the silo folder, and whether the files derived from it are in place.
#[derive(PartialEq, Eq)]
struct SwapState {
    folder: Option<(u64, u64)>,
    is_settled: bool,
}

fn swap_state(layout: &ArchivePaths) -> SwapState {
    let folder = fs::symlink_metadata(layout.silos()).ok().map(|folder| (folder.dev(), folder.ino()));
    // A marker that cannot be examined is left to the opening of the silos, which fails as well.
    let marker = layout.files().entry(&layout.pending_swap());
    SwapState { folder, is_settled: matches!(marker, Ok(None) | Err(_)) }
}

/// Moves the files derived from the silos into place, if a swap is pending. The caller must hold
/// the write lock. Silos and index are on the disk of the layout; catalog and HEAD are replaced by
/// their own implementations.
pub fn finish_pending_swap(backends: &Backends) -> Result<(), RepositoryError> {
    let layout = backends.layout();
    let (disk, marker) = (&**layout.disk(), layout.pending_swap());
    if disk.stat(&marker).map_err(read_failure)?.is_none() {
        return Ok(());
    }
    let new = prepared_paths(layout);
    let is_folder = |path: &Path| {
        let found = disk.stat(path).map_err(read_failure)?;
        Ok::<bool, RepositoryError>(found.is_some_and(|found| found.folder))
    };
    if is_folder(new.root())? {
        if is_folder(&new.index())? {
            put_index_away(layout)?;
            disk.rename(&new.index(), &layout.index()).map_err(write_failure)?;
        }
        if backends.has_catalog_in(new.root())? {
            backends.install_catalog(new.root())?;
        }
        if let Some(version) = backends.for_layout(&new).head().read()? {
            backends.head().repair(version)?;
        }
    } else {
        // The prepared folder was removed, so it is unknown which silos the present files match.
        put_index_away(layout)?;
        backends.remove_catalog()?;
        backends.head().clear()?;
    }
    // It holds text that the new silos may not have.
    backends.remove_search_index()?;
    disk.sync_folder(layout.root()).map_err(write_failure)?;
    disk.remove(&marker).map_err(write_failure)?;
    disk.sync_folder(&layout.silos()).map_err(write_failure)
}

/// The index that a swap replaced, until it is removed.
pub fn old_index(layout: &ArchivePaths) -> PathBuf {
    layout.temporary().join("old-index")
}

/// Renames the index, if there is one, to the name for the old one.
fn put_index_away(layout: &ArchivePaths) -> Result<(), RepositoryError> {
    let (disk, old) = (&**layout.disk(), old_index(layout));
    disk.remove_tree(&old).map_err(write_failure)?;
    match disk.rename(&layout.index(), &old) {
        Err(error) if error.is_absent() => Ok(()),
        renamed => renamed.map_err(write_failure),
    }
}

fn read_failure(error: DiskError) -> RepositoryError {
    RepositoryError::Read { path: error.path, source: error.source }
}

fn write_failure(error: DiskError) -> RepositoryError {
    RepositoryError::Write { path: error.path, source: error.source }
}

/// Renames a file or folder of an archive, if it exists.
pub fn rename(layout: &ArchivePaths, from: &Path, to: &Path) -> Result<(), RepositoryError> {
    step("rename", to);
    match layout.files().rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed.map_err(RepositoryError::write(to)),
    }
}

/// Removes a file of an archive, if it exists.
pub fn remove(layout: &ArchivePaths, path: &Path) -> Result<(), RepositoryError> {
    step("remove", path);
    layout.files().remove(path).map_err(RepositoryError::write(path))
}

/// Waits until the entries of a folder of an archive are durable.
pub fn sync_folder(layout: &ArchivePaths, path: &Path) -> Result<(), RepositoryError> {
    step("sync", path);
    layout.files().sync_folder(path).map_err(RepositoryError::write(path))
}
