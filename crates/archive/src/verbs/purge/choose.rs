//! Selects the records to remove for the given URLs, versions and objects.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sha2::{Digest, Sha256};
use uuid::Uuid;
use varve_core::fact::{Fact, Manifest, ManifestPage, StateChanges, Tombstone, TombstoneKind};
use varve_core::history::uuid_of;
use varve_core::pattern::GroupPattern;
use varve_core::{RecordId, RunId, VersionId};
use varve_store::exchange::{ScannedRecord, is_capture, page_of, scan};
use varve_store::purge::{PromotedRevisit, each_header};
use varve_store::record::field;
use varve_store::{StoreError, describes_silo};
use varve_warc::record::{RecordHeader, RecordType, media_type};

use super::Request;
use super::adopt::adopted_pages;
use super::holders::BodyHolders;
use crate::error::ArchiveError;
use crate::verbs::log::spellings;
use varve_repository::archive_writer::ArchiveWriter;
use varve_repository::history::catch_up;

/// The data selected for removal.
#[derive(Clone, Debug, Default)]
pub struct PurgeSelection {
    /// The records, each as its tombstone will describe it, without requester, reason and time.
    pub records: Vec<Tombstone>,
    /// The committed pages removed from remaining versions, in the same form: one for each URL and
    /// body.
    pub pages: Vec<Tombstone>,
    /// Pages of removed versions that remaining children adopt.
    pub(super) adopted: Vec<(VersionId, StateChanges)>,
    /// Bodies held by removed responses that a remaining holder references.
    pub(super) answered: BTreeSet<RecordId>,
    /// The runs of revisits, which may be replaced by responses.
    runs: HashMap<RecordId, RunId>,
    /// The first silo from which something is removed.
    first_silo: Option<u32>,
    /// Number of records in each silo, without those that only frame others.
    records_of: BTreeMap<u32, u64>,
}

impl PurgeSelection {
    pub(super) fn of(writer: &ArchiveWriter, request: &Request) -> Result<Self, ArchiveError> {
        let mut history = PurgeScan::new(request);
        let files = writer.backends().silos();
        scan(&files, 1, &|_| {}, &mut |scanned| {
            history.add(scanned);
            Ok::<(), StoreError>(())
        })?;
        let adopted = adopted_by_children(writer, &history)?;
        for page in adopted.iter().flat_map(|(_, changes)| &changes.pages) {
            history.objects.add_page(page, false, false);
        }
        let mut gone = history.gone();
        let mut holders = BodyHolders::default();
        each_header(&files, &mut |header, id, _| {
            let goes = gone.takes(header, id, run_of(header));
            holders.look_at(header, id, goes);
        })?;
        let answered = holders.settle(&writer.reader(), &mut gone.bodies, &gone.staying)?;
        gone.bodies.retain(|body| !gone.staying.contains(body));
        let mut choice = Self { answered, adopted, ..Self::default() };
        each_header(&files, &mut |header, id, silo| choice.look_at(&gone, header, id, silo))?;
        choice.add_remarks(&files)?;
        choice.pages =
            history.objects.hiding.iter().map(|(record, url)| describe_page(*record, url)).collect();
        Ok(choice)
    }

