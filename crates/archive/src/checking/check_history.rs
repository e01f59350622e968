//! What is known of a URL from earlier checks and captures.

use varve_core::Moment;
use varve_core::fact::VerdictDetail;
use varve_core::history::{Capture, CaptureFilter, ListCursor, StoredVerdict, TimeOrder};
use varve_expect::{Observed, Outcome, Seen, Standing, standing};

use super::CheckTarget;
use varve_crawl::CrawlError;
use varve_repository::history::{HistoryReader, with_full_response};

/// So many checks tell whether a URL is flaky.
const RECENT_CHECKS: usize = 10;
/// So many captures are looked at for one that kept the promise.
const MAX_CAPTURES_SEARCHED: usize = 100;

/// The past of an archive.
pub(crate) struct CheckHistory<'a> {
    /// The archive.
    pub(crate) holdings: &'a dyn HistoryReader,
}

impl CheckHistory<'_> {
    /// What is to be thought of a URL whose last verdict is known. How long something fails is looked up to the
    /// beginning; for what is fine the last few checks are enough.
    pub(crate) fn standing(&self, url: &str, fails: bool) -> Result<Standing, CrawlError> {
        let limit = if fails { usize::MAX } else { RECENT_CHECKS };
        let verdicts = self.holdings.catalog().verdicts_of(url, limit)?;
        Ok(standing(verdicts.iter().rev().map(seen)))
    }

    /// The last capture that kept a promise, before an instant: that of the last check that was met, or else any that
    /// would have met it.
    pub(crate) fn last_good(
        &self,
        url: &str,
        promise: &dyn CheckTarget,
        before: Moment,
    ) -> Result<Option<Capture>, CrawlError> {
        let verdicts = self.holdings.catalog().verdicts_of(url, usize::MAX)?;
        if let Some(met) = verdicts.iter().find(|row| row.verdict == "met" && row.time < before)
            && let Some(capture) = self.evidence(met)?
        {
            return Ok(Some(capture));
        }
        let filter = CaptureFilter { until: Some(before), ..CaptureFilter::default() };
        let page = ListCursor::first(MAX_CAPTURES_SEARCHED);
        let captures = self.holdings.catalog().captures_of(url, &filter, TimeOrder::NewestFirst, page)?;
        for capture in captures.into_iter().filter(|capture| capture.time < before) {
            let capture = with_full_response(self.holdings, capture)?;
            if promise.kept_by(&capture) {
                return Ok(Some(capture));
            }
        }
        Ok(None)
    }

    /// The capture that a verdict names.
    fn evidence(&self, row: &StoredVerdict) -> Result<Option<Capture>, CrawlError> {
        let Ok(detail) = serde_json::from_str::<VerdictDetail>(&row.json) else { return Ok(None) };
        let url = detail.final_url.as_deref().unwrap_or(&row.url);
        let (since, until) = (Some(row.time), Some(row.time));
        let filter = CaptureFilter { since, until, ..CaptureFilter::default() };
        let page = ListCursor::first(MAX_CAPTURES_SEARCHED);
        let captures = self.holdings.catalog().captures_of(url, &filter, TimeOrder::NewestFirst, page)?;
        Ok(captures.into_iter().find(|capture| Some(capture.id) == detail.capture))
    }
}

fn seen(row: &StoredVerdict) -> Seen {
    let status = Some(row.status).filter(|status| *status != 0);
    Seen { time: row.time.seconds(), outcome: Outcome::recalled(&row.verdict, status) }
}

/// A capture that says all of its answer, as an answer of the web.
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
