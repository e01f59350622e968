//! The history of a varve archive: facts in silos, rows in `catalog.db`.
//!
//! Opening for writing reads the silos from the last place that the catalog knows, so a crash
//! between writing the silo and the catalog loses nothing. An archive without a catalog gets one.

use std::ffi::OsString;
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use varve_catalog::{Catalog, CatalogRead, CatalogRow, FrontierStore};
use varve_core::body::StoredBody;
use varve_core::fact::{ChangesRecord, StateChanges};
use varve_core::head_store::HeadStore;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_core::receipt::Renderings;
use varve_core::{BodyId, Moment, RecordId, RunId, VersionId};
use varve_store::exchange::scan_from;
use varve_store::index::{IndexPrefix, SiloPlace};
use varve_store::steps::step;
use varve_store::{NewObject, StoreError, StoreReader};
use varve_warc::date::Date;
use varve_warc::write::{Packer, RecordUri};

use super::head_state::{HeadState, named};
use super::packer_pool::PackerPool;
use super::store_bodies::{open_body, open_payload, order_of, place, read_body, renderings, wire_head};
use super::{BodyInput, BodyWorker, HistoryReader, RecordPlace, body_range};
use crate::archive::{Archive, open_store};
use crate::archive_paths::ArchivePaths;
use crate::archive_writer::{ArchiveWriter, WriterOptions};
use crate::backends::{Backends, OpenCatalog};
use crate::content::{ContentDescription, store_file};
use crate::error::RepositoryError;
use crate::pending_swap::retry_while_swapping;
use crate::rows::{MissingChanges, OmittedFact, RowMaker};
use crate::sealed_log::{LogFiles, update_log_files};
use crate::substitute_store::is_index_failure;

/// Number of rows applied per batch while the catalog catches up.
const ROWS_PER_BATCH: usize = 20_000;

/// Maximum number of retries of a failed lookup while the index keeps changing.
const MAX_LOOKUP_RETRIES: usize = 5;

/// A varve archive, open for reading for any length of time. It sees data that other processes
/// write meanwhile.
#[derive(Clone)]
pub struct ArchiveHistoryReader {
    archive: Arc<Archive>,
    catalog: Arc<dyn CatalogRead>,
    frontier: Arc<dyn FrontierStore>,
    newer: Arc<Mutex<ReopenedStore>>,
    /// The writer that this reader belongs to, which knows objects that the index files lack.
    writer: Option<Arc<ArchiveWriter>>,
}

/// The store as it was last opened. An open index is a snapshot, while catalog rows are always
/// current. A body that is not found is therefore looked up again if the index has changed since.
#[derive(Default)]
struct ReopenedStore {
    store: Option<Arc<StoreReader>>,
    index: IndexState,
}

/// The files of an index: name, length, modification time.
type IndexState = Vec<(OsString, u64, SystemTime)>;

fn index_state(layout: &ArchivePaths) -> IndexState {
    let (files, folder) = (layout.cache_files(), layout.index());
    // An unreadable folder counts as unchanged.
    let entries = files.list(&folder).unwrap_or_default();
    let described = entries.into_iter().filter_map(|entry| {
        let about = files.entry(&folder.join(&entry.name)).ok()??;
        Some((entry.name, about.length, about.modified))
    });
    described.collect()
}

impl ArchiveHistoryReader {
    /// Opens the archive at `root`.
    pub fn open(root: &Path) -> Result<Self, RepositoryError> {
        Self::open_at(&ArchivePaths::new(root))
    }

    /// Opens the archive with this layout.
    pub fn open_at(layout: &ArchivePaths) -> Result<Self, RepositoryError> {
        retry_while_swapping(layout, || Self::open_now(layout))
    }

    fn open_now(layout: &ArchivePaths) -> Result<Self, RepositoryError> {
        let archive = Archive::open_at(layout)?;
        // Taken before the catalog is opened, so that a change in between leads to another lookup.
        let newer = ReopenedStore { store: None, index: index_state(archive.layout()) };
        let OpenCatalog { rows, frontier } = archive.backends().read_catalog()?;
        Ok(Self {
            catalog: rows,
            frontier,
            archive: Arc::new(archive),
            newer: Arc::new(Mutex::new(newer)),
            writer: None,
        })
    }

