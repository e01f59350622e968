//! Objects found by id: those of an archive, or of an AardWARC store in place.

use std::path::Path;

use varve_core::id::{IdError, IdPrefix};
use varve_store::aardwarc::{AardwarcObject, AardwarcStore};

use crate::archive::{Archive, without_brackets};
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
    /// Opens the store at `root`. For an AardWARC store this reads the record headers; `progress`
    /// receives the number of bytes of its silos processed since the last call.
    pub fn open(root: &Path, progress: &dyn Fn(u64)) -> Result<Self, RepositoryError> {
        if detect_layout(root) != Some(Layout::Aardwarc) {
            return Ok(Self::Archive(Box::new(Archive::open(root)?)));
        }
        let failed = |source| RepositoryError::Aardwarc { path: root.to_owned(), source };
        let store = AardwarcStore::open(root, progress).map_err(failed)?;
        let store = store.ok_or_else(|| RepositoryError::NoAardwarcSilos { path: root.to_owned() })?;
        Ok(Self::Aardwarc(Box::new(store)))
    }

    /// The number of silo bytes that opening `root` processes. `None` if opening reads no silos.
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
        aardwarc_digits(text).map_err(|source| RepositoryError::NotAnId { text: text.to_owned(), source })?;
    let path = store.silos().first().map(|silo| silo.path().to_owned()).unwrap_or_default();
    let object = store.object(&digits).map_err(|source| RepositoryError::Aardwarc { path, source })?;
    object.ok_or(RepositoryError::Absent { id: digits })
}

/// The digits of an id as AardWARC writes it, after its prefix.
pub fn aardwarc_digits(text: &str) -> Result<String, IdError> {
    let text = without_brackets(text.trim()).to_ascii_lowercase();
    let digits = text.rsplit('/').next().unwrap_or_default();
    digits.parse::<IdPrefix>().map(|prefix| prefix.to_string())
}
