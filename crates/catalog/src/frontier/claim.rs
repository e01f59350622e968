//! Claims URLs under a lease, stores their outcomes, and releases claims.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use varve_core::frontier::{ClaimRequest, ClaimedUrl, FrontierOutcome};
use varve_core::{Moment, WorkerId};
use varve_sqlite::{UnlocatedError, sql_limit};

use super::counts::{add_to_host, add_to_state};
use super::url_state::{UrlState, read_reason};

/// The maximum number of waiting URLs that one claim makes ready.
const MAX_WOKEN_URLS: i64 = 10_000;

/// Claims URLs, host after host, beginning after the host that was claimed last. Returns them with
/// the host that is the last now.
pub(super) fn claim(
    connection: &Connection,
    (run_no, worker): (i64, WorkerId),
    request: &ClaimRequest<'_>,
    last_host: i64,
) -> Result<(Vec<ClaimedUrl>, i64), UnlocatedError> {
    let worker_no = renew_lease(connection, run_no, worker, request.lease_until())?;
    release_expired(connection, run_no, worker_no, request.now)?;
    wake(connection, run_no, request.now)?;
    let excluded: HashSet<&str> = request.excluded_hosts.iter().copied().collect();
    let mut claimed = Vec::new();
    let mut new_last_host = last_host;
    // Once from the last host to the end, and once from the beginning to the last host.
    for (after, until) in [(last_host, i64::MAX), (0, last_host)] {
        let mut host_no = after;
        while claimed.len() < request.limit {
            let Some((no, host)) = next_ready_host(connection, run_no, host_no, until)? else { break };
            host_no = no;
            if !excluded.contains(host.as_str()) {
                let limit = request.per_host.min(request.limit - claimed.len());
                claimed.extend(claim_of_host(connection, (no, &host), worker_no, limit)?);
                new_last_host = no;
            }
        }
    }
    let taken = i64::try_from(claimed.len()).unwrap_or(i64::MAX);
    add_to_state(connection, run_no, UrlState::Ready, -taken)?;
    add_to_state(connection, run_no, UrlState::Claimed, taken)?;
    Ok((claimed, new_last_host))
}

