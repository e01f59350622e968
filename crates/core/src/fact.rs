//! Facts: the records about history that varve writes into the silos, so that history outlives the
//! catalog.
//!
//! Each fact is a `metadata` record that holds JSON, with a media type of its own. Rows of the
//! catalog are made only from facts and receipts, both at first and in a rebuild.
//!
//! The bytes of a fact are never made again from its values, because the id of a version is the
//! digest of these bytes.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::headers::HeaderView;
use crate::history::{VerdictKind, Version, uuid_of};
use crate::{BodyId, CaptureId, Moment, RecordId, RunId, VersionId};

/// The manifest of a version: its parent, message, author, time and content.
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
    /// A page list. Its pages belong to the version, at the time of the version, except those in
    /// `without` and those whose URL is in `pages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<RecordId>,
    /// The URLs of pages of the list that the version does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Pages by path and URL: those that the user committed, and for a run those that were captured
    /// before it. With a list, only those that are not in the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<ManifestPage>,
    /// The plan in force, stored as an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RecordId>,
    /// The expectation files in force, by name, each stored as an object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expectations: BTreeMap<String, RecordId>,
    /// The verdicts whose evidence its captures are, if a check made the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<RecordId>,
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

/// Pages that several versions share: each manifest names the list and its differences from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageList {
    /// The time of the version that the list was written for. If a site returns to an earlier
    /// state, its list is written again. Without a time, that list would be the old record, and not
    /// the last one before the manifests that name it.
    pub time: Moment,
    /// The pages, by path and URL.
    pub pages: Vec<ListedPage>,
}

/// A page in a list. The version supplies its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPage {
    /// Its URL.
    pub url: String,
    /// Its path in a working tree.
    pub path: String,
    /// The status of the response.
    pub status: u16,
    /// The headers of the response.
    #[serde(default, skip_serializing_if = "HeaderView::is_empty")]
    pub headers: HeaderView,
    /// The body: an object with the same id.
    pub body: BodyId,
    /// The length of the body in bytes.
    pub length: u64,
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

/// The verdicts of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// When the fact was written.
    pub time: Moment,
    /// The run whose captures are the evidence, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The verdicts, in the order of the requests.
    pub verdicts: Vec<UrlVerdict>,
}

/// The verdict of a check on one URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UrlVerdict {
    /// The requested URL.
    pub url: String,
    /// The time of the capture if there is one, otherwise of the check.
    pub time: Moment,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The status of the last response.
    pub status: Option<u16>,
    /// The details.
    #[serde(flatten)]
    pub detail: VerdictDetail,
}

/// The details of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictDetail {
    /// The expectation in words, if the response differs from it.
    #[serde(default)]
    pub expected: Option<String>,
    /// The observed facts in words.
    #[serde(default)]
    pub got: Option<String>,
    /// The capture that is the evidence.
    #[serde(default)]
    pub capture: Option<CaptureId>,
    /// The URL of that capture, if redirects led to another URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// The expectation, in the JSON of the crate that defines it.
    #[serde(default)]
    pub expectation: serde_json::Value,
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
    /// The run that it belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The version whose manifest it was, if it was a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionId>,
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
    /// A page list for later versions.
    Pages(PageList),
    /// A tag was set, moved or removed.
    Tag(TagSet),
    /// HEAD moved.
    Head(HeadMoved),
    /// A record or a page was removed.
    Tombstone(Box<Tombstone>),
    /// A version was scored. The scorer defines the JSON.
    Score(serde_json::Value),
    /// Expectations were checked.
    Verdicts(Verdicts),
}

/// The media types of facts.
pub mod media_type {
    /// A manifest.
    pub const VERSION: &str = "application/vnd.varve.version+json";
    /// A list of pages.
    pub const PAGES: &str = "application/vnd.varve.pages+json";
    /// A tag.
    pub const TAG: &str = "application/vnd.varve.tag+json";
    /// A move of HEAD.
    pub const HEAD: &str = "application/vnd.varve.head+json";
    /// A tombstone.
    pub const TOMBSTONE: &str = "application/vnd.varve.tombstone+json";
    /// A score.
    pub const SCORE: &str = "application/vnd.varve.score+json";
    /// Verdicts of a check.
    pub const VERDICTS: &str = "application/vnd.varve.verdicts+json";
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
            media_type::PAGES => serde_json::from_slice(json).map(Self::Pages),
            media_type::TAG => serde_json::from_slice(json).map(Self::Tag),
            media_type::HEAD => serde_json::from_slice(json).map(Self::Head),
            media_type::TOMBSTONE => serde_json::from_slice(json).map(Self::Tombstone),
            media_type::SCORE => serde_json::from_slice(json).map(Self::Score),
            media_type::VERDICTS => serde_json::from_slice(json).map(Self::Verdicts),
            _ => return None,
        };
        Some(fact.map_err(|source| FactError { media_type: media_type.to_owned(), source }))
    }

    /// The media type of its record.
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Version(_) => media_type::VERSION,
            Self::Pages(_) => media_type::PAGES,
            Self::Tag(_) => media_type::TAG,
            Self::Head(_) => media_type::HEAD,
            Self::Tombstone(_) => media_type::TOMBSTONE,
            Self::Score(_) => media_type::SCORE,
            Self::Verdicts(_) => media_type::VERDICTS,
        }
    }
}

