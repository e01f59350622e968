//! Facts: the records about history that varve writes into the silos, so that history outlives the
//! catalog.
//!
//! Each fact is a `metadata` record that holds JSON, with a media type of its own. Rows of the
//! catalog are made only from facts and receipts, both at first and in a rebuild.
//!
//! The bytes of a fact are never made again from its values, because the id of a version is the
//! digest of these bytes.

mod check_record;
mod extraction_record;
mod log_record;
mod verdict_stream;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::headers::HeaderView;
use crate::history::{Coverage, Version};
use crate::{BodyId, ManifestDigest, Moment, RecordId, RunId, VersionId};

pub use check_record::{CheckRecord, EvidenceRecord, UrlVerdict, VerdictDetail};
pub use extraction_record::{DomainSettingsSet, ExtractionDeleted, ExtractionRecord};
pub use log_record::{CheckpointSigned, CheckpointTimestamped, LeavesAdded};

/// The manifest of a version: its parent, message, author, time, and what it changed against the
/// state of its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The parent version.
    pub parent: Option<VersionId>,
    /// The message.
    pub message: String,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was made.
    pub time: Moment,
    /// The run whose captures it holds, if a run made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSummary>,
    /// What it covers, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// What it says about pages, besides the captures of its run, if that is little.
    #[serde(flatten)]
    pub inline: StateChanges,
    /// Records that say more of the same, as [`ChangesRecord`]s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RecordId>,
    /// The plan in force, stored as an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RecordId>,
    /// The expectation files in force, by name, each stored as an object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expectations: BTreeMap<String, RecordId>,
    /// The file that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<VersionSource>,
}

/// The part of a file that a version was imported from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSource {
    /// The name of the file. A file inside another one is named after it and `!`.
    pub file: String,
    /// The SHA-256 of the file, in hex.
    pub sha256: String,
    /// The byte offset at which the part begins.
    pub offset: u64,
    /// Whether its captures are responses as received. If not, they were made of what another program
    /// noted about them.
    pub wire: bool,
}

/// A run, and a seal over its records. The records themselves name the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// The number of its captures.
    pub captures: u64,
    /// The SHA-256 over the sorted ids of their records: adding or removing a record changes it.
    pub seal: BodyId,
}

/// A page that the user committed, or that a version takes from an earlier capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestPage {
    /// Its URL.
    pub url: String,
    /// Its path in a working tree.
    pub path: String,
    /// When it was captured.
    pub time: Moment,
    /// The status of the response.
    pub status: u16,
    /// The headers of the response.
    #[serde(default, skip_serializing_if = "HeaderView::is_empty")]
    pub headers: HeaderView,
    /// The body: an object with the same id unless `record` names a record.
    pub body: BodyId,
    /// The length of the body in bytes.
    pub length: u64,
    /// The record of the earlier response that the page was captured with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordId>,
    /// Whether that response is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What a version says about pages, each list by path and URL. Pages that it does not name are as
/// in the state of its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChanges {
    /// Pages that the user committed and that are new or differ from the parent's state, and pages
    /// that a version takes from earlier captures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<ManifestPage>,
    /// The URLs of pages that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Pages that could not be reached, and have no capture that says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<UnreachablePage>,
}

