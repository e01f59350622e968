//! The frontier: the URLs that a run has still to ask for, kept in the catalog's database.
//!
//! Owns queues by host, and what became of each URL. Knows no politeness and no rule: whoever fetches says which hosts
//! may be asked now, and why a URL was skipped. Everything is in tables, so that a million URLs cost no memory, and a
//! run that was killed goes on where it was: what was claimed and not settled is ready again.
//!
//! Changes are atomic and survive the end of the process at any instant. They are not forced to the disk one by one:
//! after a power cut some pages may be asked for once more, which adds nothing to the archive.

mod claim;
mod push;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;
use varve_core::{Moment, RunId};

use crate::sqlite::SqliteCatalog;
use varve_core::catalog::CatalogError;
use varve_sqlite::UnlocatedError;

/// How many rows are taken away at once when a run is finished, so that others need not wait for long.
const SWEEP: i64 = 20_000;

/// A URL to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewUrl<'a> {
    /// What makes two spellings one URL. All of them are asked for by the one that came first.
    pub identity: &'a str,
    /// Why it is wanted, in a few letters of ASCII; each URL comes once in a run for each reason.
    pub reason: &'a str,
    /// The URL to ask for, unless it came before by another spelling.
    pub url: &'a str,
    /// Whose queue it joins.
    pub host: &'a str,
    /// How many links lead to it from a root.
    pub depth: u32,
    /// What it is to the page that led to it, in whoever's words.
    pub role: &'a str,
    /// The greater, the sooner.
    pub priority: i32,
    /// The number of the page that led to it.
    pub found_on: Option<i64>,
}

/// A URL to ask for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedUrl {
    /// Its number, by which it is settled, and by which others say that they were found on it.
    pub no: i64,
    /// The URL.
    pub url: String,
    /// Its host.
    pub host: String,
    /// How many links lead to it from a root.
    pub depth: u32,
    /// What it is to the page that led to it.
    pub role: String,
    /// The number of the page that led to it.
    pub found_on: Option<i64>,
    /// How often it was asked for in vain.
    pub tries: u32,
}

/// A URL that is claimed or settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastUrl<'a> {
    /// The URL.
    pub url: &'a str,
    /// How many links lead to it from a root.
    pub depth: u32,
    /// What it is to the page that led to it.
    pub role: &'a str,
    /// Whether it was captured.
    pub is_done: bool,
}

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierOutcome<'a> {
    /// It was captured.
    Done,
    /// It was not, and shall be asked for again at this instant.
    Again(Moment, &'a str),
    /// It was not, for this reason, and that is all.
    Failed(&'a str),
    /// It was not asked for, by this rule.
    Skipped(&'a str),
}

/// How many URLs are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontierCounts {
    /// To be asked for.
    pub ready: u64,
    /// Being asked for.
    pub claimed: u64,
    /// Captured.
    pub done: u64,
    /// To be asked for again, later.
    pub waiting: u64,
    /// Given up.
    pub failed: u64,
    /// Left out by a rule.
    pub skipped: u64,
}

/// A run that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub time: Moment,
    /// What was asked for, as JSON.
    pub settings: String,
}

/// The state of a URL, as the column holds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready = 0,
    Claimed = 1,
    Done = 2,
    Waiting = 3,
    Failed = 4,
    Skipped = 5,
}

/// The URLs of one run.
pub struct Frontier {
    catalog: Arc<SqliteCatalog>,
    run: RunId,
    no: i64,
    /// The host that was asked last, so that all have their turn.
    last_host: AtomicI64,
}

impl Frontier {
    /// Begins a run.
    pub fn begin(
        catalog: Arc<SqliteCatalog>,
        run: RunId,
        time: Moment,
        settings: &str,
    ) -> Result<Self, CatalogError> {
        let sql = "INSERT INTO frontier_runs (run, time, settings) VALUES (?1, ?2, ?3)";
        let no = catalog.write_lightly(|connection| {
            connection.execute(sql, params![run.as_bytes(), time.micros(), settings])?;
            Ok(connection.last_insert_rowid())
        })?;
        Ok(Self { catalog, run, no, last_host: AtomicI64::new(0) })
    }

