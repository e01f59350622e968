//! Audits history: compares the manifests in the silos with each other, with the captures and with
//! the catalog.
//!
//! The id of a version is the digest of its manifest, which names its parent. A change to the past
//! therefore changes every later id. A version of a run carries a seal over its captures. The
//! catalog is derived from all this, so it must equal a rebuilt one.

use std::collections::HashSet;
use std::{fmt, io};

use varve_catalog::{CatalogError, CatalogRead, dump_rows};
use varve_core::body::BodySource;
use varve_core::fact::{CheckRecord, Fact, Manifest, StateChanges, Tombstone};
use varve_core::{BodyId, CheckId, RecordId, VersionId};
use varve_store::audit::{AuditDone, AuditFinding, AuditKind, find_ids_in_silos};
use varve_store::exchange::ScannedRecord;
use varve_store::index::SiloPlace;
use varve_store::{StoreError, error_text, is_out_of_space};

use super::catalog_filler::{CatalogFiller, FilledCatalog, OmittedRow};
use super::run_records::RunRecords;
use super::run_seals::{SealedRun, broken_seals};
use crate::archive::Archive;
use crate::error::RepositoryError;
use crate::rows::row_of_score;
use crate::sealed_log::{LogContent, LogFiles, LogVersions, find_wrong_files};

/// Number of rows that one thread passes to the other at a time: waking it costs more than comparing
/// a row.
const ROWS_PER_COMPARISON: usize = 256;
/// Maximum number of such batches that wait.
const MAX_WAITING_BATCHES: usize = 4;
/// Number of bodies looked up per batch.
const BODIES_PER_LOOKUP: usize = 4096;

/// An audit of history, fed with the records of an archive as they are read.
pub struct HistoryAudit<'a> {
    archive: &'a Archive,
    chain: ScannedHistory,
    /// The rebuilt catalog, or the error that prevented the rebuild, such as a full disk.
    again: Result<RebuiltCatalog, RepositoryError>,
}

/// A catalog under construction, in a temporary folder.
struct RebuiltCatalog {
    filling: CatalogFiller,
    /// Deletes the folder when dropped.
    _folder: tempfile::TempDir,
}

impl RebuiltCatalog {
    fn begin(archive: &Archive) -> Result<Self, RepositoryError> {
        let folder = tempfile::tempdir().map_err(RepositoryError::write(&std::env::temp_dir()))?;
        let catalog = archive.backends().new_catalog(folder.path())?;
        Ok(Self { filling: CatalogFiller::new(catalog, archive.settings().redaction()), _folder: folder })
    }
}

impl<'a> HistoryAudit<'a> {
    /// Starts the audit, before the first record is read.
    pub fn begin(archive: &'a Archive) -> Self {
        Self { archive, chain: ScannedHistory::default(), again: RebuiltCatalog::begin(archive) }
    }

    /// Processes the next record.
    pub fn hear(&mut self, scanned: ScannedRecord) {
        if let Ok(again) = &mut self.again {
            again.filling.add(&scanned);
        }
        self.chain.add(self.archive, scanned);
    }

    /// Ends the audit after all records were read, and reports faults to `found`. If the index is
    /// behind the silos, bodies that it does not know are searched in the silos. A comparison that
    /// fails is a finding too.
    pub fn finish(mut self, store: &AuditDone, found: &mut dyn FnMut(AuditFinding)) {
        self.chain.look_for_bodies(self.archive);
        if store.is_ahead_of_index
            && let Err(error) = self.chain.look_in_silos(self.archive)
        {
            let what = "bodies that the index does not have were not searched in the silos";
            found(AuditFinding::not_compared(what, &error, error.is_disk_full()));
        }
        let versions = self.chain.known_versions();
        self.chain.finish(found);
        let compared = self.again.and_then(|RebuiltCatalog { filling, _folder }| {
            let filled = filling.finish()?;
            AuditedSilos { archive: self.archive, versions, store }.compare(filled, found)
        });
        if let Err(error) = compared {
            let what = "catalog and HEAD were not compared with the silos";
            found(AuditFinding::not_compared(what, &error, error.is_disk_full()));
        }
    }
}

/// The record that names a page or a response: a manifest, a part of its changes, or a check.
#[derive(Clone, Copy, Debug)]
enum PageHolder {
    Version(VersionId),
    Changes(RecordId),
    Check(CheckId),
}

impl fmt::Display for PageHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(formatter, "version {version}"),
            Self::Changes(record) => write!(formatter, "the changes in record {record}"),
            Self::Check(check) => write!(formatter, "check {check}"),
        }
    }
}