    /// Whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.pages.is_empty()
    }

    /// The pages without a removed record of their own, mostly because others reference their
    /// bodies.
    pub fn pages_alone(&self) -> impl Iterator<Item = &Tombstone> {
        pages_alone(&self.records, &self.pages)
    }

    /// The first silo from which something is removed.
    pub(super) fn first_silo(&self) -> Option<u32> {
        self.first_silo
    }

    /// Number of records in the silos before `first`.
    pub(super) fn records_before(&self, first: u32) -> u64 {
        self.records_of.range(..first).map(|(_, records)| records).sum()
    }

    fn add(&mut self, record: Tombstone, silo: u32) {
        self.first_silo = Some(self.first_silo.map_or(silo, |first| first.min(silo)));
        self.records.push(record);
    }

    fn look_at(&mut self, gone: &PurgedIds<'_>, header: &RecordHeader, id: RecordId, silo: u32) {
        let run = run_of(header);
        if !describes_silo(header) && header.record_type() != RecordType::Continuation {
            *self.records_of.entry(silo).or_default() += 1;
        }
        if header.record_type() == RecordType::Revisit && is_capture(header) {
            self.runs.extend(run.map(|run| (id, run)));
        }
        if gone.takes(header, id, run) {
            let mut tombstone = describe(header, id);
            if let Some(removed) = gone.history.manifests.get(&id) {
                tombstone.version = Some(removed.version);
                (tombstone.parent, tombstone.run) = (removed.parent, removed.run);
            }
            tombstone.url = tombstone.url.or_else(|| gone.history.objects.urls.get(&id).cloned());
            self.add(tombstone, silo);
        }
    }

    /// Adds the metadata records about removed records.
    fn add_remarks(&mut self, files: &varve_store::silo::SiloFiles) -> Result<(), ArchiveError> {
        let gone: HashSet<RecordId> = self.records.iter().map(|gone| gone.record).collect();
        each_header(files, &mut |header, id, silo| {
            let about = header.reference("WARC-Refers-To").and_then(record_id);
            let is_remark = header.record_type() == RecordType::Metadata && !is_tombstone(header);
            if is_remark && !gone.contains(&id) && about.is_some_and(|about| gone.contains(&about)) {
                self.add(describe(header, id), silo);
            }
        })?;
        Ok(())
    }

    /// The tombstone of a revisit that became a response.
    pub(super) fn replaced(&self, promoted: &PromotedRevisit) -> Tombstone {
        Tombstone {
            url: Some(promoted.url.clone()),
            run: self.runs.get(&promoted.was).copied(),
            replaced_by: Some(promoted.is),
            ..Tombstone::new(promoted.was, TombstoneKind::Revisit)
        }
    }
}

/// What remaining versions adopt from removed ones. The catalog is brought up to date first.
fn adopted_by_children(
    writer: &ArchiveWriter,
    history: &PurgeScan<'_>,
) -> Result<Vec<(VersionId, StateChanges)>, ArchiveError> {
    if history.versions.is_empty() {
        return Ok(Vec::new());
    }
    let catalog = writer.backends().write_catalog()?.rows;
    catch_up(writer.backends(), &*catalog, writer.settings().redaction())?;
    let is_selected = |url: &str| history.selected.matches(url);
    Ok(adopted_pages(catalog.as_read(), &history.versions, &is_selected)?)
}

/// The URLs that a request selects.
struct UrlSelection<'a> {
    urls: HashSet<String>,
    patterns: &'a [GroupPattern],
}

impl UrlSelection<'_> {
    /// Whether any spelling of a URL is selected, so that selected data does not stay under another
    /// spelling.
    fn matches(&self, url: &str) -> bool {
        if self.urls.is_empty() && self.patterns.is_empty() {
            return false;
        }
        spellings(url)
            .iter()
            .any(|url| self.urls.contains(url) || self.patterns.iter().any(|pattern| pattern.matches(url)))
    }
}

/// A manifest to remove.
struct RemovedManifest {
    version: VersionId,
    parent: Option<VersionId>,
    /// The run that became the version.
    run: Option<RunId>,
}

/// What becomes of runs.
#[derive(Default)]
struct RunScan {
    /// Runs of removed versions, also of earlier purges.
    removed: HashSet<RunId>,
    /// Runs that lose a capture.
    touched: HashSet<RunId>,
    version_of: HashMap<RunId, VersionId>,
}

