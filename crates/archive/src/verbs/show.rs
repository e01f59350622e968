//! `show`: shows one version, and how each of its pages changed since its parent.

use varve_core::VersionId;

use varve_repository::RepositoryError;
use varve_repository::history::{CapturePair, CapturePairs, HistoryReader, known_version};

pub use varve_core::history::VersionInfo;
pub use varve_repository::history::PageChange;

/// A version. If it does not exist, the error says why.
pub fn version(history: &HistoryReader, id: &VersionId) -> Result<VersionInfo, RepositoryError> {
    known_version(history, id)
}

/// Its pages paired with those of its parent, in the order of their paths. Unless all are
/// requested, pages known to be unchanged may be omitted, and the second part of the result is
/// their number. If little changed, the cost is proportional to the changes.
pub fn pages<'a>(
    history: &'a HistoryReader,
    info: &VersionInfo,
    all: bool,
) -> Result<(impl Iterator<Item = Result<CapturePair, RepositoryError>> + use<'a>, u64), RepositoryError> {
    let (catalog, base, head) = (history.catalog(), info.version.parent, Some(info.version.id));
    match all {
        true => Ok((CapturePairs::new(catalog, base, head), 0)),
        false => CapturePairs::that_differ(catalog, base, head),
    }
}
