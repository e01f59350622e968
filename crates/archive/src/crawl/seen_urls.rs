//! What is in the frontier for sure, so that the same links need not be looked up on every page.
//!
//! A site links to its own front page from everywhere. Remembering what was pushed saves nearly all of the
//! frontier's work; forgetting it, when there is too much, costs nothing but time. Where the depth of a crawl is limited
//! the shortest way to each page is remembered too, because a page that is reached again by a shorter way leads
//! further than it did.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::crawl_policy::DiscoveredLink;
use super::fetch_reason::{FetchKind, FetchReason};

/// So many are remembered: some thirty megabytes.
const MAX_SEEN_URLS: usize = 1 << 20;

/// What was pushed, and how near it was.
pub(crate) struct SeenUrls {
    seen: HashMap<u64, (u32, u8)>,
    hasher: RandomState,
    /// Whether ways of different length make a difference.
    measured: bool,
}

/// What to do with a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// It is known.
    Seen,
    /// It may be new.
    New,
    /// It is known, but was further away.
    Nearer,
}

impl SeenUrls {
    /// Nothing is known yet.
    pub(crate) fn new(depth: Option<u32>) -> Self {
        Self {
            seen: HashMap::new(),
            hasher: RandomState::new(),
            measured: depth.is_some_and(|most| most > 1),
        }
    }

    /// Notes a lead.
    pub(crate) fn note(&mut self, lead: &DiscoveredLink) -> Novelty {
        let key = self.hasher.hash_one((lead.reason.kind(), lead.key()));
        let steps =
            if self.measured && lead.reason.depends_on_depth() { lead.reason.distance() } else { (0, 0) };
        match self.seen.get_mut(&key) {
            Some(before) if *before <= steps => Novelty::Seen,
            Some(before) => {
                *before = steps;
                Novelty::Nearer
            }
            None => {
                // Depths must not be forgotten: with them the crawl is limited anyway.
                if self.seen.len() >= MAX_SEEN_URLS && !self.measured {
                    self.seen.clear();
                }
                self.seen.insert(key, steps);
                Novelty::New
            }
        }
    }

    /// Whether a page is known to be there, or to have been.
    pub(crate) fn has_page(&self, key: &str) -> bool {
        let kind = FetchKind::Page;
        self.seen.contains_key(&self.hasher.hash_one((kind, key)))
    }

    /// Notes what an earlier process of the same run has met, if that matters.
    pub(crate) fn recall(&mut self, key: &str, errand: FetchReason) {
        if self.measured {
            self.note(&DiscoveredLink {
                url: key.to_owned(),
                key: None,
                reason: errand,
                redirect: false,
                unfollowed: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(depth: u32) -> DiscoveredLink {
        DiscoveredLink {
            url: "http://h/".to_owned(),
            key: None,
            reason: FetchReason::Page { depth },
            redirect: false,
            unfollowed: None,
        }
    }

    #[test]
    fn shorter_ways_matter_only_where_depth_is_limited() {
        let mut known = SeenUrls::new(Some(3));
        assert_eq!(known.note(&lead(3)), Novelty::New);
        assert_eq!(known.note(&lead(3)), Novelty::Seen);
        assert_eq!(known.note(&lead(1)), Novelty::Nearer);
        assert_eq!(known.note(&lead(2)), Novelty::Seen);
        let mut known = SeenUrls::new(None);
        assert_eq!(known.note(&lead(3)), Novelty::New);
        assert_eq!(known.note(&lead(1)), Novelty::Seen);
        let part = DiscoveredLink { reason: FetchReason::Embed { chain: 1 }, ..lead(0) };
        assert_eq!(known.note(&part), Novelty::New);
    }
}