impl StateChanges {
    /// The number of pages that it names.
    pub fn len(&self) -> usize {
        self.pages.len() + self.gone.len() + self.unreachable.len()
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A page that was requested without a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachablePage {
    /// Its URL.
    pub url: String,
    /// Why there was no response.
    pub reason: String,
}

/// A part of what a version says about pages. It precedes the manifest that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FlatChangesRecord")]
pub struct ChangesRecord {
    /// The parent of the version.
    pub parent: Option<VersionId>,
    /// The time of the version. With the parent and the number it makes the record unique: equal
    /// changes of another version are another record, which precedes that version.
    pub time: Moment,
    /// The position of this part among those of the version, from 0.
    pub part: u32,
    /// What it says.
    #[serde(flatten)]
    pub changes: StateChanges,
}

/// The fields of a [`ChangesRecord`] as they are stored. Reading a flattened field costs twice as much,
/// because its values are held in a general form first, and a version may have a million of them.
#[derive(Deserialize)]
struct FlatChangesRecord {
    parent: Option<VersionId>,
    time: Moment,
    part: u32,
    #[serde(default)]
    pages: Vec<ManifestPage>,
    #[serde(default)]
    gone: Vec<String>,
    #[serde(default)]
    unreachable: Vec<UnreachablePage>,
}

impl From<FlatChangesRecord> for ChangesRecord {
    fn from(record: FlatChangesRecord) -> Self {
        let FlatChangesRecord { parent, time, part, pages, gone, unreachable } = record;
        Self { parent, time, part, changes: StateChanges { pages, gone, unreachable } }
    }
}

/// Pages of a removed version that its child still shows. They count as if the manifest of the child
/// listed them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedPages {
    /// The child.
    pub version: VersionId,
    /// When the parent was removed.
    pub time: Moment,
    /// The position of this fact among those about the child, from 0.
    pub part: u32,
    /// The pages.
    #[serde(flatten)]
    pub changes: StateChanges,
}

/// A tag was set, moved or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagSet {
    /// The name.
    pub name: String,
    /// The version that the tag points to now; `None` if the tag was removed.
    pub version: Option<VersionId>,
    /// When the tag changed.
    pub time: Moment,
}

/// HEAD was moved without a new version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadMoved {
    /// The version that HEAD points to now.
    pub version: VersionId,
    /// When HEAD moved.
    pub time: Moment,
}

/// The removal of a record from the silos, with its reason. Nothing else remains of the record.
///
/// A tombstone of the kind [`TombstoneKind::Page`] removes no record. It removes a page from all
/// versions written before it, even if other pages hold its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The removed record; for a page, the record that holds or held its body.
    pub record: RecordId,
    /// The WARC type of the record, or a page.
    pub kind: TombstoneKind,
    /// The URL of the record, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The digest of its payload, or of its block if it had no payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The run that it belonged to; for a manifest, the run that became the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The version whose manifest it was, if it was a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionId>,
    /// The parent of that version: its children descend from it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<VersionId>,
    /// The record that replaces it, if it was removed only because the record that it referred to
    /// was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<RecordId>,
    /// The user who removed it.
    pub who: String,
    /// The reason.
    pub why: String,
    /// When it was removed.
    pub time: Moment,
}

impl Tombstone {
    /// A tombstone without requester, reason and time.
    pub fn new(record: RecordId, kind: TombstoneKind) -> Self {
        Self {
            record,
            kind,
            url: None,
            digest: None,
            run: None,
            version: None,
            parent: None,
            replaced_by: None,
            who: String::new(),
            why: String::new(),
            time: Moment::from_seconds(0),
        }
    }

    /// The URL of the page that it removes from the versions before it; `None` if it removes a
    /// record.
    pub fn page(&self) -> Option<&str> {
        self.url.as_deref().filter(|_| self.kind == TombstoneKind::Page)
    }

    /// The run that became the version that it removes. Its remaining responses are captures of
    /// other versions only.
    pub fn removed_run(&self) -> Option<RunId> {
        self.run.filter(|_| self.version.is_some())
    }

    /// The run that loses a capture.
    pub fn run_of_capture(&self) -> Option<RunId> {
        self.run.filter(|_| self.version.is_none())
    }

    /// Whether it removes a record.
    pub fn is_of_record(&self) -> bool {
        self.kind != TombstoneKind::Page
    }
}

/// The kind of thing that a tombstone stands for: a page, or a record by its WARC type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of WARC")]
pub enum TombstoneKind {
    /// A page of versions. Its record may stay.
    Page,
    Warcinfo,
    Response,
    Resource,
    Request,
    Metadata,
    Revisit,
    Conversion,
    Continuation,
    /// A record of a type that WARC does not define.
    Other,
}

impl TombstoneKind {
    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Warcinfo => "warcinfo",
            Self::Response => "response",
            Self::Resource => "resource",
            Self::Request => "request",
            Self::Metadata => "metadata",
            Self::Revisit => "revisit",
            Self::Conversion => "conversion",
            Self::Continuation => "continuation",
            Self::Other => "other",
        }
    }
}

