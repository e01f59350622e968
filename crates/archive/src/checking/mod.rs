//! Checks: promises are held against the live web, and what came of it is written down.
//!
//! A [`Case`] is one URL with what is promised of it: by a record of a URL database, or by the last capture in the archive.
//! All are asked, and what failed is asked again, in [`passes`]. [`evidence`] keeps the answers of a check in an archive
//! as captures of a run, its verdicts as a fact, and both as a version. [`past`] knows what earlier checks found.
//!
//! Who asks the web is whoever implements [`Prober`](crate::expectations::Prober); how a report looks is
//! [`report`](crate::expectations::report)'s.

mod archived;
mod check_history;
mod evidence;
mod expected;
mod passes;

pub(crate) use archived::archived_cases;
pub(crate) use check_history::CheckHistory;
pub(crate) use evidence::{CheckEvidence, RecordedVerdict};
pub(crate) use expected::expected_cases;
pub(crate) use passes::{CheckFinding, RetryPasses, ask_all};

use serde_json::Value;
use varve_core::history::Capture;

use crate::expectations::report::{CheckedUrl, ContentComparison};
use crate::expectations::{ProbeRequest, ProbeResponse, Verdict};

/// How far a check is: so many URLs of so many have their verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Those that have it.
    pub done: usize,
    /// All.
    pub total: usize,
}

/// What is promised of a URL.
pub(crate) trait CheckTarget {
    /// What must be asked to judge it; or what is to be thought of it without an answer.
    fn question(&self) -> Result<ProbeRequest, Verdict>;

    /// Judges an answer.
    fn judge(&self, answer: &ProbeResponse) -> Judgement;

    /// Whether a capture keeps it.
    fn kept_by(&self, capture: &Capture) -> bool;

    /// The promise itself, as it is written down with its verdict.
    fn told(&self) -> Value;
}

/// What was found of an answer.
pub(crate) struct Judgement {
    /// Whether the promise is kept.
    pub(crate) verdict: Verdict,
    /// How the body compares with an earlier one, where it was compared.
    pub(crate) comparison: Option<ContentComparison>,
}

/// One URL to be checked.
pub(crate) struct CheckCase<'a> {
    /// What is promised.
    pub(crate) promise: Box<dyn CheckTarget + 'a>,
    /// What is known before it is asked.
    pub(crate) checked: CheckedUrl,
}
