//! The exposure score: how much a page offers to whoever wants to attack it, and what its headers take back.
//!
//! Owns the whole way from address, headers and body to a number with evidence: [`score`] collects the
//! [surface](Surface), runs the rules of a [pack](Pack), and says where each find stands. Between two versions,
//! [`SecurityDiff`](security::SecurityDiff) tells what an analyst looks for, page by page, and [`attribute`](attribution::attribute) says which
//! chunks of the diff moved the score. [`rows`] makes of it what the tables hold.
//!
//! Deliberately knows no clock, no storage and no way to fetch: the same input gives the same output, to the last bit
//! and in the same order. Input is hostile: every function is total, and [`Limits`] bound what is looked at.
//!
//! Ranges: exposure is 0 or more, without upper end; hardening is 0 to 1; score is exposure × (1 − hardening), 0 or
//! more; normalised is 0 to 100; confidence is 0 to 1. Where the first pack departs from the scores it descends from:
//!
//! - hardening ends at 1, so that no score is negative; normalised ends at 100;
//! - a missing header says what it would have taken off, instead of nothing;
//! - a header is found whatever the case of its name;
//! - a redacted cookie is no cookie without flags: it is told, not scored, and lowers the confidence;
//! - everything that scores leaves evidence, so that contributions add up to the exposure;
//! - bodies that are no markup are not searched for forms.

pub mod attribution;
mod change_kind;
mod changes;
mod cookie;
mod evidence;
mod explain;
mod form_pairs;
mod imports;
mod json;
mod measure;
mod pack;
mod policy;
mod reach;
pub mod rows;
mod rule;
mod scan;
pub mod security;
mod selectors;
mod surface;
mod text;
mod tokens;

pub use changes::Change;
pub use evidence::{Evidence, Location, LocationKind, MOST_LOCATIONS};
pub use explain::{explain, explain_change, explain_makers, explain_others, explain_security};
pub use pack::{ChangeRule, Directive, Pack, PackError, ProtectingHeader, Rule, Saturation, Words};
pub use policy::Credit;
pub use rule::{Category, ChangeKind, RuleId, Severity};
pub use surface::{
    Cookie, Form, Frame, Handler, Input, Insecure, Parameter, Place, Reach, ReachKind, Script, Surface,
};

use chrono::{DateTime, Utc};
use varve_core::headers::HeaderView;

/// What is to be scored.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
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
    /// The headers. Without redaction more can be said; with it, nothing false is.
    pub headers: &'a HeaderView,
    /// The body, content codings removed.
    pub body: &'a [u8],
    /// When it is scored.
    pub time: DateTime<Utc>,
}

/// How much is looked at. What is beyond is not scored, and the score says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Elements of each kind.
    pub elements: usize,
}

impl Default for Limits {
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
    /// When it was scored.
    pub time: DateTime<Utc>,
    /// The pack that was used.
    pub scoring_version: String,
    /// Exposure × (1 − hardening), 0 or more.
    pub score: f64,
    /// The same as a number from 0 to 100.
    pub normalized: u8,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// The points of all that is exposed, 0 or more.
    pub exposure: f64,
    /// The part of it that headers take back, 0 to 1.
    pub hardening: f64,
    /// What hardening is made of.
    pub credits: Vec<Credit>,
    /// What was found.
    pub evidence: Vec<Evidence>,
    /// What was looked at.
    pub surface: Surface,
}

/// Scores a page.
pub fn score(page: &Page<'_>, pack: &Pack, limits: &Limits) -> PageScore {
    let surface = scan::collect(page, limits);
    let mut measured = measure::measure(pack, &surface, page.headers);
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

/// A score as a number from 0 to 100: a hundred times the score without its fraction. What sums of points miss by
/// their rounding is made good first, so that 0.96 is 96 in whatever order its parts were added.
pub fn normalize(score: f64) -> u8 {
    (score * 100.0 + 1e-9).clamp(0.0, 100.0) as u8
}

/// How sure a score can be: halved for each reason why something may have been missed.
fn confidence(pack: &Pack, surface: &Surface) -> f64 {
    let reasons = [surface.is_truncated, surface.has_redacted_cookies];
    reasons.into_iter().filter(|is_so| *is_so).fold(pack.confidence, |confidence, _| confidence / 2.0)
}
