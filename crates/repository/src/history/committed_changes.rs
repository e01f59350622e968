//! Compares the pages of a commit with the state of its parent.
//!
//! Both are sorted by path, so each is read once, and only the pages of one path are held. A version
//! lists the pages that differ, and those that are gone.

use std::ops::AddAssign;

use varve_core::fact::ManifestPage;
use varve_core::history::{Capture, PageState, Presence};
use varve_core::url::PageUrl;
use varve_core::{Moment, VersionId};

use super::committed_pages::CommittedPage;
use super::{CapturePair, PageChange, StatePages};
use crate::error::RepositoryError;
use crate::rows::capture_of;

/// What a commit says about a page that is not in the state of its parent.
#[derive(Debug)]
pub enum StateChange {
    /// The page is new or differs.
    Page(ManifestPage),
    /// The page with this URL is gone.
    Gone(String),
}

/// How many pages a commit changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// The number of pages that are the same.
    pub unchanged: u64,
    /// The number of pages that are new, or differ in more than headers that differ in every
    /// response.
    pub changed: u64,
    /// The number of pages that are gone.
    pub gone: u64,
}

impl AddAssign for ChangeCounts {
    fn add_assign(&mut self, other: Self) {
        self.unchanged += other.unchanged;
        self.changed += other.changed;
        self.gone += other.gone;
    }
}

/// A commit to be compared with the state of its parent.
pub struct NewCommit<'a> {
    /// What it says, by path and URL.
    pub pages: &'a mut dyn Iterator<Item = Result<CommittedPage, RepositoryError>>,
    /// Its time. A page with another time is listed even if nothing else differs.
    pub time: Moment,
    /// Whether it has all pages with such a URL: others are gone.
    pub covers: &'a dyn Fn(&str) -> bool,
}

/// Receives changes.
pub type EachChange<'a> = &'a mut dyn FnMut(StateChange) -> Result<(), RepositoryError>;

/// Compares a commit with a state, and passes the changes to `each`, by path.
pub fn each_change_since(
    state: StatePages<'_>,
    commit: NewCommit<'_>,
    each: EachChange<'_>,
) -> Result<ChangeCounts, RepositoryError> {
    let NewCommit { pages, time, covers } = commit;
    let mut counts = ChangeCounts::default();
    let (mut state, mut pages) = (state.peekable(), pages.peekable());
    loop {
        let old = state.peek().and_then(|page| page.as_ref().ok()).map(|page| page.path.as_str());
        let new = pages.peek().and_then(|page| page.as_ref().ok()).map(CommittedPage::path);
        // An error has no path: it is next, and returned below.
        let path = old.into_iter().chain(new).min().unwrap_or_default().to_owned();
        if state.peek().is_none() && pages.peek().is_none() {
            return Ok(counts);
        }
        let mut before = Vec::new();
        while let Some(page) = state.next_if(|page| page.as_ref().map_or(true, |page| page.path == path)) {
            before.push(page?);
        }
        let mut missing = Vec::new();
        while let Some(page) = pages.next_if(|page| page.as_ref().map_or(true, |page| page.path() == path)) {
            match page? {
                CommittedPage::Missing { url, .. } => missing.push(url),
                CommittedPage::Page(page) => {
                    let was = position_of(&before, &page.url).map(|place| before.swap_remove(place));
                    counts.add_page(page, was, time, each)?;
                }
            }
        }
        let is_gone = |url: &str| covers(url) || missing.iter().any(|missing| missing == url);
        let mut gone: Vec<String> = before
            .into_iter()
            .filter(|page| page.shown().is_some() && is_gone(&page.url))
            .map(|page| page.url)
            .collect();
        gone.sort_unstable();
        counts.gone += gone.len() as u64;
        gone.into_iter().try_for_each(|url| each(StateChange::Gone(url)))?;
    }
}

/// The place of the page with a URL, in any spelling.
fn position_of(pages: &[PageState], url: &str) -> Option<usize> {
    let exactly = pages.iter().position(|page| page.url == url);
    exactly.or_else(|| {
        let wanted = PageUrl::parse(url).filter(|_| !pages.is_empty())?;
        pages.iter().position(|page| PageUrl::parse(&page.url).as_ref() == Some(&wanted))
    })
}

impl ChangeCounts {
    fn add_page(
        &mut self,
        page: ManifestPage,
        was: Option<PageState>,
        time: Moment,
        each: EachChange<'_>,
    ) -> Result<(), RepositoryError> {
        if was.as_ref().is_some_and(|was| is_same(&page, was, time)) {
            self.unchanged += 1;
            return Ok(());
        }
        // The id of the version does not matter for the comparison.
        let head = capture_of(VersionId::new(uuid::Uuid::nil()), &page);
        let pair = CapturePair::of(was.and_then(PageState::into_shown), Some(head));
        self.changed += u64::from(matches!(
            pair.lasting_change(),
            PageChange::Added | PageChange::Back | PageChange::Changed
        ));
        each(StateChange::Page(page))
    }
}

/// Whether a committed page is the one in the state, so that it need not be listed again.
fn is_same(page: &ManifestPage, was: &PageState, time: Moment) -> bool {
    let PageState { presence: Presence::Present, capture: Some(capture), is_hidden: false, .. } = was else {
        return false;
    };
    let Capture { url, path, status, headers, body, length, truncated, .. } = capture;
    (url, path, status, headers, body) == (&page.url, &page.path, &page.status, &page.headers, &page.body)
        && *length == Some(page.length)
        && !truncated
        && (page.time == time || page.time == capture.time)
}