    /// Reads what `writer` has stored.
    fn of_writer(writer: &Arc<ArchiveWriter>, catalog: &OpenCatalog<dyn Catalog>) -> Self {
        Self {
            archive: Arc::new(Archive::of_writer(writer)),
            catalog: Arc::clone(&catalog.rows) as Arc<dyn CatalogRead>,
            frontier: Arc::clone(&catalog.frontier),
            newer: Arc::default(),
            writer: Some(Arc::clone(writer)),
        }
    }

    /// Runs a query on the store. If the index is damaged, it is asked again with one that is made
    /// from the silos, unless this reader belongs to a writer.
    fn ask<T>(
        &self,
        mut question: impl FnMut(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        if let Some(writer) = &self.writer {
            return question(&writer.reader());
        }
        self.ask_index(&mut question).or_else(|failure| self.archive.ask_substitute(failure, question))
    }

    /// Runs a query on the store. Retries if the query fails and the index has changed since it was
    /// opened: the object may be new or have moved.
    fn ask_index<T>(
        &self,
        question: &mut impl FnMut(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        let known = self.newer().store.clone();
        let mut answer = question(known.as_deref().unwrap_or(self.archive.store()));
        for _ in 0..MAX_LOOKUP_RETRIES {
            if answer.is_ok() {
                break;
            }
            let Some(store) = self.refreshed()? else { break };
            answer = question(&store);
        }
        answer
    }

    /// Reopens the store if its index has changed.
    fn refreshed(&self) -> Result<Option<Arc<StoreReader>>, RepositoryError> {
        let layout = self.archive.layout();
        let mut newer = self.newer();
        let found = retry_while_swapping(layout, || {
            let state = index_state(layout);
            if newer.index == state {
                return Ok(None);
            }
            Ok(Some((Arc::new(open_store(layout, self.archive.backends())?), state)))
        })?;
        Ok(found.map(|(store, index)| {
            *newer = ReopenedStore { store: Some(Arc::clone(&store)), index };
            store
        }))
    }

    /// Like [`ask`](Self::ask), for a page. A page removed from its version counts as absent, even
    /// if other pages share its body.
    fn ask_about<T>(
        &self,
        capture: &Capture,
        question: impl FnMut(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        must_be_shown(self.catalog(), capture)?;
        self.ask(question)
    }

    /// Like [`ask_about`](Self::ask_about), but returns the default value for a removed page. That is
    /// also the answer of an index without the record, as one made from the silos is if the record is
    /// damaged: then the failure is returned.
    fn ask_unless_hidden<T: Default>(
        &self,
        capture: &Capture,
        mut question: impl FnMut(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        if is_hidden(self.catalog(), capture)? {
            return Ok(T::default());
        }
        if let Some(writer) = &self.writer {
            return question(&writer.reader());
        }
        match self.ask_index(&mut question) {
            Ok(answer) => Ok(answer),
            Err(failure) if is_index_failure(&failure) => self.archive.ask_substitute(failure, question),
            Err(failure) => self.archive.ask_substitute(failure, |store| {
                place(store, capture)?;
                question(store)
            }),
        }
    }

    fn newer(&self) -> MutexGuard<'_, ReopenedStore> {
        self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The archive, with its settings and with its objects as they were when it was opened.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Whether sensitive headers are redacted.
    pub fn redaction(&self) -> Redaction {
        self.archive.settings().redaction()
    }

    pub(super) fn unfinished_since(&self) -> Result<Option<Moment>, RepositoryError> {
        Ok(self.frontier.unfinished_runs()?.first().map(|open| open.time))
    }

    pub(super) fn is_unfinished(&self, run: RunId) -> Result<bool, RepositoryError> {
        Ok(self.frontier.unfinished_runs()?.iter().any(|open| open.run == run))
    }

    /// The catalog rows.
    pub fn catalog(&self) -> &dyn CatalogRead {
        &*self.catalog
    }

    /// The bytes of an object of at most `limit` bytes.
    pub fn read_object(&self, record: &RecordId, limit: u64) -> Result<Vec<u8>, RepositoryError> {
        self.ask(|store| {
            let absent = || RepositoryError::Absent { id: record.to_string() };
            let object = store.object(record)?.ok_or_else(absent)?;
            let failed = |source| RepositoryError::ReadObject { id: record.to_string(), source };
            if object.length() > limit {
                return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
            }
            let mut bytes = Vec::new();
            object.read()?.read_to_end(&mut bytes).map_err(failed)?;
            Ok(bytes)
        })
    }

    /// Opens an object. Reading it to the end verifies it.
    pub fn open_object(&self, record: &RecordId) -> Result<Box<dyn Read + Send>, RepositoryError> {
        self.ask(|store| {
            let absent = || RepositoryError::Absent { id: record.to_string() };
            Ok(Box::new(store.object(record)?.ok_or_else(absent)?.read()?) as Box<dyn Read + Send>)
        })
    }

    /// The version that HEAD names. If the HEAD file is missing, the catalog's value is used: it is
    /// derived from the silos.
    pub fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        match self.archive.backends().head().read()? {
            None => Ok(self.catalog.head()?),
            head => Ok(head),
        }
    }

    /// The next writer sets HEAD to the catalog's value.
    pub(super) fn head_state(&self) -> Result<HeadState, RepositoryError> {
        let wanted = || Ok(self.catalog.head()?);
        Ok(named(&*self.catalog, self.archive.backends().head(), wanted)?.err().unwrap_or(HeadState::Right))
    }

    /// Opens the body of a capture. Reading it to the end verifies it.
    pub fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        self.ask_about(capture, |store| open_body(store, capture))
    }

    pub(super) fn open_body_range(
        &self,
        capture: &Capture,
        start: u64,
        end: u64,
    ) -> Result<Box<dyn Read + Send>, RepositoryError> {
        self.ask_about(capture, |store| match store.open_segments(&capture.body, start, end)? {
            Some(part) => Ok(Box::new(part) as Box<dyn Read + Send>),
            None => body_range(open_body(store, capture)?, start, end),
        })
    }

    pub(super) fn read_body(
        &self,
        capture: &Capture,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool, RepositoryError> {
        self.ask_about(capture, |store| read_body(store, capture, most, into))
    }

    /// Like [`read_body`](Self::read_body), for a capture that
    /// [`are_hidden`](Self::are_hidden) has returned false for.
    pub(super) fn read_shown_body(
        &self,
        capture: &Capture,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool, RepositoryError> {
        self.ask(|store| read_body(store, capture, most, into))
    }

    /// The short bodies of captures that are not hidden. `None` for one that must be opened.
    pub(super) fn read_shown_bodies(
        &self,
        captures: &[&Capture],
        most: u64,
    ) -> Result<Vec<Option<Vec<u8>>>, RepositoryError> {
        let are_hidden = self.are_hidden(captures)?;
        let bodies: Vec<BodyId> = captures.iter().map(|capture| capture.body).collect();
        let mut read = self.ask(|store| Ok(store.read_bodies(&bodies, most)?))?;
        read.iter_mut()
            .zip(are_hidden)
            .filter(|(_, is_hidden)| *is_hidden)
            .for_each(|(body, _)| *body = None);
        Ok(read)
    }

    pub(super) fn are_hidden(&self, captures: &[&Capture]) -> Result<Vec<bool>, RepositoryError> {
        Ok(self.catalog().are_removed_pages(captures)?)
    }

    pub(super) fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
        self.ask(|store| order_of(store, captures))
    }

    /// The response head as received on the wire, if it was stored.
    pub fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        self.ask_unless_hidden(capture, |store| wire_head(store, capture))
    }

    pub(super) fn open_payload(
        &self,
        capture: &Capture,
    ) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        self.ask_unless_hidden(capture, |store| open_payload(store, capture))
    }

    pub(super) fn open_wire(
        &self,
        capture: &Capture,
    ) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        match capture.record {
            Some(record) => self.ask_unless_hidden(capture, |store| Ok(store.response_block(&record)?)),
            None => Ok(None),
        }
    }

