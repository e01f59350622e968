//! Checks whether HEAD of a Moku site points to the correct version.
//!
//! Moku commits its rows first and moves HEAD last, and ignores a failure of the latter. HEAD then
//! names the previous version, and Moku's next commit forks. The rows do not show whether a user
//! checked out that version or Moku was stopped. But a HEAD written before a version was made
//! cannot have been moved away from that version. So if the HEAD file is older than the only child
//! of its version, HEAD was left behind.
//!
//! A version may have the time of a capture made elsewhere, which may be ahead of this clock. Such
//! a time is no evidence until it has passed. When varve moves HEAD to the parent of such a
//! version, it sets a file time that is not older.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::head::HeadStore;
use varve_core::history::{ListCursor, VersionFilter};

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
    let to = last_written_after(catalog, at, written(path))?;
    Ok(if to == at { HeadState::Right } else { HeadState::Behind { at, to } })
}

/// The modification time of HEAD in seconds. An unknown time counts as later than all others, so
/// that HEAD is not moved.
fn written(path: &Path) -> i64 {
    let time = std::fs::metadata(path).and_then(|found| found.modified()).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(i64::MAX)
}

/// Makes sure that the HEAD file, just moved to a version, is not older than the children of that
/// version.
pub(super) fn outlive_children(
    catalog: &dyn CatalogRead,
    path: &Path,
    version: VersionId,
) -> Result<(), RepositoryError> {
    let written = written(path);
    let mut latest = written;
    for child in catalog.children(&version)? {
        let info = catalog.version(&child)?;
        latest = latest.max(info.map_or(i64::MIN, |info| info.version.time.seconds()));
    }
    if latest == written {
        return Ok(());
    }
    let time = UNIX_EPOCH + Duration::from_secs(latest.unsigned_abs());
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.set_modified(time)).map_err(RepositoryError::write(path))
}

/// The last of the single line of descendants of `from` that were made after `written`. Returns
/// `from` if the line forks, because the correct version is then unknown.
fn last_written_after(
    catalog: &dyn CatalogRead,
    from: VersionId,
    written: i64,
) -> Result<VersionId, RepositoryError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_after = |time: i64| time > written && u64::try_from(time).is_ok_and(|time| time <= now);
    let (mut at, mut seen) = (from, HashSet::new());
    while seen.insert(at) {
        let mut later = Vec::new();
        for child in catalog.children(&at)? {
            let info = catalog.version(&child)?;
            later.extend(info.filter(|info| is_after(info.version.time.seconds())).map(|_| child));
        }
        match later.as_slice() {
            [child] => at = *child,
            [] => return Ok(at),
            _ => return Ok(from),
        }
    }
    Ok(from)
}
