//! Checks compare expectations with the live web and record the result.
//!
//! A [`CheckCase`] is one URL with its expectation: a record of a URL database, the last capture in
//! the archive, or a link ([`links`]). [`retry_passes`] requests all cases and retries those that
//! failed. [`evidence`] stores the responses of a check as records of their own, and its verdicts as
//! a fact that names them. [`check_history`] reads the results of earlier checks.
//!
//! An implementation of [`Prober`](crate::expectations::Prober) makes the requests.
//! [`report`](crate::expectations::report) formats the results.

mod archived_page;
mod check_history;
mod evidence;
mod expected_url;
pub(crate) mod links;
mod retry_passes;

pub(crate) use archived_page::archived_cases;
pub(crate) use check_history::CheckHistory;
pub use evidence::CheckLabel;
pub(crate) use evidence::{CheckEvidence, RecordedVerdict};
pub(crate) use expected_url::expected_cases;
pub(crate) use links::link_cases;
pub(crate) use retry_passes::{CheckFinding, RetryPasses, ask_all, report_all};

use serde_json::Value;
use varve_core::history::Capture;

use crate::expectations::report::{CheckedUrl, ContentComparison, LinkReferrers};
use crate::expectations::{ProbeRequest, ProbeResponse, Verdict};

/// The progress of a check: how many of its URLs have a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Number of URLs with a verdict.
    pub done: usize,
    /// Number of all URLs.
    pub total: usize,
}

/// The expectation for a URL.
pub(crate) trait CheckTarget {
    /// The request needed to judge it, or the verdict if no request is needed.
    fn probe_request(&self) -> Result<ProbeRequest, Verdict>;

    /// Judges a response.
    fn judge(&self, answer: &ProbeResponse) -> Judgement;

    /// Whether a capture meets the expectation.
    fn accepts(&self, capture: &Capture) -> bool;

    /// The expectation as JSON, as it is stored with its verdict.
    fn expectation_json(&self) -> Value;

    /// Whether an earlier verdict "ok" on an expectation, as [`expectation_json`](Self::expectation_json) gave it, holds for this
    /// one too.
    fn is_met_by(&self, expectation: &Value) -> bool {
        *expectation == self.expectation_json()
    }

    /// The pages that link to the URL and that the verdict concerns.
    fn referrers(&self, _verdict: &Verdict) -> LinkReferrers {
        LinkReferrers::default()
    }
}

/// The judgement of a response.
pub(crate) struct Judgement {
    /// Whether the expectation is met.
    pub(crate) verdict: Verdict,
    /// How the body compares with an earlier one, if it was compared.
    pub(crate) comparison: Option<ContentComparison>,
}

/// One URL to check.
pub(crate) struct CheckCase<'a> {
    /// Its expectation.
    pub(crate) target: Box<dyn CheckTarget + 'a>,
    /// The fields known before the request.
    pub(crate) checked: CheckedUrl,
}
