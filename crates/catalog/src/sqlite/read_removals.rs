//! What was taken out of the silos is read.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use varve_core::RecordId;
use varve_core::history::{Belongs, Capture};

use super::schema;
use crate::problem::Problem;
use crate::row::Removal;
use crate::sql_limit;
use varve_core::history::ListCursor;

const REMOVAL: &str = "SELECT told_by, json FROM removals";

/// What tells that a record is gone, the newest first.
pub(super) fn of_record(connection: &Connection, record: &RecordId) -> Result<Vec<Removal>, Problem> {
    let order = "WHERE record = ?1 ORDER BY time DESC, told_by";
    all(connection, &format!("{REMOVAL} {order}"), [record.as_bytes()])
}

/// What tells that the page of a capture is out of its version, the newest first.
pub(super) fn of_page(connection: &Connection, capture: &Capture) -> Result<Option<Removal>, Problem> {
    let (Belongs::Version(version), Some(record)) = (capture.belongs, capture.record) else {
        return Ok(None);
    };
    let sql = "SELECT r.told_by, r.json FROM hidden_pages AS h CROSS JOIN owners AS o ON o.id = ?3
         CROSS JOIN removals AS r ON r.told_by = h.told_by
         WHERE h.record = ?1 AND h.url = ?2 AND o.written <= h.until ORDER BY r.time DESC, r.told_by LIMIT 1";
    let mut statement = match connection.prepare_cached(sql) {
        Ok(statement) => statement,
        Err(_) if !schema::has_hidden_pages(connection)? => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let found = statement
        .query_row(params![record.as_bytes(), capture.url, version.as_bytes()], |row| Ok(removal_of(row)));
    found.optional()?.transpose()
}

/// The answers of a URL that are gone, what went last first.
pub(super) fn at_url(connection: &Connection, url: &str, limit: usize) -> Result<Vec<Removal>, Problem> {
    let order = "WHERE url = ?1 ORDER BY time DESC, told_by LIMIT ?2";
    all(connection, &format!("{REMOVAL} {order}"), params![url, sql_limit(limit)])
}

/// All that is gone, by what tells of it.
pub(super) fn page(connection: &Connection, page: ListCursor<RecordId>) -> Result<Vec<Removal>, Problem> {
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
