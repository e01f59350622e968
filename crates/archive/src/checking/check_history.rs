//! Results of earlier checks and captures of a URL.

use varve_core::Moment;
use varve_core::history::{Capture, CaptureFilter, ListCursor, StoredVerdict, TimeOrder, VerdictKind};
use varve_expect::{CheckOutcome, Observed, PastCheck, UrlHealth, health_after};

use super::CheckTarget;
use crate::expectations::report::GoodCapture;
use varve_crawl::CrawlError;
use varve_repository::history::{HistoryReader, evidence_of, with_full_response};

/// Number of recent checks that decide whether a URL is flaky.
const RECENT_CHECKS: usize = 10;
/// Maximum number of captures searched for one that met the expectation.
const MAX_CAPTURES_SEARCHED: usize = 100;

/// The check history of an archive.
pub(crate) struct CheckHistory<'a> {
    /// The archive.
    pub(crate) history: &'a HistoryReader,
}

impl CheckHistory<'_> {
    /// The health of a URL whose last verdict is known. For a failing URL the whole history is
    /// read, to find when the failure began. For others the last few checks are enough.
    pub(crate) fn health(&self, url: &str, fails: bool) -> Result<UrlHealth, CrawlError> {
        let limit = if fails { usize::MAX } else { RECENT_CHECKS };
        let verdicts = self.history.catalog().verdicts_of(url, limit)?;
        Ok(health_after(verdicts.iter().rev().map(past_check)))
    }

    /// The last response before an instant that met an expectation: that of the last check that was
    /// met, or else a capture that would have met it.
    pub(crate) fn last_good(
        &self,
        url: &str,
        target: &dyn CheckTarget,
        before: Moment,
    ) -> Result<Option<GoodCapture>, CrawlError> {
        let verdicts = self.history.catalog().verdicts_of(url, usize::MAX)?;
        if let Some(good) = verdicts.iter().find(|row| row.verdict == VerdictKind::Ok && row.time < before)
            && let Some(capture) = evidence_of(self.history, good)?
        {
            return Ok(Some(GoodCapture { capture, check: Some(good.check) }));
        }
        let filter = CaptureFilter { until: Some(before), ..CaptureFilter::default() };
        let page = ListCursor::first(MAX_CAPTURES_SEARCHED);
        let captures = self.history.catalog().captures_of(url, &filter, TimeOrder::NewestFirst, page)?;
        for capture in captures.into_iter().filter(|capture| capture.time < before) {
            let capture = with_full_response(self.history, capture)?;
            if target.accepts(&capture) {
                return Ok(Some(GoodCapture { capture, check: None }));
            }
        }
        Ok(None)
    }
}

fn past_check(row: &StoredVerdict) -> PastCheck {
    let status = Some(row.status).filter(|status| *status != 0);
    PastCheck { time: row.time.seconds(), outcome: CheckOutcome::of_stored_verdict(row.verdict, status) }
}

/// Converts a capture with its full response headers to an observed response.
pub(super) fn observed_of(capture: &Capture) -> Observed {
    let first = |name: &str| capture.headers.get(name).and_then(|values| values.first()).cloned();
    let status = capture.status;
    Observed {
        status: Some(status),
        location: first("location").filter(|_| (300..400).contains(&status)),
        media_type: first("content-type"),
        length: capture.length,
        sha256: Some(capture.body),
        final_url: Some(capture.url.clone()),
        ..Observed::default()
    }
}
