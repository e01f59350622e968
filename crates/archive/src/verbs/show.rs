//! `show`: one version, and what became of each page in it since its parent.

use varve_core::VersionId;

use varve_repository::RepositoryError;
use varve_repository::history::{CapturePair, CapturePairs, HistoryReader, known_version};

pub use varve_core::history::VersionInfo;
pub use varve_repository::history::PageChange;

/// A version; where it is not here, the error says why not.
pub fn version(holdings: &dyn HistoryReader, id: &VersionId) -> Result<VersionInfo, RepositoryError> {
    known_version(holdings, id)
}

/// Its pages beside those of its parent, in the order of their paths. Unless all are wanted, pages that are known to be as they were may
/// be left out, and how many those are is the second part: where little changed, the cost is that of what changed.
pub fn pages<'a>(
    holdings: &'a dyn HistoryReader,
    info: &VersionInfo,
    all: bool,
) -> Result<(impl Iterator<Item = Result<CapturePair, RepositoryError>> + use<'a>, u64), RepositoryError> {
    let (catalog, base, head) = (holdings.catalog(), info.version.parent, Some(info.version.id));
    match all {
        true => Ok((CapturePairs::new(catalog, base, head), 0)),
        false => CapturePairs::that_differ(catalog, base, head),
    }
}
