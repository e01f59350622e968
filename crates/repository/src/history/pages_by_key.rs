//! Iterates over the pages of a version in the order used to compare two versions.
//!
//! Rows come sorted by their stored paths, whose form has varied. Moku omits the query, a later
//! Moku omits the leading slash, and varve once kept queries as spelled. To match pages
//! nevertheless, each has a key, its path in the current form, and pages are returned in the order
//! of keys. Few rows have to be held back for this. A key is the path, the path with its query
//! appended, or one of those that differ only in the query.

use std::collections::BTreeMap;
use std::iter::Peekable;

use varve_core::history::PageState;

use super::state_pages::StatePages;
use crate::error::RepositoryError;
use crate::page_path::{path_to_pair, with_slash};

/// Maximum number of pages differing only in their queries that are sorted. Beyond it, only pages
/// stored in the same form still match.
const MAX_SORTED_PAGES: usize = 2000;

/// How pages of two versions are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageMatchKey {
    /// By page, regardless of the form of its stored path.
    Page,
    /// By place in a working tree.
    Place,
}

impl PageMatchKey {
    pub(super) fn of(self, url: &str, path: &str) -> String {
        match self {
            Self::Page => path_to_pair(url, path),
            Self::Place => path.to_owned(),
        }
    }
}

/// The pages of a version with their keys, in key order.
pub(super) struct PagesByKey<'a> {
    key: PageMatchKey,
    pages: Peekable<StatePages<'a>>,
    /// Pages read ahead, by key and the order in which they were read.
    held: BTreeMap<(String, u64), PageState>,
    count: u64,
}

impl<'a> PagesByKey<'a> {
    pub(super) fn new(key: PageMatchKey, pages: StatePages<'a>) -> Self {
        Self { key, pages: pages.peekable(), held: BTreeMap::new(), count: 0 }
    }

    fn fetch(&mut self) -> Result<Option<(String, PageState)>, RepositoryError> {
        while self.must_read_on() {
            let Some(page) = self.pages.next().transpose()? else { break };
            self.held.insert((self.key.of(&page.url, &page.path), self.count), page);
            self.count += 1;
        }
        Ok(self.held.pop_first().map(|((key, _), page)| (key, page)))
    }

    /// Whether an unread page may sort before all held ones.
    fn must_read_on(&mut self) -> bool {
        let Some(((first, _), _)) = self.held.first_key_value() else { return true };
        let Some(next) = self.pages.peek() else { return false };
        let Ok(next) = next else { return true };
        if self.key == PageMatchKey::Place {
            return false;
        }
        let path = with_slash(&next.path);
        *path <= **first || (self.held.len() < MAX_SORTED_PAGES && differ_in_query(&path, first))
    }
}

fn differ_in_query(one: &str, other: &str) -> bool {
    matches!((one.split_once('?'), other.split_once('?')), (Some((one, _)), Some((other, _))) if one == other)
}

impl Iterator for PagesByKey<'_> {
    type Item = Result<(String, PageState), RepositoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}
