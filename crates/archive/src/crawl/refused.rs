//! Links that were met and not followed, though the scope would have had them: they never join the frontier, and are listed
//! when the run ends.
//!
//! Only then is it certain that no other link led there. What is remembered is bounded, so that no site can fill the memory.

use std::collections::HashMap;

use super::event::Event;
use super::past::{LookUp, Past};
use super::plan::{Lead, Refusal};
use super::run::Crawl;
use crate::error::ArchiveError;

/// So many are listed.
const MOST: usize = 50_000;

/// What was not followed: by its address, what it is and why.
#[derive(Default)]
pub(crate) struct Refused(HashMap<String, (String, Refusal)>);

impl Refused {
    /// Notes a link that is not followed, unless there are too many.
    pub(crate) fn note(&mut self, lead: Lead, refusal: Refusal) {
        if self.0.len() < MOST {
            let Lead { url, key, .. } = lead;
            self.0.entry(key.unwrap_or_else(|| url.clone())).or_insert((url, refusal));
        }
    }
}

impl Crawl<'_> {
    /// Lists what was not followed and not captured for another reason.
    pub(super) fn list_refused(&mut self) -> Result<(), ArchiveError> {
        let mut refused: Vec<(String, (String, Refusal))> =
            std::mem::take(&mut self.refused.0).into_iter().collect();
        refused.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (address, (url, refusal)) in refused {
            let is_here = |url: &str| match self.around.destination.past(self.around.run, url, LookUp::Any)? {
                Past::ThisRun(_) => Ok::<_, ArchiveError>(true),
                Past::Earlier(_) | Past::Nothing => Ok(false),
            };
            if self.known.has_page(&address) || is_here(&url)? {
                continue;
            }
            self.tally.skipped += 1;
            (self.around.report)(Event::Skipped { url: &url, rule: &refusal.rule(), is_seed: false });
        }
        Ok(())
    }
}
