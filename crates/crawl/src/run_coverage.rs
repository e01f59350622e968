//! What a run says about pages that it did not capture: which it could not reach, and which are
//! gone because a run that covers them did not find them.
//!
//! A page that is still linked is in the frontier, and may have any outcome. So a page of the parent's
//! state that the scope covers and that is not in the frontier has been left out by the site. That
//! holds only if the run saw every page that could link to it: it came to its end, no limit kept it
//! from a link, it could read a page that it began with and met the front page, and every page that
//! it could not read had not been there before either. Otherwise the run says nothing about pages
//! that it did not find. No page links to `robots.txt`, so only a response can say that it is gone.

use std::collections::HashSet;

use varve_catalog::{CatalogRead, Frontier};
use varve_core::VersionId;
use varve_core::catalog::UrlMatch;
use varve_core::fact::{StateChanges, UnreachablePage};
use varve_core::history::{Coverage, CoverageScope, ListCursor, PageState};
use varve_core::url::RequestUrl;

use super::crawl_policy::CrawlPolicy;
use super::fetch_reason::FetchReason;
use super::scope::ScopeKind;
use crate::error::CrawlError;

/// Pages of a state that are compared with the frontier at a time.
const PAGES_PER_QUERY: usize = 500;
/// Pages without a readable response that are remembered; with more of them a run is not complete.
const MAX_UNREAD_PAGES: usize = 1000;

/// What a run did not see, although its scope covers it.
#[derive(Debug, Default)]
pub(crate) struct RunGaps {
    /// Identities of pages whose links were not followed.
    pub(crate) unfollowed: HashSet<String>,
    /// URLs that were captured with an error or truncated, so that their links are not known.
    pub(crate) unread: HashSet<String>,
    /// Whether links were not even looked at.
    pub(crate) has_skipped_links: bool,
}

impl RunGaps {
    /// Adds a URL whose links are not known.
    pub(crate) fn add_unread(&mut self, url: &str) {
        if self.unread.len() < MAX_UNREAD_PAGES {
            self.unread.insert(url.to_owned());
        } else {
            self.has_skipped_links = true;
        }
    }
}

/// What a run says beyond its captures.
#[derive(Debug)]
pub(crate) struct RunFindings {
    /// What it covers.
    pub(crate) coverage: Coverage,
    /// The pages that are gone, and those that could not be reached.
    pub(crate) changes: StateChanges,
    /// Whether a page of the parent's state could not be reached.
    pub(crate) has_lost_page: bool,
}

/// A run that has ended, for [`RunFindings`].
pub(crate) struct EndedRun<'a> {
    /// Its rules.
    pub(crate) policy: &'a CrawlPolicy,
    /// Its queue.
    pub(crate) frontier: &'a dyn Frontier,
    /// What it did not see; `None` if that is not known, or if it was stopped.
    pub(crate) gaps: Option<&'a RunGaps>,
}