/// The history read from the silos so far.
#[derive(Default)]
struct ScannedHistory {
    versions: HashSet<VersionId>,
    /// The versions in the order of writing, for the log.
    written: Vec<VersionId>,
    log: LogContent,
    parents: Vec<(VersionId, VersionId, RecordId)>,
    runs: RunRecords,
    sealed: Vec<SealedRun>,
    /// The error that prevented storing the records of runs, if any.
    no_room: Option<io::Error>,
    bodies: Vec<(BodyId, PageHolder)>,
    /// Records of responses that were captured before the version and that it references.
    answers: Vec<(RecordId, PageHolder)>,
    /// Bodies not found. Whether they should exist is known after all tombstones were read.
    missing: Vec<(BodyId, PageHolder)>,
    /// Response records not found, likewise.
    missing_answers: Vec<(RecordId, PageHolder)>,
    tombstones: Vec<Tombstone>,
    findings: Vec<AuditFinding>,
    /// Whether a failed lookup was reported.
    has_failed_lookup: bool,
}

impl ScannedHistory {
    fn add(&mut self, archive: &Archive, scanned: ScannedRecord) {
        match scanned {
            ScannedRecord::Capture(receipt) => {
                if let Some(run) = receipt.run.filter(|_| self.no_room.is_none()) {
                    self.no_room = self.runs.add(run, receipt.record).err();
                }
            }
            ScannedRecord::Fact { record, about, media_type, json } => {
                match Fact::parse(&media_type, &json) {
                    Some(Ok(Fact::Version(manifest))) => {
                        self.add_version(record, &about, &json, *manifest);
                    }
                    Some(Ok(Fact::Changes(part))) => {
                        self.add_pages(PageHolder::Changes(record), &part.changes)
                    }
                    Some(Ok(Fact::Adopted(adopted))) => {
                        self.add_pages(PageHolder::Version(adopted.version), &adopted.changes);
                    }
                    Some(Ok(Fact::Check(check))) => {
                        self.add_check(PageHolder::Check(CheckRecord::check_id(&json)), &check);
                    }
                    // The tombstone of a page removes no record.
                    Some(Ok(Fact::Tombstone(tombstone))) if tombstone.is_of_record() => {
                        self.tombstones.push(*tombstone);
                    }
                    Some(Ok(Fact::Score(score))) => {
                        let odd = row_of_score(&score).err();
                        self.findings.extend(odd.map(|error| finding(record, error.to_string())));
                    }
                    Some(Err(error)) => self.findings.push(finding(record, error.to_string())),
                    Some(Ok(fact)) => self.log.add_fact(&fact),
                    None => {}
                }
                if self.bodies.len() + self.answers.len() >= BODIES_PER_LOOKUP {
                    self.look_for_bodies(archive);
                }
            }
        }
    }

    /// The versions read, and those that were removed on purpose.
    fn known_versions(&self) -> HashSet<VersionId> {
        let removed = self.tombstones.iter().filter_map(|tombstone| tombstone.version);
        self.versions.iter().copied().chain(removed).collect()
    }

    fn add_version(&mut self, record: RecordId, about: &str, json: &[u8], manifest: Manifest) {
        let id = Manifest::version_id(json);
        if about != format!("urn:uuid:{id}") {
            let message =
                format!("this manifest says that it is {about}, and its content makes it version {id}");
            self.findings.push(finding(record, message));
        }
        if self.versions.insert(id) {
            self.written.push(id);
        }
        self.parents.extend(manifest.parent.map(|parent| (id, parent, record)));
        self.add_pages(PageHolder::Version(id), &manifest.inline);
        self.sealed.extend(manifest.run.map(|run| SealedRun { version: id, run, record }));
    }

    /// Adds the pages that a version or a part of its changes lists.
    fn add_pages(&mut self, holder: PageHolder, changes: &StateChanges) {
        for page in &changes.pages {
            match page.record {
                None => self.bodies.push((page.body, holder)),
                Some(record) => self.answers.push((record, holder)),
            }
        }
    }

    /// Adds the evidence of a check.
    fn add_check(&mut self, holder: PageHolder, check: &CheckRecord) {
        let evidence = check.verdicts.iter().filter_map(|verdict| verdict.detail.evidence.as_ref());
        self.answers.extend(evidence.map(|evidence| (evidence.record, holder)));
    }

