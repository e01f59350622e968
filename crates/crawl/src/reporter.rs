//! Reports of a run: events for the caller, and the totals.

use std::time::{Duration, Instant};

use varve_core::history::Presence;

use super::event::{CapturedPage, CrawlEvent, CrawlProgress, CrawlTally};
use super::reported_skips::ReportedSkips;
use super::run_coverage::RunGaps;
use super::skip_rule::SkipRule;

/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Reports events and counts them.
pub(crate) struct CrawlReporter<'a> {
    report: &'a mut dyn FnMut(CrawlEvent<'_>),
    pub(crate) tally: CrawlTally,
    /// What the run did not see.
    pub(crate) gaps: RunGaps,
    skips: ReportedSkips,
    last_progress: Instant,
}

impl<'a> CrawlReporter<'a> {
    /// Reports to this function.
    pub(crate) fn new(report: &'a mut dyn FnMut(CrawlEvent<'_>), now: Instant) -> Self {
        let (tally, gaps, skips) = (CrawlTally::default(), RunGaps::default(), ReportedSkips::default());
        Self { report, tally, gaps, skips, last_progress: now }
    }

    /// Reports an event that is not counted.
    pub(crate) fn event(&mut self, event: CrawlEvent<'_>) {
        (self.report)(event);
    }

    /// A response was stored as a capture.
    pub(crate) fn captured(&mut self, page: CapturedPage<'_>, wire_bytes: u64) {
        self.tally.captured += 1;
        self.tally.pages += u64::from(page.is_page);
        self.tally.unchanged += u64::from(page.unchanged);
        self.tally.truncated += u64::from(page.truncated.is_some());
        self.tally.bytes += wire_bytes;
        if page.truncated.is_some()
            || matches!(Presence::of_status(page.status), Presence::Unreachable { .. })
        {
            self.gaps.add_unread(page.url);
        }
        (self.report)(CrawlEvent::Captured(page));
    }

    /// A URL cannot be fetched and will not be tried again. A URL that the guard refuses is met by
    /// pages in a browser and by the run, and reported once.
    pub(crate) fn failed(&mut self, url: &str, kind: &str, message: &str) {
        if kind == SkipRule::GUARD && !self.skips.insert(url) {
            return;
        }
        self.tally.failed += 1;
        (self.report)(CrawlEvent::Failed { url, kind, message });
    }

    /// A URL of the frontier is not fetched.
    pub(crate) fn skipped(&mut self, url: &str, rule: &SkipRule, is_seed: bool) {
        self.tally.skipped += 1;
        if let SkipRule::Limit(which) = rule {
            self.tally.limit_reached = Some(which);
            self.gaps.has_skipped_links = true;
        }
        self.tally.seeds_refused += u64::from(is_seed && matches!(rule, SkipRule::Robots(_)));
        (self.report)(CrawlEvent::Skipped { url, rule, is_seed });
    }

    /// A URL that a page wants, or that a redirect leads to, is not fetched. Reported once.
    pub(crate) fn denied(&mut self, url: &str, rule: &SkipRule) {
        if self.skips.insert(url) {
            self.skipped_link(url, rule);
        }
    }

    /// A link is not followed.
    pub(crate) fn skipped_link(&mut self, url: &str, rule: &SkipRule) {
        self.tally.skipped += 1;
        (self.report)(CrawlEvent::Skipped { url, rule, is_seed: false });
    }

    /// Links of a page are not followed, because it has too many. Each is then reported by itself.
    pub(crate) fn skipped_links(&mut self, url: &str, links: u64) {
        self.gaps.has_skipped_links = true;
        (self.report)(CrawlEvent::LinksSkipped { url, links, rule: &SkipRule::LinksPerPage });
    }

    /// Whether a URL was reported as denied.
    pub(crate) fn was_denied(&self, url: &str) -> bool {
        self.skips.contains(url)
    }

    /// Whether progress should be reported now.
    pub(crate) fn progress_is_due(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_duration_since(self.last_progress) >= PROGRESS_INTERVAL;
        if is_due {
            self.last_progress = now;
        }
        is_due
    }

    /// Reports progress.
    pub(crate) fn progress(&mut self, progress: &CrawlProgress) {
        (self.report)(CrawlEvent::Progress(progress));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualTime;

    #[test]
    fn links_beyond_the_limit_of_a_page_are_reported_with_their_rule_and_counted_once() {
        let mut reported = Vec::new();
        let mut report = |event: CrawlEvent<'_>| {
            if let CrawlEvent::LinksSkipped { url, links, rule } = event {
                reported.push(format!("{url} {links} {rule}"));
            }
        };
        let mut reporter = CrawlReporter::new(&mut report, ManualTime::new().instant());
        reporter.skipped_links("http://h/", 7);
        assert_eq!(reporter.tally.skipped, 0);
        reporter.skipped_link("http://h/1", &SkipRule::LinksPerPage);
        assert_eq!(reporter.tally.skipped, 1);
        assert_eq!(reported, ["http://h/ 7 limit:links-per-page"]);
    }
}
