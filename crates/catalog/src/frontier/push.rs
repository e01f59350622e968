//! URLs join the frontier.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::{NewUrl, State, count, count_ready};
use varve_sqlite::UnlocatedError;

const INSERT: &str = "INSERT OR IGNORE INTO frontier
    (host_no, run_no, identity, url, depth, role, priority, found_on) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
/// By which spelling a URL is asked for: that by which it came first, for whatever reason.
const FIRST: &str =
    "SELECT url FROM frontier WHERE run_no = ?1 AND identity BETWEEN ?2 AND ?3 ORDER BY no LIMIT 1";
const NEARER: &str = "UPDATE frontier SET depth = ?3
    WHERE run_no = ?1 AND identity = ?2 AND state IN (0, 3) AND depth > ?3";

/// Adds URLs, and says how many are new.
pub(super) fn push(connection: &Connection, run_no: i64, urls: &[NewUrl<'_>]) -> Result<u64, UnlocatedError> {
    let mut hosts: HashMap<&str, (i64, i64)> = HashMap::new();
    let mut insert = connection.prepare_cached(INSERT)?;
    let mut first = connection.prepare_cached(FIRST)?;
    let mut nearer = connection.prepare_cached(NEARER)?;
    for url in urls {
        let host = match hosts.entry(url.host) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(unknown) => {
                unknown.insert((host_no(connection, run_no, url.host)?, 0))
            }
        };
        let digest = digest(url.identity);
        let identity = [&digest, url.reason.as_bytes()].concat();
        // A reason is ASCII, so none comes behind that byte.
        let last = [&digest, [u8::MAX].as_slice()].concat();
        let known: Option<String> =
            first.query_row(params![run_no, digest, last], |row| row.get(0)).optional()?;
        let added = insert.execute(params![
            host.0,
            run_no,
            identity,
            known.as_deref().unwrap_or(url.url),
            url.depth,
            url.role,
            url.priority,
            url.found_on
        ])?;
        if added == 0 {
            nearer.execute(params![run_no, identity, url.depth])?;
        } else {
            host.1 += 1;
        }
    }
    let mut new = 0;
    for (host_no, more) in hosts.into_values().filter(|(_, more)| *more > 0) {
        count_ready(connection, host_no, more)?;
        new += more;
    }
    count(connection, run_no, State::Ready, new)?;
    Ok(new.unsigned_abs())
}

/// How the identities of a URL begin, for whatever reason it is wanted.
fn digest(text: &str) -> [u8; 16] {
    let digest = Sha256::digest(text.as_bytes());
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
