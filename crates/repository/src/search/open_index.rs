//! Opens the index of a layout to search in it, and brings it up to date if that is allowed.

use varve_core::search_index::SearchIndexRead;
use varve_core::writer_lock::LockError;
use varve_store::steps::step;

use super::built_index::BuiltIndex;
use super::update_index::{missing_versions, update_index};
use crate::archive::Archive;
use crate::backends::Backends;
use crate::error::RepositoryError;
use crate::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader};

/// An index to search in.
pub enum OpenedIndex {
    /// The index of the archive. Some versions may be missing in it, because another process is
    /// writing.
    Stored {
        /// The index.
        index: Box<dyn SearchIndexRead>,
        /// Number of versions that are missing.
        missing: u64,
    },
    /// An index that was built for this search.
    Built(Box<BuiltIndex>),
}

impl OpenedIndex {
    /// The index.
    pub fn as_read(&self) -> &dyn SearchIndexRead {
        match self {
            Self::Stored { index, .. } => &**index,
            Self::Built(built) => built.as_read(),
        }
    }

    /// Number of versions that the index does not have.
    pub fn missing(&self) -> u64 {
        match self {
            Self::Stored { missing, .. } => *missing,
            Self::Built(_) => 0,
        }
    }
}

/// Opens the index of a layout. One that is missing or behind is completed first, if `holder` is given
/// and the archive can be locked and written. `holder` describes this process to others. Otherwise a
/// missing index is built in a temporary folder.
pub fn open_search_index(
    history: &HistoryReader,
    holder: Option<&str>,
) -> Result<OpenedIndex, RepositoryError> {
    let HistoryReader::Archive(archive) = history else {
        return Ok(OpenedIndex::Built(Box::new(BuiltIndex::of(history)?)));
    };
    let archive = archive.archive();
    let backends = archive.backends();
    let missing = match backends.read_search_index() {
        Ok(Some(index)) => match missing_versions(&*index, history).map(|missing| missing.len() as u64) {
            Ok(0) => return Ok(OpenedIndex::Stored { index, missing: 0 }),
            Ok(missing) => Some(missing),
            Err(error) if is_unusable(&error) => None,
            Err(error) => return Err(error),
        },
        // A cache that cannot be used is made again.
        Ok(None) | Err(_) => None,
    };
    if complete(archive, history, holder)?
        && let Some(index) = backends.read_search_index()?
    {
        return Ok(OpenedIndex::Stored { index, missing: 0 });
    }
    match (missing, backends.read_search_index()) {
        (Some(missing), Ok(Some(index))) => Ok(OpenedIndex::Stored { index, missing }),
        _ => Ok(OpenedIndex::Built(Box::new(BuiltIndex::of(history)?))),
    }
}

/// Completes the index of an archive. Returns false if that is not possible here.
fn complete(
    archive: &Archive,
    history: &HistoryReader,
    holder: Option<&str>,
) -> Result<bool, RepositoryError> {
    let backends = archive.backends();
    let written = match (archive.layout().has_own_caches(), holder) {
        // A folder of caches that this process made for itself.
        (false, _) => write_index(backends, history),
        (true, Some(holder)) => match backends.lock().take(holder) {
            Ok(_lock) => write_index(backends, history),
            Err(LockError::Held { .. } | LockError::Io { .. }) => return Ok(false),
        },
        (true, None) => return Ok(false),
    };
    match written {
        Err(error) if error.is_read_only() || error.is_disk_full() => Ok(false),
        written => written.map(|()| true),
    }
}

/// Makes the index of an archive again. The caller holds the lock.
pub fn rebuild_search_index(history: &ArchiveHistoryReader) -> Result<(), RepositoryError> {
    let backends = history.archive().backends();
    backends.remove_search_index()?;
    write_index(backends, &history.into())
}

/// Adds the texts of new versions to the index, after everything else about them is durable. The
/// versions are complete without it, so a failure is not theirs: the next writer or search tries
/// again, and the search reports it.
pub fn index_new_versions(history: &ArchiveHistoryWriter) {
    let path = history.writer().layout().search_index();
    step("update the search index", &path);
    let _ = write_index(history.writer().backends(), history.as_reader());
    step("search index done", &path);
}

/// Brings the index up to date. One that cannot be used is made again. The caller holds the lock.
fn write_index(backends: &Backends, history: &HistoryReader) -> Result<(), RepositoryError> {
    let update = || backends.write_search_index().and_then(|index| update_index(&*index, history));
    let updated = match update() {
        Err(error) if is_unusable(&error) => {
            backends.remove_search_index()?;
            update()
        }
        updated => updated,
    };
    updated.map(drop)
}

/// Whether an error means that the index is damaged or has another format.
fn is_unusable(error: &RepositoryError) -> bool {
    match error {
        RepositoryError::Catalog(error) => Backends::is_unusable_cache(error),
        RepositoryError::TextRecord(_) => true,
        _ => false,
    }
}
