//! The history of a varve archive: facts in silos, rows in `catalog.db`.
//!
//! Opening for writing reads the silos from the last place that the catalog knows, so a crash
//! between writing the silo and the catalog loses nothing. An archive without a catalog gets one.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use varve_catalog::{
    Catalog, CatalogRead, CatalogRow, FrontierStore, LatestPageList, SqliteCatalog, SqliteFrontierStore,
};
use varve_core::body::StoredBody;
use varve_core::fact::PageList;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_core::receipt::Renderings;
use varve_core::{BodyId, Moment, RecordId, VersionId};
use varve_store::exchange::scan_from;
use varve_store::index::{IndexPrefix, SiloPlace};
use varve_store::steps::step;
use varve_store::{NewObject, StoreError, StoreReader};
use varve_warc::date::Date;
use varve_warc::write::Packer;

use super::catalog_filler::count_rows;
use super::head_state::{HeadState, named};
use super::packer_pool::PackerPool;
use super::store_bodies::{open_body, open_payload, order_of, place, read_body, renderings, wire_head};
use super::{BodyInput, BodyWorker, HeadMove, HistoryReader, HistoryWriter, RecordPlace, body_range, head};
use crate::archive::{Archive, open_silo_files};
use crate::archive_paths::ArchivePaths;
use crate::archive_writer::{ArchiveWriter, WriterOptions};
use crate::content::{ContentDescription, store_file};
use crate::error::RepositoryError;
use crate::pending_swap::retry_while_swapping;
use crate::rows::RowMaker;

/// Number of rows applied per batch while the catalog catches up.
const ROWS_PER_BATCH: usize = 20_000;

/// Maximum number of retries of a failed lookup while the index keeps changing.
const MAX_LOOKUP_RETRIES: usize = 5;

/// A varve archive, open for reading for any length of time. It sees data that other processes
/// write meanwhile.
pub struct ArchiveHistoryReader {
    archive: Archive,
    catalog: Arc<dyn CatalogRead>,
    frontier: Box<dyn FrontierStore>,
    newer: Mutex<ReopenedStore>,
}

/// The store as it was last opened. An open index is a snapshot, while catalog rows are always
/// current. A body that is not found is therefore looked up again if the index has changed since.
#[derive(Default)]
struct ReopenedStore {
    store: Option<Arc<StoreReader>>,
    index: IndexState,
}

/// The files of an index: name, length, modification time.
type IndexState = Vec<(OsString, u64, Option<SystemTime>)>;

fn index_state(folder: &Path) -> IndexState {
    // An unreadable folder counts as unchanged.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: IndexState = entries
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some((entry.file_name(), about.len(), about.modified().ok()))
        })
        .collect();
    files.sort_unstable();
    files
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
        let path = archive.layout().catalog();
        if !path.is_file() {
            return Err(RepositoryError::NoCatalog { path });
        }
        // Taken before the catalog is opened, so that a change in between leads to another lookup.
        let newer = ReopenedStore { store: None, index: index_state(&archive.layout().index()) };
        let catalog = Arc::new(SqliteCatalog::open_to_read(&path)?);
        let frontier = Box::new(SqliteFrontierStore::new(Arc::clone(&catalog)));
        Ok(Self { catalog, frontier, archive, newer: Mutex::new(newer) })
    }

    /// Runs a query on the store. Retries if the query fails and the index has changed since it was
    /// opened: the object may be new or have moved.
    fn ask<T>(
        &self,
        mut question: impl FnMut(&StoreReader) -> Result<T, RepositoryError>,
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
            let state = index_state(&layout.index());
            if newer.index == state {
                return Ok(None);
            }
            Ok(Some((Arc::new(StoreReader::open(open_silo_files(layout), &layout.index())?), state)))
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

    /// Like [`ask_about`](Self::ask_about), but returns the default value for a removed page.
    fn ask_unless_hidden<T: Default>(
        &self,
        capture: &Capture,
        question: impl FnMut(&StoreReader) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        if is_hidden(self.catalog(), capture)? { Ok(T::default()) } else { self.ask(question) }
    }

    fn newer(&self) -> MutexGuard<'_, ReopenedStore> {
        self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The archive, with its objects and settings.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }
}

impl HistoryReader for ArchiveHistoryReader {
    fn redaction(&self) -> Redaction {
        self.archive.settings().redaction()
    }

    fn unfinished_since(&self) -> Result<Option<Moment>, RepositoryError> {
        Ok(self.frontier.unfinished_runs()?.first().map(|open| open.time))
    }

    fn catalog(&self) -> &dyn CatalogRead {
        &*self.catalog
    }