/// The next host with a URL that can be claimed.
fn next_ready_host(
    connection: &Connection,
    run_no: i64,
    after: i64,
    until: i64,
) -> Result<Option<(i64, String)>, UnlocatedError> {
    let sql = "SELECT no, host FROM frontier_hosts INDEXED BY frontier_hosts_ready
        WHERE run_no = ?1 AND no > ?2 AND no <= ?3 AND ready > 0 ORDER BY no LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([run_no, after, until], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn claim_of_host(
    connection: &Connection,
    (host_no, host): (i64, &str),
    worker_no: i64,
    limit: usize,
) -> Result<Vec<ClaimedUrl>, UnlocatedError> {
    let sql = "SELECT no, url, kind, depth, chain, redirects, found_on, tries FROM frontier
        WHERE host_no = ?1 AND state = 0 ORDER BY priority DESC, no LIMIT ?2";
    let claimed: Vec<ClaimedUrl> = connection
        .prepare_cached(sql)?
        .query_and_then(params![host_no, sql_limit(limit)], |row| read_claimed(row, host))?
        .collect::<Result<_, _>>()?;
    let mut mark =
        connection.prepare_cached("UPDATE frontier SET state = 1, worker_no = ?2 WHERE no = ?1")?;
    for url in &claimed {
        mark.execute([url.no, worker_no])?;
    }
    add_to_host(connection, host_no, -i64::try_from(claimed.len()).unwrap_or(i64::MAX))?;
    Ok(claimed)
}

fn read_claimed(row: &Row<'_>, host: &str) -> Result<ClaimedUrl, UnlocatedError> {
    Ok(ClaimedUrl {
        no: row.get(0)?,
        url: row.get(1)?,
        host: host.to_owned(),
        reason: read_reason(row, 2)?,
        redirects: row.get(5)?,
        found_on: row.get(6)?,
        tries: row.get(7)?,
    })
}

/// Extends the lease of a worker, and returns its number.
pub(super) fn renew_lease(
    connection: &Connection,
    run_no: i64,
    worker: WorkerId,
    until: Moment,
) -> Result<i64, UnlocatedError> {
    let sql = "INSERT INTO frontier_workers (run_no, worker, lease_until) VALUES (?1, ?2, ?3)
        ON CONFLICT (run_no, worker) DO UPDATE SET lease_until = excluded.lease_until RETURNING no";
    let params = params![run_no, worker.as_bytes(), until.micros()];
    Ok(connection.prepare_cached(sql)?.query_row(params, |row| row.get(0))?)
}

/// Releases the claims of other workers whose leases have expired.
fn release_expired(
    connection: &Connection,
    run_no: i64,
    worker_no: i64,
    now: Moment,
) -> Result<(), UnlocatedError> {
    let sql = "SELECT no FROM frontier_workers WHERE run_no = ?1 AND no <> ?2 AND lease_until <= ?3";
    let params = params![run_no, worker_no, now.micros()];
    let expired: Vec<i64> =
        connection.prepare_cached(sql)?.query_map(params, |row| row.get(0))?.collect::<Result<_, _>>()?;
    expired.into_iter().try_for_each(|worker_no| release_and_remove(connection, run_no, worker_no))
}

/// Releases the claims of a worker, which may begin again without them.
pub(super) fn release_worker(
    connection: &Connection,
    run_no: i64,
    worker: WorkerId,
) -> Result<(), UnlocatedError> {
    let worker_no = find_worker(connection, run_no, worker)?;
    worker_no.map_or(Ok(()), |worker_no| release_and_remove(connection, run_no, worker_no))
}

/// Releases the claims of all workers of a run.
pub(super) fn release_all(connection: &Connection, run_no: i64) -> Result<(), UnlocatedError> {
    let sql = "SELECT no FROM frontier_workers WHERE run_no = ?1";
    let workers: Vec<i64> =
        connection.prepare_cached(sql)?.query_map([run_no], |row| row.get(0))?.collect::<Result<_, _>>()?;
    workers.into_iter().try_for_each(|worker_no| release_and_remove(connection, run_no, worker_no))
}

fn release_and_remove(connection: &Connection, run_no: i64, worker_no: i64) -> Result<(), UnlocatedError> {
    let sql = "SELECT no, host_no FROM frontier WHERE worker_no = ?1 AND state = 1";
    make_ready(connection, run_no, &urls_and_hosts(connection, sql, [worker_no])?, UrlState::Claimed)?;
    connection.prepare_cached("DELETE FROM frontier_workers WHERE no = ?1")?.execute([worker_no])?;
    Ok(())
}

fn find_worker(
    connection: &Connection,
    run_no: i64,
    worker: WorkerId,
) -> Result<Option<i64>, UnlocatedError> {
    let sql = "SELECT no FROM frontier_workers WHERE run_no = ?1 AND worker = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![run_no, worker.as_bytes()], |row| row.get(0)).optional()?)
}

/// Makes waiting URLs ready whose instant has come.
fn wake(connection: &Connection, run_no: i64, now: Moment) -> Result<(), UnlocatedError> {
    let sql = "SELECT no, host_no FROM frontier WHERE run_no = ?1 AND state = 3 AND retry_at <= ?2
        ORDER BY retry_at LIMIT ?3";
    let woken = urls_and_hosts(connection, sql, [run_no, now.micros(), MAX_WOKEN_URLS])?;
    make_ready(connection, run_no, &woken, UrlState::Waiting)
}

fn urls_and_hosts(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<(i64, i64)>, UnlocatedError> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn make_ready(
    connection: &Connection,
    run_no: i64,
    urls: &[(i64, i64)],
    from: UrlState,
) -> Result<(), UnlocatedError> {
    let sql = "UPDATE frontier SET state = 0, retry_at = NULL, worker_no = NULL WHERE no = ?1";
    let mut mark = connection.prepare_cached(sql)?;
    for (no, host_no) in urls {
        mark.execute([no])?;
        add_to_host(connection, *host_no, 1)?;
    }
    let moved = i64::try_from(urls.len()).unwrap_or(i64::MAX);
    add_to_state(connection, run_no, from, -moved)?;
    add_to_state(connection, run_no, UrlState::Ready, moved)
}

/// Stores outcomes of URLs that the worker holds, and returns their number.
pub(super) fn settle(
    connection: &Connection,
    run_no: i64,
    worker: WorkerId,
    outcomes: &[(i64, FrontierOutcome<'_>)],
) -> Result<u64, UnlocatedError> {
    let Some(worker_no) = find_worker(connection, run_no, worker)? else { return Ok(0) };
    let mut moved: HashMap<i64, (UrlState, i64)> = HashMap::new();
    let mut mark = connection.prepare_cached(
        "UPDATE frontier SET state = ?3, tries = tries + ?4, retry_at = ?5, message = ?6, worker_no = NULL
         WHERE no = ?1 AND run_no = ?2 AND state = 1 AND worker_no = ?7",
    )?;
    for (no, outcome) in outcomes {
        let (state, tried, retry_at, message) = match outcome {
            FrontierOutcome::Done => (UrlState::Done, 0, None, None),
            FrontierOutcome::Again(at, message) => (UrlState::Waiting, 1, Some(at.micros()), Some(message)),
            FrontierOutcome::Failed(message) => (UrlState::Failed, 1, None, Some(message)),
            FrontierOutcome::Skipped(rule) => (UrlState::Skipped, 0, None, Some(rule)),
        };
        let params = params![no, run_no, state as i64, tried, retry_at, message, worker_no];
        moved.entry(state as i64).or_insert((state, 0)).1 +=
            i64::try_from(mark.execute(params)?).unwrap_or(0);
    }
    let mut settled = 0;
    for (state, more) in moved.into_values() {
        add_to_state(connection, run_no, state, more)?;
        settled += more;
    }
    add_to_state(connection, run_no, UrlState::Claimed, -settled)?;
    Ok(settled.unsigned_abs())
}