    /// Looks up the bodies and responses of the versions read last. Those that cannot be looked up
    /// are a finding once.
    fn look_for_bodies(&mut self, archive: &Archive) {
        let mut failure = None;
        for batch in std::mem::take(&mut self.bodies).chunks(BODIES_PER_LOOKUP) {
            let ids: Vec<BodyId> = batch.iter().map(|(body, _)| *body).collect();
            match archive.store().have_bodies(&ids) {
                Ok(here) => {
                    let missing = batch.iter().zip(here).filter(|(_, here)| !here).map(|(body, _)| *body);
                    self.missing.extend(missing);
                }
                Err(error) => failure = Some(error_text(&error)),
            }
        }
        for (record, holder) in std::mem::take(&mut self.answers) {
            match archive.store().find(&record) {
                Ok(Some(_)) => {}
                Ok(None) => self.missing_answers.push((record, holder)),
                // The audit of its silo reports the damage.
                Err(StoreError::Damaged { .. }) => {}
                Err(error) => failure = Some(error_text(&error)),
            }
        }
        if let Some(failure) = failure.filter(|_| !std::mem::replace(&mut self.has_failed_lookup, true)) {
            let message = format!("the bodies of versions could not all be looked up: {failure}");
            self.findings.push(AuditFinding::new(AuditKind::NotCompared, message));
        }
    }

    /// Searches the silos themselves for bodies and records that the index did not know.
    fn look_in_silos(&mut self, archive: &Archive) -> Result<(), RepositoryError> {
        let bodies = self.missing.iter().map(|(body, _)| RecordId::of_body(*body));
        let answers = self.missing_answers.iter().map(|(record, _)| *record);
        let wanted: HashSet<RecordId> = bodies.chain(answers).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let held = find_ids_in_silos(archive.store(), &wanted, threads)?;
        self.missing.retain(|(body, _)| !held.contains(&RecordId::of_body(*body)));
        self.missing_answers.retain(|(record, _)| !held.contains(record));
        Ok(())
    }

    fn finish(mut self, found: &mut dyn FnMut(AuditFinding)) {
        self.findings.drain(..).for_each(&mut *found);
        // A tombstone accounts for content that was removed on purpose.
        let gone: HashSet<RecordId> = self.tombstones.iter().map(|tombstone| tombstone.record).collect();
        let gone_versions: HashSet<VersionId> =
            self.tombstones.iter().filter_map(|tombstone| tombstone.version).collect();
        for (body, holder) in &self.missing {
            if !gone.contains(&RecordId::of_body(*body)) {
                let message = format!("body {body} of {holder} is not in this archive");
                found(AuditFinding::new(AuditKind::History, message));
            }
        }
        for (record, holder) in self.missing_answers.iter().filter(|(record, _)| !gone.contains(record)) {
            let message = format!("answer {record} of {holder} is not in this archive");
            found(AuditFinding::new(AuditKind::History, message));
        }
        for (version, parent, record) in &self.parents {
            if !self.versions.contains(parent) && !gone_versions.contains(parent) {
                let message =
                    format!("version {version} descends from {parent}, which is not in this archive");
                found(finding(*record, message));
            }
        }
        let written = std::mem::take(&mut self.written);
        let versions = LogVersions { written, removed: gone_versions };
        self.log.check(&versions, &mut |finding| {
            found(AuditFinding::new(AuditKind::Log, finding.message));
        });
        if self.sealed.is_empty() {
            return;
        }
        let broken = match self.no_room {
            Some(error) => Err(error),
            None => broken_seals(self.sealed, self.runs, &self.tombstones),
        };
        match broken {
            Ok(broken) => broken.into_iter().for_each(|(record, message)| found(finding(record, message))),
            Err(error) => {
                let what = "the seals of runs were not checked";
                found(AuditFinding::not_compared(what, &error, is_out_of_space(&error)));
            }
        }
    }
}

fn finding(record: RecordId, message: String) -> AuditFinding {
    AuditFinding { id: Some(record.to_string()), ..AuditFinding::new(AuditKind::History, message) }
}

/// The audited silos, to compare HEAD and catalog with.
struct AuditedSilos<'a> {
    archive: &'a Archive,
    /// The versions in the silos, and those that were removed on purpose.
    versions: HashSet<VersionId>,
    store: &'a AuditDone,
}

/// What to do about lost records.
const LOSS_REMEDY: &str =
    "put the silos back from a copy, or accept the loss with `varve rebuild`, which names what is gone";

