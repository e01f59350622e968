//! Does HEAD of a Moku site point where it should?
//!
//! Moku commits its rows first and moves HEAD last, and takes no notice when that fails or never happens: then HEAD
//! names the version before, and the next commit of Moku forks. Whether somebody checked out that version or was stopped
//! cannot be told from the rows. But a HEAD that was written before a version was made cannot have been moved away from
//! it: so where its file is older than the one version that descends from it, it was left behind.

use std::collections::HashSet;
use std::path::Path;
use std::time::UNIX_EPOCH;

use varve_catalog::{CatalogRead, Page, VersionFilter};
use varve_core::VersionId;

use super::head;
use crate::error::ArchiveError;

/// What HEAD is, and where it should point instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadState {
    /// It points where it should, or there is nothing to point to.
    Right,
    /// It was left behind when a later version was written.
    Behind {
        /// Where it points.
        at: VersionId,
        /// The last version that was written after it.
        to: VersionId,
    },
    /// It is missing or empty, though there are versions.
    Missing {
        /// The newest of them.
        to: VersionId,
    },
    /// It holds what is no id.
    Unreadable {
        /// What is wrong with it.
        why: String,
        /// The newest version, if there is one.
        to: Option<VersionId>,
    },
    /// It names a version that is not there.
    Absent {
        /// The version.
        named: VersionId,
        /// The newest version, if there is one.
        to: Option<VersionId>,
    },
    /// Somebody was stopped while moving it.
    Intended {
        /// Where it was to point.
        to: VersionId,
    },
}

impl HeadState {
    /// Where HEAD should point, if not where it does.
    pub fn wanted(&self) -> Option<VersionId> {
        match self {
            Self::Right => None,
            Self::Behind { to, .. } | Self::Missing { to } | Self::Intended { to } => Some(*to),
            Self::Unreadable { to, .. } | Self::Absent { to, .. } => *to,
        }
    }
}

impl std::fmt::Display for HeadState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Right => write!(formatter, "HEAD is where it should be"),
            Self::Behind { at, to } => {
                write!(formatter, "HEAD was left behind at {at} when version {to} was written")
            }
            Self::Missing { .. } => write!(formatter, "HEAD is missing or empty, and there are versions"),
            Self::Unreadable { why, .. } => write!(formatter, "HEAD holds no id of a version: {why}"),
            Self::Absent { named, .. } => {
                write!(formatter, "HEAD names version {named}, which is not there")
            }
            Self::Intended { .. } => write!(formatter, "an earlier call was stopped while it moved HEAD"),
        }
    }
}

/// Looks at the file HEAD and the rows.
pub(crate) fn judge(catalog: &dyn CatalogRead, path: &Path) -> Result<HeadState, ArchiveError> {
    let newest = || -> Result<Option<VersionId>, ArchiveError> {
        let found = catalog.versions(&VersionFilter::default(), Page::first(1))?;
        Ok(found.first().map(|info| info.version.id))
    };
    let at = match head::read(path) {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(newest()?.map_or(HeadState::Right, |to| HeadState::Missing { to })),
        Err(ArchiveError::BadHead { source, .. }) => {
            return Ok(HeadState::Unreadable { why: source.to_string(), to: newest()? });
        }
        // Bytes that are no text; what cannot be read at all is another matter.
        Err(ArchiveError::Read { source, .. }) if source.kind() == std::io::ErrorKind::InvalidData => {
            return Ok(HeadState::Unreadable { why: source.to_string(), to: newest()? });
        }
        Err(error) => return Err(error),
    };
    if catalog.version(&at)?.is_none() {
        return Ok(HeadState::Absent { named: at, to: newest()? });
    }
    let to = last_written_after(catalog, at, written(path))?;
    Ok(if to == at { HeadState::Right } else { HeadState::Behind { at, to } })
}

/// When HEAD was written, in seconds; a time that is not known is later than all others, so that nothing is moved.
fn written(path: &Path) -> i64 {
    let time = std::fs::metadata(path).and_then(|found| found.modified()).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(i64::MAX)
}

/// The end of the one line of versions that were made later than `written`. Where it forks, nobody can tell.
fn last_written_after(
    catalog: &dyn CatalogRead,
    from: VersionId,
    written: i64,
) -> Result<VersionId, ArchiveError> {
    let (mut at, mut seen) = (from, HashSet::new());
    while seen.insert(at) {
        let mut later = Vec::new();
        for child in catalog.children(&at)? {
            let info = catalog.version(&child)?;
            later.extend(info.filter(|info| info.version.time.seconds() > written).map(|_| child));
        }
        match later.as_slice() {
            [child] => at = *child,
            [] => return Ok(at),
            _ => return Ok(from),
        }
    }
    Ok(from)
}
