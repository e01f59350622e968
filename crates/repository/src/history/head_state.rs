//! Faults of HEAD, in any layout: HEAD is a file, which can be lost, truncated or edited.

use std::fmt;

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::head_store::{HeadError, HeadStore};

use crate::error::RepositoryError;

/// The state of HEAD, and the version it should point to instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadState {
    /// HEAD is correct, or there is no version to point to.
    Right,
    /// HEAD was not updated when a later version was written.
    Behind {
        /// The version HEAD points to.
        at: VersionId,
        /// The last version written after it.
        to: VersionId,
    },
    /// HEAD is missing or empty, although there are versions.
    Missing {
        /// The newest version.
        to: VersionId,
    },
    /// HEAD does not hold an id.
    Unreadable {
        /// The cause.
        why: String,
        /// The newest version, if there is one.
        to: Option<VersionId>,
    },
    /// HEAD names a version that does not exist.
    Absent {
        /// The version.
        named: VersionId,
        /// The newest version, if there is one.
        to: Option<VersionId>,
    },
    /// A writer was stopped while moving HEAD.
    Intended {
        /// The intended version.
        to: VersionId,
    },
}

impl HeadState {
    /// The version HEAD should point to, if it is not correct.
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

/// Returns the version that HEAD names, if the catalog has it; `None` if there is no
/// version to name. Otherwise returns the fault, with the correct version from `wanted`.
pub(super) fn named(
    catalog: &dyn CatalogRead,
    head: &dyn HeadStore,
    wanted: impl FnOnce() -> Result<Option<VersionId>, RepositoryError>,
) -> Result<Result<Option<VersionId>, HeadState>, RepositoryError> {
    let at = match head.read() {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(wanted()?.map_or(Ok(None), |to| Err(HeadState::Missing { to }))),
        Err(HeadError::NotAnId { source, .. }) => {
            return Ok(Err(HeadState::Unreadable { why: source.to_string(), to: wanted()? }));
        }
        Err(error) => return Err(error.into()),
    };
    match catalog.version(&at)? {
        Some(_) => Ok(Ok(Some(at))),
        None => Ok(Err(HeadState::Absent { named: at, to: wanted()? })),
    }
}
