//! A second way to find records: an index that is made from the silos when the archive's own index
//! turns out to be damaged during a lookup.
//!
//! It is made at most once, in a temporary folder, and changes nothing in the archive. Which readers
//! may use it is decided by the caller. An index that cannot be opened at all is replaced by
//! `build_caches` instead.

use std::sync::OnceLock;

use varve_store::disk::LocalDisk;
use varve_store::index::{IndexOptions, IndexReader};
use varve_store::rebuild::build_index_elsewhere;
use varve_store::silo::{SiloError, SiloFiles, next_number};
use varve_store::{StoreError, StoreReader};

use crate::cache_folder::CacheFolder;
use crate::error::RepositoryError;

/// Called with the error that makes the silos necessary, before they are read.
type NotifyUser = dyn Fn(&RepositoryError) + Send + Sync;

/// Answers lookups that failed because of a damaged index.
pub struct SubstituteStore {
    notify: Box<NotifyUser>,
    built: OnceLock<Option<BuiltStore>>,
}

/// A store with an index in a temporary folder.
struct BuiltStore {
    store: StoreReader,
    _folder: CacheFolder,
}

impl SubstituteStore {
    /// Calls `notify` once, before the silos are read.
    pub fn new(notify: impl Fn(&RepositoryError) + Send + Sync + 'static) -> Self {
        Self { notify: Box::new(notify), built: OnceLock::new() }
    }

    /// Repeats a lookup that ended in `failure`, if another index may help. Otherwise, and if it
    /// does not help, returns the failure.
    pub(crate) fn answer<T>(
        &self,
        files: &SiloFiles,
        failure: RepositoryError,
        question: impl FnOnce(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        if !may_help(files, &failure) {
            return Err(failure);
        }
        let built = self.built.get_or_init(|| {
            (self.notify)(&failure);
            // Without room for an index, the failure of the lookup is reported.
            build(files).ok()
        });
        let Some(built) = built else { return Err(failure) };
        question(&built.store).map_err(|error| {
            // The new index knows what the damaged one could not tell.
            if is_index_failure(&failure) { error } else { failure }
        })
    }
}

/// Whether a failed lookup may succeed with an index made from the silos. It does not bring back
/// the records of a silo that is lost.
fn may_help(files: &SiloFiles, failure: &RepositoryError) -> bool {
    match store_error(failure) {
        Some(StoreError::Silo(SiloError::Missing { number })) => !next_number::was_used(files, *number),
        Some(error) => error.may_be_index_damage(),
        None => false,
    }
}

/// Whether a lookup failed because the index cannot be read.
pub(crate) fn is_index_failure(failure: &RepositoryError) -> bool {
    matches!(store_error(failure), Some(StoreError::Index(_)))
}

/// The error of the store in an error.
fn store_error(error: &RepositoryError) -> Option<&StoreError> {
    match error {
        RepositoryError::Store(error) => Some(error),
        RepositoryError::Body(error) => error.carried().downcast_ref(),
        RepositoryError::ReadObject { source, .. } => source.get_ref()?.downcast_ref(),
        _ => None,
    }
}

fn build(files: &SiloFiles) -> Result<BuiltStore, RepositoryError> {
    let folder = CacheFolder::temporary()?;
    let disk = LocalDisk::new(folder.path());
    let index = folder.path().join("index");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    build_index_elsewhere(files, (&disk, &index), IndexOptions::default(), threads, &mut drop)?;
    let index = IndexReader::open(&disk, &index).map_err(StoreError::from)?;
    Ok(BuiltStore { store: StoreReader::with_index(files.clone(), index), _folder: folder })
}
