//! An archive, open for reading.
//!
//! This takes no lock and writes nothing, even on a writable medium. Any number of readers may be
//! open while another process writes.

use std::path::Path;

use varve_core::RecordId;
use varve_core::id::{IdError, IdPrefix};
use varve_store::disk::LocalDisk;
use varve_store::error_text;
use varve_store::index::{IndexReader, IndexWriter};
use varve_store::{Object, StoreError, StoreReader};

use crate::archive_paths::ArchivePaths;
use crate::archive_writer::ArchiveWriter;
use crate::backends::Backends;
use crate::error::RepositoryError;
use crate::layout::{Layout, detect_layout};
use crate::pending_swap::retry_while_swapping;
use crate::settings::{ArchiveSettings, MAX_SETTINGS_BYTES};

/// An archive open for reading.
pub struct Archive {
    layout: ArchivePaths,
    settings: ArchiveSettings,
    backends: Backends,
    store: StoreReader,
    lost_index: Option<EmptyIndex>,
    /// The error of settings that cannot be read.
    lost_settings: Option<String>,
}

/// Replaces an index that cannot be read.
struct EmptyIndex {
    /// The error message of the unreadable index.
    why: String,
    /// The folder of the empty index.
    _folder: tempfile::TempDir,
}

impl Archive {
    /// Opens the archive at `root`.
    pub fn open(root: &Path) -> Result<Self, RepositoryError> {
        Self::open_at(&ArchivePaths::new(root))
    }

    /// Opens the archive with this layout.
    pub fn open_at(layout: &ArchivePaths) -> Result<Self, RepositoryError> {
        retry_while_swapping(layout, || Self::open_now(layout.clone()))
    }

    fn open_now(layout: ArchivePaths) -> Result<Self, RepositoryError> {
        let settings = read_settings(&layout)?;
        let index = layout.index();
        let found = layout.cache_files().entry(&index).map_err(RepositoryError::read(&index))?;
        if found.is_none() {
            return Err(RepositoryError::NoIndex { path: index });
        }
        let backends = Backends::open(&layout, &settings)?;
        let store = open_store(&layout, &backends)?;
        Ok(Self { layout, settings, backends, store, lost_index: None, lost_settings: None })
    }

    /// The archive that `writer` has open, with the objects stored so far.
    pub(crate) fn of_writer(writer: &ArchiveWriter) -> Self {
        let (layout, settings) = (writer.layout().clone(), writer.settings().clone());
        let backends = writer.backends().clone();
        Self { layout, settings, backends, store: writer.reader(), lost_index: None, lost_settings: None }
    }

    /// Opens the archive at `root` for an audit. If the index is missing or damaged, an empty one
    /// is used; instead of settings that cannot be read, the defaults.
    pub fn open_to_audit(root: &Path) -> Result<Self, RepositoryError> {
        let opened = Self::open(root);
        let layout = ArchivePaths::new(root);
        let (settings, lost_settings) = match &opened {
            Err(error @ RepositoryError::Settings { .. }) => {
                (ArchiveSettings::new(""), Some(error_text(error)))
            }
            Err(error @ RepositoryError::Read { path, .. }) if *path == layout.settings() => {
                (ArchiveSettings::new(""), Some(error_text(error)))
            }
            Err(RepositoryError::NoIndex { .. } | RepositoryError::Store(StoreError::Index(_))) => {
                (read_settings(&layout)?, None)
            }
            _ => return opened,
        };
        let backends = Backends::open(&layout, &settings)?;
        let index = layout.index();
        let opened = match layout.cache_files().is_folder(&index).map_err(RepositoryError::read(&index))? {
            true => StoreReader::open(backends.silos(), &index).map_err(RepositoryError::from),
            false => Err(RepositoryError::NoIndex { path: index }),
        };
        let (store, lost_index) = match opened {
            Ok(store) => (store, None),
            Err(error) => with_empty_index(&backends, error_text(&error))?,
        };
        Ok(Self { layout, settings, backends, store, lost_index, lost_settings })
    }

    /// The error of the settings, if the archive was opened without them.
    pub fn lost_settings(&self) -> Option<&str> {
        self.lost_settings.as_deref()
    }

