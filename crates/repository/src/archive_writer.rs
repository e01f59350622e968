//! An archive, open for writing by a single process.
//!
//! The lock is taken before anything is read, and the system releases it when the process ends, for
//! any reason. Files that an earlier process left unfinished are removed, and the store reads the
//! silos from the last record it knows.

use std::path::Path;
use std::sync::Arc;

use varve_core::RecordId;
use varve_core::writer_lock::LockGuard;
use varve_file::{Folder, FolderError};
use varve_store::error_text;
use varve_store::index::IndexOptions;
use varve_store::{StoreReader, StoreRecovery, StoreSettings, StoreWriter};
use varve_warc::date::Date;
use varve_warc::write::{Dictionary, Packing};

use crate::archive::{read_settings, resolve};
use crate::archive_paths::{ArchivePaths, LOCK_FILE, TEMPORARY_FOLDER};
use crate::backends::Backends;
use crate::error::RepositoryError;
use crate::pending_swap::finish_pending_swap;
use crate::settings::MAX_DICTIONARY_BYTES;
use crate::settings::{ArchiveSettings, PackingMethod};

/// Returns the current time, as the caller defines it.
pub type Clock = Arc<dyn Fn() -> Date + Send + Sync>;

/// Options for opening an archive for writing.
#[derive(Clone)]
pub struct WriterOptions {
    /// The holder of the lock, for other processes to read: the program, its process id, the start
    /// time.
    pub holder: String,
    /// The software name that silos record.
    pub software: String,
    /// The clock.
    pub clock: Clock,
}

/// An archive open for writing. Only one exists at a time, on any machine that honours the lock.
pub struct ArchiveWriter {
    layout: ArchivePaths,
    settings: ArchiveSettings,
    backends: Backends,
    store: StoreWriter,
    recovered: StoreRecovery,
    clock: Clock,
    /// The last field, so that the lock is released last.
    _lock: LockGuard,
}

impl ArchiveWriter {
    /// Opens the archive at `root` and recovers from a crash.
    pub fn open(root: &Path, opening: WriterOptions) -> Result<Self, RepositoryError> {
        Self::open_at(ArchivePaths::new(root), opening)
    }

    /// Like [`Self::open`], with this layout.
    pub fn open_at(layout: ArchivePaths, opening: WriterOptions) -> Result<Self, RepositoryError> {
        let settings = read_settings(&layout)?;
        let backends = Backends::open(&layout, &settings)?;
        let lock = Self::lock(&layout, &opening)?;
        let temporary = layout.temporary();
        let store_settings = StoreSettings {
            silo_size: settings.silo_size.0,
            packing: packing(&settings, &layout)?,
            description: settings.description(&opening.software),
            index: IndexOptions::default(),
            index_folder: layout.index(),
            temporary,
            clock: Arc::clone(&opening.clock),
        };
        let (store, recovered) = StoreWriter::open(backends.silos(), store_settings)?;
        Ok(Self { layout, settings, backends, store, recovered, clock: opening.clock, _lock: lock })
    }

    /// Takes only the lock, for a caller that replaces parts of the archive, and removes unfinished
    /// files.
    pub fn lock(layout: &ArchivePaths, opening: &WriterOptions) -> Result<LockGuard, RepositoryError> {
        let backends = Backends::open(layout, &read_settings(layout)?)?;
        let path = layout.temporary();
        let failed = |error: FolderError| RepositoryError::write(&path)(error.into());
        let root = Folder::open(layout.root()).map_err(failed)?;
        let temporary = root.make_folders(TEMPORARY_FOLDER).map_err(failed)?;
        let lock = backends.lock().take(&opening.holder)?;
        // Must come first: `empty` would remove the files prepared for the swap.
        finish_pending_swap(&backends)?;
        empty(&temporary).map_err(failed)?;
        Ok(lock)
    }

    /// The paths of the archive.
    pub fn layout(&self) -> &ArchivePaths {
        &self.layout
    }

    /// The settings.
    pub fn settings(&self) -> &ArchiveSettings {
        &self.settings
    }

    /// The implementations that the archive uses.
    pub fn backends(&self) -> &Backends {
        &self.backends
    }

    /// The objects.
    pub fn store(&self) -> &StoreWriter {
        &self.store
    }

    /// The recovery that opening performed.
    pub fn recovered(&self) -> StoreRecovery {
        self.recovered
    }

    /// A reader of the current content.
    pub fn reader(&self) -> StoreReader {
        self.store.reader()
    }

    /// The current time.
    pub fn now(&self) -> Date {
        (self.clock)()
    }

    /// Resolves the text of a user to one id: an id in either form, or the start of one.
    pub fn resolve(&self, text: &str) -> Result<RecordId, RepositoryError> {
        resolve(&self.reader(), text)
    }
}

/// Why the dictionary for new silos cannot be used; `None` if it can, or there is none.
pub fn dictionary_damage(layout: &ArchivePaths) -> Option<String> {
    let read = layout.files().read(&layout.dictionary(), MAX_DICTIONARY_BYTES as u64);
    let damage = match read {
        Ok(None) => None,
        Ok(Some(bytes)) => Dictionary::new(bytes).plain().err(),
        Err(error) => Some(error),
    };
    damage.map(|error| error_text(&error))
}

/// The packing of records, with the archive's dictionary if it has one and the packing supports it.
fn packing(settings: &ArchiveSettings, layout: &ArchivePaths) -> Result<Packing, RepositoryError> {
    if settings.packing != PackingMethod::Zstd {
        return Ok(settings.packing(None));
    }
    let path = layout.dictionary();
    match layout.files().read(&path, MAX_DICTIONARY_BYTES as u64) {
        Ok(bytes) => Ok(settings.packing(bytes.map(Dictionary::new))),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            Err(RepositoryError::Dictionary { path })
        }
        Err(source) => Err(RepositoryError::Read { path, source }),
    }
}

/// Removes everything but the lock, without entering a link.
fn empty(temporary: &Folder) -> Result<(), FolderError> {
    for entry in temporary.list("")?.iter().filter(|entry| entry.name != LOCK_FILE) {
        temporary.remove_tree(&entry.name)?;
    }
    Ok(())
}
