//! Objects found by id: those of an archive, or of an AardWARC store in place.

use std::path::Path;

use varve_store::aardwarc::{AardwarcObject, AardwarcStore};

use crate::archive::{Archive, id_digits};
use crate::error::RepositoryError;
use crate::layout::{Layout, detect_layout};

/// Objects, open for reading.
pub enum Objects {
    /// The objects of an archive.
    Archive(Box<Archive>),
    /// The objects of an AardWARC store, which is never changed.
    Aardwarc(Box<AardwarcStore>),
}

impl Objects {
    /// Opens the store at `root`. If a lookup in an AardWARC store has to read all record headers,
    /// `progress` receives the number of bytes of its silos processed since the last call.
    pub fn open(
        root: &Path,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Self, RepositoryError> {
        if detect_layout(root) != Some(Layout::Aardwarc) {
            return Ok(Self::Archive(Box::new(Archive::open(root)?)));
        }
        let failed = |source| RepositoryError::Aardwarc { path: root.to_owned(), source };
        let store = AardwarcStore::open(root, Box::new(progress)).map_err(failed)?;
        let store = store.ok_or_else(|| RepositoryError::NoAardwarcSilos { path: root.to_owned() })?;
        Ok(Self::Aardwarc(Box::new(store)))
    }

    /// The number of silo bytes that a lookup may have to read. `None` unless `root` is an AardWARC
    /// store.
    pub fn bytes_to_read(root: &Path) -> Result<Option<u64>, RepositoryError> {
        if detect_layout(root) != Some(Layout::Aardwarc) {
            return Ok(None);
        }
        let failed = |source| RepositoryError::Aardwarc { path: root.to_owned(), source };
        AardwarcStore::bytes_to_read(root).map(Some).map_err(failed)
    }
}

/// Resolves the text of a user to an object of an AardWARC store: an id with or without its prefix,
/// or the start of one.
pub fn aardwarc_object(store: &AardwarcStore, text: &str) -> Result<AardwarcObject, RepositoryError> {
    let digits =
        id_digits(text).map_err(|source| RepositoryError::NotAnId { text: text.to_owned(), source })?;
    let path = store.silos().first().map(|silo| silo.path().to_owned()).unwrap_or_default();
    let object = store.object(&digits).map_err(|source| RepositoryError::Aardwarc { path, source })?;
    object.ok_or(RepositoryError::Absent { id: digits })
}