    /// The error of the index, if the archive was opened without it.
    pub fn lost_index(&self) -> Option<&str> {
        self.lost_index.as_ref().map(|lost| lost.why.as_str())
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
    pub fn store(&self) -> &StoreReader {
        &self.store
    }

    /// Resolves the text of a user to one id: an id in either form, or the start of one.
    pub fn resolve(&self, text: &str) -> Result<RecordId, RepositoryError> {
        self.ask(|store| resolve(store, text))
    }

    /// Opens the object of a resolved id.
    pub fn object(&self, id: RecordId) -> Result<Object, RepositoryError> {
        self.ask(|store| object(store, id))
    }

    /// Looks something up in the store. If that fails because of a damaged index, looks again with
    /// an index made from the silos, if the paths of the archive allow it.
    pub fn ask<T>(
        &self,
        question: impl Fn(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        question(&self.store).or_else(|failure| self.ask_substitute(failure, question))
    }

    /// Repeats a failed lookup with an index made from the silos.
    pub(crate) fn ask_substitute<T>(
        &self,
        failure: RepositoryError,
        question: impl FnOnce(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        match self.layout.substitute() {
            Some(substitute) => substitute.answer(&self.backends.silos(), failure, question),
            None => Err(failure),
        }
    }
}

/// Opens the store of an archive with the index that its paths name.
pub(crate) fn open_store(layout: &ArchivePaths, backends: &Backends) -> Result<StoreReader, StoreError> {
    let index = IndexReader::open(&*layout.index_disk(), &layout.index())?;
    let store = StoreReader::with_index(backends.silos(), index);
    Ok(if layout.substitute().is_some() { store.distrusting_gaps() } else { store })
}

/// A store with an empty index, instead of one that cannot be read.
fn with_empty_index(
    backends: &Backends,
    why: String,
) -> Result<(StoreReader, Option<EmptyIndex>), RepositoryError> {
    let folder = tempfile::tempdir().map_err(RepositoryError::write(&std::env::temp_dir()))?;
    let scratch = LocalDisk::new(folder.path());
    IndexWriter::create(&scratch, folder.path()).map_err(StoreError::from)?;
    let index = IndexReader::open(&scratch, folder.path()).map_err(StoreError::from)?;
    let store = StoreReader::with_index(backends.silos(), index);
    Ok((store, Some(EmptyIndex { why, _folder: folder })))
}

/// Opens the object with this id, or fails with `Absent`.
pub fn object(store: &StoreReader, id: RecordId) -> Result<Object, RepositoryError> {
    store.object(&id)?.ok_or_else(|| RepositoryError::Absent { id: hex_digits(id) })
}

/// The hexadecimal digits of an id, as shown to users.
pub fn hex_digits(id: RecordId) -> String {
    data_encoding::HEXLOWER.encode(id.as_bytes())
}

/// Removes the angle brackets of an id as records write it, `<urn:sha256:…>`.
pub fn without_brackets(text: &str) -> &str {
    text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text)
}

/// The digits of a full or abbreviated id, as varve or AardWARC prints it: hexadecimal digits,
/// after a URN or the prefix of an AardWARC store, which ends with `/`; with or without brackets.
pub fn id_digits(text: &str) -> Result<String, IdError> {
    let text = without_brackets(text.trim()).to_ascii_lowercase();
    let digits = text.rsplit('/').next().unwrap_or_default();
    digits.parse::<IdPrefix>().map(|prefix| prefix.to_string())
}

/// The record id that a full or abbreviated id names.
pub fn resolve(store: &StoreReader, text: &str) -> Result<RecordId, RepositoryError> {
    let not_an_id = |source| RepositoryError::NotAnId { text: text.to_owned(), source };
    let id = id_digits(text).map_err(not_an_id)?;
    store.resolve(&id)?.ok_or(RepositoryError::Absent { id })
}

/// Reads and checks `varve.toml`.
pub fn read_settings(layout: &ArchivePaths) -> Result<ArchiveSettings, RepositoryError> {
    if !layout.is_archive() {
        let path = layout.root().to_owned();
        return Err(match detect_layout(&path) {
            Some(Layout::Aardwarc) => RepositoryError::OnlyObjects { path },
            Some(Layout::WebArchive) => RepositoryError::ReadInPlace { path },
            _ => RepositoryError::NotAnArchive { path },
        });
    }
    let path = layout.settings();
    let read = layout.files().read_text(&path, MAX_SETTINGS_BYTES).map_err(RepositoryError::read(&path))?;
    let text = read.ok_or_else(|| RepositoryError::NotAnArchive { path: layout.root().to_owned() })?;
    ArchiveSettings::parse(&text).map_err(|source| RepositoryError::Settings { path, source })
}