/// What becomes of objects and of the pages that reference them.
#[derive(Default)]
struct ObjectScan {
    /// Bodies that only removed pages reference.
    going: HashSet<RecordId>,
    /// Objects that remaining versions reference.
    staying: HashSet<RecordId>,
    /// Remaining pages with their bodies, without those that an earlier purge removed.
    holding: HashSet<(RecordId, Uuid)>,
    /// Pages removed from remaining versions, each with the key of its capture.
    hiding: BTreeSet<(RecordId, String)>,
    /// The URL of one page for each of those bodies.
    urls: HashMap<RecordId, String>,
    /// Responses of earlier runs that remaining versions contain.
    answers: HashSet<RecordId>,
    /// Screenshots, each with the run of its page, and whether the URL of the page is selected.
    pictures: Vec<(RecordId, Option<RunId>, bool)>,
}

impl ObjectScan {
    /// Adds a page that is removed, with its version or alone, or that remains.
    fn add_page(&mut self, page: &ManifestPage, goes: bool, with_version: bool) {
        let body = RecordId::new(page.body.into_inner());
        if goes && !with_version {
            self.hiding.insert((page.record.unwrap_or(body), page.url.clone()));
        }
        match (page.record, goes) {
            (None, true) => {
                self.going.insert(body);
                self.urls.entry(body).or_insert_with(|| page.url.clone());
            }
            (None, false) => _ = self.holding.insert((body, number(&page.url))),
            // A response is removed with its run or by its URL, unless a remaining version contains
            // it too.
            (Some(_), true) => {}
            (Some(answer), false) => _ = self.answers.insert(answer),
        }
    }
}

/// The facts in the silos that matter for the selection.
struct PurgeScan<'a> {
    selected: UrlSelection<'a>,
    versions: HashSet<VersionId>,
    /// The manifests to remove, by their records.
    manifests: HashMap<RecordId, RemovedManifest>,
    runs: RunScan,
    objects: ObjectScan,
    /// Changes that no manifest has named yet.
    pending: HashMap<RecordId, StateChanges>,
    /// Records of changes that manifests name, and whether one of those manifests remains.
    named: HashMap<RecordId, bool>,
    /// Versions that lose something. Their scores mention it.
    touched: HashSet<VersionId>,
    /// Remaining versions that lose a page of a selected URL.
    losing: HashSet<VersionId>,
    /// The versions in the order of the silos, each with its parent.
    parents: Vec<(VersionId, Option<VersionId>)>,
    scores: Vec<(RecordId, String)>,
}

impl<'a> PurgeScan<'a> {
    fn new(request: &'a Request) -> Self {
        let urls = request.urls.iter().flat_map(|url| spellings(url)).collect();
        let going = request.objects.iter().copied().collect();
        Self {
            selected: UrlSelection { urls, patterns: &request.patterns },
            versions: request.versions.iter().copied().collect(),
            manifests: HashMap::new(),
            runs: RunScan::default(),
            objects: ObjectScan { going, ..ObjectScan::default() },
            pending: HashMap::new(),
            named: HashMap::new(),
            touched: HashSet::new(),
            losing: HashSet::new(),
            parents: Vec::new(),
            scores: Vec::new(),
        }
    }

    fn add(&mut self, scanned: ScannedRecord) {
        match scanned {
            ScannedRecord::Capture(receipt) => {
                let matches = self.selected.matches(&receipt.url);
                if matches {
                    self.runs.touched.extend(receipt.run);
                }
                let picture = receipt.renderings.screenshot;
                self.objects.pictures.extend(picture.map(|picture| (picture, receipt.run, matches)));
            }
            ScannedRecord::Fact { record, about, media_type, json } => {
                match Fact::parse(&media_type, &json) {
                    Some(Ok(Fact::Version(manifest))) => self.add_version(record, &json, &manifest),
                    Some(Ok(Fact::Changes(part))) => _ = self.pending.insert(record, part.changes),
                    Some(Ok(Fact::Adopted(adopted))) => {
                        self.add_pages(adopted.version, &adopted.changes.pages)
                    }
                    Some(Ok(Fact::Score(_))) => self.scores.push((record, about)),
                    Some(Ok(Fact::Check(check))) => self.objects.staying.extend(check.expectations.values()),
                    Some(Ok(Fact::Tombstone(tombstone))) => self.hear_tombstone(*tombstone),
                    _ => {}
                }
            }
        }
    }