impl EndedRun<'_> {
    /// Compares what the run found with the state of the version that it continues.
    pub(crate) fn findings(
        &self,
        catalog: &dyn CatalogRead,
        parent: Option<VersionId>,
    ) -> Result<RunFindings, CrawlError> {
        let unreachable = self.unreachable_pages()?;
        let lost: Vec<&str> = unreachable.iter().map(|page| page.url.as_str()).collect();
        let has_lost_page = match parent {
            Some(parent) => is_any_shown(catalog, parent, &lost)?,
            None => false,
        };
        let complete = !has_lost_page && self.is_complete(catalog, parent, &lost)?;
        let gone = match parent.filter(|_| complete) {
            Some(parent) => self.gone_pages(catalog, parent)?,
            None => Vec::new(),
        };
        let coverage = Coverage { scope: self.scope(), complete, unchanged: 0, below: None };
        let changes = StateChanges { gone, unreachable, ..StateChanges::default() };
        Ok(RunFindings { coverage, changes, has_lost_page })
    }

    fn scope(&self) -> CoverageScope {
        match self.policy.settings.scope.kind {
            ScopeKind::Page => CoverageScope::Pages,
            ScopeKind::Prefix => CoverageScope::Prefix,
            ScopeKind::Host => CoverageScope::Host,
            ScopeKind::Domain => CoverageScope::Domain,
            ScopeKind::Plan => CoverageScope::Plan,
        }
    }

    /// The pages that failed for good, each once.
    fn unreachable_pages(&self) -> Result<Vec<UnreachablePage>, CrawlError> {
        let mut pages = std::collections::BTreeMap::new();
        self.frontier.each_failed(&mut |url, reason, message| {
            if !matches!(reason, FetchReason::Robots) {
                pages.entry(url.to_owned()).or_insert_with(|| message.to_owned());
            }
        })?;
        Ok(pages.into_iter().map(|(url, reason)| UnreachablePage { url, reason }).collect())
    }

    /// Whether the run saw everything that its scope covers. `lost` are the pages that it could not
    /// reach.
    fn is_complete(
        &self,
        catalog: &dyn CatalogRead,
        parent: Option<VersionId>,
        lost: &[&str],
    ) -> Result<bool, CrawlError> {
        let Some(gaps) = self.gaps.filter(|gaps| !gaps.has_skipped_links) else { return Ok(false) };
        if self.policy.settings.refetch.missing_only {
            return Ok(false);
        }
        let Some(parent) = parent else { return Ok(lost.is_empty() && gaps.unread.is_empty()) };
        let unread: Vec<&str> = gaps.unread.iter().map(String::as_str).collect();
        let is_unread =
            |seed: &RequestUrl| gaps.unread.contains(seed.as_str()) || lost.contains(&seed.as_str());
        let mut seeds = self.seeds().peekable();
        if seeds.peek().is_some() && seeds.all(|seed| is_unread(&seed)) {
            return Ok(false);
        }
        // A page that never could be read never led to another.
        Ok(!is_any_shown(catalog, parent, &unread)? && self.has_met_front_pages(catalog, parent)?)
    }

    fn seeds(&self) -> impl Iterator<Item = RequestUrl> {
        self.policy.settings.seeds.iter().filter_map(|seed| self.policy.request_url(seed))
    }

    /// Whether the run met the front page of each site that it covers, if the state has one. A run
    /// that begins elsewhere may miss all that only the front page leads to.
    fn has_met_front_pages(&self, catalog: &dyn CatalogRead, parent: VersionId) -> Result<bool, CrawlError> {
        let kind = self.policy.settings.scope.kind;
        let mut fronts: Vec<RequestUrl> = self.seeds().filter_map(|seed| front_page(kind, &seed)).collect();
        fronts.dedup_by(|one, other| one.as_str() == other.as_str());
        for fronts in fronts.chunks(PAGES_PER_QUERY) {
            let met =
                self.frontier.has_pages(&fronts.iter().map(|url| url.page().as_str()).collect::<Vec<_>>())?;
            let missed = fronts.iter().zip(met).filter(|(_, met)| !met);
            let missed: Vec<&str> = missed.map(|(front, _)| front.as_str()).collect();
            if is_any_shown(catalog, parent, &missed)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The pages of a state that the scope covers and that the run did not meet.
    fn gone_pages(&self, catalog: &dyn CatalogRead, parent: VersionId) -> Result<Vec<String>, CrawlError> {
        let mut gone = Vec::new();
        let mut last: Option<(String, String)> = None;
        loop {
            let after = last.as_ref().map(|(path, url)| (path.as_str(), url.as_str()));
            let pages = catalog.state_in(&parent, ListCursor { after, limit: PAGES_PER_QUERY })?;
            gone.extend(self.not_met(&pages)?);
            match pages.last() {
                Some(end) if pages.len() >= PAGES_PER_QUERY => {
                    last = Some((end.path.clone(), end.url.clone()))
                }
                _ => return Ok(gone),
            }
        }
    }

    fn not_met(&self, pages: &[PageState]) -> Result<Vec<String>, CrawlError> {
        let covered: Vec<RequestUrl> = pages
            .iter()
            .filter(|page| page.shown().is_some())
            .filter_map(|page| RequestUrl::verbatim(&page.url))
            .filter(|url| self.policy.covers(url) && !is_robots_file(url))
            .collect();
        let exact: Vec<String> = covered.iter().map(|url| format!("={url}")).collect();
        let by_page =
            self.frontier.has_pages(&covered.iter().map(|url| url.page().as_str()).collect::<Vec<_>>())?;
        let by_text = self.frontier.has_pages(&exact.iter().map(String::as_str).collect::<Vec<_>>())?;
        let is_unfollowed =
            |url: &RequestUrl| self.gaps.is_some_and(|gaps| gaps.unfollowed.contains(url.page().as_str()));
        let met = by_page.into_iter().zip(by_text).map(|(page, text)| page || text);
        let not_met = covered.iter().zip(met).filter(|(url, met)| !met && !is_unfollowed(url));
        Ok(not_met.map(|(url, _)| url.to_string()).collect())
    }
}

/// Whether a state shows any of these URLs.
fn is_any_shown(catalog: &dyn CatalogRead, version: VersionId, urls: &[&str]) -> Result<bool, CrawlError> {
    for urls in urls.chunks(PAGES_PER_QUERY) {
        let known = catalog.states_of(&version, urls, UrlMatch::SamePage)?;
        if known.iter().flatten().any(|page| page.shown().is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The front page of what a scope around `seed` covers; `None` if links are not followed.
fn front_page(kind: ScopeKind, seed: &RequestUrl) -> Option<RequestUrl> {
    let path = match kind {
        ScopeKind::Page | ScopeKind::Plan => return None,
        ScopeKind::Host | ScopeKind::Domain => "/",
        ScopeKind::Prefix => {
            let path = seed.path_and_query().split('?').next().unwrap_or_default();
            &path[..path.rfind('/').map_or(0, |at| at + 1)]
        }
    };
    RequestUrl::parse(&format!("{}{path}", seed.origin()))
}

fn is_robots_file(url: &RequestUrl) -> bool {
    url.path_and_query() == "/robots.txt"
}
