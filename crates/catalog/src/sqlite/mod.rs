//! The catalog of an archive in SQLite.
//!
//! Owns the tables of `sql/tables.sql`. Rows refer to each other by number, and the interface uses
//! ids. A capture of a run belongs to a row of `owners` without a version id; finishing the run sets
//! the id. Many readers may read beside one writer.

mod hidden_pages;
mod read_captures;
mod read_derived;
mod read_removals;
mod read_version_runs;
mod read_versions;
mod remove_version;
mod schema;
mod shared_headers;
mod version_run;
mod write_batch;
mod write_cache;
mod write_captures;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use varve_core::history::{
    Capture, CaptureFilter, ListCursor, StoredDiff, StoredDiffInfo, StoredScore, StoredVerdict, TimeOrder,
    VersionFilter, VersionInfo, VersionTag,
};
use varve_core::{BodyId, Moment, RecordId, RunId, VersionId};

use varve_core::catalog::{
    Catalog, CatalogError, CatalogRead, CatalogRow, LatestPageList, Removal, UrlMatch,
};
use varve_sqlite::UnlocatedError;
use varve_sqlite::{ReaderPool, verdicts};

use write_batch::{BatchEffect, LeaveOutRow};
use write_cache::WriteCache;

/// The catalog of an archive.
pub struct SqliteCatalog {
    // Dropped before the writer, so that the last connection to close can checkpoint the log.
    readers: ReaderPool,
    writer: Option<Mutex<CatalogWriter>>,
}

/// The connection that writes, with its cache.
struct CatalogWriter {
    connection: Connection,
    synchronous: CommitSync,
    cache: WriteCache,
}

impl SqliteCatalog {
    /// Opens `catalog.db` to read. Changes nothing, and leaves no new file beside it.
    pub fn open_to_read(path: &Path) -> Result<Self, CatalogError> {
        let readers = ReaderPool::open(path, schema::check)?;
        Ok(Self { readers, writer: None })
    }

    /// Opens `catalog.db` to write, and creates it if it does not exist. The caller holds the lock of the
    /// archive.
    pub fn open_to_write(path: &Path) -> Result<Self, CatalogError> {
        let connection = open_writer(path).map_err(|problem| problem.at(path))?;
        let readers = ReaderPool::open(path, schema::check)?;
        let writer =
            CatalogWriter { connection, synchronous: CommitSync::Full, cache: WriteCache::default() };
        Ok(Self { readers, writer: Some(Mutex::new(writer)) })
    }

    /// Stores rows as [`Catalog::apply`] does, for silos that have lost records: a score or a move of
    /// HEAD whose version does not exist goes to `left_out`.
    pub fn apply_leniently(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: &mut dyn FnMut(CatalogRow),
    ) -> Result<(), CatalogError> {
        self.store(rows, Some(left_out))
    }

    /// Calls `each` with the records of the captures of a run, in no order.
    pub fn each_record_of_run(
        &self,
        run: &RunId,
        each: &mut dyn FnMut(RecordId),
    ) -> Result<(), CatalogError> {
        self.readers.query(|connection| read_captures::each_record_of_run(connection, run, each))
    }

    /// The version that a run became.
    pub fn version_of_run(&self, run: &RunId) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::of_run(connection, run))
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        self.readers.path()
    }

    /// Runs queries that all see the same state of the database.
    pub(crate) fn query<T>(
        &self,
        queries: impl FnOnce(&Connection) -> Result<T, UnlocatedError>,
    ) -> Result<T, CatalogError> {
        self.readers.query(queries)
    }

    /// Runs `work` while no process can add rows.
    pub fn alone<E: From<CatalogError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut done = Ok(());
        self.write_unsynced(|_| {
            done = work();
            Ok(())
        })?;
        done
    }

    /// Runs `work` in a transaction whose commit does not wait for the disk.
    pub(crate) fn write_unsynced<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, UnlocatedError>,
    ) -> Result<T, CatalogError> {
        self.write(CommitSync::Normal, |connection, _| work(connection))
    }

    fn store(
        &self,
        rows: &mut dyn Iterator<Item = CatalogRow>,
        left_out: Option<LeaveOutRow<'_>>,
    ) -> Result<(), CatalogError> {
        let done = self.write(CommitSync::Full, |connection, cache| {
            write_batch::apply(connection, cache, rows, left_out)
        })?;
        match done {
            BatchEffect::Added => Ok(()),
            BatchEffect::Erased => self.vacuum(),
        }
    }

    /// Rewrites the file without erased rows, which SQLite leaves in free pages otherwise.
    fn vacuum(&self) -> Result<(), CatalogError> {
        let path = self.readers.path();
        let Some(writer) = &self.writer else { return Ok(()) };
        let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let erased = writer.connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        erased.map_err(|error| UnlocatedError::from(error).at(path))
    }

    fn write<T>(
        &self,
        synchronous: CommitSync,
        work: impl FnOnce(&Connection, &mut WriteCache) -> Result<T, UnlocatedError>,
    ) -> Result<T, CatalogError> {
        let path = self.readers.path();
        let Some(writer) = &self.writer else {
            return Err(CatalogError::ReadOnly { path: path.to_owned() });
        };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.transact(synchronous, work).map_err(|problem| problem.at(path))
    }
}

