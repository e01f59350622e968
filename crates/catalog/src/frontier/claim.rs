//! Claims URLs under a lease, stores their outcomes, and releases claims.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use varve_core::frontier::{ClaimRequest, ClaimedUrl, FrontierOutcome};
use varve_core::{Moment, WorkerId};
use varve_sqlite::{UnlocatedError, sql_limit};

use super::counts::{add_to_host, add_to_state};
use super::url_state::{UrlState, read_reason};

/// The maximum number of waiting URLs that one claim makes ready.
const MAX_WOKEN_URLS: i64 = 10_000;

/// Marks URLs as claimed, all in one statement.
///
/// Hosts are served round-robin by number, starting after ?4. Each host with URLs yields at least
/// one, so at most ?3 hosts are read, and of these as many as fill the claim. The window function
/// counts the URLs of the hosts before.
const CLAIM_URLS: &str = "
    WITH excluded (host) AS (SELECT value FROM json_each(?6)),
    later AS (
        SELECT no, ready FROM frontier_hosts INDEXED BY frontier_hosts_ready
        WHERE run_no = ?1 AND ready > 0 AND no > ?4 AND host NOT IN excluded ORDER BY no LIMIT ?3
    ),
    earlier AS (
        SELECT no, ready FROM frontier_hosts INDEXED BY frontier_hosts_ready
        WHERE run_no = ?1 AND ready > 0 AND no <= ?4 AND host NOT IN excluded ORDER BY no LIMIT ?3
    ),
    turns AS (
        SELECT 0 AS round, no, min(ready, ?5) AS urls FROM later
        UNION ALL SELECT 1, no, min(ready, ?5) FROM earlier
    ),
    counted AS (
        SELECT no, sum(urls) OVER (ORDER BY round, no) - urls AS urls_before FROM turns
    )
    UPDATE frontier SET state = 1, worker_no = ?2
    WHERE no IN (
        SELECT url.no FROM counted AS host CROSS JOIN frontier AS url
        WHERE host.urls_before < ?3 AND url.no IN (
            SELECT no FROM frontier WHERE host_no = host.no AND state = 0
            ORDER BY priority DESC, no LIMIT ?5
        )
        ORDER BY host.urls_before, url.priority DESC, url.no LIMIT ?3
    )
    RETURNING no, url, kind, depth, chain, redirects, found_on, tries, priority, host_no,
        (SELECT host FROM frontier_hosts WHERE frontier_hosts.no = host_no)";
/// Takes claimed URLs off the counters of their hosts. ?1 has the number of URLs by host.
const COUNT_CLAIMED: &str = "UPDATE frontier_hosts SET ready = ready - claimed.value
    FROM json_each(?1) AS claimed WHERE no = CAST(claimed.key AS INTEGER)";

/// Claims URLs of hosts in turn, beginning after the host that was claimed last. Returns them with
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
    let (limit, per_host) = (sql_limit(request.limit), sql_limit(request.per_host));
    let excluded = json_text(&request.excluded_hosts);
    let params = params![run_no, worker_no, limit, last_host, per_host, excluded];
    let mut claimed: Vec<(ClaimTurn, ClaimedUrl)> = connection
        .prepare_cached(CLAIM_URLS)?
        .query_and_then(params, |row| read_claimed(row, last_host))?
        .collect::<Result<_, _>>()?;
    // SQLite returns changed rows in any order.
    claimed.sort_by_key(|(turn, _)| *turn);
    let mut hosts: BTreeMap<i64, u64> = BTreeMap::new();
    for (turn, _) in &claimed {
        *hosts.entry(turn.host_no).or_default() += 1;
    }
    connection.prepare_cached(COUNT_CLAIMED)?.execute([json_text(&hosts)])?;
    let taken = i64::try_from(claimed.len()).unwrap_or(i64::MAX);
    add_to_state(connection, run_no, UrlState::Ready, -taken)?;
    add_to_state(connection, run_no, UrlState::Claimed, taken)?;
    let last_host = claimed.last().map_or(last_host, |(turn, _)| turn.host_no);
    Ok((claimed.into_iter().map(|(_, url)| url).collect(), last_host))
}

/// The position of a URL in a claim: hosts in turn, then by priority, then in the order of finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClaimTurn {
    is_next_round: bool,
    host_no: i64,
    priority: Reverse<i32>,
    no: i64,
}

fn read_claimed(row: &Row<'_>, last_host: i64) -> Result<(ClaimTurn, ClaimedUrl), UnlocatedError> {
    let (no, host_no) = (row.get(0)?, row.get(9)?);
    let turn = ClaimTurn { is_next_round: host_no <= last_host, host_no, priority: Reverse(row.get(8)?), no };
    let url = ClaimedUrl {
        no,
        url: row.get(1)?,
        host: row.get(10)?,
        reason: read_reason(row, 2)?,
        redirects: row.get(5)?,
        found_on: row.get(6)?,
        tries: row.get(7)?,
    };
    Ok((turn, url))
}

fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers can be written as JSON")
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
pub(super) fn record_outcomes(
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
    let mut recorded = 0;
    for (state, more) in moved.into_values() {
        add_to_state(connection, run_no, state, more)?;
        recorded += more;
    }
    add_to_state(connection, run_no, UrlState::Claimed, -recorded)?;
    Ok(recorded.unsigned_abs())
}