/// A fact about history.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A version was made.
    Version(Box<Manifest>),
    /// A part of what the next version says about pages.
    Changes(Box<ChangesRecord>),
    /// A version took over pages of its removed parent.
    Adopted(Box<AdoptedPages>),
    /// A tag was set, moved or removed.
    Tag(TagSet),
    /// HEAD moved.
    Head(HeadMoved),
    /// A record or a page was removed.
    Tombstone(Box<Tombstone>),
    /// A version was scored. The scorer defines the JSON.
    Score(serde_json::Value),
    /// URLs were checked.
    Check(Box<CheckRecord>),
    /// An extraction was saved.
    Extraction(Box<ExtractionRecord>),
    /// A saved extraction was deleted.
    ExtractionDeleted(ExtractionDeleted),
    /// The settings of a domain were set or deleted.
    DomainSettings(Box<DomainSettingsSet>),
    /// Versions became leaves of the log.
    LogLeaves(Box<LeavesAdded>),
    /// A checkpoint of the log was signed.
    LogCheckpoint(Box<CheckpointSigned>),
    /// A checkpoint of the log got a timestamp.
    LogTimestamp(Box<CheckpointTimestamped>),
}

/// The media types of facts.
pub mod media_type {
    /// A manifest.
    pub const VERSION: &str = "application/vnd.varve.version+json";
    /// A part of what a version says about pages.
    pub const CHANGES: &str = "application/vnd.varve.changes+json";
    /// Pages that a version took over from its removed parent.
    pub const ADOPTED: &str = "application/vnd.varve.adopted+json";
    /// A tag.
    pub const TAG: &str = "application/vnd.varve.tag+json";
    /// A move of HEAD.
    pub const HEAD: &str = "application/vnd.varve.head+json";
    /// A tombstone.
    pub const TOMBSTONE: &str = "application/vnd.varve.tombstone+json";
    /// A score.
    pub const SCORE: &str = "application/vnd.varve.score+json";
    /// A check and its verdicts.
    pub const CHECK: &str = "application/vnd.varve.check+json";
    /// A saved extraction.
    pub const EXTRACTION: &str = "application/vnd.varve.extraction+json";
    /// The deletion of a saved extraction.
    pub const EXTRACTION_DELETED: &str = "application/vnd.varve.extraction-deleted+json";
    /// The settings of a domain.
    pub const DOMAIN_SETTINGS: &str = "application/vnd.varve.domain-settings+json";
    /// Leaves of the log.
    pub const LOG_LEAVES: &str = "application/vnd.varve.log-leaves+json";
    /// A checkpoint of the log.
    pub const LOG_CHECKPOINT: &str = "application/vnd.varve.log-checkpoint+json";
    /// A timestamp of a checkpoint.
    pub const LOG_TIMESTAMP: &str = "application/vnd.varve.log-timestamp+json";
}

/// A fact could not be parsed.
#[derive(Debug, thiserror::Error)]
#[error("this {media_type} is not what it says")]
pub struct FactError {
    /// Its media type.
    pub media_type: String,
    /// The error of the JSON parser.
    pub source: serde_json::Error,
}

impl Fact {
    /// Parses a fact; `None` if the media type is not that of a fact.
    pub fn parse(media_type: &str, json: &[u8]) -> Option<Result<Self, FactError>> {
        let fact = match media_type {
            media_type::VERSION => serde_json::from_slice(json).map(Self::Version),
            media_type::CHANGES => serde_json::from_slice(json).map(Self::Changes),
            media_type::ADOPTED => serde_json::from_slice(json).map(Self::Adopted),
            media_type::TAG => serde_json::from_slice(json).map(Self::Tag),
            media_type::HEAD => serde_json::from_slice(json).map(Self::Head),
            media_type::TOMBSTONE => serde_json::from_slice(json).map(Self::Tombstone),
            media_type::SCORE => serde_json::from_slice(json).map(Self::Score),
            media_type::CHECK => serde_json::from_slice(json).map(Self::Check),
            media_type::EXTRACTION => serde_json::from_slice(json).map(Self::Extraction),
            media_type::EXTRACTION_DELETED => serde_json::from_slice(json).map(Self::ExtractionDeleted),
            media_type::DOMAIN_SETTINGS => serde_json::from_slice(json).map(Self::DomainSettings),
            media_type::LOG_LEAVES => serde_json::from_slice(json).map(Self::LogLeaves),
            media_type::LOG_CHECKPOINT => serde_json::from_slice(json).map(Self::LogCheckpoint),
            media_type::LOG_TIMESTAMP => serde_json::from_slice(json).map(Self::LogTimestamp),
            _ => return None,
        };
        Some(fact.map_err(|source| FactError { media_type: media_type.to_owned(), source }))
    }

