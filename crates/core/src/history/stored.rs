//! Values that are computed from history and stored beside it: diffs, scores and verdicts of
//! checks.
//!
//! The shapes are those of the tables of Moku that hold them, so that a Moku site and an archive
//! store the same values.

use serde::{Deserialize, Serialize};

use super::{VerdictCounts, VerdictKind};
use crate::{CheckId, Moment, RecordId, RunId, VersionId};

/// A diff of two versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDiff {
    /// The version that it starts from. `None` means the empty version.
    pub base: Option<VersionId>,
    /// The version that it leads to.
    pub head: VersionId,
    /// The diff as JSON.
    pub json: String,
    /// When it was computed.
    pub time: Moment,
}

/// A [`StoredDiff`] without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredDiffInfo {
    /// The version that it starts from. `None` means the empty version.
    pub base: Option<VersionId>,
    /// The version that it leads to.
    pub head: VersionId,
    /// When it was computed.
    pub time: Moment,
}

/// The score of a version, with its evidence and attributions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredScore {
    /// The version that was scored.
    pub version: VersionId,
    /// The name of the rules that were used.
    pub scoring_version: String,
    /// The score.
    pub score: f64,
    /// The score on a scale from 0 to 100.
    pub normalized: u8,
    /// The confidence in the score, from 0 to 1.
    pub confidence: f64,
    /// The complete result as JSON.
    pub json: String,
    /// When it was computed.
    pub time: Moment,
    /// Where the evidence was found.
    pub evidence: Vec<StoredEvidenceLocation>,
    /// The changes since the parent's score that caused this one.
    pub attributions: Vec<Attribution>,
}

/// One place where evidence for a score was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredEvidenceLocation {
    /// The id of the evidence within the score.
    pub evidence_id: String,
    /// The number of the evidence within the score.
    pub evidence_index: i64,
    /// The number of the place; -1 for evidence without one.
    pub location_index: i64,
    /// The kind of evidence.
    pub key: String,
    /// A CSS selector.
    pub selector: Option<String>,
    /// The path of the page.
    pub file_path: Option<String>,
    /// First and last byte.
    pub bytes: Option<(u64, u64)>,
    /// First and last line.
    pub lines: Option<(u64, u64)>,
    /// The confidence in the place, from 0 to 1.
    pub confidence: Option<f64>,
    /// The evidence as JSON.
    pub evidence_json: String,
    /// The place as JSON.
    pub location_json: Option<String>,
}

/// The contribution of one piece of evidence to a score through one change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// The version that the scored version was compared with.
    pub base: Option<VersionId>,
    /// The id of the evidence.
    pub evidence_id: String,
    /// The number of its place.
    pub location_index: i64,
    /// The chunk of the diff; -1 if the evidence lies in none.
    pub chunk_index: i64,
    /// The kind of evidence.
    pub key: String,
    /// The evidence as JSON.
    pub evidence_json: String,
    /// The place as JSON.
    pub location_json: Option<String>,
    /// The contribution to the score.
    pub contribution: f64,
    /// The contribution in percent of all contributions.
    pub percent: f64,
    /// A remark.
    pub note: Option<String>,
}

/// A check, without its verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredCheck {
    /// Its id, which comes from its fact.
    pub id: CheckId,
    /// The run that the records of the responses name.
    pub run: RunId,
    /// When it ended.
    pub time: Moment,
    /// The message.
    pub message: String,
    /// The author.
    pub author: Option<String>,
    /// The record of its fact.
    pub record: RecordId,
    /// The number of verdicts of each kind.
    pub counts: VerdictCounts,
}

/// The verdict of a check on one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVerdict {
    /// The check.
    pub check: CheckId,
    /// The URL.
    pub url: String,
    /// When it was checked.
    pub time: Moment,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The status of the response; 0 if there was none.
    pub status: u16,
    /// The expectation, the observed facts and the evidence, as JSON.
    pub json: String,
}
