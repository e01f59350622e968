//! The exposure score: what a page offers to an attacker, minus the protection of its headers.
//!
//! Owns the way from address, headers and body to a score with evidence. [`score`] collects the
//! [attack surface](AttackSurface) and runs the rules of a [pack](RulePack). Between two versions,
//! [`SecurityDiff`](security::SecurityDiff) reports the changes of each page, and
//! [`attribute`](attribution::attribute) finds the chunks of the diff that moved the score.
//! [`rows`] makes the rows of the tables.
//!
//! Knows no clock, no storage and no network: the same input gives the same output in the same
//! order. Input is hostile: every function is total, and [`ScoreLimits`] bound the work.
//!
//! Ranges: exposure is 0 or more, without upper end; hardening is 0 to 1; score is exposure × (1 −
//! hardening), 0 or more; normalised is 0 to 100; confidence is 0 to 1. Differences of the first
//! pack from the scores of the original:
//!
//! - hardening ends at 1, so that no score is negative; normalised ends at 100;
//! - evidence of a missing header has the points that the header would take off;
//! - header names are compared without case;
//! - a redacted cookie is reported, not scored, and lowers the confidence;
//! - everything that scores has evidence, so that contributions add up to the exposure;
//! - bodies without markup are not searched for forms.

pub mod attribution;
mod change_kind;
mod changes;
mod cookie;
mod detectors;
mod evidence;
mod explain;
mod form_pairs;
mod imports;
mod json;
mod policy;
mod reach;
pub mod rows;
mod rule_id;
mod rule_pack;
mod scan;
pub mod security;
mod selectors;
mod sentence;
mod surface;
mod text;
mod tokens;

pub use changes::SurfaceChange;
pub use evidence::{EvidenceLocation, ExposureEvidence, LocationKind, MAX_EVIDENCE_LOCATIONS};
pub use explain::{explain, explain_change, explain_makers, explain_others, explain_security};
pub use policy::HardeningCredit;
pub use rule_id::{ChangeKind, ExposureSeverity, RuleCategory, RuleId};
pub use rule_pack::{
    ChangeRule, PolicyDirective, ProtectingHeader, RulePack, RulePackError, RuleWords, Saturation, ScoreRule,
};
pub use surface::{
    AttackSurface, ElementPlace, FormInput, InlineHandler, InsecureElement, OutboundElement, OutboundKind,
    PageCookie, PageForm, PageFrame, PageScript, RequestParameter,
};

use chrono::{DateTime, Utc};
use varve_core::headers::HeaderView;

/// A page to be scored.
#[derive(Debug, Clone, Copy)]
pub struct ScoredPage<'a> {
    /// The address.
    pub url: &'a str,
    /// The path in the working tree, which also orders pages within a version.
    pub file_path: &'a str,
    /// The capture, as rows name it. May be empty.
    pub snapshot_id: &'a str,
    /// The version, as rows name it. May be empty.
    pub version_id: &'a str,
    /// The status of the response.
    pub status: u16,
    /// The headers. Redacted headers lower the confidence.
    pub headers: &'a HeaderView,
    /// The body, content codings removed.
    pub body: &'a [u8],
    /// The time of scoring.
    pub time: DateTime<Utc>,
}

/// Limits of scoring. Content past a limit is not scored, and the surface is marked as truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreLimits {
    /// Maximum number of bytes of a body.
    pub body: usize,
    /// Maximum number of elements of each kind.
    pub elements: usize,
}

impl Default for ScoreLimits {
    fn default() -> Self {
        Self { body: 16 << 20, elements: 2_000 }
    }
}

/// The score of one page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageScore {
    /// The address.
    pub url: String,
    /// The path in the working tree.
    pub file_path: String,
    /// The capture.
    pub snapshot_id: String,
    /// The version.
    pub version_id: String,
    /// The time of scoring.
    pub time: DateTime<Utc>,
    /// The pack that was used.
    pub scoring_version: String,
    /// Exposure × (1 − hardening), 0 or more.
    pub score: f64,
    /// The score from 0 to 100.
    pub normalized: u8,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The sum of the points of evidence, 0 or more.
    pub exposure: f64,
    /// The part of the exposure that headers take off, 0 to 1.
    pub hardening: f64,
    /// The credits that add up to the hardening.
    pub credits: Vec<HardeningCredit>,
    /// The evidence.
    pub evidence: Vec<ExposureEvidence>,
    /// The attack surface.
    pub surface: AttackSurface,
}

/// Scores a page.
pub fn score(page: &ScoredPage<'_>, pack: &RulePack, limits: &ScoreLimits) -> PageScore {
    let surface = scan::collect(page, limits);
    let mut measured = detectors::measure(pack, &surface, page.headers);
    for location in measured.evidence.iter_mut().flat_map(|evidence| &mut evidence.locations) {
        page.file_path.clone_into(&mut location.file_path);
        page.snapshot_id.clone_into(&mut location.snapshot_id);
    }
    let score = (measured.exposure * (1.0 - measured.hardening)).max(0.0);
    PageScore {
        url: page.url.to_owned(),
        file_path: page.file_path.to_owned(),
        snapshot_id: page.snapshot_id.to_owned(),
        version_id: page.version_id.to_owned(),
        time: page.time,
        scoring_version: pack.scoring_version.clone(),
        score,
        normalized: normalize(score),
        confidence: confidence(pack, &surface),
        exposure: measured.exposure,
        hardening: measured.hardening,
        credits: measured.credits,
        evidence: measured.evidence,
        surface,
    }
}

/// A score from 0 to 100: a hundred times the score without its fraction. Rounding errors of sums
/// are corrected first, so that 0.96 is 96 independently of the order of its parts.
pub fn normalize(score: f64) -> u8 {
    (score * 100.0 + 1e-9).clamp(0.0, 100.0) as u8
}

/// The confidence of a score: halved for each reason why something may have been missed.
fn confidence(pack: &RulePack, surface: &AttackSurface) -> f64 {
    let reasons = [surface.is_truncated, surface.has_redacted_cookies];
    reasons.into_iter().filter(|is_so| *is_so).fold(pack.confidence, |confidence, _| confidence / 2.0)
}