    /// Its bytes. Those of a fact that was read must be kept as they are.
    pub fn to_json(&self) -> Vec<u8> {
        let json = match self {
            Self::Version(fact) => serde_json::to_vec(fact),
            Self::Changes(fact) => serde_json::to_vec(fact),
            Self::Adopted(fact) => serde_json::to_vec(fact),
            Self::Tag(fact) => serde_json::to_vec(fact),
            Self::Head(fact) => serde_json::to_vec(fact),
            Self::Tombstone(fact) => serde_json::to_vec(fact),
            Self::Score(fact) => serde_json::to_vec(fact),
            Self::Check(fact) => serde_json::to_vec(fact),
            Self::Extraction(fact) => serde_json::to_vec(fact),
            Self::ExtractionDeleted(fact) => serde_json::to_vec(fact),
            Self::DomainSettings(fact) => serde_json::to_vec(fact),
            Self::LogLeaves(fact) => serde_json::to_vec(fact),
            Self::LogCheckpoint(fact) => serde_json::to_vec(fact),
            Self::LogTimestamp(fact) => serde_json::to_vec(fact),
        };
        json.expect("facts can be written as JSON")
    }

    /// The media type of its record.
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Version(_) => media_type::VERSION,
            Self::Changes(_) => media_type::CHANGES,
            Self::Adopted(_) => media_type::ADOPTED,
            Self::Tag(_) => media_type::TAG,
            Self::Head(_) => media_type::HEAD,
            Self::Tombstone(_) => media_type::TOMBSTONE,
            Self::Score(_) => media_type::SCORE,
            Self::Check(_) => media_type::CHECK,
            Self::Extraction(_) => media_type::EXTRACTION,
            Self::ExtractionDeleted(_) => media_type::EXTRACTION_DELETED,
            Self::DomainSettings(_) => media_type::DOMAIN_SETTINGS,
            Self::LogLeaves(_) => media_type::LOG_LEAVES,
            Self::LogCheckpoint(_) => media_type::LOG_CHECKPOINT,
            Self::LogTimestamp(_) => media_type::LOG_TIMESTAMP,
        }
    }
}

impl Manifest {
    /// The digest of a manifest with these bytes.
    pub fn digest(bytes: &[u8]) -> ManifestDigest {
        ManifestDigest::new(Sha256::digest(bytes).into())
    }

    /// The id of the version whose manifest has these bytes.
    pub fn version_id(bytes: &[u8]) -> VersionId {
        Self::digest(bytes).version()
    }

    /// The same manifest without what it says about pages.
    pub fn clone_without_changes(&self) -> Self {
        Self {
            parent: self.parent,
            message: self.message.clone(),
            author: self.author.clone(),
            time: self.time,
            run: self.run.clone(),
            coverage: self.coverage.clone(),
            inline: StateChanges::default(),
            changes: Vec::new(),
            plan: self.plan,
            expectations: self.expectations.clone(),
            source: self.source.clone(),
        }
    }

    /// The version that it describes.
    pub fn version(&self, id: VersionId, record: Option<RecordId>) -> Version {
        Version {
            id,
            parent: self.parent,
            message: self.message.clone(),
            author: self.author.clone(),
            time: self.time,
            run: self.run.as_ref().map(|run| run.id),
            record,
            coverage: self.coverage.clone(),
        }
    }
}

/// Sorts pages in the order of manifests.
pub fn sort_pages(pages: &mut [ManifestPage]) {
    pages.sort_by(|one, other| (&one.path, &one.url).cmp(&(&other.path, &other.url)));
}

