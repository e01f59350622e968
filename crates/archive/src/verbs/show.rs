//! `show`: one version, and what became of each page in it since its parent.

use varve_core::VersionId;

use crate::error::ArchiveError;
use crate::history::{Holdings, Pair, Pairs};

pub use crate::history::Change;
pub use varve_catalog::VersionInfo;

/// A version.
pub fn version(holdings: &dyn Holdings, id: &VersionId) -> Result<VersionInfo, ArchiveError> {
    holdings.catalog().version(id)?.ok_or_else(|| ArchiveError::NoVersion { text: id.to_string() })
}

/// Its pages beside those of its parent, in the order of their paths.
pub fn pages<'a>(
    holdings: &'a dyn Holdings,
    info: &VersionInfo,
) -> impl Iterator<Item = Result<Pair, ArchiveError>> + use<'a> {
    Pairs::new(holdings.catalog(), info.version.parent, Some(info.version.id))
}
