//! `catalog.db`: the catalog of a varve archive, in SQLite.
//!
//! Owns its tables (`sql/sqlite`). Numbers are used inside and ids outside; a capture of a run belongs to a row of
//! `owners` without an id, and finishing the run gives it one. Many read beside one who writes.

mod capture;
mod forget;
mod headers;
mod hidden;
mod line;
mod memory;
mod read_captures;
mod read_removals;
mod read_rest;
mod read_spans;
mod read_versions;
mod schema;
mod write;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, Tag,
    TimeOrder, VersionFilter, VersionInfo,
};
use varve_core::{BodyId, Moment, RecordId, RunId, VersionId};

use varve_core::catalog::CatalogError;
use varve_core::catalog::{Catalog, CatalogRead, CatalogRow, LatestPageList, Removal};
use varve_sqlite::UnlocatedError;
use varve_sqlite::{ReaderPool, verdicts};

use memory::Memory;
use write::{Applied, LeaveOut};

/// The catalog of a varve archive.
pub struct SqliteCatalog {
    // ReaderPool go before the writer, so that the last connection to close can put the log back into the database.
    readers: ReaderPool,
    writer: Option<Mutex<Writer>>,
}

/// The one connection that writes, and what it knows without asking.
struct Writer {
    connection: Connection,
    synchronous: Synchronous,
    memory: Memory,
}

impl SqliteCatalog {
    /// Opens `catalog.db` to read. Nothing is changed, not even a file beside it that need not be there.
    pub fn open_to_read(path: &Path) -> Result<Self, CatalogError> {
        let readers = ReaderPool::open(path, schema::check)?;
        Ok(Self { readers, writer: None })
    }

    /// Opens `catalog.db` to write, and makes it where there is none. Whoever calls this holds the lock of the archive.
    pub fn open_to_write(path: &Path) -> Result<Self, CatalogError> {
        let connection = open_writer(path).map_err(|problem| problem.at(path))?;
        let readers = ReaderPool::open(path, schema::check)?;
        let writer = Writer { connection, synchronous: Synchronous::Full, memory: Memory::default() };
        Ok(Self { readers, writer: Some(Mutex::new(writer)) })
    }

    /// Keeps rows as [`Catalog::apply`] does, and goes on where silos have lost something: a score or a move of HEAD that is
    /// about a version which is not here is left out, and `left_out` is told of it.
    pub fn apply_what_is_left(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: &mut dyn FnMut(CatalogRow),
    ) -> Result<(), CatalogError> {
        self.keep(rows, Some(left_out))
    }

    /// The records of a run's captures, in no order.
    pub fn each_record_of_run(
        &self,
        run: &RunId,
        each: &mut dyn FnMut(RecordId),
    ) -> Result<(), CatalogError> {
        self.readers.query(|connection| read_captures::each_record_of_run(connection, run, each))
    }

    /// The version that a run became, if it did.
    pub fn version_of_run(&self, run: &RunId) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::of_run(connection, run))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.readers.path()
    }

    /// Asks questions that all see the same state of the database.
    pub(crate) fn query<T>(
        &self,
        questions: impl FnOnce(&Connection) -> Result<T, UnlocatedError>,
    ) -> Result<T, CatalogError> {
        self.readers.query(questions)
    }

    /// Does something while nobody can add rows.
    pub fn alone<E: From<CatalogError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut done = Ok(());
        self.write_lightly(|_| {
            done = work();
            Ok(())
        })?;
        done
    }

    /// Does something with the connection that writes, all or none, without waiting for the disk.
    pub(crate) fn write_lightly<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, UnlocatedError>,
    ) -> Result<T, CatalogError> {
        self.write(Synchronous::Normal, |connection, _| work(connection))
    }

    fn keep(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: Option<LeaveOut<'_>>,
    ) -> Result<(), CatalogError> {
        let done = self.write(Synchronous::Full, |connection, memory| {
            write::apply(connection, memory, rows, left_out)
        })?;
        match done {
            Applied::Added => Ok(()),
            Applied::Erased => self.vacuum(),
        }
    }

    /// Makes the file again without what was erased from it: SQLite leaves that in the file otherwise.
    fn vacuum(&self) -> Result<(), CatalogError> {
        let path = self.readers.path();
        let Some(writer) = &self.writer else { return Ok(()) };
        let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let erased = writer.connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        erased.map_err(|error| UnlocatedError::from(error).at(path))
    }

    fn write<T>(
        &self,
        synchronous: Synchronous,
        work: impl FnOnce(&Connection, &mut Memory) -> Result<T, UnlocatedError>,
    ) -> Result<T, CatalogError> {
        let path = self.readers.path();
        let Some(writer) = &self.writer else {
            return Err(CatalogError::ReadOnly { path: path.to_owned() });
        };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.do_all(synchronous, work).map_err(|problem| problem.at(path))
    }
}

/// Whether a commit waits for the disk. Both are whole after a power cut; what was committed last may be lost without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Synchronous {
    Normal,
    Full,
}

impl Writer {
    /// All or none.
    fn do_all<T>(
        &mut self,
        synchronous: Synchronous,
        work: impl FnOnce(&Connection, &mut Memory) -> Result<T, UnlocatedError>,
    ) -> Result<T, UnlocatedError> {
        if self.synchronous != synchronous {
            let value = if synchronous == Synchronous::Full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", value)?;
            self.synchronous = synchronous;
        }
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        self.memory.begin(&transaction)?;
        let done = work(&transaction, &mut self.memory)
            .and_then(|answer| transaction.commit().map(|()| answer).map_err(UnlocatedError::from));
        if done.is_err() {
            self.memory.forget();
        }
        done
    }
}

