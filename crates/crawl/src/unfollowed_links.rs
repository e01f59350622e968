//! Links inside the scope that were not followed. They never join the frontier and are reported
//! when the run ends: only then it is certain that no other link led there.
//!
//! The set is bounded, so that no site can fill the memory.

use std::collections::BTreeMap;

use super::discovered_link::UnfollowedLink;

/// Links that are remembered.
const MAX_UNFOLLOWED_LINKS: usize = 50_000;

/// Links that were not followed, by identity.
#[derive(Default)]
pub(crate) struct UnfollowedLinks(BTreeMap<String, UnfollowedLink>);

impl UnfollowedLinks {
    /// Adds a link, unless there are too many.
    pub(crate) fn insert(&mut self, link: UnfollowedLink) {
        if self.0.len() < MAX_UNFOLLOWED_LINKS {
            self.0.entry(link.identity.clone()).or_insert(link);
        }
    }

    /// Whether links may have been left out.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_UNFOLLOWED_LINKS
    }

    /// All links, sorted by identity.
    pub(crate) fn take(&mut self) -> Vec<UnfollowedLink> {
        std::mem::take(&mut self.0).into_values().collect()
    }
}
