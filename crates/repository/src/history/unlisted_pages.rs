//! The pages that commits found unchanged and therefore do not list.
//!
//! A run lists every page that it asked about. A commit lists only the pages that changed, and its
//! coverage has the number of the others. A diff needs that number to tell unchanged pages from
//! those that no version asked about.

use varve_catalog::CatalogRead;
use varve_core::VersionId;

use super::CapturePair;
use crate::error::RepositoryError;

/// Maximum number of versions that are looked at between two versions.
const MAX_VERSIONS_BETWEEN: usize = 10_000;

/// Counts the pages without an event between two versions that a commit between them asked about.
///
/// The number is exact between a version and its parent, and for commits of folders. Between other
/// versions it leaves out files that were committed by name and were the same.
pub enum UnlistedPages {
    /// The version and its parent: the number is known.
    Known(u64),
    /// The newest commit of each folder between the versions.
    OfFolders(Vec<CommittedFolder>),
}

/// A commit of a folder.
pub struct CommittedFolder {
    /// The URL of the folder.
    below: String,
    /// The number of its pages that have no event, as far as pages were counted.
    pages: u64,
}

impl UnlistedPages {
    /// Finds the commits between two versions, of which one descends from the other.
    pub fn between(
        catalog: &dyn CatalogRead,
        base: VersionId,
        head: VersionId,
    ) -> Result<Self, RepositoryError> {
        match Self::after(catalog, base, head)? {
            Some(found) => Ok(found),
            None => Ok(Self::after(catalog, head, base)?.unwrap_or(Self::Known(0))),
        }
    }

    /// `None` if `head` does not descend from `base`.
    fn after(
        catalog: &dyn CatalogRead,
        base: VersionId,
        head: VersionId,
    ) -> Result<Option<Self>, RepositoryError> {
        let (mut next, mut folders) = (Some(head), Vec::<CommittedFolder>::new());
        for _ in 0..MAX_VERSIONS_BETWEEN {
            let Some(id) = next else { return Ok(None) };
            if id == base {
                return Ok(Some(Self::OfFolders(folders)));
            }
            let Some(info) = catalog.version(&id)? else { return Ok(None) };
            let (coverage, parent) = (info.version.coverage, info.version.parent);
            if id == head && parent == Some(base) {
                return Ok(Some(Self::Known(coverage.map_or(0, |coverage| coverage.unchanged))));
            }
            if let Some(below) = coverage.and_then(|coverage| coverage.below) {
                // A folder within another one is covered with it.
                if !folders.iter().any(|folder| below.starts_with(&folder.below)) {
                    folders.retain(|folder| !folder.below.starts_with(&below));
                    folders.push(CommittedFolder { below, pages: info.captures });
                }
            }
            next = parent;
        }
        Ok(None)
    }

    /// Takes out a page that has an event.
    pub fn add_page_with_event(&mut self, pair: &CapturePair) {
        let (Self::OfFolders(folders), Some(page)) = (self, &pair.head) else { return };
        for folder in folders.iter_mut().filter(|folder| page.url.starts_with(&folder.below)) {
            folder.pages = folder.pages.saturating_sub(1);
        }
    }

    /// The number of pages.
    pub fn count(&self) -> u64 {
        match self {
            Self::Known(count) => *count,
            Self::OfFolders(folders) => folders.iter().map(|folder| folder.pages).sum(),
        }
    }
}
