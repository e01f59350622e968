//! A search index in a temporary folder, for a layout that has none of its own or cannot be written.

use varve_catalog::SqliteSearchIndex;
use varve_core::search_index::SearchIndexRead;

use super::update_index::build_index;
use crate::archive_paths::SEARCH_FILE;
use crate::error::RepositoryError;
use crate::history::HistoryReader;

/// An index that is deleted with this value.
pub struct BuiltIndex {
    index: Box<SqliteSearchIndex>,
    _folder: tempfile::TempDir,
}

impl BuiltIndex {
    /// Reads all captures of a layout.
    pub fn of(history: &HistoryReader) -> Result<Self, RepositoryError> {
        let folder = tempfile::tempdir().map_err(RepositoryError::write(&std::env::temp_dir()))?;
        let index = SqliteSearchIndex::open_to_write(&folder.path().join(SEARCH_FILE))?;
        build_index(&index, history)?;
        Ok(Self { index: Box::new(index), _folder: folder })
    }

    /// The index.
    pub fn as_read(&self) -> &dyn SearchIndexRead {
        &*self.index
    }
}
