//! The seam for writing: rows, and the one way in which they are kept.

use serde::{Deserialize, Serialize};
use varve_core::fact::Tombstone;
use varve_core::history::{Capture, Version};
use varve_core::{Moment, RecordId, RunId, VersionId};

use crate::error::CatalogError;
use crate::read::CatalogRead;

/// Something to remember. Rows are applied in the order in which they are given. Applying the last rows again, from any
/// one on to the end, changes nothing: what is there already stays, and what was set last is set last again.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A version. If it names a run that no other version has named, the captures of that run are its captures from
    /// now on, those to come as well. HEAD points to it.
    Version(Version),
    /// A capture, of a version that is there or comes in the same batch, or of a run.
    Capture(Box<Capture>),
    /// All captures of a version that is there and has no others, each page once. Many of them are nearly always those
    /// of its parent: kept together, what did not change costs next to nothing.
    Pages {
        /// The version.
        version: VersionId,
        /// Its captures.
        captures: Vec<Capture>,
    },
    /// A tag; without a version it is taken away.
    Tag {
        /// Its name.
        name: String,
        /// What it stands for.
        version: Option<VersionId>,
        /// When.
        time: Moment,
    },
    /// HEAD points elsewhere.
    Head(VersionId),
    /// A diff between versions that are there, which can be computed again.
    Diff(Diff),
    /// A score of a version that is there, with its evidence and attributions; it replaces the one of the same scoring version.
    Score(Box<Score>),
    /// A verdict of a check; it replaces one on the same URL at the same instant.
    Verdict(VerdictRow),
    /// Something that was taken out of the silos. If it is a page, it is out of the versions that are there by now, with the headers that
    /// it was answered with.
    Removal(Box<Removal>),
    /// Forget a version with its captures, diffs, scores and tags; its children descend from its parent, and HEAD goes
    /// there if it pointed to it. Only retention of a Moku site does this.
    ForgetVersion(VersionId),
    /// Forget the diffs that were computed before this instant.
    ForgetDiffs(Moment),
    /// The silos have been read up to this place, which is a number to the catalog: what came before it has its rows.
    Reached(u64),
    /// The list of pages that was written last, which manifests to come may name.
    List(LastList),
    /// gc was done at this instant. That is no history: a catalog that is made again does not know it.
    GcDone(Moment),
    /// Forget a run that has not become a version, with its captures.
    ForgetRun(RunId),
}

/// The list of pages that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastList {
    /// Its record.
    pub record: RecordId,
    /// How many pages the manifests that name it list besides, and leave out, all of them together.
    pub spent: u64,
}

/// What was taken out of the silos, and the record that tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The record that tells of it.
    pub told_by: RecordId,
    /// What it tells.
    pub tombstone: Tombstone,
}

impl Removal {
    /// The URL, if an answer to it is gone and nothing stands in its place.
    pub(crate) fn url_of_answer(&self) -> Option<&str> {
        let Tombstone { kind, url, replaced_by, .. } = &self.tombstone;
        let is_answer = matches!(kind.as_str(), "response" | "revisit") && replaced_by.is_none();
        url.as_deref().filter(|_| is_answer)
    }
}

/// A diff that was computed: a row of the seed's `diffs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// From this version; none for the empty one.
    pub base: Option<VersionId>,
    /// To this version.
    pub head: VersionId,
    /// The JSON.
    pub json: String,
    /// When it was computed.
    pub time: Moment,
}

/// A diff that is kept, without what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiffInfo {
    /// From this version; none for the empty one.
    pub base: Option<VersionId>,
    /// To this version.
    pub head: VersionId,
    /// When it was computed.
    pub time: Moment,
}

/// A score: a row of the seed's `version_scores`, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The version that was scored.
    pub version: VersionId,
    /// The rules that were used.
    pub scoring_version: String,
    /// The score.
    pub score: f64,
    /// The score on a scale from 0 to 100.
    pub normalized: u8,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// The whole result as JSON.
    pub json: String,
    /// When.
    pub time: Moment,
    /// Where its evidence lies.
    pub evidence: Vec<Evidence>,
    /// Which changes caused it, against the parent's score.
    pub attributions: Vec<Attribution>,
}

/// A place of evidence: a row of the seed's `version_evidence_locations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its id within the score.
    pub evidence_id: String,
    /// Its number within the score.
    pub evidence_index: i64,
    /// The number of the place; -1 for evidence without one.
    pub location_index: i64,
    /// What kind of evidence.
    pub key: String,
    /// A CSS selector.
    pub selector: Option<String>,
    /// The page, by its path.
    pub file_path: Option<String>,
    /// First and last byte.
    pub bytes: Option<(u64, u64)>,
    /// First and last line.
    pub lines: Option<(u64, u64)>,
    /// How sure the place is, from 0 to 1.
    pub confidence: Option<f64>,
    /// The evidence as JSON.
    pub evidence_json: String,
    /// The place as JSON.
    pub location_json: Option<String>,
}

/// How much one piece of evidence contributed through one change: a row of the seed's `diff_attributions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// The version that the head was compared with.
    pub base: Option<VersionId>,
    /// The evidence.
    pub evidence_id: String,
    /// The number of its place.
    pub location_index: i64,
    /// The chunk of the diff; -1 when it is tied to none.
    pub chunk_index: i64,
    /// What kind of evidence.
    pub key: String,
    /// The evidence as JSON.
    pub evidence_json: String,
    /// The place as JSON.
    pub location_json: Option<String>,
    /// The contribution to the score.
    pub contribution: f64,
    /// The same in percent of all contributions.
    pub percent: f64,
    /// A remark.
    pub note: Option<String>,
}

/// A verdict of a check on one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictRow {
    /// The URL.
    pub url: String,
    /// When it was checked.
    pub time: Moment,
    /// `met`, `drift`, `unreachable` or `skipped`.
    pub verdict: String,
    /// The status of the answer; 0 where there was none.
    pub status: u16,
    /// What was expected, what came, and the capture that is the evidence, as JSON.
    pub json: String,
}

/// Keeps rows. One process writes at a time, which whoever opens it sees to.
pub trait Catalog: CatalogRead {
    /// Keeps rows, all or none, durably.
    fn apply(&self, rows: &mut dyn Iterator<Item = Row>) -> Result<(), CatalogError>;

    /// The same catalog, for reading.
    fn as_read(&self) -> &dyn CatalogRead;
}