/// Whether a commit waits for the disk. Without, a power cut may lose the last commits, and the
/// database stays intact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitSync {
    Normal,
    Full,
}

impl CatalogWriter {
    /// Runs `work` in a transaction.
    fn transact<T>(
        &mut self,
        synchronous: CommitSync,
        work: impl FnOnce(&Connection, &mut WriteCache) -> Result<T, UnlocatedError>,
    ) -> Result<T, UnlocatedError> {
        if self.synchronous != synchronous {
            let value = if synchronous == CommitSync::Full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", value)?;
            self.synchronous = synchronous;
        }
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        self.cache.begin(&transaction)?;
        let done = work(&transaction, &mut self.cache)
            .and_then(|answer| transaction.commit().map(|()| answer).map_err(UnlocatedError::from));
        if done.is_err() {
            self.cache.clear();
        }
        done
    }
}

fn open_writer(path: &Path) -> Result<Connection, UnlocatedError> {
    let mut connection = varve_sqlite::open_to_write(path)?;
    // Refuses a foreign database before anything in it is changed.
    schema::create_if_empty(&mut connection)?;
    schema::check(&connection)?;
    schema::renew_views(&mut connection)?;
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
        cursor: ListCursor<VersionId>,
    ) -> Result<Vec<VersionInfo>, CatalogError> {
        self.readers.query(|connection| read_versions::versions(connection, filter, cursor))
    }

    fn count_versions(&self, limit: u64) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_versions::count(connection, limit))
    }

    fn children(&self, id: &VersionId) -> Result<Vec<VersionId>, CatalogError> {
        self.readers.query(|connection| read_versions::children(connection, id))
    }

    fn captures_in(
        &self,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::in_version(connection, version, cursor))
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
        cursor: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.captures_of_any(&[url], filter, order, cursor)
    }

    fn captures_of_any(
        &self,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::of_urls(connection, urls, filter, order, cursor))
    }

    fn captures_of_any_in(&self, version: &VersionId, urls: &[&str]) -> Result<Vec<Capture>, CatalogError> {
        self.readers.query(|connection| read_captures::of_urls_in(connection, version, urls))
    }

    fn newest_captures(
        &self,
        urls: &[&str],
        matching: UrlMatch,
        limit: usize,
    ) -> Result<Vec<Vec<Capture>>, CatalogError> {
        self.readers.query(|connection| read_captures::newest(connection, urls, matching, limit))
    }

    fn spellings_of(&self, url: &str) -> Result<Vec<String>, CatalogError> {
        self.readers.query(|connection| read_captures::spellings(connection, url))
    }

    fn urls(&self, prefix: &str, cursor: ListCursor<&str>) -> Result<Vec<String>, CatalogError> {
        self.readers.query(|connection| read_captures::urls(connection, prefix, cursor))
    }

    fn tags(&self) -> Result<Vec<VersionTag>, CatalogError> {
        self.readers.query(read_derived::tags)
    }

    fn tag(&self, name: &str) -> Result<Option<VersionTag>, CatalogError> {
        self.readers.query(|connection| read_derived::tag(connection, name))
    }

    fn diff(&self, base: Option<&VersionId>, head: &VersionId) -> Result<Option<StoredDiff>, CatalogError> {
        self.readers.query(|connection| read_derived::diff(connection, base, head))
    }

    fn diffs_with(&self, version: &VersionId) -> Result<Vec<StoredDiffInfo>, CatalogError> {
        self.readers.query(|connection| read_derived::diffs_with(connection, version))
    }

    fn diffs_before(&self, before: Moment) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_derived::diffs_before(connection, before))
    }

    fn scores(&self, version: &VersionId) -> Result<Vec<StoredScore>, CatalogError> {
        self.readers.query(|connection| read_derived::scores(connection, version))
    }

    fn verdicts_of(&self, url: &str, limit: usize) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.query(|connection| verdicts::verdicts_of(connection, "verdicts", url, limit))
    }

    fn last_verdicts(&self, cursor: ListCursor<&str>) -> Result<Vec<StoredVerdict>, CatalogError> {
        self.readers.query(|connection| verdicts::last_verdicts(connection, "verdicts", cursor))
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

    fn removals(&self, cursor: ListCursor<RecordId>) -> Result<Vec<Removal>, CatalogError> {
        self.readers.query(|connection| read_removals::all(connection, cursor))
    }

    fn open_runs(&self) -> Result<Vec<RunId>, CatalogError> {
        self.readers.query(read_derived::open_runs)
    }

    fn captures_of_run(&self, run: &RunId) -> Result<u64, CatalogError> {
        self.readers.query(|connection| read_derived::captures_of_run(connection, run))
    }

    fn head(&self) -> Result<Option<VersionId>, CatalogError> {
        self.readers.query(read_derived::head)
    }

    fn scanned_up_to(&self) -> Result<Option<u64>, CatalogError> {
        self.readers.query(read_derived::scanned_up_to)
    }

    fn latest_page_list(&self) -> Result<Option<LatestPageList>, CatalogError> {
        self.readers.query(read_derived::latest_page_list)
    }

    fn last_gc(&self) -> Result<Option<Moment>, CatalogError> {
        self.readers.query(read_derived::last_gc)
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
        self.store(rows, None)
    }

    fn as_read(&self) -> &dyn CatalogRead {
        self
    }
}
