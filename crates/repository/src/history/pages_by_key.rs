//! The pages of a version in the order in which two versions are held side by side.
//!
//! Rows come sorted by their paths as they were written, and those were not always written alike: Moku leaves the query out, a
//! later Moku leaves out the slash in front, and varve once kept queries as they were spelled. A page must be itself all the same,
//! so each has a key, its path as it would be written today, and pages are given by that. Few rows have to be held back for it:
//! a key is the path, or the path with its query behind it, or one of those that share all but the query.

use std::collections::BTreeMap;
use std::iter::Peekable;

use varve_core::history::Capture;

use super::version_pages::VersionPages;
use crate::error::RepositoryError;
use crate::page_path::{path_to_pair, with_slash};

/// So many pages that differ only in their queries are put in order; of more, those that were written alike still meet.
const MOST_SORTED: usize = 2000;

/// How pages of two versions are found to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageMatchKey {
    /// By what they are, however their paths were written.
    Page,
    /// The same, where a page of one host may be that of another that shares its path.
    AnyHost,
    /// By where they lie in a working tree.
    Place,
}

impl PageMatchKey {
    pub(super) fn of(self, page: &Capture) -> String {
        match self {
            Self::Page | Self::AnyHost => path_to_pair(&page.url, &page.path),
            Self::Place => page.path.clone(),
        }
    }
}

/// The pages of a version with their keys, in the order of those.
pub(super) struct PagesByKey<'a> {
    key: PageMatchKey,
    pages: Peekable<VersionPages<'a>>,
    /// Pages that were read before their turn, by key and the order in which they came.
    held: BTreeMap<(String, u64), Capture>,
    count: u64,
}

impl<'a> PagesByKey<'a> {
    pub(super) fn new(key: PageMatchKey, pages: VersionPages<'a>) -> Self {
        Self { key, pages: pages.peekable(), held: BTreeMap::new(), count: 0 }
    }

    fn fetch(&mut self) -> Result<Option<(String, Capture)>, RepositoryError> {
        while self.must_read_on() {
            let Some(page) = self.pages.next().transpose()? else { break };
            self.held.insert((self.key.of(&page), self.count), page);
            self.count += 1;
        }
        Ok(self.held.pop_first().map(|((key, _), page)| (key, page)))
    }

    /// Whether a page that was not read yet may belong before all that are held.
    fn must_read_on(&mut self) -> bool {
        let Some(((first, _), _)) = self.held.first_key_value() else { return true };
        let Some(next) = self.pages.peek() else { return false };
        let Ok(next) = next else { return true };
        if self.key == PageMatchKey::Place {
            return false;
        }
        let path = with_slash(&next.path);
        *path <= **first || (self.held.len() < MOST_SORTED && differ_in_query(&path, first))
    }
}

fn differ_in_query(one: &str, other: &str) -> bool {
    matches!((one.split_once('?'), other.split_once('?')), (Some((one, _)), Some((other, _))) if one == other)
}

impl Iterator for PagesByKey<'_> {
    type Item = Result<(String, Capture), RepositoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}
