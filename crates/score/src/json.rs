//! The score as JSON, in the form of the column `score_json`, with a few additional fields.

use crate::evidence::ExposureEvidence;
use crate::surface::AttackSurface;
use crate::{PageScore, rows};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

/// An instant as RFC 3339 in UTC, with its full precision.
pub(crate) fn instant(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// The score. `attack_surface` is always present, because readers use its `url`.
#[derive(Serialize)]
struct ScoreJson<'a> {
    score: f64,
    snapshot_id: &'a str,
    version_id: &'a str,
    normalized: u8,
    confidence: f64,
    version: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    evidence: &'a [ExposureEvidence],
    meta: Meta<'a>,
    exposure_score: f64,
    hardening_score: f64,
    timestamp: String,
    attack_surface: &'a AttackSurface,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pages: Vec<PageJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_not_scored: Option<u64>,
}

/// The page.
#[derive(Serialize)]
struct Meta<'a> {
    snapshot_id: &'a str,
    url: &'a str,
}

/// A page of a version in brief.
#[derive(Serialize)]
struct PageJson<'a> {
    url: &'a str,
    file_path: &'a str,
    score: f64,
    normalized: u8,
}

impl PageScore {
    /// The score as in `score_json`.
    pub fn to_json(&self) -> String {
        write(self, self.confidence, Vec::new(), 0)
    }
}

impl rows::VersionScore {
    /// The score of a version as in `score_json`: that of its most exposed page, and all pages in
    /// brief.
    pub fn to_json(&self) -> String {
        let pages = self.pages().iter().map(|page| PageJson {
            url: &page.url,
            file_path: &page.file_path,
            score: page.score,
            normalized: page.normalized,
        });
        write(self.most_exposed(), self.confidence(), pages.collect(), self.not_scored())
    }
}

/// Writes the score of a page with the fields of its version.
fn write(page: &PageScore, confidence: f64, pages: Vec<PageJson<'_>>, not_scored: u64) -> String {
    let json = ScoreJson {
        score: page.score,
        snapshot_id: &page.snapshot_id,
        version_id: &page.version_id,
        normalized: page.normalized,
        confidence,
        version: &page.scoring_version,
        evidence: &page.evidence,
        meta: Meta { snapshot_id: &page.snapshot_id, url: &page.url },
        exposure_score: page.exposure,
        hardening_score: page.hardening,
        timestamp: instant(page.time),
        attack_surface: &page.surface,
        pages,
        pages_not_scored: (not_scored > 0).then_some(not_scored),
    };
    serde_json::to_string(&json).expect("every part is a string, a finite number or a list of such")
}