    /// If the HEAD file is missing, the catalog's value is used: it is derived from the silos.
    fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        match head::read(&self.archive.layout().head())? {
            None => Ok(self.catalog.head()?),
            head => Ok(head),
        }
    }

    /// The next writer sets HEAD to the catalog's value.
    fn head_state(&self) -> Result<HeadState, RepositoryError> {
        let wanted = || Ok(self.catalog.head()?);
        Ok(named(self.catalog(), &self.archive.layout().head(), wanted)?.err().unwrap_or(HeadState::Right))
    }

    fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        self.ask_about(capture, |store| open_body(store, capture))
    }

    fn open_body_range(
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

    fn read_body(&self, capture: &Capture, most: u64, into: &mut Vec<u8>) -> Result<bool, RepositoryError> {
        self.ask_about(capture, |store| read_body(store, capture, most, into))
    }

    fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
        self.ask(|store| order_of(store, captures))
    }

    fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        self.ask_unless_hidden(capture, |store| wire_head(store, capture))
    }

    fn open_payload(&self, capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        self.ask_unless_hidden(capture, |store| open_payload(store, capture))
    }

    fn open_wire(&self, capture: &Capture) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
        match capture.record {
            Some(record) => {
                self.ask_unless_hidden(capture, |store| Ok(store.response_block(record.as_bytes())?))
            }
            None => Ok(None),
        }
    }

    fn record_place(&self, capture: &Capture) -> Result<Option<RecordPlace>, RepositoryError> {
        match self.ask_about(capture, |store| place(store, capture)) {
            // The record is nowhere: a rewrite removed it, or it is lost. `audit` distinguishes the
            // two.
            Err(RepositoryError::Absent { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    fn renderings(&self, capture: &Capture) -> Result<Renderings, RepositoryError> {
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

/// A varve archive, open for adding to its history.
pub struct ArchiveHistoryWriter {
    catalog: Arc<dyn Catalog>,
    frontier: Box<dyn FrontierStore>,
    writer: ArchiveWriter,
    packers: PackerPool,
}

impl ArchiveHistoryWriter {
    /// Opens the archive at `root` and brings its catalog up to date.
    pub fn open(root: &Path, opening: WriterOptions) -> Result<Self, RepositoryError> {
        Self::of(ArchiveWriter::open(root, opening)?)
    }

    /// Adds history to an archive that is open for writing.
    pub fn of(writer: ArchiveWriter) -> Result<Self, RepositoryError> {
        step("open the catalog", &writer.layout().catalog());
        let catalog = Arc::new(SqliteCatalog::open_to_write(&writer.layout().catalog())?);
        let redaction = writer.settings().redaction();
        catch_up(writer.layout(), &*catalog, redaction)?;
        let packers = PackerPool::new(writer.store().settings());
        let frontier = Box::new(SqliteFrontierStore::new(Arc::clone(&catalog)));
        Ok(Self { catalog, frontier, writer, packers })
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
        &*self.frontier
    }
}

/// Adds rows for all records in the silos that the catalog lacks, then updates HEAD. A score or a
/// move of HEAD for a missing version is skipped: rebuild and audit report it. Any other row that
/// cannot be added is an error. Data unreadable now may be readable tomorrow, and a writer that
/// skipped it would continue from an older version for good.
pub fn catch_up(
    layout: &ArchivePaths,
    catalog: &dyn Catalog,
    redaction: Redaction,
) -> Result<(), RepositoryError> {
    let from = catalog.scanned_up_to()?.map(SiloPlace::from_number);
    let spent = catalog.latest_page_list()?.map_or(0, |last| last.deviations);
    let unread = RefCell::new(Ok(()));
    let find = |record| {
        // This is needed only if a writer was stopped between a manifest and its rows.
        let store =
            StoreReader::open(open_silo_files(layout), &layout.index()).map_err(RepositoryError::from);
        let found = store.and_then(|store| read_list(&store, record));
        found.map_err(|error| *unread.borrow_mut() = Err(error)).ok().flatten()
    };
    let mut maker = match from {
        Some(_) => RowMaker::behind(redaction, spent, Box::new(find)),
        None => RowMaker::new(redaction),
    };
    let apply = |rows: &mut dyn Iterator<Item = CatalogRow>| catalog.apply_leniently(rows, &mut drop);
    let mut pending: Vec<CatalogRow> = Vec::new();
    let mut failure: Result<(), RepositoryError> = Ok(());
    let end = scan_from(&open_silo_files(layout), from, &mut |scanned| {
        if failure.is_ok() {
            failure = (|| {
                let rows = maker.rows_of(&scanned);
                // A list that cannot be read is not necessarily lost.
                unread.replace(Ok(())).map_err(RepositoryError::behind)?;
                pending.extend(rows.map_err(RepositoryError::behind)?);
                if count_rows(&pending) >= ROWS_PER_BATCH {
                    apply(&mut pending.drain(..))?;
                }
                Ok(())
            })();
        }
        Ok::<(), StoreError>(())
    });
    failure?;
    let end = end.map_err(RepositoryError::behind)?;
    if let Some(end) = end.filter(|end| Some(*end) != from) {
        pending.push(CatalogRow::ScannedUpTo(end.number()));
        step("catch up", &layout.catalog());
        apply(&mut pending.into_iter())?;
    }
    follow_head(layout, catalog)
}

/// Reads a page list by its record. `None` if it is not stored here.
fn read_list(store: &StoreReader, record: RecordId) -> Result<Option<PageList>, RepositoryError> {
    let Some(object) = store.object(record.as_bytes())? else { return Ok(None) };
    let list = serde_json::from_reader(std::io::BufReader::new(object.read()?));
    list.map(Some).map_err(|error| RepositoryError::ReadObject {
        id: record.to_string(),
        source: std::io::Error::from(error),
    })
}

/// Sets the HEAD file to the version that the catalog holds as HEAD.
fn follow_head(layout: &ArchivePaths, catalog: &dyn Catalog) -> Result<(), RepositoryError> {
    let path = layout.head();
    match catalog.head()? {
        Some(version) if head::read(&path).ok().flatten() != Some(version) => head::write(&path, &version),
        _ => Ok(()),
    }
}

impl HistoryReader for ArchiveHistoryWriter {
    fn redaction(&self) -> Redaction {
        self.writer.settings().redaction()
    }

    fn catalog(&self) -> &dyn CatalogRead {
        self.catalog.as_read()
    }

    fn head(&self) -> Result<Option<VersionId>, RepositoryError> {
        head::read(&self.writer.layout().head())
    }

    fn open_body(&self, capture: &Capture) -> Result<Box<dyn Read + Send>, RepositoryError> {
        must_be_shown(self.catalog(), capture)?;
        open_body(&self.writer.reader(), capture)
    }

    fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
        if is_hidden(self.catalog(), capture)? {
            return Ok(None);
        }
        wire_head(&self.writer.reader(), capture)
    }

    fn renderings(&self, capture: &Capture) -> Result<Renderings, RepositoryError> {
        if is_hidden(self.catalog(), capture)? {
            return Ok(Renderings::default());
        }
        renderings(&self.writer.reader(), capture)
    }
}

impl HistoryWriter for ArchiveHistoryWriter {
    fn rows(&self) -> &dyn Catalog {
        &*self.catalog
    }

    fn now(&self) -> Moment {
        Moment::from(self.writer.now().instant)
    }

    fn body_worker(&self) -> BodyWorker<'_> {
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
            Ok(StoredBody { id: BodyId::new(stored.id), length: stored.length, new: stored.new })
        })
    }

    fn sync_bodies(&self) -> Result<(), RepositoryError> {
        Ok(self.writer.store().sync()?)
    }

    fn append_fact(
        &self,
        about: &str,
        media_type: &str,
        json: &[u8],
    ) -> Result<Option<RecordId>, RepositoryError> {
        let store = self.writer.store();
        let object = new_object(self.writer.now(), media_type, Some(about.to_owned()));
        // Stored as one record of any length, because readers look for facts record by record.
        let stored = self.with_packer(|packer| Ok(store.store_bytes(packer, &object, json)?))?;
        Ok(Some(RecordId::new(stored.id)))
    }

    fn latest_page_list(&self) -> Result<Option<(LatestPageList, PageList)>, RepositoryError> {
        let Some(last) = self.catalog.latest_page_list()? else { return Ok(None) };
        // An unreadable list counts as missing: a new one is written.
        let list = read_list(&self.writer.reader(), last.record).ok().flatten();
        Ok(list.map(|list| (last, list)))
    }

    fn are_indexed(&self, bodies: &[BodyId]) -> Result<Vec<bool>, RepositoryError> {
        let prefixes: Vec<IndexPrefix> = bodies.iter().map(|body| IndexPrefix::of(body.as_bytes())).collect();
        let mut known = vec![false; bodies.len()];
        let found = self.writer.store().index().find_many(&prefixes, |number, _| known[number] = true);
        found.map_err(StoreError::from)?;
        Ok(known)
    }

    fn seen_files(&self) -> Option<(PathBuf, SystemTime)> {
        let layout = self.writer.layout();
        let opened = std::fs::metadata(layout.lock()).and_then(|lock| lock.modified()).ok()?;
        Some((layout.seen_files(), opened))
    }

    fn apply(&self, mut rows: Vec<CatalogRow>) -> Result<(), RepositoryError> {
        self.writer.store().sync()?;
        if let Some(end) = self.writer.store().end()? {
            rows.push(CatalogRow::ScannedUpTo(end.number()));
        }
        let path = self.writer.layout().catalog();
        step("begin a transaction", &path);
        self.catalog.apply(&mut rows.into_iter())?;
        step("transaction done", &path);
        Ok(())
    }

    fn exclusively(
        &self,
        work: &mut dyn FnMut() -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        let mut done = Ok(());
        self.catalog.exclusively(&mut || done = work())?;
        done
    }

    /// Does nothing: the silos already record the move, and the next writer follows them.
    fn intend_head(&self, _: &VersionId, _: HeadMove) -> Result<(), RepositoryError> {
        Ok(())
    }

    fn set_head(&self, version: &VersionId) -> Result<(), RepositoryError> {
        head::write(&self.writer.layout().head(), version)
    }

    fn keeps_diffs(&self) -> bool {
        false
    }

    fn as_reader(&self) -> &dyn HistoryReader {
        self
    }
}

fn new_object(date: Date, media_type: &str, refers_to: Option<String>) -> NewObject {
    NewObject { date, content_type: media_type.to_owned(), refers_to, known: None }
}
