//! Queries on the table of verdicts, which has the same columns in every layout.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::Moment;
use varve_core::history::{ListCursor, StoredVerdict, UnknownVerdict};

use crate::{SqlResult, collect_rows, sql_limit};

/// The columns that [`read_verdict`] expects.
const VERDICT_COLUMNS: &str = "url, time, verdict, status, json";

/// The verdicts on a URL, newest first.
pub(crate) fn verdicts_of(
    connection: &Connection,
    table: &str,
    url: &str,
    limit: usize,
) -> SqlResult<Vec<StoredVerdict>> {
    let sql = format!("SELECT {VERDICT_COLUMNS} FROM {table} WHERE url = ?1 ORDER BY time DESC LIMIT ?2");
    collect_rows(connection, &sql, params![url, sql_limit(limit)], |row| Ok(read_verdict(row)?))
}

/// The last verdict on each URL, by URL. The cost is two index lookups for each URL.
pub(crate) fn last_verdicts(
    connection: &Connection,
    table: &str,
    cursor: ListCursor<&str>,
) -> SqlResult<Vec<StoredVerdict>> {
    let first = format!("SELECT min(url) FROM {table}");
    let next = format!("SELECT min(url) FROM {table} WHERE url > ?1");
    let newest = format!("SELECT {VERDICT_COLUMNS} FROM {table} WHERE url = ?1 ORDER BY time DESC LIMIT 1");
    let mut found: Vec<StoredVerdict> = Vec::new();
    while found.len() < cursor.limit {
        let url: Option<String> = match found.last().map(|last| last.url.as_str()).or(cursor.after) {
            None => connection.prepare_cached(&first)?.query_row([], |row| row.get(0))?,
            Some(last) => connection.prepare_cached(&next)?.query_row([last], |row| row.get(0))?,
        };
        let Some(url) = url else { break };
        found.extend(connection.prepare_cached(&newest)?.query_row([url], read_verdict).optional()?);
    }
    Ok(found)
}

fn read_verdict(row: &Row<'_>) -> rusqlite::Result<StoredVerdict> {
    Ok(StoredVerdict {
        url: row.get(0)?,
        time: Moment::from_micros(row.get(1)?),
        verdict: row.get::<_, String>(2)?.parse().map_err(unknown_verdict)?,
        status: row.get(3)?,
        json: row.get(4)?,
    })
}

/// The error for a value of the column `verdict`, the third, that is not a verdict.
fn unknown_verdict(error: UnknownVerdict) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(2, Type::Text, Box::new(error))
}
