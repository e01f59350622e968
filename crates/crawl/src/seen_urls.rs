//! The URLs that are in the frontier for certain, so that a link is not looked up on every page.
//!
//! A site links to its front page from everywhere. This set saves most of the frontier's work;
//! clearing it when it is full costs only time. If the depth of a crawl is limited, the set also
//! holds the smallest depth of each page. A page that is found again at a smaller depth leads
//! further than before.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use varve_core::url::RequestUrl;

use super::discovered_link::DiscoveredLink;
use super::fetch_reason::{FetchKind, FetchReason};

/// URLs that are remembered: about thirty megabytes.
const MAX_SEEN_URLS: usize = 1 << 20;

/// URLs that were pushed into the frontier, by the hash of reason and identity.
pub(crate) struct SeenUrls {
    /// Depth and chain.
    distances: HashMap<u64, (u32, u8)>,
    hasher: RandomState,
    /// Whether the depth of a page makes a difference.
    has_depth_limit: bool,
}

/// Whether a link is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// It was seen.
    Seen,
    /// It may be new.
    New,
    /// It was seen, but at a greater depth.
    Nearer,
}

impl SeenUrls {
    /// An empty set, for a crawl with this limit of depth.
    pub(crate) fn new(max_depth: Option<u32>) -> Self {
        Self {
            distances: HashMap::new(),
            hasher: RandomState::new(),
            has_depth_limit: max_depth.is_some_and(|most| most > 1),
        }
    }

    /// Adds a link.
    pub(crate) fn insert(&mut self, link: &DiscoveredLink) -> Novelty {
        self.insert_identity(&link.identity(), link.reason)
    }

    fn insert_identity(&mut self, identity: &str, reason: FetchReason) -> Novelty {
        let key = self.hasher.hash_one((reason.kind(), identity));
        let counts = self.has_depth_limit && reason.depends_on_depth();
        let distance = if counts { reason.distance() } else { (0, 0) };
        match self.distances.get_mut(&key) {
            Some(before) if *before <= distance => Novelty::Seen,
            Some(before) => {
                *before = distance;
                Novelty::Nearer
            }
            None => {
                // Depths must be kept, and limit the crawl themselves.
                if self.distances.len() >= MAX_SEEN_URLS && !self.has_depth_limit {
                    self.distances.clear();
                }
                self.distances.insert(key, distance);
                Novelty::New
            }
        }
    }

    /// Whether a page with this identity was seen.
    pub(crate) fn has_page(&self, identity: &str) -> bool {
        self.distances.contains_key(&self.hasher.hash_one((FetchKind::Page, identity)))
    }

    /// Whether this URL was seen as a page or as a part of one, in any spelling or in this one.
    pub(crate) fn has_url(&self, url: &RequestUrl) -> bool {
        let exact = format!("={url}");
        [FetchKind::Page, FetchKind::Embed, FetchKind::Frame].into_iter().any(|kind| {
            [url.page().as_str(), &exact]
                .into_iter()
                .any(|identity| self.distances.contains_key(&self.hasher.hash_one((kind, identity))))
        })
    }

    /// Adds a page that an earlier process of the run has seen, if depths matter.
    pub(crate) fn restore(&mut self, identity: &str, reason: FetchReason) {
        if self.has_depth_limit {
            self.insert_identity(identity, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(depth: u32) -> DiscoveredLink {
        DiscoveredLink::new(RequestUrl::parse("http://h/").unwrap(), FetchReason::Page { depth })
    }

    #[test]
    fn smaller_depths_matter_only_where_depth_is_limited() {
        let mut seen = SeenUrls::new(Some(3));
        assert_eq!(seen.insert(&page(3)), Novelty::New);
        assert_eq!(seen.insert(&page(3)), Novelty::Seen);
        assert_eq!(seen.insert(&page(1)), Novelty::Nearer);
        assert_eq!(seen.insert(&page(2)), Novelty::Seen);
        let mut seen = SeenUrls::new(None);
        assert_eq!(seen.insert(&page(3)), Novelty::New);
        assert_eq!(seen.insert(&page(1)), Novelty::Seen);
        let embed = DiscoveredLink { reason: FetchReason::Embed { chain: 1 }, ..page(0) };
        assert_eq!(seen.insert(&embed), Novelty::New);
    }
}