    /// Goes on with a run: what was claimed and not settled is ready again. None if there is no such open run.
    pub fn resume(catalog: Arc<SqliteCatalog>, run: RunId) -> Result<Option<Self>, CatalogError> {
        let no = catalog.write_lightly(|connection| {
            let sql = "SELECT no FROM frontier_runs WHERE run = ?1 AND NOT finished";
            let no = connection.query_row(sql, [run.as_bytes()], |row| row.get(0)).optional()?;
            no.map(|no| claim::release_all(connection, no).map(|()| no)).transpose()
        })?;
        Ok(no.map(|no| Self { catalog, run, no, last_host: AtomicI64::new(0) }))
    }

    /// The runs that are not finished, oldest first.
    pub fn runs(catalog: &SqliteCatalog) -> Result<Vec<OpenRun>, CatalogError> {
        catalog.query(|connection| {
            let sql = "SELECT run, time, settings FROM frontier_runs WHERE NOT finished ORDER BY no";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_map([], open_run)?.collect::<Result<_, _>>()?)
        })
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// What was asked for, as JSON.
    pub fn settings(&self) -> Result<String, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT settings FROM frontier_runs WHERE no = ?1";
            Ok(connection.query_row(sql, [self.no], |row| row.get(0))?)
        })
    }

    /// Adds URLs, all or none, and says how many of them are new. One that is known and still to be asked for takes the
    /// smaller depth.
    pub fn push(&self, urls: &[NewUrl<'_>]) -> Result<u64, CatalogError> {
        self.catalog.write_lightly(|connection| push::push(connection, self.no, urls))
    }

    /// Takes at most `limit` URLs to ask for now, at most `per_host` of each host that may be asked, in the order of
    /// priority and then of finding. Hosts have their turns.
    pub fn claim(
        &self,
        limit: usize,
        per_host: usize,
        now: Moment,
        may_be_asked: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Vec<ClaimedUrl>, CatalogError> {
        let last = self.last_host.load(Ordering::Relaxed);
        let turn = claim::Turn { run_no: self.no, last, limit, per_host, now };
        let (claimed, last) = self.catalog.write_lightly(|connection| turn.take(connection, may_be_asked))?;
        self.last_host.store(last, Ordering::Relaxed);
        Ok(claimed)
    }

    /// Says what became of URLs that were claimed, all or none.
    pub fn settle(&self, outcomes: &[(i64, FrontierOutcome<'_>)]) -> Result<(), CatalogError> {
        self.catalog.write_lightly(|connection| claim::settle(connection, self.no, outcomes))
    }

    /// How many URLs are in which state.
    pub fn counts(&self) -> Result<FrontierCounts, CatalogError> {
        self.catalog.query(|connection| counts(connection, self.no))
    }

    /// Every URL of the run that is claimed or settled, in the order of finding.
    pub fn each_past(&self, each: &mut dyn FnMut(PastUrl<'_>)) -> Result<(), CatalogError> {
        self.catalog.query(|connection| {
            let sql =
                "SELECT url, depth, role, state FROM frontier WHERE run_no = ?1 AND state <> 0 ORDER BY no";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([self.no])?;
            while let Some(row) = rows.next()? {
                let (url, role): (String, String) = (row.get(0)?, row.get(2)?);
                let is_done = row.get::<_, i64>(3)? == State::Done as i64;
                each(PastUrl { url: &url, depth: row.get(1)?, role: &role, is_done });
            }
            Ok(())
        })
    }

    /// Makes everything ready again that was claimed and not settled. For whoever has nothing under way.
    pub fn release(&self) -> Result<(), CatalogError> {
        self.catalog.write_lightly(|connection| claim::release_all(connection, self.no))
    }

    /// The URL with a number, and the number of the page that led to it.
    pub fn way_to(&self, no: i64) -> Result<Option<(String, Option<i64>)>, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT url, found_on FROM frontier WHERE run_no = ?1 AND no = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([self.no, no], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
        })
    }

    /// The instant at which the next waiting URL may be asked for again.
    pub fn next_again(&self) -> Result<Option<Moment>, CatalogError> {
        self.catalog.query(|connection| {
            let sql = "SELECT min(again_at) FROM frontier WHERE run_no = ?1 AND state = 3";
            let micros: Option<i64> =
                connection.prepare_cached(sql)?.query_row([self.no], |row| row.get(0))?;
            Ok(micros.map(Moment::from_micros))
        })
    }

    /// From here on the URLs are those of another run, that goes on in place of this one; or of the same run, that was told other
    /// settings.
    pub fn go_on_as(&mut self, run: RunId, settings: &str) -> Result<(), CatalogError> {
        self.catalog.write_lightly(|connection| {
            let sql = "UPDATE frontier_runs SET run = ?2, settings = ?3 WHERE no = ?1";
            connection.execute(sql, params![self.no, run.as_bytes(), settings])?;
            Ok(())
        })?;
        self.run = run;
        Ok(())
    }

    /// Finishes the run: it is listed no more, and its URLs are forgotten.
    pub fn finish(self) -> Result<(), CatalogError> {
        self.catalog.write_lightly(|connection| {
            connection.execute("UPDATE frontier_runs SET finished = 1 WHERE no = ?1", [self.no])?;
            Ok(())
        })?;
        while self.catalog.write_lightly(|connection| sweep(connection, self.no))? {}
        Ok(())
    }
}

/// Forgets some URLs of a run that is finished; whether there may be more.
fn sweep(connection: &Connection, run_no: i64) -> Result<bool, UnlocatedError> {
    let sql = "DELETE FROM frontier WHERE no IN (SELECT no FROM frontier WHERE run_no = ?1 LIMIT ?2)";
    if connection.prepare_cached(sql)?.execute([run_no, SWEEP])? > 0 {
        return Ok(true);
    }
    for sql in [
        "DELETE FROM frontier_hosts WHERE run_no = ?1",
        "DELETE FROM frontier_counts WHERE run_no = ?1",
        "DELETE FROM frontier_runs WHERE no = ?1",
    ] {
        connection.execute(sql, [run_no])?;
    }
    Ok(false)
}

fn open_run(row: &Row<'_>) -> rusqlite::Result<OpenRun> {
    let run = RunId::new(Uuid::from_bytes(row.get(0)?));
    Ok(OpenRun { run, time: Moment::from_micros(row.get(1)?), settings: row.get(2)? })
}

fn counts(connection: &Connection, run_no: i64) -> Result<FrontierCounts, UnlocatedError> {
    let sql = "SELECT state, urls FROM frontier_counts WHERE run_no = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([run_no])?;
    let mut counts = FrontierCounts::default();
    while let Some(row) = rows.next()? {
        let urls: u64 = row.get(1)?;
        match row.get(0)? {
            0 => counts.ready = urls,
            1 => counts.claimed = urls,
            2 => counts.done = urls,
            3 => counts.waiting = urls,
            4 => counts.failed = urls,
            5 => counts.skipped = urls,
            state => {
                let what = format!("run {run_no}: there is no state {state}");
                return Err(UnlocatedError::Damaged("frontier_counts", what));
            }
        }
    }
    Ok(counts)
}

/// Counts URLs that came to a state, or left it.
fn count(connection: &Connection, run_no: i64, state: State, more: i64) -> Result<(), UnlocatedError> {
    if more != 0 {
        connection
            .prepare_cached(
                "INSERT INTO frontier_counts (run_no, state, urls) VALUES (?1, ?2, ?3)
                 ON CONFLICT (run_no, state) DO UPDATE SET urls = urls + excluded.urls",
            )?
            .execute([run_no, state as i64, more])?;
    }
    Ok(())
}

/// Counts URLs of a host that became ready, or are no more.
fn count_ready(connection: &Connection, host_no: i64, more: i64) -> Result<(), UnlocatedError> {
    connection
        .prepare_cached("UPDATE frontier_hosts SET ready = ready + ?2 WHERE no = ?1")?
        .execute([host_no, more])?;
    Ok(())
}
