//! Audits history: compares the manifests in the silos with each other, with the captures and with
//! the catalog.
//!
//! The id of a version is the digest of its manifest, which names its parent. A change to the past
//! therefore changes every later id. A version of a run carries a seal over its captures. The
//! catalog is derived from all this, so it must equal a rebuilt one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;

use varve_catalog::{CatalogError, CatalogRead, dump_rows};
use varve_core::body::BodySource;
use varve_core::fact::{Fact, Manifest, Tombstone};
use varve_core::{BodyId, RecordId, VersionId};
use varve_store::StoreError;
use varve_store::audit::{AuditFinding, AuditKind, find_ids_in_silos, is_out_of_space};
use varve_store::exchange::ScannedRecord;
use varve_store::index::SiloPlace;

use super::catalog_filler::{CatalogFiller, FilledCatalog, OmittedRow};
use super::page_lists::PageLists;
use super::run_records::RunRecords;
use super::run_seals::{SealedRun, broken_seals};
use crate::archive::Archive;
use crate::error::RepositoryError;
use crate::rows::row_of_score;

/// Number of bodies looked up per batch.
const BODIES_PER_LOOKUP: usize = 4096;

/// An audit of history, fed with the records of an archive as they are read.
pub struct HistoryAudit<'a> {
    archive: &'a Archive,
    chain: ScannedHistory,
    /// The rebuilt catalog, or the error that prevented the rebuild, such as a full disk.
    again: Result<RebuiltCatalog, RepositoryError>,
    failure: Result<(), RepositoryError>,
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
        Self {
            archive,
            chain: ScannedHistory::default(),
            again: RebuiltCatalog::begin(archive),
            failure: Ok(()),
        }
    }

    /// Processes the next record.
    pub fn hear(&mut self, scanned: ScannedRecord) {
        if let Ok(again) = &mut self.again {
            again.filling.add(&scanned);
        }
        if self.failure.is_ok() {
            self.failure = self.chain.add(self.archive, scanned);
        }
    }

    /// Ends the audit after all records were read, and reports faults to `found`. If the index is
    /// behind the silos, bodies that it does not know are searched in the silos.
    pub fn finish(
        mut self,
        is_ahead_of_index: bool,
        found: &mut dyn FnMut(AuditFinding),
    ) -> Result<(), RepositoryError> {
        self.failure?;
        self.chain.look_for_bodies(self.archive)?;
        if is_ahead_of_index {
            self.chain.look_in_silos(self.archive)?;
        }
        self.chain.finish(found);
        let again =
            self.again.and_then(|RebuiltCatalog { filling, _folder }| Ok((filling.finish()?, _folder)));
        match again {
            Ok((FilledCatalog { catalog: again, left_out }, _folder)) => {
                // Unparsable records and lost page lists were already reported.
                let told = left_out
                    .iter()
                    .filter(|left_out| !matches!(left_out, OmittedRow::Fact(_) | OmittedRow::List(_)));
                told.for_each(|left_out| found(AuditFinding::new(AuditKind::History, left_out.to_string())));
                let wrong = found_about_head(self.archive, again.head()?, lacks_silos(self.archive)?);
                wrong.into_iter().for_each(&mut *found);
                compare_catalogs(self.archive, again.as_read(), found)
            }
            // The silos are what the audit is about, and they were read.
            Err(error) => {
                let what = "catalog and HEAD were not compared with the silos";
                found(AuditFinding::not_compared(what, &error, error.is_disk_full()));
                Ok(())
            }
        }
    }
}

/// The history read from the silos so far.
#[derive(Default)]
struct ScannedHistory {
    versions: HashSet<VersionId>,
    parents: Vec<(VersionId, VersionId, RecordId)>,
    runs: RunRecords,
    sealed: Vec<SealedRun>,
    /// The error that prevented storing the records of runs, if any.
    no_room: Option<io::Error>,
    bodies: Vec<(BodyId, VersionId)>,
    /// Records of responses that were captured before the version and that it references.
    answers: Vec<(RecordId, VersionId)>,
    /// The page list that was read last.
    lists: PageLists<'static>,
    /// The last list whose bodies were looked up.
    looked_at: Option<RecordId>,
    /// Bodies not found. Whether they should exist is known after all tombstones were read.
    missing: Vec<(BodyId, VersionId)>,
    /// Response records not found, likewise.
    missing_answers: Vec<(RecordId, VersionId)>,
    tombstones: Vec<Tombstone>,
    findings: Vec<AuditFinding>,
}

