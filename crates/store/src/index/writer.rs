//! The index for writing. One process at a time holds it; the archive's lock sees to that, not this module.
//!
//! Any number of threads may append and look up through one [`IndexWriter`] while another does housekeeping. Locks are
//! taken in one order: housekeeping, then the live appendix, then the view. The view is locked for as long as it takes to
//! look something up or to add to a tree in memory, never while a file is written or read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::appendices::{self, Cut, LiveFile};
use super::entry::{Entry, Place, Prefix};
use super::error::IndexError;
use super::names::{self, FileName, ShardName};
use super::places::Places;
use super::reader::Index;
use super::shard_writer::write_shard;
use super::shards::{self, Shards};
use super::view::View;
use crate::disk::Disk;

/// Prefixes looked up under one lock of the view.
const PORTION: usize = 1024;

/// Numbers that decide when the index is tidied and how. They change no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// A sorted shard of more entries than this is split. It decides which files there are, so everything that writes
    /// one index must use the same; archives use the default.
    pub shard_limit: u64,
    /// Housekeeping is due when so many entries are waiting, or one in 64 of all, whichever is more, but never more
    /// than sixteen times this.
    pub appendix_limit: u64,
    /// How many entries a rebuild sorts in memory at a time, sixteen bytes each.
    pub sort_limit: usize,
}

impl Default for IndexOptions {
    /// Shards of up to 256 MiB, housekeeping from one to sixteen MiB of appendix, 64 MiB to sort in.
    fn default() -> Self {
        Self { shard_limit: 1 << 24, appendix_limit: 1 << 16, sort_limit: 1 << 22 }
    }
}

/// What opening for writing found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What was cut off the appendix because it was torn or damaged. Its entries are to be added again.
    pub cut: Option<Cut>,
    /// The greatest place the index knows. If entries are appended in the order of their places, every record up to
    /// here is indexed, and reading the silos forward from here finds all that is not. Adding an entry again is harmless.
    pub known: Option<Place>,
}

/// What [`IndexWriter::append`] has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Appended {
    /// Enough is waiting that [`IndexWriter::housekeeping`] is worth its while.
    pub housekeeping_due: bool,
}

/// An index open for writing.
pub struct IndexWriter {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) options: IndexOptions,
    pub(super) housekeeping: Mutex<()>,
    live: Mutex<LiveFile>,
    view: RwLock<View>,
}

impl IndexWriter {
    /// Makes an empty index in a folder, or finishes one whose making was interrupted; leaves a finished one as it is. One
    /// that has lost all its sorted files is made anew: what was appended since would pass for all there is.
    pub fn create(disk: &dyn Disk, folder: &Path) -> Result<(), IndexError> {
        disk.make_folders(folder)?;
        if shards::list(disk, folder)?.is_empty() {
            let rotated = appendices::list_rotated(disk, folder)?.into_iter().map(names::rotated);
            for path in rotated.chain([names::APPENDIX.to_owned()]).map(|name| folder.join(name)) {
                if disk.stat(&path)?.is_some() {
                    disk.remove(&path)?;
                }
            }
            write_shard(disk, folder, (ShardName::ROOT, 0), &mut std::iter::empty())?;
            install(disk, folder, ShardName::ROOT)?;
        }
        if disk.stat(&folder.join(names::APPENDIX))?.is_none() {
            disk.create_new(&folder.join(names::APPENDIX))?;
        }
        Ok(disk.sync_folder(folder)?)
    }

    /// Opens an index for writing: sweeps unfinished files and cuts a torn tail.
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: IndexOptions,
    ) -> Result<(Self, Recovery), IndexError> {
        sweep(&*disk, folder)?;
        let shards = Shards::open(&*disk, folder)?;
        let rotated = appendices::read_rotated(&*disk, folder)?;
        let (file, live, cut) = LiveFile::open(&*disk, folder)?;
        let view = View { shards, rotated, live };
        let recovery = Recovery { cut, known: view.greatest_place() };
        let writer = Self {
            disk,
            folder: folder.to_path_buf(),
            options,
            housekeeping: Mutex::new(()),
            live: Mutex::new(file),
            view: RwLock::new(view),
        };
        Ok((writer, recovery))
    }

    /// Adds entries with one write. They are found from now on, and survive the end of this process; a power cut they
    /// survive after [`IndexWriter::sync`]. After an error none of them was added.
    pub fn append(&self, entries: &[Entry]) -> Result<Appended, IndexError> {
        let mut live = self.lock_live();
        if !entries.is_empty() {
            live.append(&*self.disk, &self.folder, entries)?;
        }
        let mut view = self.lock_view();
        view.live.insert(entries);
        Ok(Appended { housekeeping_due: self.is_due(&view) })
    }

    /// Waits until everything appended so far is safe from a power cut. After an error nobody knows what is safe, and
    /// trying again may not tell the truth either: systems drop what they could not write. The hole that a power cut then
    /// leaves is found by the next opening, or named as damage if housekeeping had begun; the silos have the entries.
    pub fn sync(&self) -> Result<(), IndexError> {
        self.lock_live().sync(&*self.disk, &self.folder)
    }

    /// Whether enough is waiting to be merged, or an earlier housekeeping was interrupted.
    pub fn housekeeping_due(&self) -> bool {
        self.is_due(&self.read_view())
    }

    fn is_due(&self, view: &View) -> bool {
        let least = self.options.appendix_limit;
        let enough = (view.shards.count() / 64).clamp(least, least.saturating_mul(16));
        let interrupted = !view.shards.inside().is_empty();
        interrupted || view.appended() >= enough
    }

    /// The places of all entries with this prefix, as [`Index::find`].
    pub fn find(&self, prefix: Prefix) -> Result<Places, IndexError> {
        self.read_view().find(prefix)
    }

    /// Looks many prefixes up at once, as [`Index::find_many`].
    pub fn find_many(
        &self,
        prefixes: &[Prefix],
        mut found: impl FnMut(usize, Place),
    ) -> Result<(), IndexError> {
        // In portions, so that appends need not wait for all of it.
        for (number, portion) in prefixes.chunks(PORTION).enumerate() {
            self.read_view().find_many(portion, |member, place| found(number * PORTION + member, place))?;
        }
        Ok(())
    }

    /// The index as it is now, for reading at leisure.
    pub fn snapshot(&self) -> Index {
        Index::of(self.read_view().clone())
    }

    // A panic while one of these is held leaves what it guards in one piece: each is changed by single assignments.

    pub(super) fn lock_live(&self) -> MutexGuard<'_, LiveFile> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_view(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read_view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renames a finished shard into place. The folder is not synced: that is done once for many.
pub(super) fn install(disk: &dyn Disk, folder: &Path, name: ShardName) -> Result<(), IndexError> {
    Ok(disk.rename(&folder.join(names::unfinished(&name)), &folder.join(name.to_string()))?)
}

/// Removes a file that may be gone already.
pub(super) fn remove(disk: &dyn Disk, path: &Path) -> Result<(), IndexError> {
    match disk.remove(path) {
        Err(error) if !error.is_absent() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes what interrupted work left under temporary names.
pub(super) fn sweep(disk: &dyn Disk, folder: &Path) -> Result<(), IndexError> {
    for name in disk.list(folder)? {
        if FileName::parse(&name) == FileName::Unfinished {
            remove(disk, &folder.join(name))?;
        }
    }
    Ok(())
}