fn open_writer(path: &Path) -> Result<Connection, UnlocatedError> {
    let mut connection = varve_sqlite::open_to_write(path)?;
    // A stranger's database is refused before anything about it is changed.
    schema::create_if_empty(&mut connection)?;
    schema::check(&connection)?;
    schema::renew_views(&mut connection)?;
    schema::add_tables(&connection)?;
    varve_sqlite::configure_writer(&connection)?;
    Ok(connection)
}

impl CatalogRead for SqliteCatalog {
    fn version(&self, id: &VersionId) -> Result<Option<VersionInfo>, CatalogError> {
        self.readers.query(|connection| read_versions::version(connection, id))
    }

    fn versions_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::beginning(connection, prefix, limit))
    }

    fn versions(
        &self,
        filter: &VersionFilter,
        page: ListCursor<VersionId>,
    ) -> Result<Vec<VersionInfo>, CatalogError> {
        self.readers.query(|connection| read_versions::versions(connection, filter, page))
    }

    fn count_versions(&self, most: u64) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_versions::count(connection, most))
    }

    fn children(&self, id: &VersionId) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::children(connection, id))
    }

    fn captures_in(
        &self,
        version: &VersionId,
        page: ListCursor<(&str, &str)>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::in_version(connection, version, page))
    }

    fn captures_at_path(&self, version: &VersionId, path: &str) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::at_path(connection, version, path))
    }

    fn paths_that_differ(
        &self,
        base: &VersionId,
        head: &VersionId,
    ) -> Result<Option<Vec<String>>, CatalogError> {
        self.readers.query(|connection| read_captures::paths_that_differ(connection, base, head))
    }

    fn captures_of(
        &self,
        url: &str,
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.captures_of_any(&[url], filter, order, page)
    }

    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        page: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::of_urls(connection, urls, filter, order, page))
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::of_urls_in(connection, version, urls))
    }

    fn spellings_of(&self, url: &str) -> Result<Vec<String>, CatalogError> {
        self.readers.query(|connection| read_captures::spellings(connection, url))
    }

    fn urls(&self, prefix: &str, page: ListCursor<&str>) -> Result<Vec<String>, CatalogError> {
        self.readers.query(|connection| read_captures::urls(connection, prefix, page))
    }

    fn tags(&self) -> Result<Vec<Tag>, CatalogError> {
        self.readers.query(read_rest::tags)
    }

    fn tag(&self, name: &str) -> Result<Option<Tag>, CatalogError> {
        self.readers.query(|connection| read_rest::tag(connection, name))
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Result<Option<StoredDiff>, CatalogError> {
        self.readers.query(|connection| read_rest::diff(connection, base, head))
    }

    fn diffs_with(&self, version: &VersionId) -> Result<Vec<StoredDiffInfo>, CatalogError> {
        self.readers.query(|connection| read_rest::diffs_with(connection, version))
    }

    fn diffs_before(&self, before: Moment) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_rest::diffs_before(connection, before))
    }

    fn scores(&self, version: &VersionId) -> Result<Vec<StoredScore>, CatalogError> {
        self.readers.query(|connection| read_rest::scores(connection, version))
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.query(|connection| verdicts::verdicts_of(connection, "verdicts", url, limit))
    }

    fn last_verdicts(&self, page: ListCursor<&str>) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.query(|connection| verdicts::last_verdicts(connection, "verdicts", page))
    }

    fn removals_of(&self, record: &RecordId) -> Result<Vec<Removal>, CatalogError> {
        self.readers.query(|connection| read_removals::of_record(connection, record))
    }

    fn removal_of_page(&self, capture: &Capture) -> Result<Option<Removal>, CatalogError> {
        self.readers.query(|connection| read_removals::of_page(connection, capture))
    }

    fn removals_at(&self, url: &str, limit: usize) -> Result<Vec<Removal>, CatalogError> {
        self.readers.query(|connection| read_removals::at_url(connection, url, limit))
    }

    fn removals(&self, page: ListCursor<RecordId>) -> Result<Vec<Removal>, CatalogError> {
        self.readers.query(|connection| read_removals::page(connection, page))
    }

    fn open_runs(&self) -> Result<Vec<RunId>, CatalogError> {
        self.readers.query(read_rest::open_runs)
    }

    fn captures_of_run(&self, run: &RunId) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_rest::captures_of_run(connection, run))
    }

    fn head(&self) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(read_rest::head)
    }

    fn scanned_up_to(&self) -> Result<Option<u64>, CatalogError> {
        self.readers.query(read_rest::scanned_up_to)
    }

    fn latest_page_list(&self) -> Result<Option<LatestPageList>, CatalogError> {
        self.readers.query(read_rest::latest_page_list)
    }

    fn last_gc(&self) -> Result<Option<Moment>, CatalogError> {
        self.readers.query(read_rest::last_gc)
    }

    fn each_body(
        &self,
        each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        self.readers.query(|connection| read_captures::each_body(connection, each))
    }
}

impl Catalog for SqliteCatalog {
    fn apply(&self, rows: &mut dyn Iterator<Item = CatalogRow>) -> Result<(), CatalogError> {
        self.keep(rows, None)
    }

    fn as_read(&self) -> &dyn CatalogRead {
        self
    }
}