impl AuditedSilos<'_> {
    fn compare(
        &self,
        FilledCatalog { catalog: again, left_out }: FilledCatalog,
        found: &mut dyn FnMut(AuditFinding),
    ) -> Result<(), RepositoryError> {
        // Unparsable records were already reported.
        let told = left_out.iter().filter(|left_out| !matches!(left_out, OmittedRow::Fact(_)));
        told.for_each(|left_out| found(AuditFinding::new(AuditKind::History, left_out.to_string())));
        self.found_about_end()?.into_iter().for_each(&mut *found);
        self.found_about_head(again.head()?)?.into_iter().for_each(&mut *found);
        let files = LogFiles::new(self.archive.layout());
        let compared = find_wrong_files(&files, again.as_read(), &mut |name| {
            let message =
                format!("`seal/{name}` is not the file that the log makes; `varve rebuild` writes it");
            found(AuditFinding::new(AuditKind::LogFile, message));
        });
        match compared {
            // The check of the log reports its damage.
            Ok(()) | Err(RepositoryError::Log(_)) => {}
            Err(error) => return Err(error),
        }
        self.compare_catalogs(again.as_read(), found)
    }

    /// The place up to which the catalog has read the silos, if they end before it.
    fn lost_up_to(&self) -> Result<Option<SiloPlace>, RepositoryError> {
        let here = self.archive.store().files().list().map_err(StoreError::from)?;
        let end = here.values().next_back().map(|last| (last.number, last.length));
        let known = self.archive.backends().read_catalog().and_then(|kept| Ok(kept.rows.scanned_up_to()?));
        let reached = known.ok().flatten().map(SiloPlace::from_number);
        Ok(reached.filter(|reached| Some((reached.silo(), reached.offset())) > end))
    }

    /// Reports that the last silo ends before the catalog does, unless the index showed the same.
    fn found_about_end(&self) -> Result<Option<AuditFinding>, RepositoryError> {
        let Some(reached) = self.lost_up_to()?.filter(|_| !self.store.has_lost_records) else {
            return Ok(None);
        };
        let here = self.archive.store().files().list().map_err(StoreError::from)?;
        let Some(last) = here.get(&reached.silo()) else { return Ok(None) };
        let message = format!(
            "the end of the silo was cut off: it ends at byte {}, and the catalog has read it up to byte {}; the \
             records between are lost; {LOSS_REMEDY}",
            last.length,
            reached.offset()
        );
        let finding = AuditFinding::new(AuditKind::RecordsLost, message);
        Ok(Some(AuditFinding { silo: Some(last.number), offset: Some(last.length), ..finding }))
    }

    /// Compares the HEAD file with the version that the silos give as HEAD.
    fn found_about_head(
        &self,
        should_be: Option<VersionId>,
    ) -> Result<Option<AuditFinding>, RepositoryError> {
        let name =
            |version: Option<VersionId>| version.map_or_else(|| "no version".to_owned(), |id| id.to_string());
        let is = match self.archive.backends().head().read().map_err(RepositoryError::from) {
            Ok(version) if version == should_be => return Ok(None),
            Ok(Some(version)) if !self.versions.contains(&version) => {
                let message = format!(
                    "version {version}, which HEAD names, is lost: its manifest is not in the silos, which say {}; \
                     {LOSS_REMEDY}",
                    name(should_be)
                );
                return Ok(Some(AuditFinding::new(AuditKind::History, message)));
            }
            Ok(version) => format!("names {}", name(version)),
            Err(error) => format!("cannot be read ({error})"),
        };
        let remedy =
            match self.archive.layout().files().is_folder(&self.archive.layout().head()).unwrap_or(false) {
                true => {
                    "a folder is in its place: move it away, and the next verb that writes puts HEAD right"
                }
                false => "the next verb that writes puts it right",
            };
        let message = format!("HEAD {is}, and the silos say {}; {remedy}", name(should_be));
        Ok(Some(AuditFinding::new(AuditKind::Catalog, message)))
    }

    /// Compares the stored catalog with the rebuilt one.
    fn compare_catalogs(
        &self,
        again: &dyn CatalogRead,
        found: &mut dyn FnMut(AuditFinding),
    ) -> Result<(), RepositoryError> {
        let backends = self.archive.backends();
        let compared = backends.read_catalog().and_then(|kept| {
            // Queries may read a row or a copy of it in an index, so both must agree first.
            let difference = match backends.catalog_problem()? {
                Some(problem) => Some(format!("the database is damaged: {problem}")),
                None => first_difference(&*kept.rows, again)?,
            };
            let Some(difference) = difference else { return Ok(None) };
            Ok(Some((is_behind(&*kept.rows, self.archive)?, difference)))
        });
        let (kind, message) = match compared {
            Ok(None) => return Ok(()),
            Ok(Some((true, _))) => (
                AuditKind::Behind,
                "the catalog is behind the silos; the next verb that writes brings it up to them, as does `varve \
                 rebuild`"
                    .to_owned(),
            ),
            Ok(Some((false, row))) if self.lost_up_to()?.is_some() => (
                AuditKind::RecordsLost,
                format!("the catalog knows more than the silos: {row}; {LOSS_REMEDY}"),
            ),
            Ok(Some((false, row))) => (
                AuditKind::Catalog,
                format!("the catalog is not what the silos say: {row}; `varve rebuild` makes it again"),
            ),
            Err(RepositoryError::NoCatalog { path }) => (
                AuditKind::Catalog,
                format!("the catalog is missing: there is no `{}`; `varve rebuild` makes it again", path.display()),
            ),
            Err(RepositoryError::Catalog(error @ CatalogError::Newer { .. })) => (
                AuditKind::Catalog,
                format!(
                    "the catalog is of a later varve: use that one; `varve rebuild` makes one for this: {error}"
                ),
            ),
            // The catalog is a cache: the audit is about the silos, and they were read.
            Err(RepositoryError::Catalog(error)) if !matches!(error, CatalogError::Busy { .. }) => (
                AuditKind::Catalog,
                format!("the catalog cannot be read; `varve rebuild` makes it again: {}", error_text(&error)),
            ),
            Err(error) => return Err(error),
        };
        found(AuditFinding::new(kind, message));
        Ok(())
    }
}

