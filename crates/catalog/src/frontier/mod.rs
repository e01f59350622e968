//! The frontier in SQLite: the queue of each run, in the tables of `sql/frontier.sql`.
//!
//! The queue is in tables and not in memory, so that a million URLs cost no memory and a run that
//! was killed goes on where it was.

mod claim;
mod counts;
mod push;
mod url_state;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::catalog::CatalogError;
use varve_core::frontier::{
    ClaimRequest, ClaimedUrl, FetchReason, Frontier, FrontierCounts, FrontierOutcome, FrontierStore, NewUrl,
    OpenRun, PastUrl,
};
use varve_core::{Moment, RunId, WorkerId};
use varve_sqlite::UnlocatedError;
use varve_sqlite::column::required_blob_id;

use crate::sqlite::SqliteCatalog;
use url_state::UrlState;

/// The number of rows that one transaction deletes when a run is finished, so that other writers
/// need not wait long.
const SWEEP_BATCH_ROWS: i64 = 20_000;

/// The frontiers of all runs in one catalog.
pub struct SqliteFrontierStore {
    catalog: Arc<SqliteCatalog>,
}

impl SqliteFrontierStore {
    /// The frontiers in this catalog.
    pub fn new(catalog: Arc<SqliteCatalog>) -> Self {
        Self { catalog }
    }

    fn handle(&self, run: RunId, worker: WorkerId, no: i64) -> Box<dyn Frontier> {
        let catalog = Arc::clone(&self.catalog);
        Box::new(SqliteFrontier { catalog, run, worker, no, last_host: AtomicI64::new(0) })
    }
}

impl FrontierStore for SqliteFrontierStore {
    fn begin_run(
        &self,
        run: RunId,
        worker: WorkerId,
        time: Moment,
        settings: &str,
    ) -> Result<Box<dyn Frontier>, CatalogError> {
        let sql = "INSERT INTO frontier_runs (run, time, settings) VALUES (?1, ?2, ?3)";
        let no = self.catalog.write_unsynced(|connection| {
            connection.execute(sql, params![run.as_bytes(), time.micros(), settings])?;
            Ok(connection.last_insert_rowid())
        })?;
        Ok(self.handle(run, worker, no))
    }

    fn join_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError> {
        let no = self.catalog.query(|connection| unfinished_run_no(connection, run))?;
        Ok(no.map(|no| self.handle(run, worker, no)))
    }

    fn resume_run(&self, run: RunId, worker: WorkerId) -> Result<Option<Box<dyn Frontier>>, CatalogError> {
        let no = self.catalog.write_unsynced(|connection| {
            let no = unfinished_run_no(connection, run)?;
            no.map(|no| claim::release_all(connection, no).map(|()| no)).transpose()
        })?;
        Ok(no.map(|no| self.handle(run, worker, no)))
    }

    fn unfinished_runs(&self) -> Result<Vec<OpenRun>, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT run, time, settings FROM frontier_runs WHERE NOT finished ORDER BY no";
            connection.prepare_cached(sql)?.query_and_then([], read_open_run)?.collect()
        })
    }
}

/// The queue of one run in SQLite.
struct SqliteFrontier {
    catalog: Arc<SqliteCatalog>,
    run: RunId,
    worker: WorkerId,
    no: i64,
    /// The host that was claimed last, so that hosts take turns.
    last_host: AtomicI64,
}

impl Frontier for SqliteFrontier {
    fn run(&self) -> RunId {
        self.run
    }

    fn worker(&self) -> WorkerId {
        self.worker
    }

