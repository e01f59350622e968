//! What was taken out of the silos is read.

use rusqlite::{Connection, Params, Row, params};
use varve_core::RecordId;

use crate::problem::Problem;
use crate::read::Page;
use crate::row::Removal;
use crate::sql_limit;

const REMOVAL: &str = "SELECT told_by, json FROM removals";

/// What tells that a record is gone, the newest first.
pub(super) fn of_record(connection: &Connection, record: &RecordId) -> Result<Vec<Removal>, Problem> {
    let order = "WHERE record = ?1 ORDER BY time DESC, told_by";
    all(connection, &format!("{REMOVAL} {order}"), [record.as_bytes()])
}

/// The answers of a URL that are gone, what went last first.
pub(super) fn at_url(connection: &Connection, url: &str, limit: usize) -> Result<Vec<Removal>, Problem> {
    let order = "WHERE url = ?1 ORDER BY time DESC, told_by LIMIT ?2";
    all(connection, &format!("{REMOVAL} {order}"), params![url, sql_limit(limit)])
}

/// All that is gone, by what tells of it.
pub(super) fn page(connection: &Connection, page: Page<RecordId>) -> Result<Vec<Removal>, Problem> {
    let after = page.after.map_or(Vec::new(), |after| after.as_bytes().to_vec());
    all(
        connection,
        &format!("{REMOVAL} WHERE told_by > ?1 ORDER BY told_by LIMIT ?2"),
        params![after, sql_limit(page.limit)],
    )
}

fn all(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Removal>, Problem> {
    connection.prepare_cached(sql)?.query_and_then(params, removal_of)?.collect()
}

fn removal_of(row: &Row<'_>) -> Result<Removal, Problem> {
    let json: String = row.get(1)?;
    let tombstone = serde_json::from_str(&json);
    let damaged = |error: serde_json::Error| Problem::Damaged("removals", error.to_string());
    Ok(Removal { told_by: RecordId::new(row.get(0)?), tombstone: tombstone.map_err(damaged)? })
}
