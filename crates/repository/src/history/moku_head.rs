//! The state of HEAD of a Moku site, by the rule of [`MokuCatalog::last_unseen_descendant`].

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::head_store::HeadStore;
use varve_core::history::{ListCursor, VersionFilter};
use varve_moku::MokuCatalog;

use super::head_state::{HeadState, named};
use crate::error::RepositoryError;

/// Determines the state of HEAD from the file and the rows.
pub(super) fn judge(catalog: &MokuCatalog, head: &dyn HeadStore) -> Result<HeadState, RepositoryError> {
    let newest = || -> Result<Option<VersionId>, RepositoryError> {
        let found = catalog.versions(&VersionFilter::default(), ListCursor::first(1))?;
        Ok(found.first().map(|info| info.version.id))
    };
    let at = match named(&**catalog, head, newest)? {
        Ok(Some(at)) => at,
        Ok(None) => return Ok(HeadState::Right),
        Err(state) => return Ok(state),
    };
    let to = catalog.last_unseen_descendant(at)?;
    Ok(if to == at { HeadState::Right } else { HeadState::Behind { at, to } })
}
