//! Iterates over all pages of a version, in batches.

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::history::{Capture, ListCursor};

use crate::error::RepositoryError;

/// Number of pages read per query.
const PAGES_PER_QUERY: usize = 500;

/// The captures of a version by path and URL, with one batch in memory.
pub struct VersionPages<'a> {
    catalog: &'a dyn CatalogRead,
    version: Option<VersionId>,
    piece: std::vec::IntoIter<Capture>,
    last: Option<(String, String)>,
}

impl<'a> VersionPages<'a> {
    /// The captures of a version; empty for `None`.
    pub fn new(catalog: &'a dyn CatalogRead, version: Option<VersionId>) -> Self {
        Self { catalog, version, piece: Vec::new().into_iter(), last: None }
    }

    /// The given captures, which the catalog may not have yet, sorted by path and URL.
    pub fn listed(catalog: &'a dyn CatalogRead, captures: Vec<Capture>) -> Self {
        Self { catalog, version: None, piece: captures.into_iter(), last: None }
    }

    /// The catalog that the captures are from.
    pub(super) fn catalog(&self) -> &'a dyn CatalogRead {
        self.catalog
    }

    fn fetch(&mut self) -> Result<Option<Capture>, RepositoryError> {
        if let Some(next) = self.piece.next() {
            return Ok(Some(next));
        }
        let Some(version) = self.version else { return Ok(None) };
        let after = self.last.as_ref().map(|(path, url)| (path.as_str(), url.as_str()));
        let piece = self.catalog.captures_in(&version, ListCursor { after, limit: PAGES_PER_QUERY })?;
        match piece.last() {
            Some(last) if piece.len() == PAGES_PER_QUERY => {
                self.last = Some((last.path.clone(), last.url.clone()))
            }
            _ => self.version = None,
        }
        self.piece = piece.into_iter();
        Ok(self.piece.next())
    }
}

impl Iterator for VersionPages<'_> {
    type Item = Result<Capture, RepositoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}
