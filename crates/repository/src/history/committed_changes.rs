//! Compares the pages of a commit with the state of its parent.
//!
//! Both are sorted by path, so each is read once, and only the pages of one path are held. A version
//! lists the pages that differ, and those that are gone.

use varve_core::fact::{ManifestPage, StateChanges};
use varve_core::history::{Capture, PageState, Presence};
use varve_core::url::PageUrl;
use varve_core::{Moment, VersionId};

use super::{CapturePair, PageChange, StatePages};
use crate::error::RepositoryError;
use crate::rows::capture_of;

/// What a commit changes.
#[derive(Debug, Default)]
pub struct CommittedChanges {
    /// The pages that differ from the parent's state, and those that are gone.
    pub changes: StateChanges,
    /// The number of pages that are the same.
    pub unchanged: u64,
    /// The number of pages that are new, or differ in more than headers that differ in every
    /// response.
    pub changed: u64,
}

/// A commit to be compared with the state of its parent.
pub struct NewCommit<'a> {
    /// Its pages, by path and URL.
    pub pages: Vec<ManifestPage>,
    /// Its time. A page with another time is listed even if nothing else differs.
    pub time: Moment,
    /// Whether it has all pages with such a URL: others are gone.
    pub covers: &'a dyn Fn(&str) -> bool,
}

/// Compares a commit with a state.
pub fn changes_since(
    state: StatePages<'_>,
    commit: NewCommit<'_>,
) -> Result<CommittedChanges, RepositoryError> {
    let NewCommit { pages, time, covers } = commit;
    let mut found = CommittedChanges::default();
    let (mut state, mut pages) = (state.peekable(), pages.into_iter().peekable());
    loop {
        let old = match state.peek() {
            Some(Ok(page)) => Some(page.path.clone()),
            Some(Err(_)) => {
                return state.next().map_or(Ok(found), |error| error.map(|_| CommittedChanges::default()));
            }
            None => None,
        };
        let Some(path) = [old, pages.peek().map(|page| page.path.clone())].into_iter().flatten().min() else {
            return Ok(found);
        };
        let mut before = Vec::new();
        while let Some(page) = state.next_if(|page| page.as_ref().map_or(true, |page| page.path == path)) {
            before.push(page?);
        }
        while let Some(page) = pages.next_if(|page| page.path == path) {
            let was = position_of(&before, &page.url).map(|place| before.swap_remove(place));
            found.add_page(page, was, time);
        }
        let mut gone: Vec<String> = before
            .into_iter()
            .filter(|page| page.shown().is_some() && covers(&page.url))
            .map(|page| page.url)
            .collect();
        gone.sort_unstable();
        found.changes.gone.append(&mut gone);
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

impl CommittedChanges {
    fn add_page(&mut self, page: ManifestPage, was: Option<PageState>, time: Moment) {
        if was.as_ref().is_some_and(|was| is_same(&page, was, time)) {
            self.unchanged += 1;
            return;
        }
        // The id of the version does not matter for the comparison.
        let head = capture_of(VersionId::new(uuid::Uuid::nil()), &page);
        let pair = CapturePair::of(was.and_then(PageState::into_shown), Some(head));
        self.changed += u64::from(matches!(
            pair.lasting_change(),
            PageChange::Added | PageChange::Back | PageChange::Changed
        ));
        self.changes.pages.push(page);
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
