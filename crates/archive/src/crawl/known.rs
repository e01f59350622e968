//! What is in the frontier for sure, so that the same links need not be looked up on every page.
//!
//! A site links to its own front page from everywhere. Remembering what was pushed saves nearly all of the
//! frontier's work; forgetting it, when there is too much, costs nothing but time. Where the depth of a crawl is limited
//! the shortest way to each page is remembered too, because a page that is reached again by a shorter way leads
//! further than it did.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::errand::Errand;
use super::plan::Lead;

/// So many are remembered: some thirty megabytes.
const MOST: usize = 1 << 20;

/// What was pushed, and how near it was.
pub(crate) struct Known {
    seen: HashMap<u64, u32>,
    hasher: RandomState,
    /// Whether ways of different length make a difference.
    measured: bool,
}

/// What to do with a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is known.
    Old,
    /// It may be new.
    New,
    /// It is known, but was further away.
    Nearer,
}

impl Known {
    /// Nothing is known yet.
    pub(crate) fn new(depth: Option<u32>) -> Self {
        Self {
            seen: HashMap::new(),
            hasher: RandomState::new(),
            measured: depth.is_some_and(|most| most > 1),
        }
    }

    /// Notes a lead.
    pub(crate) fn note(&mut self, lead: &Lead) -> News {
        let key = self.hasher.hash_one((lead.errand.letter(), lead.key()));
        let steps = if self.measured && lead.errand.is_measured() { lead.errand.steps() } else { 0 };
        match self.seen.get_mut(&key) {
            Some(before) if *before <= steps => News::Old,
            Some(before) => {
                *before = steps;
                News::Nearer
            }
            None => {
                // Depths must not be forgotten: with them the crawl is limited anyway.
                if self.seen.len() >= MOST && !self.measured {
                    self.seen.clear();
                }
                self.seen.insert(key, steps);
                News::New
            }
        }
    }

    /// Whether a page is known to be there, or to have been.
    pub(crate) fn has_page(&self, key: &str) -> bool {
        let letter = Errand::Page { depth: 0 }.letter();
        self.seen.contains_key(&self.hasher.hash_one((letter, key)))
    }

    /// Notes what an earlier process of the same run has met, if that matters.
    pub(crate) fn recall(&mut self, key: &str, errand: Errand) {
        if self.measured {
            self.note(&Lead { url: key.to_owned(), key: None, errand, redirect: false, refusal: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(depth: u32) -> Lead {
        Lead {
            url: "http://h/".to_owned(),
            key: None,
            errand: Errand::Page { depth },
            redirect: false,
            refusal: None,
        }
    }

    #[test]
    fn shorter_ways_matter_only_where_depth_is_limited() {
        let mut known = Known::new(Some(3));
        assert_eq!(known.note(&lead(3)), News::New);
        assert_eq!(known.note(&lead(3)), News::Old);
        assert_eq!(known.note(&lead(1)), News::Nearer);
        assert_eq!(known.note(&lead(2)), News::Old);
        let mut known = Known::new(None);
        assert_eq!(known.note(&lead(3)), News::New);
        assert_eq!(known.note(&lead(1)), News::Old);
        let part = Lead { errand: Errand::Embed { chain: 1 }, ..lead(0) };
        assert_eq!(known.note(&part), News::New);
    }
}