    /// A page with a tombstone is hidden in all earlier versions. It holds nothing, and need not be
    /// removed again. Responses of a run whose version was removed are here only for the versions
    /// that adopted them.
    fn hear_tombstone(&mut self, tombstone: Tombstone) {
        self.runs.removed.extend(tombstone.removed_run());
        if let Some(url) = tombstone.page() {
            self.objects.holding.remove(&(tombstone.record, number(url)));
            self.objects.hiding.remove(&(tombstone.record, url.to_owned()));
        }
    }

    fn add_version(&mut self, record: RecordId, json: &[u8], manifest: &Manifest) {
        let id = Manifest::version_id(json);
        let is_gone = self.versions.contains(&id);
        self.parents.push((id, manifest.parent));
        if let Some(run) = &manifest.run {
            self.runs.version_of.insert(run.id, id);
        }
        let kept_with_it = manifest.plan.iter().chain(manifest.expectations.values());
        if is_gone {
            let run = manifest.run.as_ref().map(|run| run.id);
            self.runs.removed.extend(run);
            self.manifests.insert(record, RemovedManifest { version: id, parent: manifest.parent, run });
            self.objects.going.extend(kept_with_it);
        } else {
            self.objects.staying.extend(kept_with_it);
        }
        let mut pages = manifest.inline.pages.clone();
        for changes in &manifest.changes {
            *self.named.entry(*changes).or_default() |= !is_gone;
            // If changes are lost, the others are used; `audit` reports the loss.
            pages.extend(self.pending.remove(changes).unwrap_or_default().pages);
        }
        self.add_pages(id, &pages);
    }

    /// Adds pages of a version.
    fn add_pages(&mut self, version: VersionId, pages: &[ManifestPage]) {
        let is_gone = self.versions.contains(&version);
        for page in pages {
            let goes = is_gone || self.selected.matches(&page.url);
            if goes {
                self.touched.insert(version);
            }
            if goes && !is_gone {
                self.losing.insert(version);
            }
            self.objects.add_page(page, goes, is_gone);
        }
    }

    fn gone(&self) -> PurgedIds<'_> {
        let mut losing = self.losing.clone();
        losing.extend(self.runs.touched.iter().filter_map(|run| self.runs.version_of.get(run)));
        // The states of its descendants may have shown the page.
        for (version, parent) in &self.parents {
            if parent.is_some_and(|parent| losing.contains(&parent)) {
                losing.insert(*version);
            }
        }
        let touched: HashSet<VersionId> = self.touched.union(&losing).copied().collect();
        let version = |about: &str| about.strip_prefix("urn:uuid:").and_then(|id| id.parse().ok());
        let scores = self
            .scores
            .iter()
            .filter(|(_, about)| version(about).is_some_and(|version: VersionId| touched.contains(&version)));
        let ObjectScan { going, staying, holding, pictures, .. } = &self.objects;
        let (mut going, mut staying) = (going.clone(), staying.clone());
        staying.extend(holding.iter().map(|(body, _)| *body));
        // A screenshot is removed with the last page that references it.
        for (picture, run, matches) in pictures {
            let goes = *matches || run.is_some_and(|run| self.runs.removed.contains(&run));
            if goes {
                going.insert(*picture)
            } else {
                staying.insert(*picture)
            };
        }
        PurgedIds {
            history: self,
            bodies: going.difference(&staying).copied().collect(),
            staying,
            scores: scores.map(|(record, _)| *record).collect(),
        }
    }
}

