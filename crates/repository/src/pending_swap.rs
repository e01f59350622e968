//! An archive between two states: its silos were exchanged for others, and what was made from them is on its way.
//!
//! `rewrite` lets two folders of silos change places in one step. Index, catalog and HEAD follow in steps of their own, so for some
//! milliseconds they are not all those of the silos. The new silos bring a mark with them that says so, and that goes when all is in
//! place. Who reads waits until it is gone; if a kill left it, whoever writes next does what was left to do, which is to rename what
//! lies ready.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use varve_store::steps::step;

use crate::archive_paths::ArchivePaths;
use crate::error::RepositoryError;

/// Who reads waits so long: nearly always it is a matter of some renames.
const SWAP_TIMEOUT: Duration = Duration::from_secs(3);
/// And looks again after this.
const SWAP_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Where new silos are made, with all that belongs to them.
pub fn prepared_paths(layout: &ArchivePaths) -> ArchivePaths {
    ArchivePaths::new(&layout.temporary().join("rewrite"))
}

/// Opens something that belongs together: again, if the silos were exchanged meanwhile.
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

/// Which folder of silos is there, and whether what is made from them is there too.
#[derive(PartialEq, Eq)]
struct SwapState {
    folder: Option<(u64, u64)>,
    is_settled: bool,
}

fn swap_state(layout: &ArchivePaths) -> SwapState {
    let folder = fs::metadata(layout.silos()).ok().map(|folder| (folder.dev(), folder.ino()));
    SwapState { folder, is_settled: !layout.pending_swap().exists() }
}

/// Puts what was made from the silos beside them, if that is still to be done. Nobody else may write meanwhile.
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
        // Somebody removed it: whose they are that are there, nobody knows.
        put_away(&layout.index(), &layout.temporary().join("old-index"))?;
        forget_log(layout)?;
        remove(&layout.catalog())?;
        remove(&layout.head())?;
    }
    sync(layout.root())?;
    remove(&layout.pending_swap())?;
    sync(&layout.silos())
}

/// Removes the log of a catalog that is about to be another: it would be taken for the other's.
fn forget_log(layout: &ArchivePaths) -> Result<(), RepositoryError> {
    ["-wal", "-shm"].iter().try_for_each(|ending| remove(&layout.root().join(format!("catalog.db{ending}"))))
}

/// Gives a folder another name, in place of what has that name.
fn put_away(folder: &Path, to: &Path) -> Result<(), RepositoryError> {
    if to.exists() {
        step("remove folders", to);
        fs::remove_dir_all(to).map_err(RepositoryError::write(to))?;
    }
    rename(folder, to)
}

/// Gives something another name, if it is there.
pub fn rename(from: &Path, to: &Path) -> Result<(), RepositoryError> {
    step("rename", to);
    ignore_missing(fs::rename(from, to), to)
}

/// Removes a file, if it is there.
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

/// Waits until a file or the names in a folder are safe.
pub fn sync(path: &Path) -> Result<(), RepositoryError> {
    step("sync", path);
    let synced = fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(RepositoryError::write(path))
}
