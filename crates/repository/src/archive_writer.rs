//! An archive, open for writing: the one process that may.
//!
//! The lock is taken before anything is looked at, and goes with the process however that ends. What an earlier process
//! left unfinished is swept, and the store reads forward from the last thing it knows.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use varve_core::RecordId;
use varve_store::index::IndexOptions;
use varve_store::lock::WriteLock;
use varve_store::{StoreReader, StoreRecovery, StoreSettings, StoreWriter};
use varve_warc::date::Date;
use varve_warc::write::{Dictionary, Packing};

use crate::archive::{open_silo_files, read_settings, resolve};
use crate::archive_paths::{ArchivePaths, LOCK_FILE};
use crate::error::RepositoryError;
use crate::pending_swap::finish_pending_swap;
use crate::settings::MAX_DICTIONARY_BYTES;
use crate::settings::{ArchiveSettings, PackingMethod};

/// The present, as the caller knows it.
pub type Clock = Arc<dyn Fn() -> Date + Send + Sync>;

/// What the caller says of itself when it opens an archive for writing.
#[derive(Clone)]
pub struct WriterOptions {
    /// Who will hold the lock, for others to read: the program, its process, since when.
    pub holder: String,
    /// The software that silos will name.
    pub software: String,
    /// The present.
    pub clock: Clock,
}

/// An archive that can be written. Only one exists at a time, on any machine that honours the lock.
pub struct ArchiveWriter {
    layout: ArchivePaths,
    settings: ArchiveSettings,
    store: StoreWriter,
    recovered: StoreRecovery,
    clock: Clock,
    /// Last, so that it is given up last.
    _lock: WriteLock,
}

impl ArchiveWriter {
    /// Opens the archive at `root`, and puts in order what a crash left behind.
    pub fn open(root: &Path, opening: WriterOptions) -> Result<Self, RepositoryError> {
        Self::open_at(ArchivePaths::new(root), opening)
    }

    /// As [`Self::open`], with this layout.
    pub fn open_at(layout: ArchivePaths, opening: WriterOptions) -> Result<Self, RepositoryError> {
        let settings = read_settings(&layout)?;
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
        let (store, recovered) = StoreWriter::open(open_silo_files(&layout), store_settings)?;
        Ok(Self { layout, settings, store, recovered, clock: opening.clock, _lock: lock })
    }

    /// Takes the lock alone, for who puts something in the place of the archive's parts, and sweeps what was left.
    pub fn lock(layout: &ArchivePaths, opening: &WriterOptions) -> Result<WriteLock, RepositoryError> {
        read_settings(layout)?;
        let temporary = layout.temporary();
        fs::create_dir_all(&temporary).map_err(RepositoryError::write(&temporary))?;
        let lock = WriteLock::take(&layout.lock(), &opening.holder)?;
        // What lies ready for it is swept with the rest otherwise.
        finish_pending_swap(layout)?;
        empty(&temporary)?;
        Ok(lock)
    }

    /// Where its parts lie.
    pub fn layout(&self) -> &ArchivePaths {
        &self.layout
    }

    /// Its settings.
    pub fn settings(&self) -> &ArchiveSettings {
        &self.settings
    }

    /// Its objects.
    pub fn store(&self) -> &StoreWriter {
        &self.store
    }

    /// What opening it put in order.
    pub fn recovered(&self) -> StoreRecovery {
        self.recovered
    }

    /// What can be read of it now.
    pub fn reader(&self) -> StoreReader {
        self.store.reader()
    }

    /// The present.
    pub fn now(&self) -> Date {
        (self.clock)()
    }

    /// The one id that a person's text means: an id in either form, or the beginning of one.
    pub fn resolve(&self, text: &str) -> Result<RecordId, RepositoryError> {
        resolve(&self.reader(), text)
    }
}

/// How records are packed: with the dictionary of the archive, where it has one and the packing can use it.
fn packing(settings: &ArchiveSettings, layout: &ArchivePaths) -> Result<Packing, RepositoryError> {
    if settings.packing != PackingMethod::Zstd {
        return Ok(settings.packing(None));
    }
    let path = layout.dictionary();
    match fs::read(&path) {
        Ok(bytes) if bytes.len() <= MAX_DICTIONARY_BYTES => {
            Ok(settings.packing(Some(Dictionary::new(bytes))))
        }
        Ok(_) => Err(RepositoryError::Dictionary { path }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(settings.packing(None)),
        Err(source) => Err(RepositoryError::Read { path, source }),
    }
}

/// Removes all but the lock.
fn empty(temporary: &Path) -> Result<(), RepositoryError> {
    for entry in fs::read_dir(temporary).map_err(RepositoryError::read(temporary))? {
        let entry = entry.map_err(RepositoryError::read(temporary))?;
        if entry.file_name() == LOCK_FILE {
            continue;
        }
        let path = entry.path();
        let is_folder = entry.file_type().map_err(RepositoryError::read(&path))?.is_dir();
        let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(RepositoryError::write(&path))?;
    }
    Ok(())
}
