//! The index for writing. The caller ensures, by the archive's lock, that one process writes.
//!
//! Threads may append and look up while another does housekeeping. Locks are taken in one order:
//! housekeeping, live appendix, view. The view is locked for a lookup or an insertion in memory,
//! never while a file is read or written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::appendices::{self, AppendixCut, LiveAppendix};
use super::entry::{IndexEntry, IndexPrefix, SiloPlace};
use super::error::IndexError;
use super::file_names::{self, IndexFileName, ShardName};
use super::places::SiloPlaces;
use super::reader::IndexReader;
use super::shard_writer::write_shard;
use super::shards::{self, ShardSet};
use super::view::IndexView;
use crate::disk::Disk;

/// Limits of housekeeping and rebuild. They do not change lookup results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// A sorted shard of more entries than this is split. It decides which files exist, so all
    /// writers of one index must use the same value; archives use the default.
    pub shard_limit: u64,
    /// Housekeeping is due when this number of entries waits, or one in 64 of all if that is more,
    /// but at most sixteen times this number.
    pub appendix_limit: u64,
    /// The number of entries of sixteen bytes that a rebuild sorts in memory at a time.
    pub sort_limit: usize,
}

impl Default for IndexOptions {
    /// Shards of up to 256 MiB, housekeeping at one to sixteen MiB of appendix, 64 MiB of sort
    /// memory.
    fn default() -> Self {
        Self { shard_limit: 1 << 24, appendix_limit: 1 << 16, sort_limit: 1 << 22 }
    }
}

/// The result of opening the index for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRecovery {
    /// The torn or damaged tail that was cut off the appendix. The caller adds its entries again.
    pub cut: Option<AppendixCut>,
    /// The greatest indexed place. Entries are appended in order of place, so every record up to
    /// here is indexed, and reading the silos forward from here finds the others. Adding an entry
    /// twice is harmless.
    pub known: Option<SiloPlace>,
}

/// The result of [`IndexWriter::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Appended {
    /// Whether [`IndexWriter::housekeeping`] is due.
    pub housekeeping_due: bool,
}

/// An index open for writing.
pub struct IndexWriter {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) options: IndexOptions,
    pub(super) housekeeping: Mutex<()>,
    live: Mutex<LiveAppendix>,
    view: Arc<RwLock<IndexView>>,
}

impl IndexWriter {
    /// Creates an empty index in a folder, or finishes an interrupted creation. An existing index
    /// stays unchanged. An index without any sorted file is created anew: its appendix alone would
    /// pass for a complete index.
    pub fn create(disk: &dyn Disk, folder: &Path) -> Result<(), IndexError> {
        disk.make_folders(folder)?;
        if shards::list(disk, folder)?.is_empty() {
            let rotated = appendices::list_rotated(disk, folder)?.into_iter().map(file_names::rotated);
            for path in rotated.chain([file_names::APPENDIX_FILE.to_owned()]).map(|name| folder.join(name)) {
                if disk.stat(&path)?.is_some() {
                    disk.remove(&path)?;
                }
            }
            write_shard(disk, folder, (ShardName::ROOT, 0), &mut std::iter::empty())?;
            install(disk, folder, ShardName::ROOT)?;
        }
        if disk.stat(&folder.join(file_names::APPENDIX_FILE))?.is_none() {
            disk.create_new(&folder.join(file_names::APPENDIX_FILE))?;
        }
        Ok(disk.sync_folder(folder)?)
    }

    /// Opens an index for writing: removes unfinished files and cuts a torn tail.
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: IndexOptions,
    ) -> Result<(Self, IndexRecovery), IndexError> {
        sweep(&*disk, folder)?;
        let shards = Arc::new(ShardSet::open(&*disk, folder)?);
        let rotated = appendices::read_rotated(&*disk, folder)?;
        let (file, live, cut) = LiveAppendix::open(&*disk, folder)?;
        let view = IndexView { shards, rotated, live };
        let recovery = IndexRecovery { cut, known: view.greatest_place() };
        let writer = Self {
            disk,
            folder: folder.to_path_buf(),
            options,
            housekeeping: Mutex::new(()),
            live: Mutex::new(file),
            view: Arc::new(RwLock::new(view)),
        };
        Ok((writer, recovery))
    }

    /// Adds entries with one write. Lookups find them from now on. They survive the end of this
    /// process, and a power cut after [`IndexWriter::sync`]. After an error none of them was added.
    pub fn append(&self, entries: &[IndexEntry]) -> Result<Appended, IndexError> {
        let mut live = self.lock_live();
        if !entries.is_empty() {
            live.append(&*self.disk, &self.folder, entries)?;
        }
        let mut view = self.lock_view();
        view.live.insert(entries);
        Ok(Appended { housekeeping_due: self.is_due(&view) })
    }

    /// Waits until everything appended so far survives a power cut. After an error it is unknown
    /// what survives, and a retry may succeed falsely, because systems drop pages that they could
    /// not write. The next opening finds the resulting gap, or reports it as damage if housekeeping
    /// had begun. The silos have the entries.
    pub fn sync(&self) -> Result<(), IndexError> {
        self.lock_live().sync(&*self.disk, &self.folder)
    }

    /// Whether enough entries wait to be merged, or an earlier housekeeping was interrupted.
    pub fn housekeeping_due(&self) -> bool {
        self.is_due(&self.read_view())
    }

    fn is_due(&self, view: &IndexView) -> bool {
        let least = self.options.appendix_limit;
        let enough = (view.shards.count() / 64).clamp(least, least.saturating_mul(16));
        let interrupted = !view.shards.inside().is_empty();
        interrupted || view.appended() >= enough
    }

    /// The places of all entries with this prefix, as [`IndexReader::find`].
    pub fn find(&self, prefix: IndexPrefix) -> Result<SiloPlaces, IndexError> {
        self.reader().find(prefix)
    }

    /// Looks up many prefixes, as [`IndexReader::find_many`].
    pub fn find_many(
        &self,
        prefixes: &[IndexPrefix],
        found: impl FnMut(usize, SiloPlace),
    ) -> Result<(), IndexError> {
        self.reader().find_many(prefixes, found)
    }

    /// A reader of this index, which sees later appends too.
    pub fn reader(&self) -> IndexReader {
        IndexReader::sharing(Arc::clone(&self.view))
    }

    // A panic while one of these is held leaves what it guards in one piece: each is changed by
    // single assignments.

    pub(super) fn lock_live(&self) -> MutexGuard<'_, LiveAppendix> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_view(&self) -> RwLockWriteGuard<'_, IndexView> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read_view(&self) -> RwLockReadGuard<'_, IndexView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renames a finished shard into place. The caller syncs the folder once for many.
pub(super) fn install(disk: &dyn Disk, folder: &Path, name: ShardName) -> Result<(), IndexError> {
    Ok(disk.rename(&folder.join(file_names::unfinished(&name)), &folder.join(name.to_string()))?)
}

/// Removes a file, if it exists.
pub(super) fn remove(disk: &dyn Disk, path: &Path) -> Result<(), IndexError> {
    match disk.remove(path) {
        Err(error) if !error.is_absent() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes the temporary files of interrupted work.
pub(super) fn sweep(disk: &dyn Disk, folder: &Path) -> Result<(), IndexError> {
    for name in disk.list(folder)? {
        if IndexFileName::parse(&name) == IndexFileName::Unfinished {
            remove(disk, &folder.join(name))?;
        }
    }
    Ok(())
}
