//! What may be wrong with HEAD, in any layout: it is a file, and files are lost, cut short and edited.

use std::fmt;
use std::io;
use std::path::Path;

use varve_catalog::CatalogRead;
use varve_core::VersionId;

use super::head;
use crate::error::RepositoryError;

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

impl fmt::Display for HeadState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// The version that the file HEAD names and the rows know; none where there is nothing to name. Or what is wrong with it, where
/// `wanted` says where it should point.
pub(super) fn named(
    catalog: &dyn CatalogRead,
    path: &Path,
    wanted: impl FnOnce() -> Result<Option<VersionId>, RepositoryError>,
) -> Result<Result<Option<VersionId>, HeadState>, RepositoryError> {
    let at = match head::read(path) {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(wanted()?.map_or(Ok(None), |to| Err(HeadState::Missing { to }))),
        Err(RepositoryError::BadHead { source, .. }) => {
            return Ok(Err(HeadState::Unreadable { why: source.to_string(), to: wanted()? }));
        }
        // Bytes that are no text; what cannot be read at all is another matter.
        Err(RepositoryError::Read { source, .. }) if source.kind() == io::ErrorKind::InvalidData => {
            return Ok(Err(HeadState::Unreadable { why: source.to_string(), to: wanted()? }));
        }
        Err(error) => return Err(error),
    };
    match catalog.version(&at)? {
        Some(_) => Ok(Ok(Some(at))),
        None => Ok(Err(HeadState::Absent { named: at, to: wanted()? })),
    }
}
