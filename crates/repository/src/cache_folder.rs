//! A folder for index and catalog outside the archive.
//!
//! Only owns the folder. `build_caches` fills it.

use std::path::{Path, PathBuf};

use crate::error::RepositoryError;

/// The folder within a folder of the user that holds the caches.
const CACHE_FOLDER_NAME: &str = "varve-caches";

/// A folder with an index and a catalog.
pub(crate) struct CacheFolder {
    path: PathBuf,
    /// Deletes the folder when dropped.
    _temporary: Option<tempfile::TempDir>,
}

impl CacheFolder {
    /// A folder that is deleted with this value.
    pub(crate) fn temporary() -> Result<Self, RepositoryError> {
        let folder = tempfile::tempdir().map_err(RepositoryError::write(&std::env::temp_dir()))?;
        Ok(Self { path: folder.path().to_owned(), _temporary: Some(folder) })
    }

    /// A folder in `parent` that is kept for the next call.
    pub(crate) fn kept_in(parent: &Path) -> Result<Self, RepositoryError> {
        let path = parent.join(CACHE_FOLDER_NAME);
        std::fs::create_dir_all(&path).map_err(RepositoryError::write(&path))?;
        Ok(Self { path, _temporary: None })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
