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
    ArchivePaths::new(&layout.temporary().join("purge"))
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
    let folder = fs::metadata(layout.silos()).ok().map(|folder| (folder.dev(), folder.ino()));
    SwapState { folder, is_settled: !layout.pending_swap().exists() }
}

/// Moves the files derived from the silos into place, if a swap is pending. The caller must hold
/// the write lock.
pub fn finish_pending_swap(layout: &ArchivePaths) -> Result<(), RepositoryError> {
    if !layout.pending_swap().exists() {
        return Ok(());
    }
    let new = prepared_paths(layout);
    if new.root().is_dir() {
        if new.index().is_dir() {
            put_away(&layout.index(), &layout.temporary().join("old-index"))?;
        }
        rename(&new.index(), &layout.index())?;
        if new.catalog().is_file() {
            forget_log(layout)?;
        }
        rename(&new.catalog(), &layout.catalog())?;
        rename(&new.head(), &layout.head())?;
    } else {
        // The prepared folder was removed, so it is unknown which silos the present files match.
        put_away(&layout.index(), &layout.temporary().join("old-index"))?;
        forget_log(layout)?;
        remove(&layout.catalog())?;
        remove(&layout.head())?;
    }
    sync(layout.root())?;
    remove(&layout.pending_swap())?;
    sync(&layout.silos())
}

/// Removes the SQLite log of a catalog about to be replaced: SQLite would apply it to the new one.
fn forget_log(layout: &ArchivePaths) -> Result<(), RepositoryError> {
    ["-wal", "-shm"].iter().try_for_each(|ending| remove(&layout.root().join(format!("catalog.db{ending}"))))
}

/// Renames a folder, replacing anything at the target.
fn put_away(folder: &Path, to: &Path) -> Result<(), RepositoryError> {
    if to.exists() {
        step("remove folders", to);
        fs::remove_dir_all(to).map_err(RepositoryError::write(to))?;
    }
    rename(folder, to)
}

/// Renames a file or folder, if it exists.
pub fn rename(from: &Path, to: &Path) -> Result<(), RepositoryError> {
    step("rename", to);
    ignore_missing(fs::rename(from, to), to)
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> Result<(), RepositoryError> {
    step("remove", path);
    ignore_missing(fs::remove_file(path), path)
}

fn ignore_missing(done: io::Result<()>, path: &Path) -> Result<(), RepositoryError> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RepositoryError::Write { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Waits until a file, or the entries of a folder, are durable.
pub fn sync(path: &Path) -> Result<(), RepositoryError> {
    step("sync", path);
    let synced = fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(RepositoryError::write(path))
}