impl ScannedHistory {
    fn add(&mut self, archive: &Archive, scanned: ScannedRecord) -> Result<(), RepositoryError> {
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
                    Some(Ok(Fact::Pages(list))) => _ = self.lists.hear(record, list),
                    // The tombstone of a page removes no record.
                    Some(Ok(Fact::Tombstone(tombstone))) if tombstone.is_of_record() => {
                        self.tombstones.push(*tombstone);
                    }
                    Some(Ok(Fact::Score(score))) => {
                        let odd = row_of_score(&score).err();
                        self.findings.extend(odd.map(|error| finding(record, error.to_string())));
                    }
                    Some(Err(error)) => self.findings.push(finding(record, error.to_string())),
                    _ => {}
                }
                if self.bodies.len() + self.answers.len() >= BODIES_PER_LOOKUP {
                    self.look_for_bodies(archive)?;
                }
            }
        }
        Ok(())
    }

    fn add_version(&mut self, record: RecordId, about: &str, json: &[u8], manifest: Manifest) {
        let id = Manifest::version_id(json);
        if about != format!("urn:uuid:{id}") {
            let message =
                format!("this manifest says that it is {about}, and its content makes it version {id}");
            self.findings.push(finding(record, message));
        }
        self.versions.insert(id);
        self.parents.extend(manifest.parent.map(|parent| (id, parent, record)));
        self.add_pages(record, id, &manifest);
        self.sealed.extend(manifest.run.map(|run| SealedRun { version: id, run, record }));
    }

    /// Adds the pages of a version. The bodies of a list are looked up once, for the first version
    /// that references it.
    fn add_pages(&mut self, record: RecordId, id: VersionId, manifest: &Manifest) {
        let by_hand = manifest.pages.iter().filter(|page| page.record.is_none());
        self.bodies.extend(by_hand.map(|page| (page.body, id)));
        self.answers.extend(manifest.pages.iter().filter_map(|page| Some((page.record?, id))));
        match self.lists.pages_of(manifest) {
            Ok(pages) if manifest.list != self.looked_at => {
                self.looked_at = manifest.list;
                let by_hand = pages.iter().filter(|page| page.record.is_none());
                self.bodies.extend(by_hand.map(|page| (page.body, id)));
            }
            Ok(_) => {}
            Err(error) => self.findings.push(finding(record, format!("{error}: {}", error.source))),
        }
    }

    fn look_for_bodies(&mut self, archive: &Archive) -> Result<(), RepositoryError> {
        for batch in self.bodies.chunks(BODIES_PER_LOOKUP) {
            let ids: Vec<BodyId> = batch.iter().map(|(body, _)| *body).collect();
            let here = archive.store().have_bodies(&ids)?;
            let missing = batch.iter().zip(here).filter(|(_, here)| !here).map(|(body, _)| *body);
            self.missing.extend(missing);
        }
        self.bodies.clear();
        for (record, version) in std::mem::take(&mut self.answers) {
            if archive.store().find(&record)?.is_none() {
                self.missing_answers.push((record, version));
            }
        }
        Ok(())
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
        for (body, version) in &self.missing {
            if !gone.contains(&RecordId::of_body(*body)) {
                let message = format!("body {body} of version {version} is not in this archive");
                found(AuditFinding::new(AuditKind::History, message));
            }
        }
        for (record, version) in self.missing_answers.iter().filter(|(record, _)| !gone.contains(record)) {
            let message = format!("answer {record} of version {version} is not in this archive");
            found(AuditFinding::new(AuditKind::History, message));
        }
        for (version, parent, record) in &self.parents {
            if !self.versions.contains(parent) && !gone_versions.contains(parent) {
                let message =
                    format!("version {version} descends from {parent}, which is not in this archive");
                found(finding(*record, message));
            }
        }
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

/// Compares the HEAD file with the version that the silos give as HEAD.
fn found_about_head(
    archive: &Archive,
    should_be: Option<VersionId>,
    lacks_silos: bool,
) -> Option<AuditFinding> {
    let name =
        |version: Option<VersionId>| version.map_or_else(|| "no version".to_owned(), |id| id.to_string());
    let is = match archive.backends().head().read().map_err(RepositoryError::from) {
        Ok(version) if version == should_be => return None,
        Ok(version) => format!("names {}", name(version)),
        Err(error) => format!("cannot be read ({error})"),
    };
    let remedy =
        match (lacks_silos, archive.layout().files().is_folder(&archive.layout().head()).unwrap_or(false)) {
            (true, _) => "put the silos back that are missing",
            (_, true) => {
                "a folder is in its place: move it away, and the next verb that writes puts HEAD right"
            }
            _ => "the next verb that writes puts it right",
        };
    let message = format!("HEAD {is}, and the silos say {}; {remedy}", name(should_be));
    Some(AuditFinding::new(AuditKind::Catalog, message))
}

/// Compares the stored catalog, if there is one, with the rebuilt one.
fn compare_catalogs(
    archive: &Archive,
    again: &dyn CatalogRead,
    found: &mut dyn FnMut(AuditFinding),
) -> Result<(), RepositoryError> {
    let path = archive.layout().catalog();
    if archive.layout().files().entry(&path).map_err(RepositoryError::read(&path))?.is_none() {
        return Ok(());
    }
    let compared = archive.backends().read_catalog().and_then(|kept| {
        let difference = first_difference(&*kept.rows, again)?;
        Ok(difference.map(|row| (is_behind(&*kept.rows, archive), row)))
    });
    let difference = match compared {
        Ok(difference) => difference,
        // The catalog is a cache: the audit is about the silos, and they were read.
        Err(RepositoryError::Catalog(error)) if !matches!(error, CatalogError::Busy { .. }) => {
            let what = match error {
                CatalogError::Newer { .. } => {
                    "the catalog is of a later varve: use that one; `varve rebuild` makes one for this"
                }
                _ => "the catalog cannot be read; `varve rebuild` makes it again",
            };
            found(AuditFinding::new(AuditKind::Catalog, format!("{what}: {error}")));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if let Some((is_behind, row)) = difference {
        let what = match is_behind? {
            true => {
                "the catalog is behind the silos; the next verb that writes brings it up to them, as does `varve rebuild`"
            }
            false if lacks_silos(archive)? => {
                "the catalog knows more than the silos that are here: put back those that are missing; where they are lost for good, `varve rebuild` makes it of what is left"
            }
            false => "the catalog is not what the silos say; `varve rebuild` makes it again",
        };
        found(AuditFinding::new(AuditKind::Catalog, format!("{what}: {row}")));
    }
    Ok(())
}

/// Whether the last silos are missing: the catalog has read silos after those that are here. False
/// if the catalog cannot be read.
fn lacks_silos(archive: &Archive) -> Result<bool, RepositoryError> {
    let here = archive.store().files().list().map_err(StoreError::from)?;
    let known = archive.backends().read_catalog().and_then(|kept| Ok(kept.rows.scanned_up_to()?));
    let reached = known.ok().flatten().map(|place| SiloPlace::from_number(place).silo());
    Ok(reached > here.keys().next_back().copied())
}

/// Whether the catalog has not read all records of the silos, as after a crash.
fn is_behind(kept: &dyn CatalogRead, archive: &Archive) -> Result<bool, RepositoryError> {
    let silos = archive.store().files().list().map_err(StoreError::from)?;
    let end = silos.values().next_back().map(|last| (last.number, last.length));
    let reached =
        kept.scanned_up_to()?.map(SiloPlace::from_number).map(|place| (place.silo(), place.offset()));
    Ok(reached < end)
}

/// The start of a row, long enough to identify it: a score row has thousands of characters.
fn beginning(row: &str) -> Cow<'_, str> {
    const MAX_ROW_CHARS: usize = 300;
    match row.char_indices().nth(MAX_ROW_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &row[..end])),
        None => Cow::Borrowed(row),
    }
}

/// The first row in which two catalogs differ.
fn first_difference(
    one: &dyn CatalogRead,
    other: &dyn CatalogRead,
) -> Result<Option<String>, RepositoryError> {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<String>(1024);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            dump_rows(other, &mut |row| {
                // The receiver is dropped once a difference is found.
                let _ = sender.send(row.to_owned());
                Ok(())
            })
        });
        let mut difference = None;
        dump_rows(one, &mut |row| {
            if difference.is_none() {
                match receiver.recv() {
                    Ok(same) if same == row => {}
                    Ok(other) => {
                        difference =
                            Some(format!("{} where {} should be", beginning(row), beginning(&other)));
                    }
                    Err(_) => difference = Some(format!("{} should not be", beginning(row))),
                }
            }
            Ok(())
        })?;
        if difference.is_none() {
            difference = receiver.recv().ok().map(|row| format!("{} is missing", beginning(&row)));
        }
        drop(receiver);
        match writer.join() {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(difference)
    })
}
