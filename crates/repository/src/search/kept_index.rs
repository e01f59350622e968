//! The search index of a web archive, in the folder of its index.
//!
//! That folder belongs to one state of the files, so a search index in it is complete and never
//! changes. It is made under a temporary name and named when it is complete.

use varve_catalog::SqliteSearchIndex;
use varve_core::search_index::SearchIndexRead;

use super::built_index::BuiltIndex;
use super::open_index::OpenedIndex;
use super::update_index::build_index;
use crate::archive_paths::SEARCH_FILE;
use crate::error::RepositoryError;
use crate::history::{HistoryReader, WebArchiveHistoryReader};

/// Opens the search index of a web archive. One that is missing is made first, or only for this
/// search if it cannot be kept.
pub(super) fn open_kept_index(
    archive: &WebArchiveHistoryReader,
    history: &HistoryReader,
) -> Result<OpenedIndex, RepositoryError> {
    let path = archive.files().index_folder().join(SEARCH_FILE);
    if !path.is_file() {
        match make_index(archive, history) {
            Err(error) if error.is_read_only() || error.is_disk_full() => {
                return Ok(OpenedIndex::Built(Box::new(BuiltIndex::of(history)?)));
            }
            made => made?,
        }
    }
    let index: Box<dyn SearchIndexRead> = Box::new(SqliteSearchIndex::open_to_read(path.as_path())?);
    Ok(OpenedIndex::Stored { index, gap: None })
}

fn make_index(archive: &WebArchiveHistoryReader, history: &HistoryReader) -> Result<(), RepositoryError> {
    let folder = archive.files().index_folder();
    let path = folder.join(SEARCH_FILE);
    let unfinished = tempfile::tempdir_in(folder).map_err(RepositoryError::write(folder))?;
    let made = unfinished.path().join(SEARCH_FILE);
    let index = SqliteSearchIndex::open_to_write(made.as_path())?;
    build_index(&index, history)?;
    drop(index);
    std::fs::rename(&made, &path).map_err(RepositoryError::write(&path))
}