/// Whether the catalog has not read all records of the silos, as after a crash.
fn is_behind(kept: &dyn CatalogRead, archive: &Archive) -> Result<bool, RepositoryError> {
    let silos = archive.store().files().list().map_err(StoreError::from)?;
    let end = silos.values().next_back().map(|last| (last.number, last.length));
    let reached =
        kept.scanned_up_to()?.map(SiloPlace::from_number).map(|place| (place.silo(), place.offset()));
    Ok(reached < end)
}

/// What a row of a catalog dump is about, as part of a sentence.
pub fn subject_of(row: &str) -> String {
    let row: serde_json::Value = serde_json::from_str(row).unwrap_or_default();
    let Some((kind, value)) = row.as_object().and_then(|fields| {
        let kinds = ["head", "tag", "version", "score", "absence", "capture", "check", "verdict", "removal"];
        kinds.into_iter().find_map(|kind| Some((kind, fields.get(kind)?)))
    }) else {
        return "an unknown row".to_owned();
    };
    let text = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    match kind {
        "head" => format!("HEAD at version {}", text(value)),
        "tag" => format!("tag `{}`", text(&value["name"])),
        "version" => format!("version {}", text(&value["id"])),
        "score" => format!("the score of version {}", text(&value["version"])),
        "check" => format!("check {}", text(&value["id"])),
        "removal" => format!("the removal of record {}", text(&value["tombstone"]["record"])),
        kind => format!("the {kind} of {} at {}", text(&value["url"]), text(&value["time"])),
    }
}

/// How a row differs from the one that the silos give, as part of a sentence.
fn difference_of(kept: Option<&str>, again: Option<&str>) -> String {
    match (kept.map(subject_of), again.map(subject_of)) {
        (Some(kept), Some(again)) if kept == again => format!("{kept} is recorded with other values"),
        (Some(kept), Some(again)) => format!("it has {kept} where the silos have {again}"),
        (Some(kept), None) => format!("it has {kept}, which the silos do not have"),
        (None, Some(again)) => format!("it lacks {again}"),
        (None, None) => "nothing".to_owned(),
    }
}

/// The first row in which two catalogs differ.
fn first_difference(
    one: &dyn CatalogRead,
    other: &dyn CatalogRead,
) -> Result<Option<String>, RepositoryError> {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<String>>(MAX_WAITING_BATCHES);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut batch = Vec::with_capacity(ROWS_PER_COMPARISON);
            let dumped = dump_rows(other, &mut |row| {
                batch.push(row.to_owned());
                if batch.len() >= ROWS_PER_COMPARISON {
                    // The receiver is dropped once a difference is found.
                    let _ = sender.send(std::mem::take(&mut batch));
                }
                Ok(())
            });
            let _ = sender.send(batch);
            dumped
        });
        let mut others = receiver.into_iter().flatten();
        let mut difference = None;
        dump_rows(one, &mut |row| {
            if difference.is_none() {
                let other = others.next();
                if other.as_deref() != Some(row) {
                    difference = Some(difference_of(Some(row), other.as_deref()));
                }
            }
            Ok(())
        })?;
        if difference.is_none() {
            difference = others.next().map(|row| difference_of(None, Some(&row)));
        }
        drop(others);
        match writer.join() {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(difference)
    })
}