    fn settings(&self) -> Result<String, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT settings FROM frontier_runs WHERE no = ?1";
            Ok(connection.query_row(sql, [self.no], |row| row.get(0))?)
        })
    }

    fn push(&self, urls: &[NewUrl<'_>]) -> Result<u64, CatalogError> {
        self.catalog.write_unsynced(|connection| push::push(connection, self.no, urls))
    }

    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Vec<ClaimedUrl>, CatalogError> {
        let last_host = self.last_host.load(Ordering::Relaxed);
        let (claimed, last_host) = self.catalog.write_unsynced(|connection| {
            claim::claim(connection, (self.no, self.worker), request, last_host)
        })?;
        self.last_host.store(last_host, Ordering::Relaxed);
        Ok(claimed)
    }

    fn renew_lease(&self, until: Moment) -> Result<(), CatalogError> {
        self.catalog.write_unsynced(|connection| {
            claim::renew_lease(connection, self.no, self.worker, until).map(|_| ())
        })
    }

    fn record_outcomes(&self, outcomes: &[(i64, FrontierOutcome<'_>)]) -> Result<u64, CatalogError> {
        self.catalog
            .write_unsynced(|connection| claim::record_outcomes(connection, self.no, self.worker, outcomes))
    }

    fn release(&self) -> Result<(), CatalogError> {
        self.catalog.write_unsynced(|connection| claim::release_worker(connection, self.no, self.worker))
    }

    fn counts(&self) -> Result<FrontierCounts, CatalogError> {
        self.catalog.query(|connection| counts::read_counts(connection, self.no))
    }

    fn each_past(&self, each: &mut dyn FnMut(PastUrl<'_>)) -> Result<(), CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT url, kind, depth, chain, state FROM frontier
                WHERE run_no = ?1 AND state <> 0 ORDER BY no";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([self.no])?;
            while let Some(row) = rows.next()? {
                let url: String = row.get(0)?;
                let is_done = row.get::<_, i64>(4)? == UrlState::Done as i64;
                each(PastUrl { url: &url, reason: url_state::read_reason(row, 1)?, is_done });
            }
            Ok(())
        })
    }

    fn each_failed(&self, each: &mut dyn FnMut(&str, FetchReason, &str)) -> Result<(), CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT url, kind, depth, chain, coalesce(message, '') FROM frontier
                WHERE run_no = ?1 AND state = 4 ORDER BY no";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([self.no])?;
            while let Some(row) = rows.next()? {
                let (url, message): (String, String) = (row.get(0)?, row.get(4)?);
                each(&url, url_state::read_reason(row, 1)?, &message);
            }
            Ok(())
        })
    }

    fn has_pages(&self, identities: &[&str]) -> Result<Vec<bool>, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM frontier INDEXED BY frontier_by_page
                WHERE run_no = ?1 AND page = ?2 AND requeued = 0)";
            let mut statement = connection.prepare_cached(sql)?;
            let mut has = |identity: &&str| {
                let page = push::page_digest(identity);
                Ok(statement.query_row(params![self.no, page], |row| row.get(0))?)
            };
            identities.iter().map(&mut has).collect()
        })
    }

    fn found_on(&self, no: i64) -> Result<Option<(String, Option<i64>)>, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT url, found_on FROM frontier WHERE run_no = ?1 AND no = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([self.no, no], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
        })
    }

    fn next_retry_at(&self) -> Result<Option<Moment>, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT min(retry_at) FROM frontier WHERE run_no = ?1 AND state = 3";
            let micros: Option<i64> =
                connection.prepare_cached(sql)?.query_row([self.no], |row| row.get(0))?;
            Ok(micros.map(Moment::from_micros))
        })
    }

    fn continue_as(&mut self, run: RunId, settings: &str) -> Result<(), CatalogError> {
        self.catalog.write_unsynced(|connection| {
            let sql = "UPDATE frontier_runs SET run = ?2, settings = ?3 WHERE no = ?1";
            connection.execute(sql, params![self.no, run.as_bytes(), settings])?;
            Ok(())
        })?;
        self.run = run;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), CatalogError> {
        self.catalog.write_unsynced(|connection| {
            connection.execute("UPDATE frontier_runs SET finished = 1 WHERE no = ?1", [self.no])?;
            Ok(())
        })?;
        while self.catalog.write_unsynced(|connection| sweep(connection, self.no))? {}
        Ok(())
    }
}

fn unfinished_run_no(connection: &Connection, run: RunId) -> Result<Option<i64>, UnlocatedError> {
    let sql = "SELECT no FROM frontier_runs WHERE run = ?1 AND NOT finished";
    Ok(connection.query_row(sql, [run.as_bytes()], |row| row.get(0)).optional()?)
}

/// Deletes some URLs of a finished run. Returns whether there may be more.
fn sweep(connection: &Connection, run_no: i64) -> Result<bool, UnlocatedError> {
    let sql = "DELETE FROM frontier WHERE no IN (SELECT no FROM frontier WHERE run_no = ?1 LIMIT ?2)";
    if connection.prepare_cached(sql)?.execute([run_no, SWEEP_BATCH_ROWS])? > 0 {
        return Ok(true);
    }
    for sql in [
        "DELETE FROM frontier_hosts WHERE run_no = ?1",
        "DELETE FROM frontier_counts WHERE run_no = ?1",
        "DELETE FROM frontier_workers WHERE run_no = ?1",
        "DELETE FROM frontier_runs WHERE no = ?1",
    ] {
        connection.execute(sql, [run_no])?;
    }
    Ok(false)
}

fn read_open_run(row: &Row<'_>) -> Result<OpenRun, UnlocatedError> {
    let run = required_blob_id(row, 0, "frontier_runs")?;
    Ok(OpenRun { run, time: Moment::from_micros(row.get(1)?), settings: row.get(2)? })
}