impl RunSummary {
    /// The seal over the records of a run, in any order.
    pub fn seal_of(mut records: Vec<RecordId>) -> BodyId {
        records.sort_unstable();
        let mut sealing = Sealing::default();
        records.iter().for_each(|record| sealing.add(record));
        sealing.finish()
    }
}

/// Computes a seal over records that are added in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Sealing(Sha256);

impl Sealing {
    /// Adds the next record, which must be greater than all before it.
    pub fn add(&mut self, record: &RecordId) {
        self.0.update(record.as_bytes());
    }

    /// The seal over all added records.
    pub fn finish(self) -> BodyId {
        BodyId::new(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            parent: None,
            message: "first".to_owned(),
            author: None,
            time: Moment::from_seconds(1_700_000_000),
            run: None,
            coverage: None,
            inline: StateChanges {
                pages: vec![ManifestPage {
                    url: "https://example.com/".to_owned(),
                    path: String::new(),
                    time: Moment::from_seconds(1_700_000_000),
                    status: 200,
                    headers: HeaderView::default(),
                    body: BodyId::new([7; 32]),
                    length: 3,
                    record: None,
                    truncated: false,
                }],
                ..StateChanges::default()
            },
            changes: Vec::new(),
            plan: None,
            expectations: BTreeMap::new(),
            source: None,
        }
    }

    #[test]
    fn a_fact_is_read_back_by_its_media_type() {
        let fact = Fact::Version(Box::new(manifest()));
        let json = serde_json::to_vec(&manifest()).unwrap();
        assert_eq!(Fact::parse(fact.media_type(), &json).unwrap().unwrap(), fact);
        assert!(Fact::parse("text/html", &json).is_none());
        assert!(Fact::parse(media_type::TAG, b"{}").unwrap().is_err());
    }

    #[test]
    fn changes_stand_beside_the_other_fields_of_a_manifest() {
        let json = serde_json::to_value(manifest()).unwrap();
        assert_eq!(json["pages"][0]["url"], "https://example.com/");
        assert!(json.get("inline").is_none() && json.get("gone").is_none() && json.get("changes").is_none());
        let inline =
            StateChanges { gone: vec!["https://example.com/a".to_owned()], ..StateChanges::default() };
        let gone = Manifest { inline, ..manifest() };
        let again: Manifest = serde_json::from_slice(&serde_json::to_vec(&gone).unwrap()).unwrap();
        assert_eq!((again.inline.len(), &again), (1, &gone));
    }

    #[test]
    fn a_check_with_unknown_fields_is_read_back() {
        let run = "018f3c1e-0000-7000-8000-000000000001";
        let json = format!(
            r#"{{"run":"{run}","time":"2026-11-16T00:00:00Z","message":"m","verdicts":[{{"url":"http://e.org/",
            "time":"2026-11-16T00:00:00Z","verdict":"ok","status":200,"expectation":{{"path":"/"}},"later":1}}]}}"#
        );
        let Some(Ok(Fact::Check(check))) = Fact::parse(media_type::CHECK, json.as_bytes()) else {
            panic!("this is a check");
        };
        assert_eq!(check.counts().ok, 1);
        assert_eq!(check.verdicts[0].detail.expectation["path"], "/");
        let again = serde_json::to_vec(&check).unwrap();
        assert_eq!(Fact::parse(media_type::CHECK, &again).unwrap().unwrap(), Fact::Check(check));
        assert_ne!(CheckRecord::check_id(&again), CheckRecord::check_id(json.as_bytes()));
    }

    #[test]
    fn another_past_is_another_version() {
        let one = serde_json::to_vec(&manifest()).unwrap();
        let other = serde_json::to_vec(&Manifest { message: "other".to_owned(), ..manifest() }).unwrap();
        assert_ne!(Manifest::version_id(&one), Manifest::version_id(&other));
        assert_eq!(Manifest::version_id(&one).into_inner().get_version_num(), 8);
    }

    #[test]
    fn the_seal_of_a_run_does_not_depend_on_order() {
        let (a, b) = (RecordId::new([1; 32]), RecordId::new([2; 32]));
        assert_eq!(RunSummary::seal_of(vec![a, b]), RunSummary::seal_of(vec![b, a]));
        assert_ne!(RunSummary::seal_of(vec![a]), RunSummary::seal_of(vec![a, b]));
    }
}
