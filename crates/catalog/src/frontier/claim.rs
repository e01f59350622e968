//! URLs are taken to be asked for, and settled.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::Moment;

use super::{ClaimedUrl, FrontierOutcome, State, count, count_ready};
use varve_sqlite::UnlocatedError;
use varve_sqlite::sql_limit;

/// One time of taking URLs.
pub(super) struct Turn {
    /// The run.
    pub(super) run_no: i64,
    /// The host that was asked last.
    pub(super) last: i64,
    /// At most so many URLs.
    pub(super) limit: usize,
    /// At most so many of one host.
    pub(super) per_host: usize,
    /// What time it is.
    pub(super) now: Moment,
}

impl Turn {
    /// Takes URLs, host after host, beginning behind the one that was asked last; and says which was asked last now.
    pub(super) fn take(
        &self,
        connection: &Connection,
        may_be_asked: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(Vec<ClaimedUrl>, i64), UnlocatedError> {
        wake(connection, self.run_no, self.now)?;
        let mut claimed = Vec::new();
        let mut last = self.last;
        // Once from the last one to the end, and once from the beginning to the last one.
        for (behind, until) in [(self.last, i64::MAX), (0, self.last)] {
            let mut host_no = behind;
            while claimed.len() < self.limit {
                let Some((no, host)) = next_host(connection, self.run_no, host_no, until)? else { break };
                host_no = no;
                if may_be_asked(&host) {
                    let most = self.per_host.min(self.limit - claimed.len());
                    claimed.extend(claim_of(connection, no, &host, most)?);
                    last = no;
                }
            }
        }
        let taken = i64::try_from(claimed.len()).unwrap_or(i64::MAX);
        count(connection, self.run_no, State::Ready, -taken)?;
        count(connection, self.run_no, State::Claimed, taken)?;
        Ok((claimed, last))
    }
}

/// The next host that has something to ask for.
fn next_host(
    connection: &Connection,
    run_no: i64,
    behind: i64,
    until: i64,
) -> Result<Option<(i64, String)>, UnlocatedError> {
    let sql = "SELECT no, host FROM frontier_hosts INDEXED BY frontier_hosts_ready
        WHERE run_no = ?1 AND no > ?2 AND no <= ?3 AND ready > 0 ORDER BY no LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([run_no, behind, until], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn claim_of(
    connection: &Connection,
    host_no: i64,
    host: &str,
    most: usize,
) -> Result<Vec<ClaimedUrl>, UnlocatedError> {
    let sql = "SELECT no, url, depth, role, found_on, tries FROM frontier
        WHERE host_no = ?1 AND state = 0 ORDER BY priority DESC, no LIMIT ?2";
    let claimed: Vec<ClaimedUrl> = connection
        .prepare_cached(sql)?
        .query_map(params![host_no, sql_limit(most)], |row| claimed_of(row, host))?
        .collect::<Result<_, _>>()?;
    let mut mark = connection.prepare_cached("UPDATE frontier SET state = 1 WHERE no = ?1")?;
    for url in &claimed {
        mark.execute([url.no])?;
    }
    count_ready(connection, host_no, -i64::try_from(claimed.len()).unwrap_or(i64::MAX))?;
    Ok(claimed)
}

fn claimed_of(row: &Row<'_>, host: &str) -> rusqlite::Result<ClaimedUrl> {
    Ok(ClaimedUrl {
        no: row.get(0)?,
        url: row.get(1)?,
        host: host.to_owned(),
        depth: row.get(2)?,
        role: row.get(3)?,
        found_on: row.get(4)?,
        tries: row.get(5)?,
    })
}

/// Makes those ready that have waited long enough; some of them, if they are very many.
fn wake(connection: &Connection, run_no: i64, now: Moment) -> Result<(), UnlocatedError> {
    let sql = "SELECT no, host_no FROM frontier WHERE run_no = ?1 AND state = 3 AND again_at <= ?2
        ORDER BY again_at LIMIT 10000";
    let woken: Vec<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_map([run_no, now.micros()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    make_ready(connection, run_no, &woken, State::Waiting)
}

/// Makes everything ready that was claimed by a process that is no more.
pub(super) fn release_all(connection: &Connection, run_no: i64) -> Result<(), UnlocatedError> {
    let sql = "SELECT no, host_no FROM frontier WHERE run_no = ?1 AND state = 1";
    let claimed: Vec<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_map([run_no], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    make_ready(connection, run_no, &claimed, State::Claimed)
}

fn make_ready(
    connection: &Connection,
    run_no: i64,
    urls: &[(i64, i64)],
    from: State,
) -> Result<(), UnlocatedError> {
    let mut mark =
        connection.prepare_cached("UPDATE frontier SET state = 0, again_at = NULL WHERE no = ?1")?;
    for (no, host_no) in urls {
        mark.execute([no])?;
        count_ready(connection, *host_no, 1)?;
    }
    let moved = i64::try_from(urls.len()).unwrap_or(i64::MAX);
    count(connection, run_no, from, -moved)?;
    count(connection, run_no, State::Ready, moved)
}

/// Says what became of URLs. One that was not claimed, or is settled already, is left as it is.
pub(super) fn settle(
    connection: &Connection,
    run_no: i64,
    outcomes: &[(i64, FrontierOutcome<'_>)],
) -> Result<(), UnlocatedError> {
    let mut moved: HashMap<i64, (State, i64)> = HashMap::new();
    let mut mark = connection.prepare_cached(
        "UPDATE frontier SET state = ?3, tries = tries + ?4, again_at = ?5, reason = ?6
         WHERE no = ?1 AND run_no = ?2 AND state = 1",
    )?;
    for (no, outcome) in outcomes {
        let (state, tried, again_at, reason) = match outcome {
            FrontierOutcome::Done => (State::Done, 0, None, None),
            FrontierOutcome::Again(at, reason) => (State::Waiting, 1, Some(at.micros()), Some(reason)),
            FrontierOutcome::Failed(reason) => (State::Failed, 1, None, Some(reason)),
            FrontierOutcome::Skipped(rule) => (State::Skipped, 0, None, Some(rule)),
        };
        let changed = mark.execute(params![no, run_no, state as i64, tried, again_at, reason])?;
        moved.entry(state as i64).or_insert((state, 0)).1 += i64::try_from(changed).unwrap_or(0);
    }
    for (state, more) in moved.into_values() {
        count(connection, run_no, state, more)?;
        count(connection, run_no, State::Claimed, -more)?;
    }
    Ok(())
}
