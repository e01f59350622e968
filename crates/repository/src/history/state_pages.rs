//! Iterates over the state of a version, in batches.

use std::rc::Rc;

use varve_catalog::CatalogRead;
use varve_core::VersionId;
use varve_core::history::{Capture, ListCursor, PageState};

use super::version_pages::VersionPages;
use crate::error::RepositoryError;

/// Number of pages or paths read per query.
const PAGES_PER_QUERY: usize = 500;

/// The pages in the state of a version by path and URL, with one batch in memory.
pub struct StatePages<'a>(PageSource<'a>);

/// Where the pages come from.
enum PageSource<'a> {
    State {
        catalog: &'a dyn CatalogRead,
        version: Option<VersionId>,
        batch: std::vec::IntoIter<PageState>,
        last: Option<(String, String)>,
    },
    Paths {
        catalog: &'a dyn CatalogRead,
        version: VersionId,
        /// Sorted. Those of a query begin at `next`.
        paths: Rc<[String]>,
        next: usize,
        batch: std::vec::IntoIter<PageState>,
    },
    Captures(VersionId, VersionPages<'a>),
}

impl<'a> StatePages<'a> {
    /// The state of a version, with pages that are gone; empty for `None`.
    pub fn new(catalog: &'a dyn CatalogRead, version: Option<VersionId>) -> Self {
        Self(PageSource::State { catalog, version, batch: Vec::new().into_iter(), last: None })
    }

    /// The pages in the state of a version at sorted paths; none for `None`.
    pub fn at(catalog: &'a dyn CatalogRead, version: Option<VersionId>, paths: Rc<[String]>) -> Self {
        let batch = Vec::new().into_iter();
        Self(match version {
            Some(version) => PageSource::Paths { catalog, version, paths, next: 0, batch },
            None => PageSource::State { catalog, version, batch, last: None },
        })
    }

    /// The captures of a version alone.
    pub fn of_captures(catalog: &'a dyn CatalogRead, version: Option<VersionId>) -> Self {
        let id = version.unwrap_or(VersionId::new(uuid::Uuid::nil()));
        Self(PageSource::Captures(id, VersionPages::new(catalog, version)))
    }

    /// The given pages, sorted by path and URL.
    pub fn listed(catalog: &'a dyn CatalogRead, pages: Vec<PageState>) -> Self {
        Self(PageSource::State { catalog, version: None, batch: pages.into_iter(), last: None })
    }

    /// The given captures, sorted by path and URL, which the catalog may not have yet.
    pub fn listed_captures(catalog: &'a dyn CatalogRead, version: VersionId, captures: Vec<Capture>) -> Self {
        Self(PageSource::Captures(version, VersionPages::listed(catalog, captures)))
    }

    /// The catalog that the pages come from.
    pub(super) fn catalog(&self) -> &'a dyn CatalogRead {
        match &self.0 {
            PageSource::State { catalog, .. } | PageSource::Paths { catalog, .. } => *catalog,
            PageSource::Captures(_, pages) => pages.catalog(),
        }
    }

    fn fetch(&mut self) -> Result<Option<PageState>, RepositoryError> {
        match &mut self.0 {
            PageSource::Captures(version, pages) => {
                Ok(pages.next().transpose()?.map(|capture| PageState::listed(*version, capture)))
            }
            PageSource::State { catalog, version, batch, last } => {
                if let Some(next) = batch.next() {
                    return Ok(Some(next));
                }
                let Some(id) = *version else { return Ok(None) };
                let after = last.as_ref().map(|(path, url)| (path.as_str(), url.as_str()));
                let read = catalog.state_in(&id, ListCursor { after, limit: PAGES_PER_QUERY })?;
                match read.last() {
                    Some(end) if read.len() >= PAGES_PER_QUERY => {
                        *last = Some((end.path.clone(), end.url.clone()));
                    }
                    _ => *version = None,
                }
                *batch = read.into_iter();
                Ok(batch.next())
            }
            PageSource::Paths { catalog, version, paths, next, batch } => loop {
                if let Some(page) = batch.next() {
                    return Ok(Some(page));
                }
                let rest = &paths[*next..];
                let asked: Vec<&str> = rest.iter().take(PAGES_PER_QUERY).map(String::as_str).collect();
                if asked.is_empty() {
                    return Ok(None);
                }
                *next += asked.len();
                *batch = catalog.states_at(version, &asked)?.into_iter();
            },
        }
    }
}

impl Iterator for StatePages<'_> {
    type Item = Result<PageState, RepositoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}
