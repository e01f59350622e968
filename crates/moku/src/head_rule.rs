//! Which version HEAD of a Moku site should name.
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
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use varve_core::VersionId;
use varve_core::catalog::{CatalogRead, CatalogResult};

/// The modification time of HEAD in seconds. An unknown time counts as later than all others, so
/// that HEAD is not moved.
pub fn head_written_at(path: &Path) -> i64 {
    let time = std::fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(i64::MAX)
}

/// The latest time of a child of a version in seconds; `i64::MIN` if there is none.
pub fn latest_child_time(catalog: &dyn CatalogRead, version: VersionId) -> CatalogResult<i64> {
    let mut latest = i64::MIN;
    for child in catalog.children(&version)? {
        latest = latest.max(catalog.version(&child)?.map_or(i64::MIN, |info| info.version.time.seconds()));
    }
    Ok(latest)
}

/// The last of the single line of descendants of `from` that were made after `written`. Returns
/// `from` if the line forks, because the correct version is then unknown.
pub fn last_written_after(
    catalog: &dyn CatalogRead,
    from: VersionId,
    written: i64,
) -> CatalogResult<VersionId> {
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
