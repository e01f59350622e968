//! What was taken out of the silos is read.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use varve_core::RecordId;
use varve_core::history::{Belongs, Capture};

use super::schema;
use varve_core::catalog::Removal;
use varve_core::history::ListCursor;
use varve_sqlite::UnlocatedError;
use varve_sqlite::sql_limit;

const REMOVAL: &str = "SELECT tombstone_record, json FROM removals";

/// What tells that a record is gone, the newest first.
pub(super) fn of_record(connection: &Connection, record: &RecordId) -> Result<Vec<Removal>, UnlocatedError> {
    let order = "WHERE record = ?1 ORDER BY time DESC, tombstone_record";
    all(connection, &format!("{REMOVAL} {order}"), [record.as_bytes()])
}

/// What tells that the page of a capture is out of its version, the newest first.
pub(super) fn of_page(connection: &Connection, capture: &Capture) -> Result<Option<Removal>, UnlocatedError> {
    let (Belongs::Version(version), Some(record)) = (capture.belongs, capture.record) else {
        return Ok(None);
    };
    let sql = "SELECT r.tombstone_record, r.json FROM hidden_pages AS h CROSS JOIN owners AS o ON o.id = ?3
         CROSS JOIN removals AS r ON r.tombstone_record = h.tombstone_record
         WHERE h.record = ?1 AND h.url = ?2 AND o.written <= h.until ORDER BY r.time DESC, r.tombstone_record LIMIT 1";
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
pub(super) fn at_url(
    connection: &Connection,
    url: &str,
    limit: usize,
) -> Result<Vec<Removal>, UnlocatedError> {
    let order = "WHERE url = ?1 ORDER BY time DESC, tombstone_record LIMIT ?2";
    all(connection, &format!("{REMOVAL} {order}"), params![url, sql_limit(limit)])
}

/// All that is gone, by what tells of it.
pub(super) fn page(
    connection: &Connection,
    page: ListCursor<RecordId>,
) -> Result<Vec<Removal>, UnlocatedError> {
    let after = page.after.map_or(Vec::new(), |after| after.as_bytes().to_vec());
    all(
        connection,
        &format!("{REMOVAL} WHERE tombstone_record > ?1 ORDER BY tombstone_record LIMIT ?2"),
        params![after, sql_limit(page.limit)],
    )
}

fn all(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Removal>, UnlocatedError> {
    connection.prepare_cached(sql)?.query_and_then(params, removal_of)?.collect()
}

fn removal_of(row: &Row<'_>) -> Result<Removal, UnlocatedError> {
    let json: String = row.get(1)?;
    let tombstone = serde_json::from_str(&json);
    let damaged = |error: serde_json::Error| UnlocatedError::Damaged("removals", error.to_string());
    Ok(Removal { tombstone_record: RecordId::new(row.get(0)?), tombstone: tombstone.map_err(damaged)? })
}
