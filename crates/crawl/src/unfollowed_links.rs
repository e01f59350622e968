//! Links inside the scope that were not followed. They never join the frontier and are reported
//! when the run ends: only then it is certain that no other link led there.
//!
//! The set is bounded, so that no site can fill the memory. Links beyond its limit are reported when
//! they are found.

use std::collections::BTreeMap;

use super::discovered_link::UnfollowedLink;

/// Links that are remembered.
const MAX_UNFOLLOWED_LINKS: usize = 50_000;

/// Links that were not followed, by identity.
#[derive(Default)]
pub(crate) struct UnfollowedLinks(BTreeMap<String, UnfollowedLink>);

impl UnfollowedLinks {
    /// Adds a link. Returns it if there are too many: then it has to be reported now.
    #[must_use]
    pub(crate) fn insert(&mut self, link: UnfollowedLink) -> Option<UnfollowedLink> {
        if self.0.contains_key(&link.identity) {
            return None;
        }
        if self.0.len() >= MAX_UNFOLLOWED_LINKS {
            return Some(link);
        }
        self.0.insert(link.identity.clone(), link);
        None
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip_rule::SkipRule;

    #[test]
    fn a_link_beyond_the_limit_is_given_back_and_a_known_one_is_not() {
        let link = |number: usize| UnfollowedLink::foreign(number.to_string(), SkipRule::Scheme);
        let mut links = UnfollowedLinks::default();
        assert!((0..MAX_UNFOLLOWED_LINKS).all(|number| links.insert(link(number)).is_none()));
        let beyond = link(MAX_UNFOLLOWED_LINKS);
        assert_eq!(links.insert(beyond.clone()), Some(beyond));
        assert_eq!(links.insert(link(7)), None);
        assert_eq!(links.take().len(), MAX_UNFOLLOWED_LINKS);
    }
}
