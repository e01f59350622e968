//! `show`: one version, and what became of each page in it since its parent.

use varve_core::VersionId;

use varve_repository::RepositoryError;
use varve_repository::history::{Holdings, Pair, Pairs, known_version};

pub use varve_core::history::VersionInfo;
pub use varve_repository::history::Change;

/// A version; where it is not here, the error says why not.
pub fn version(holdings: &dyn Holdings, id: &VersionId) -> Result<VersionInfo, RepositoryError> {
    known_version(holdings, id)
}

/// Its pages beside those of its parent, in the order of their paths. Unless all are wanted, pages that are known to be as they were may
/// be left out, and how many those are is the second part: where little changed, the cost is that of what changed.
pub fn pages<'a>(
    holdings: &'a dyn Holdings,
    info: &VersionInfo,
    all: bool,
) -> Result<(impl Iterator<Item = Result<Pair, RepositoryError>> + use<'a>, u64), RepositoryError> {
    let (catalog, base, head) = (holdings.catalog(), info.version.parent, Some(info.version.id));
    match all {
        true => Ok((Pairs::new(catalog, base, head), 0)),
        false => Pairs::that_differ(catalog, base, head),
    }
}
