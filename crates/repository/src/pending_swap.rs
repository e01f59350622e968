//! Archives with a pending swap: the silos were replaced, and the files derived from them are not
//! in place yet.
//!
//! `purge` swaps two folders of silos in one step. Index, catalog and HEAD follow in separate
//! steps, so for some milliseconds they do not all match the silos. The new silos contain a marker
//! file for this state, which is removed when everything is in place. Readers wait until the marker
//! is gone. If the process was killed, the next writer completes the swap by renaming the prepared
//! files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use varve_store::steps::step;

use crate::archive_paths::ArchivePaths;
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
/// the write lock.
pub fn finish_pending_swap(layout: &ArchivePaths) -> Result<(), RepositoryError> {
    let (files, marker) = (layout.files(), layout.pending_swap());
    if files.entry(&marker).map_err(RepositoryError::read(&marker))?.is_none() {
        return Ok(());
    }
    let new = prepared_paths(layout);
    let is_folder = |path: &Path| files.is_folder(path).map_err(RepositoryError::read(path));
    if is_folder(new.root())? {
        if is_folder(&new.index())? {
            put_away(layout, &layout.index(), &layout.temporary().join("old-index"))?;
        }
        rename(layout, &new.index(), &layout.index())?;
        if files.entry(&new.catalog()).map_err(RepositoryError::read(&new.catalog()))?.is_some() {
            forget_log(layout)?;
        }
        rename(layout, &new.catalog(), &layout.catalog())?;
        rename(layout, &new.head(), &layout.head())?;
    } else {
        // The prepared folder was removed, so it is unknown which silos the present files match.
        put_away(layout, &layout.index(), &layout.temporary().join("old-index"))?;
        forget_log(layout)?;
        remove(layout, &layout.catalog())?;
        remove(layout, &layout.head())?;
    }
    sync_folder(layout, layout.root())?;
    remove(layout, &marker)?;
    sync_folder(layout, &layout.silos())
}

/// Removes the SQLite log of a catalog about to be replaced: SQLite would apply it to the new one.
fn forget_log(layout: &ArchivePaths) -> Result<(), RepositoryError> {
    let log = |ending| layout.root().join(format!("catalog.db{ending}"));
    ["-wal", "-shm"].iter().try_for_each(|ending| remove(layout, &log(ending)))
}

/// Renames a folder, replacing anything at the target.
fn put_away(layout: &ArchivePaths, folder: &Path, to: &Path) -> Result<(), RepositoryError> {
    step("remove folders", to);
    layout.files().remove_tree(to).map_err(RepositoryError::write(to))?;
    rename(layout, folder, to)
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