    pub(super) fn record_place(&self, capture: &Capture) -> Result<Option<RecordPlace>, RepositoryError> {
        match self.ask_about(capture, |store| place(store, capture)) {
            // The record is nowhere: a rewrite removed it, or it is lost. `audit` distinguishes the
            // two.
            Err(RepositoryError::Absent { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// The renderings that a browser made of a capture, if any.
    pub fn renderings(&self, capture: &Capture) -> Result<Renderings, RepositoryError> {
        self.ask_unless_hidden(capture, |store| renderings(store, capture))
    }
}

/// Whether a page was removed from its version.
fn is_hidden(catalog: &dyn CatalogRead, capture: &Capture) -> Result<bool, RepositoryError> {
    Ok(catalog.removal_of_page(capture)?.is_some())
}

/// Returns an error for a page that was removed from its version.
fn must_be_shown(catalog: &dyn CatalogRead, capture: &Capture) -> Result<(), RepositoryError> {
    if is_hidden(catalog, capture)? {
        return Err(RepositoryError::Absent { id: capture.body.to_string() });
    }
    Ok(())
}

/// A varve archive, open for adding to its history. Clones share one opening: the lock is released
/// with the last of them.
#[derive(Clone)]
pub struct ArchiveHistoryWriter {
    catalog: OpenCatalog<dyn Catalog>,
    writer: Arc<ArchiveWriter>,
    packers: Arc<PackerPool>,
    reader: Arc<HistoryReader>,
}

impl Deref for ArchiveHistoryWriter {
    type Target = HistoryReader;

    fn deref(&self) -> &HistoryReader {
        &self.reader
    }
}

impl ArchiveHistoryWriter {
    /// Opens the archive at `root` and brings its catalog up to date.
    pub fn open(root: &Path, opening: WriterOptions) -> Result<Self, RepositoryError> {
        Self::of(ArchiveWriter::open(root, opening)?)
    }

    /// Adds history to an archive that is open for writing.
    pub fn of(writer: ArchiveWriter) -> Result<Self, RepositoryError> {
        step("open the catalog", &writer.layout().catalog());
        let catalog = writer.backends().write_catalog()?;
        let redaction = writer.settings().redaction();
        catch_up(writer.backends(), &*catalog.rows, redaction)?;
        match update_log_files(&LogFiles::new(writer.layout()), catalog.rows.as_read()) {
            // A log that contradicts itself is reported by `verify` and `audit`, and blocks no capture.
            Ok(()) | Err(RepositoryError::Log(_)) => {}
            Err(error) => return Err(error),
        }
        let packers = Arc::new(PackerPool::new(writer.store().settings()));
        let writer = Arc::new(writer);
        let reader = ArchiveHistoryReader::of_writer(&writer, &catalog);
        Ok(Self { catalog, writer, packers, reader: Arc::new(HistoryReader::Archive(reader)) })
    }

    /// The archive writer.
    pub fn writer(&self) -> &ArchiveWriter {
        &self.writer
    }

    /// Runs `pack` with a packer from the pool.
    fn with_packer<T>(
        &self,
        pack: impl FnOnce(&mut Packer) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        let mut packer = match self.packers.take() {
            Some(packer) => packer,
            None => self.writer.store().small_packer().inspect_err(|_| self.packers.give_up())?,
        };
        let done = pack(&mut packer);
        self.packers.give_back(packer);
        done
    }

    /// The queues of unfinished runs.
    pub fn frontier_store(&self) -> &dyn FrontierStore {
        &*self.catalog.frontier
    }

    /// This archive as a reader, which sees what this writer has stored.
    pub fn as_reader(&self) -> &HistoryReader {
        &self.reader
    }

    /// The catalog, for adding rows.
    pub fn rows(&self) -> &dyn Catalog {
        &*self.catalog.rows
    }

    /// Runs `work` while no other process can add rows.
    pub(super) fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        let mut done = Ok(());
        self.catalog.rows.exclusively(&mut || done = work())?;
        done
    }

    /// The current time.
    pub fn now(&self) -> Moment {
        Moment::from(self.writer.now().instant)
    }

    /// Returns a worker that stores bodies. The second argument of the worker is the media type.
    pub fn body_worker(&self) -> BodyWorker<'_> {
        Box::new(move |input, media_type| {
            let date = self.writer.now();
            let stored = self.with_packer(|packer| match input {
                BodyInput::File(file, path) => {
                    let about =
                        ContentDescription { date, media_type: media_type.to_owned(), refers_to: None };
                    store_file(&self.writer, packer, &about, (&file, path), &|_| {})
                }
                BodyInput::Bytes(bytes) => {
                    let object = new_object(date, media_type, None);
                    Ok(self.writer.store().store_bytes(packer, &object, bytes)?)
                }
            })?;
            Ok(StoredBody { id: stored.id.body(), length: stored.length, new: stored.new })
        })
    }

    /// Appends a fact, which is durable after the next sync; [`apply`](Self::apply) syncs. Also returns whether it was appended;
    /// otherwise it is stored already, at an earlier place.
    pub fn append_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<(RecordId, bool), RepositoryError> {
        let store = self.writer.store();
        let object =
            new_object(self.writer.now(), media_type, Some(about.parse().map_err(StoreError::from)?));
        // Stored as one record of any length, because readers look for facts record by record.
        let stored = self.with_packer(|packer| Ok(store.store_bytes(packer, &object, json)?))?;
        Ok((stored.id, stored.new || stored.mended))
    }

    /// Writes a fact durably, together with every body stored before it.
    pub fn write_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<RecordId, RepositoryError> {
        let (record, _) = self.append_fact(about, media_type, json)?;
        self.writer.store().sync()?;
        Ok(record)
    }

    /// For each body, whether the index holds it. Reads no body.
    pub(crate) fn are_indexed(&self, bodies: &[BodyId]) -> Result<Vec<bool>, RepositoryError> {
        let prefixes: Vec<IndexPrefix> =
            bodies.iter().map(|body| IndexPrefix::of(&RecordId::of_body(*body))).collect();
        let mut known = vec![false; bodies.len()];
        let found = self.writer.store().index().find_many(&prefixes, |number, _| known[number] = true);
        found.map_err(StoreError::from)?;
        Ok(known)
    }

    /// The path of the cache of committed files, and the time this writer was opened, by the clock
    /// of the file system. `None` if that time is unknown.
    pub(crate) fn seen_files(&self) -> Option<(PathBuf, SystemTime)> {
        let layout = self.writer.layout();
        let opened = layout.files().entry(&layout.lock()).ok()??.modified;
        Some((layout.seen_files(), opened))
    }

    /// Stores rows. Everything the rows are derived from must be durable already.
    pub fn apply(&self, rows: Vec<CatalogRow>) -> Result<(), RepositoryError> {
        self.apply_each(&mut rows.into_iter().map(Ok))
    }

    /// Stores rows as [`apply`](Self::apply) does, without holding all of them. If a row cannot be
    /// made, the catalog does not count as having read the silos: the next writer adds the rest.
    pub(super) fn apply_each(
        &self,
        rows: &mut dyn Iterator<Item = Result<CatalogRow, RepositoryError>>,
    ) -> Result<(), RepositoryError> {
        self.writer.store().sync()?;
        let mut end = self.writer.store().end()?.map(|end| CatalogRow::ScannedUpTo(end.number()));
        let mut failure = None;
        let mut whole = std::iter::from_fn(|| match rows.next() {
            Some(Ok(row)) => Some(row),
            Some(Err(error)) => {
                (failure, end) = (Some(error), None);
                None
            }
            None => end.take(),
        });
        let path = self.writer.layout().catalog();
        step("begin a transaction", &path);
        self.catalog.rows.apply(&mut whole)?;
        step("transaction done", &path);
        failure.map_or(Ok(()), Err)
    }

    /// Moves HEAD from `from`, the version that [`head`](ArchiveHistoryReader::head) returned, to
    /// another. Fails if another writer has moved it meanwhile.
    pub fn move_head(&self, from: Option<VersionId>, to: VersionId) -> Result<(), RepositoryError> {
        let head = self.writer.backends().head();
        // Where HEAD names no version, `from` came from the catalog.
        let expected = head.read()?.and(from);
        Ok(head.advance(expected, to)?)
    }
}

/// Adds rows for all records in the silos that the catalog lacks, then updates HEAD. A score or a
/// move of HEAD for a missing version is skipped: rebuild and audit report it. Any other row that
/// cannot be added is an error. Data unreadable now may be readable tomorrow, and a writer that
/// skipped it would continue from an older version for good.
pub fn catch_up(
    backends: &Backends,
    catalog: &dyn Catalog,
    redaction: Redaction,
) -> Result<(), RepositoryError> {
    let from = catalog.scanned_up_to()?.map(SiloPlace::from_number);
    let find = |record| {
        // Needed only if the changes were stored already when a version with them was written.
        let store = StoreReader::open(backends.silos(), &backends.layout().index())?;
        read_changes(&store, record)
    };
    let mut maker = match from {
        Some(_) => RowMaker::behind(redaction, Box::new(find)),
        None => RowMaker::new(redaction),
    };
    let apply = |rows: &mut dyn Iterator<Item = CatalogRow>| catalog.apply_leniently(rows, &mut drop);
    let mut pending: Vec<CatalogRow> = Vec::new();
    let mut failure: Result<(), RepositoryError> = Ok(());
    let end = scan_from(&backends.silos(), from, &mut |scanned| {
        if failure.is_ok() {
            failure = (|| {
                let omitted = maker.each_row(&scanned, &mut |row| {
                    pending.push(row);
                    if pending.len() >= ROWS_PER_BATCH {
                        apply(&mut pending.drain(..))?;
                    }
                    Ok(())
                });
                match omitted.map_err(RepositoryError::behind)? {
                    None => Ok(()),
                    Some(OmittedFact::Unreadable(fact)) => Err(RepositoryError::behind(fact)),
                    Some(OmittedFact::Changes(lost)) => Err(RepositoryError::behind(lost_changes(&lost))),
                }
            })();
        }
        Ok::<(), StoreError>(())
    });
    failure?;
    let end = end.map_err(RepositoryError::behind)?;
    if let Some(end) = end.filter(|end| Some(*end) != from) {
        pending.push(CatalogRow::ScannedUpTo(end.number()));
        step("catch up", &backends.layout().catalog());
        apply(&mut pending.into_iter())?;
    }
    follow_head(backends.head(), catalog)
}

/// The error for a version whose changes cannot be found.
fn lost_changes(lost: &[MissingChanges]) -> RepositoryError {
    let record = lost.first().map(|lost| lost.record.to_string());
    RepositoryError::Absent { id: record.unwrap_or_default() }
}

/// Reads changes by their record. `None` if they are not stored here.
fn read_changes(store: &StoreReader, record: RecordId) -> Result<Option<StateChanges>, RepositoryError> {
    let Some(object) = store.object(&record)? else { return Ok(None) };
    let parsed = serde_json::from_reader(std::io::BufReader::new(object.read()?));
    let changes = parsed.map(|record: ChangesRecord| Some(record.changes));
    changes.map_err(|error| RepositoryError::ReadObject {
        id: record.to_string(),
        source: std::io::Error::from(error),
    })
}

/// Sets HEAD to the version that the catalog holds as HEAD.
fn follow_head(head: &dyn HeadStore, catalog: &dyn Catalog) -> Result<(), RepositoryError> {
    match catalog.head()? {
        Some(version) if head.read().ok().flatten() != Some(version) => Ok(head.repair(version)?),
        _ => Ok(()),
    }
}

fn new_object(date: Date, media_type: &str, refers_to: Option<RecordUri>) -> NewObject {
    NewObject { date, content_type: media_type.to_owned(), refers_to, known: None }
}
