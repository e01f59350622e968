//! What was told to be refused, where it is met in more than one way: a page in a browser asks for it, as often as its scripts
//! like, and the run finds it in the page once more.
//!
//! It is told once. What is remembered is bounded, so that no site can fill the memory.

use std::collections::HashSet;

use super::dispatcher::Crawl;
use super::event::CrawlEvent;
use super::scope::SkipRule;

/// So many are remembered; of what comes after them some is told again.
const MAX_REPORTED_SKIPS: usize = 50_000;

/// URLs that were told to be refused.
#[derive(Default)]
pub(crate) struct ReportedSkips(HashSet<Box<str>>);

impl ReportedSkips {
    /// Whether this was not told before.
    pub(crate) fn is_news(&mut self, url: &str) -> bool {
        let is_news = !self.0.contains(url);
        if is_news && self.0.len() < MAX_REPORTED_SKIPS {
            self.0.insert(url.into());
        }
        is_news
    }

    /// Whether this was told.
    pub(crate) fn has(&self, url: &str) -> bool {
        self.0.contains(url)
    }
}

impl Crawl<'_> {
    /// Says that something cannot be had, and will not be tried again. What the guard refuses is met by pages and by the run
    /// alike.
    pub(super) fn tell_failure(&mut self, url: &str, kind: &str, message: &str) {
        if kind == SkipRule::GUARD && !self.denied.is_news(url) {
            return;
        }
        self.tally.failed += 1;
        (self.context.report)(CrawlEvent::Failed { url, kind, message });
    }

    /// Says that something is not asked for which a page wants, or where a redirect leads.
    pub(super) fn tell_denied(&mut self, url: &str, rule: &SkipRule) {
        if self.denied.is_news(url) {
            self.tally.skipped += 1;
            (self.context.report)(CrawlEvent::Skipped { url, rule, is_seed: false });
        }
    }
}
