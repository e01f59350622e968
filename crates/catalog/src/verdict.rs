//! Verdicts are read: the same table in both databases, by another name.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::Moment;
use varve_core::history::StoredVerdict;

use crate::problem::Problem;
use crate::sql_limit;
use varve_core::history::ListCursor;

const COLUMNS: &str = "url, time, verdict, status, json";

/// The verdicts on a URL, the newest first.
pub(crate) fn of_url(
    connection: &Connection,
    table: &str,
    url: &str,
    limit: usize,
) -> Result<Vec<StoredVerdict>, Problem> {
    let sql = format!("SELECT {COLUMNS} FROM {table} WHERE url = ?1 ORDER BY time DESC LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let verdicts = statement.query_map(params![url, sql_limit(limit)], verdict_of)?;
    Ok(verdicts.collect::<Result<_, _>>()?)
}

/// The last verdict on every URL: two steps for each, however many verdicts there are on it.
pub(crate) fn last(
    connection: &Connection,
    table: &str,
    page: ListCursor<&str>,
) -> Result<Vec<StoredVerdict>, Problem> {
    let first = format!("SELECT min(url) FROM {table}");
    let next = format!("SELECT min(url) FROM {table} WHERE url > ?1");
    let newest = format!("SELECT {COLUMNS} FROM {table} WHERE url = ?1 ORDER BY time DESC LIMIT 1");
    let mut found: Vec<StoredVerdict> = Vec::new();
    while found.len() < page.limit {
        let url: Option<String> = match found.last().map(|last| last.url.as_str()).or(page.after) {
            None => connection.prepare_cached(&first)?.query_row([], |row| row.get(0))?,
            Some(last) => connection.prepare_cached(&next)?.query_row([last], |row| row.get(0))?,
        };
        let Some(url) = url else { break };
        found.extend(connection.prepare_cached(&newest)?.query_row([url], verdict_of).optional()?);
    }
    Ok(found)
}

fn verdict_of(row: &Row<'_>) -> rusqlite::Result<StoredVerdict> {
    Ok(StoredVerdict {
        url: row.get(0)?,
        time: Moment::from_micros(row.get(1)?),
        verdict: row.get(2)?,
        status: row.get(3)?,
        json: row.get(4)?,
    })
}
