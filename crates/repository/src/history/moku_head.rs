//! The state of HEAD of a Moku site, by the rule of [`varve_moku::last_written_after`].

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::head_store::HeadStore;
use varve_core::history::{ListCursor, VersionFilter};
use varve_file::RootedFiles;
use varve_moku::{head_written_at, last_written_after, latest_child_time};

use super::head_state::{HeadState, named};
use crate::error::RepositoryError;

/// Determines the state of HEAD from the file and the rows.
pub(super) fn judge(
    catalog: &dyn CatalogRead,
    head: &dyn HeadStore,
    path: &Path,
) -> Result<HeadState, RepositoryError> {
    let newest = || -> Result<Option<VersionId>, RepositoryError> {
        let found = catalog.versions(&VersionFilter::default(), ListCursor::first(1))?;
        Ok(found.first().map(|info| info.version.id))
    };
    let at = match named(catalog, head, newest)? {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(HeadState::Right),
        Err(state) => return Ok(state),
    };
    let to = last_written_after(catalog, at, head_written_at(path))?;
    Ok(if to == at { HeadState::Right } else { HeadState::Behind { at, to } })
}

/// Makes sure that the HEAD file, just moved to a version, is not older than the children of that
/// version.
pub(super) fn outlive_children(
    catalog: &dyn CatalogRead,
    files: &RootedFiles,
    path: &Path,
    version: VersionId,
) -> Result<(), RepositoryError> {
    let latest = latest_child_time(catalog, version)?;
    if latest <= head_written_at(path) {
        return Ok(());
    }
    let time = UNIX_EPOCH + Duration::from_secs(latest.unsigned_abs());
    let file = files.open_to_write(path);
    file.and_then(|file| file.set_modified(time)).map_err(RepositoryError::write(path))
}
