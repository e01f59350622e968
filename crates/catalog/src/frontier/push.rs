//! Adds URLs to the frontier.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use varve_core::frontier::NewUrl;
use varve_sqlite::UnlocatedError;

use super::counts::{add_to_host, add_to_state};
use super::url_state::{UrlState, kind_code};

const INSERT_URL: &str = "INSERT OR IGNORE INTO frontier
    (host_no, run_no, page, url, kind, depth, chain, redirects, requeued, priority, found_on)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
/// The spelling by which a page was queued first, for any reason.
const FIRST_SPELLING: &str =
    "SELECT url FROM frontier WHERE run_no = ?1 AND page = ?2 AND requeued = 0 ORDER BY no LIMIT 1";
/// Gives a URL that is not claimed yet a smaller distance.
const REDUCE_DISTANCE: &str = "UPDATE frontier SET depth = ?4, chain = ?5
    WHERE run_no = ?1 AND page = ?2 AND kind = ?3 AND requeued = 0 AND state IN (0, 3)
      AND (depth, chain) > (?4, ?5)";

/// Adds URLs, and returns the number of new ones.
pub(super) fn push(connection: &Connection, run_no: i64, urls: &[NewUrl<'_>]) -> Result<u64, UnlocatedError> {
    // For each host its number, and the number of URLs that it gained.
    let mut hosts: HashMap<&str, (i64, i64)> = HashMap::new();
    for url in urls {
        let host = match hosts.entry(url.host) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert((host_no(connection, run_no, url.host)?, 0)),
        };
        if push_one(connection, run_no, host.0, url)? {
            host.1 += 1;
        }
    }
    let mut new = 0;
    for (host_no, more) in hosts.into_values().filter(|(_, more)| *more > 0) {
        add_to_host(connection, host_no, more)?;
        new += more;
    }
    add_to_state(connection, run_no, UrlState::Ready, new)?;
    Ok(new.unsigned_abs())
}

/// Adds one URL, or reduces its distance. Returns whether it is new.
fn push_one(
    connection: &Connection,
    run_no: i64,
    host_no: i64,
    url: &NewUrl<'_>,
) -> Result<bool, UnlocatedError> {
    let page = page_digest(url.identity);
    let kind = kind_code(url.reason.kind());
    let (depth, chain) = url.reason.distance();
    let spelling: Option<String> = connection
        .prepare_cached(FIRST_SPELLING)?
        .query_row(params![run_no, page], |row| row.get(0))
        .optional()?;
    let added = connection.prepare_cached(INSERT_URL)?.execute(params![
        host_no,
        run_no,
        page,
        spelling.as_deref().unwrap_or(url.url),
        kind,
        depth,
        chain,
        url.redirects,
        url.requeued,
        url.priority,
        url.found_on
    ])?;
    if added == 0 {
        connection.prepare_cached(REDUCE_DISTANCE)?.execute(params![run_no, page, kind, depth, chain])?;
    }
    Ok(added > 0)
}

/// The value of the column `page`.
pub(super) fn page_digest(identity: &str) -> [u8; 16] {
    let digest = Sha256::digest(identity.as_bytes());
    digest[..16].try_into().expect("a SHA-256 has more than sixteen bytes")
}

fn host_no(connection: &Connection, run_no: i64, host: &str) -> Result<i64, UnlocatedError> {
    let sql = "SELECT no FROM frontier_hosts WHERE run_no = ?1 AND host = ?2";
    let found =
        connection.prepare_cached(sql)?.query_row(params![run_no, host], |row| row.get(0)).optional()?;
    if let Some(no) = found {
        return Ok(no);
    }
    connection
        .prepare_cached("INSERT INTO frontier_hosts (run_no, host) VALUES (?1, ?2)")?
        .execute(params![run_no, host])?;
    Ok(connection.last_insert_rowid())
}