/// The selected ids, for one pass over all records.
struct PurgedIds<'a> {
    history: &'a PurgeScan<'a>,
    bodies: HashSet<RecordId>,
    /// Bodies that a remaining holder references.
    staying: HashSet<RecordId>,
    scores: HashSet<RecordId>,
}

impl PurgedIds<'_> {
    fn takes(&self, header: &RecordHeader, id: RecordId, run: Option<RunId>) -> bool {
        match header.record_type() {
            RecordType::Response | RecordType::Revisit | RecordType::Request | RecordType::Conversion => {
                let url = page_of(header);
                run.is_some_and(|run| self.history.runs.removed.contains(&run))
                    && !self.history.objects.answers.contains(&id)
                    || url.is_some_and(|url| self.history.selected.matches(&url))
            }
            RecordType::Resource => self.bodies.contains(&id),
            RecordType::Metadata => {
                self.history.manifests.contains_key(&id)
                    || self.scores.contains(&id)
                    || self.history.named.get(&id) == Some(&false)
                    || self.is_about_version(header)
            }
            _ => false,
        }
    }

    /// Whether the record is a fact about a removed version: a tag, a score, a move of HEAD.
    fn is_about_version(&self, header: &RecordHeader) -> bool {
        let about = header.reference("WARC-Refers-To").and_then(|text| std::str::from_utf8(text).ok());
        let version = about.and_then(|text| text.strip_prefix("urn:uuid:")?.parse().ok());
        version.is_some_and(|version| self.history.versions.contains(&version)) && !is_tombstone(header)
    }
}

fn is_tombstone(header: &RecordHeader) -> bool {
    let kind = media_type(header.fields.get("Content-Type").unwrap_or_default());
    kind == varve_core::fact::media_type::TOMBSTONE.as_bytes()
}

fn run_of(header: &RecordHeader) -> Option<RunId> {
    std::str::from_utf8(header.fields.get(field::RUN_ID)?).ok()?.parse().ok()
}

fn record_id(text: &[u8]) -> Option<RecordId> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A hash of a URL, enough to tell URLs apart.
fn number(url: &str) -> Uuid {
    uuid_of(&Sha256::digest(url).into())
}

/// The pages whose URL and body no removed record has.
pub(super) fn pages_alone<'a>(
    records: &[Tombstone],
    pages: &'a [Tombstone],
) -> impl Iterator<Item = &'a Tombstone> {
    let told: HashSet<(RecordId, Option<String>)> =
        records.iter().map(|gone| (gone.record, gone.url.clone())).collect();
    pages.iter().filter(move |page| !told.contains(&(page.record, page.url.clone())))
}

fn describe_page(record: RecordId, url: &str) -> Tombstone {
    Tombstone { url: Some(url.to_owned()), ..Tombstone::new(record, TombstoneKind::Page) }
}

fn describe(header: &RecordHeader, id: RecordId) -> Tombstone {
    let text = |name| header.fields.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let url = page_of(header).map(Cow::into_owned);
    Tombstone {
        url: url.filter(|url| !url.starts_with("urn:sha256:")),
        digest: text("WARC-Payload-Digest").or_else(|| text("WARC-Block-Digest")),
        // A run is sealed over its captures alone.
        run: run_of(header).filter(|_| is_capture(header)),
        ..Tombstone::new(id, kind_of(header.record_type()))
    }
}

fn kind_of(record_type: RecordType) -> TombstoneKind {
    match record_type {
        RecordType::Warcinfo => TombstoneKind::Warcinfo,
        RecordType::Response => TombstoneKind::Response,
        RecordType::Resource => TombstoneKind::Resource,
        RecordType::Request => TombstoneKind::Request,
        RecordType::Metadata => TombstoneKind::Metadata,
        RecordType::Revisit => TombstoneKind::Revisit,
        RecordType::Conversion => TombstoneKind::Conversion,
        RecordType::Continuation => TombstoneKind::Continuation,
        RecordType::Other => TombstoneKind::Other,
    }
}
