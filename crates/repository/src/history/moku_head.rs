//! Does HEAD of a Moku site point where it should?
//!
//! Moku commits its rows first and moves HEAD last, and takes no notice when that fails or never happens: then HEAD
//! names the version before, and the next commit of Moku forks. Whether somebody checked out that version or was stopped
//! cannot be told from the rows. But a HEAD that was written before a version was made cannot have been moved away from
//! it: so where its file is older than the one version that descends from it, it was left behind. A version may have the time of what
//! was captured elsewhere, which may lie ahead of this clock: such a time tells nothing until it has come, and a HEAD that varve moves
//! to the parent of such a version is given a time that is not older.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::history::{ListCursor, VersionFilter};

use super::head_state::{HeadState, named};
use crate::error::RepositoryError;

/// Looks at the file HEAD and the rows.
pub(super) fn judge(catalog: &dyn CatalogRead, path: &Path) -> Result<HeadState, RepositoryError> {
    let newest = || -> Result<Option<VersionId>, RepositoryError> {
        let found = catalog.versions(&VersionFilter::default(), ListCursor::first(1))?;
        Ok(found.first().map(|info| info.version.id))
    };
    let at = match named(catalog, path, newest)? {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(HeadState::Right),
        Err(state) => return Ok(state),
    };
    let to = last_written_after(catalog, at, written(path))?;
    Ok(if to == at { HeadState::Right } else { HeadState::Behind { at, to } })
}

/// When HEAD was written, in seconds; a time that is not known is later than all others, so that nothing is moved.
fn written(path: &Path) -> i64 {
    let time = std::fs::metadata(path).and_then(|found| found.modified()).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(i64::MAX)
}

/// Sees to it that HEAD, which was just moved to a version, is not older than what descends from that.
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

/// The end of the one line of versions that were made later than `written`. Where it forks, nobody can tell.
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
