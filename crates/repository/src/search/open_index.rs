//! Opens the index of a layout to search in it, and brings it up to date if that is allowed.

use varve_core::search_index::SearchIndexRead;
use varve_core::writer_lock::LockError;
use varve_store::steps::step;

use super::built_index::BuiltIndex;
use super::kept_index::open_kept_index;
use super::update_index::{missing_versions, update_index};
use crate::archive::Archive;
use crate::backends::Backends;
use crate::error::RepositoryError;
use crate::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader};

/// An index to search in.
pub enum OpenedIndex {
    /// The index of the archive.
    Stored {
        /// The index.
        index: Box<dyn SearchIndexRead>,
        /// What is missing in it, and could not be added.
        gap: Option<IndexGap>,
    },
    /// An index that was built for this search.
    Built(Box<BuiltIndex>),
}

/// Versions that an index does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexGap {
    /// Their number.
    pub versions: u64,
    /// Why they could not be added.
    pub cause: IndexGapCause,
}

/// Why an index cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexGapCause {
    /// Another process holds the lock of the archive.
    AnotherWriter,
    /// This process may not write, or the archive cannot be written.
    ReadOnly,
    /// The disk is full.
    DiskFull,
}

impl OpenedIndex {
    /// The index.
    pub fn as_read(&self) -> &dyn SearchIndexRead {
        match self {
            Self::Stored { index, .. } => &**index,
            Self::Built(built) => built.as_read(),
        }
    }

    /// What the index does not have.
    pub fn gap(&self) -> Option<IndexGap> {
        match self {
            Self::Stored { gap, .. } => *gap,
            Self::Built(_) => None,
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
    let archive = match history {
        HistoryReader::Archive(archive) => archive,
        HistoryReader::WebArchive(archive) => return open_kept_index(archive, history),
        HistoryReader::Moku(_) | HistoryReader::Crystal(_) => {
            return Ok(OpenedIndex::Built(Box::new(BuiltIndex::of(history)?)));
        }
    };
    let archive = archive.archive();
    let backends = archive.backends();
    let missing = match backends.read_search_index() {
        Ok(Some(index)) => match missing_versions(&*index, history).map(|missing| missing.len() as u64) {
            Ok(0) => return Ok(OpenedIndex::Stored { index, gap: None }),
            Ok(missing) => Some(missing),
            Err(error) if is_unusable(&error) => None,
            Err(error) => return Err(error),
        },
        // A cache that cannot be used is made again.
        Ok(None) | Err(_) => None,
    };
    let cause = complete(archive, history, holder)?;
    match (cause, missing, backends.read_search_index()) {
        (None, _, Ok(Some(index))) => Ok(OpenedIndex::Stored { index, gap: None }),
        (None, _, Err(error)) => Err(error),
        (Some(cause), Some(versions), Ok(Some(index))) => {
            Ok(OpenedIndex::Stored { index, gap: Some(IndexGap { versions, cause }) })
        }
        _ => Ok(OpenedIndex::Built(Box::new(BuiltIndex::of(history)?))),
    }
}

/// Completes the index of an archive. Returns the reason if that is not possible here.
fn complete(
    archive: &Archive,
    history: &HistoryReader,
    holder: Option<&str>,
) -> Result<Option<IndexGapCause>, RepositoryError> {
    let backends = archive.backends();
    let written = match (archive.layout().has_own_caches(), holder) {
        // A folder of caches that this process made for itself.
        (false, _) => write_index(backends, history),
        (true, Some(holder)) => match backends.lock().take(holder) {
            Ok(_lock) => write_index(backends, history),
            Err(LockError::Held { .. }) => return Ok(Some(IndexGapCause::AnotherWriter)),
            Err(LockError::Io { .. }) => return Ok(Some(IndexGapCause::ReadOnly)),
        },
        (true, None) => return Ok(Some(IndexGapCause::ReadOnly)),
    };
    match written {
        Err(error) if error.is_read_only() => Ok(Some(IndexGapCause::ReadOnly)),
        Err(error) if error.is_disk_full() => Ok(Some(IndexGapCause::DiskFull)),
        written => written.map(|()| None),
    }
}

/// Makes the index of an archive again. The caller holds the lock.
pub fn rebuild_search_index(history: &ArchiveHistoryReader) -> Result<(), RepositoryError> {
    let backends = history.archive().backends();
    backends.remove_search_index()?;
    write_index(backends, &history.into())
}

/// Adds the texts of new versions to the index, after everything else about them is durable. The
/// versions are complete without it, so a failure is not theirs: the caller warns of it, and the next
/// writer or search tries again.
pub fn index_new_versions(history: &ArchiveHistoryWriter) -> Result<(), RepositoryError> {
    let path = history.writer().layout().search_index();
    step("update the search index", &path);
    let written = write_index(history.writer().backends(), history.as_reader());
    step("search index done", &path);
    written
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
