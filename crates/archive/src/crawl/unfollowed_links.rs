//! Links that were met and not followed, though the scope would have had them: they never join the frontier, and are listed
//! when the run ends.
//!
//! Only then is it certain that no other link led there. What is remembered is bounded, so that no site can fill the memory.

use std::collections::HashMap;

use super::crawl_policy::{DiscoveredLink, UnfollowedReason};
use super::dispatcher::Crawl;
use super::event::CrawlEvent;
use super::past_captures::{PastLookup, SpellingMatch};
use crate::crawl::error::CrawlError;

/// So many are listed.
const MAX_UNFOLLOWED_LINKS: usize = 50_000;

/// What was not followed: by its address, what it is and why.
#[derive(Default)]
pub(crate) struct UnfollowedLinks(HashMap<String, (String, UnfollowedReason)>);

impl UnfollowedLinks {
    /// Notes a link that is not followed, unless there are too many.
    pub(crate) fn note(&mut self, lead: DiscoveredLink, refusal: UnfollowedReason) {
        if self.0.len() < MAX_UNFOLLOWED_LINKS {
            let DiscoveredLink { url, key, .. } = lead;
            self.0.entry(key.unwrap_or_else(|| url.clone())).or_insert((url, refusal));
        }
    }
}

impl Crawl<'_> {
    /// Lists what was not followed and not captured for another reason.
    pub(super) fn list_refused(&mut self) -> Result<(), CrawlError> {
        let mut refused: Vec<(String, (String, UnfollowedReason))> =
            std::mem::take(&mut self.refused.0).into_iter().collect();
        refused.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (address, (url, refusal)) in refused {
            let is_here =
                |url: &str| match self.context.destination.past(self.context.run, url, SpellingMatch::Any)? {
                    PastLookup::ThisRun(_) => Ok::<_, CrawlError>(true),
                    PastLookup::Earlier(_) | PastLookup::Nothing => Ok(false),
                };
            if self.known.has_page(&address) || is_here(&url)? {
                continue;
            }
            self.tally.skipped += 1;
            (self.context.report)(CrawlEvent::Skipped { url: &url, rule: &refusal.rule(), is_seed: false });
        }
        Ok(())
    }
}