impl Manifest {
    /// The id of the version whose manifest has these bytes.
    pub fn version_id(bytes: &[u8]) -> VersionId {
        VersionId::new(uuid_of(&Sha256::digest(bytes).into()))
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
        }
    }
}

impl ListedPage {
    /// Whether `page` is equal to this page, apart from its time.
    pub fn is(&self, page: &ManifestPage) -> bool {
        let Self { url, path, status, headers, body, length } = self;
        (url, path, status, headers, body, length)
            == (&page.url, &page.path, &page.status, &page.headers, &page.body, &page.length)
            && page.record.is_none()
    }

    /// The page, captured at an instant.
    pub fn at(&self, time: Moment) -> ManifestPage {
        let Self { url, path, status, headers, body, length } = self.clone();
        ManifestPage { url, path, time, status, headers, body, length, record: None, truncated: false }
    }
}

impl From<&ManifestPage> for ListedPage {
    fn from(page: &ManifestPage) -> Self {
        let ManifestPage { url, path, status, headers, body, length, .. } = page.clone();
        Self { url, path, status, headers, body, length }
    }
}

impl Manifest {
    /// All pages of the version, by path and URL, given the list that it names.
    pub fn all_pages(&self, list: &PageList) -> Vec<ManifestPage> {
        let other: HashSet<&str> = self
            .pages
            .iter()
            .map(|page| page.url.as_str())
            .chain(self.without.iter().map(String::as_str))
            .collect();
        let listed = list.pages.iter().filter(|page| !other.contains(page.url.as_str()));
        let mut pages: Vec<ManifestPage> =
            listed.map(|page| page.at(self.time)).chain(self.pages.iter().cloned()).collect();
        sort_pages(&mut pages);
        pages
    }

    /// The same version, written as differences from a list whose record has that id. `pages` must
    /// hold all of its pages.
    pub fn against(&self, list: &PageList, record: RecordId) -> Self {
        let listed: HashMap<&str, &ListedPage> =
            list.pages.iter().map(|page| (page.url.as_str(), page)).collect();
        let here: HashSet<&str> = self.pages.iter().map(|page| page.url.as_str()).collect();
        let is_listed = |page: &ManifestPage| {
            page.time == self.time && listed.get(page.url.as_str()).is_some_and(|listed| listed.is(page))
        };
        let without = list.pages.iter().filter(|page| !here.contains(page.url.as_str()));
        Self {
            list: Some(record),
            without: without.map(|page| page.url.clone()).collect(),
            pages: self.pages.iter().filter(|page| !is_listed(page)).cloned().collect(),
            ..self.clone()
        }
    }
}

/// Sorts pages in the order of manifests and lists.
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
            list: None,
            without: Vec::new(),
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
            plan: None,
            expectations: BTreeMap::new(),
            verdicts: None,
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
    fn what_is_said_against_a_list_is_said_in_full() {
        let page = |number: u8, time: i64| ManifestPage {
            url: format!("https://example.com/{number}"),
            path: format!("/{}", number % 3),
            body: BodyId::new([number; 32]),
            time: Moment::from_seconds(time),
            ..manifest().pages[0].clone()
        };
        let now = manifest().time.seconds();
        let list = PageList {
            time: manifest().time,
            pages: (0..6).map(|number| ListedPage::from(&page(number, 5))).collect(),
        };
        let mut pages: Vec<_> = (1..9).map(|number| page(number, now)).collect();
        // One differs, one is as it was and has a time of its own.
        pages[1].body = BodyId::new([99; 32]);
        pages[2].time = Moment::from_seconds(7);
        sort_pages(&mut pages);
        let whole = Manifest { pages, ..manifest() };
        let short = whole.against(&list, RecordId::new([1; 32]));
        assert_eq!((short.pages.len(), short.without.len()), (5, 1));
        assert_eq!(short.all_pages(&list), whole.pages);
        let none = Manifest { pages: Vec::new(), ..manifest() }.against(&list, RecordId::new([1; 32]));
        assert_eq!((none.all_pages(&list), none.without.len()), (Vec::new(), 6));
    }

    #[test]
    fn verdicts_with_unknown_fields_are_read_back() {
        let json = br#"{"time":"2026-11-16T00:00:00Z","verdicts":[{"url":"http://e.org/","time":"2026-11-16T00:00:00Z",
            "verdict":"ok","status":200,"expected":null,"got":null,"capture":null,"expectation":{"path":"/"},"later":1}]}"#;
        let Some(Ok(Fact::Verdicts(verdicts))) = Fact::parse(media_type::VERDICTS, json) else {
            panic!("these are verdicts");
        };
        assert_eq!(verdicts.verdicts[0].verdict, VerdictKind::Ok);
        assert_eq!(verdicts.verdicts[0].detail.expectation["path"], "/");
        let again = serde_json::to_vec(&verdicts).unwrap();
        assert_eq!(Fact::parse(media_type::VERDICTS, &again).unwrap().unwrap(), Fact::Verdicts(verdicts));
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
