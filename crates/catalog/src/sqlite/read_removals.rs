//! Reads removals from the silos.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::RecordId;
use varve_core::history::{Capture, CaptureOwner};

use super::ArchiveTables;
use varve_core::catalog::Removal;
use varve_core::history::ListCursor;
use varve_sqlite::column::required_blob_id;
use varve_sqlite::{RemovalTables, SqlResult, UnlocatedError, collect_rows, sql_limit};

/// The columns that [`read_removal`] expects.
const SELECT_REMOVALS: &str = "SELECT tombstone_record, json FROM removals";

impl RemovalTables for ArchiveTables {
    fn removals_of(connection: &Connection, record: &RecordId) -> SqlResult<Vec<Removal>> {
        let order = "WHERE record = ?1 ORDER BY time DESC, tombstone_record";
        collect_rows(connection, &format!("{SELECT_REMOVALS} {order}"), [record.as_bytes()], read_removal)
    }

    fn removal_of_page(connection: &Connection, capture: &Capture) -> SqlResult<Option<Removal>> {
        let (CaptureOwner::Version(version), Some(record)) = (capture.owner, capture.record) else {
            return Ok(None);
        };
        let sql = "SELECT r.tombstone_record, r.json FROM hidden_pages AS h CROSS JOIN owners AS o ON o.id = ?3
             CROSS JOIN removals AS r ON r.tombstone_record = h.tombstone_record
             WHERE h.record = ?1 AND h.url = ?2 AND o.no <= h.until ORDER BY r.time DESC, r.tombstone_record LIMIT 1";
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row(params![record.as_bytes(), capture.url, version.as_bytes()], |row| {
            Ok(read_removal(row))
        });
        found.optional()?.transpose()
    }

    fn removals_at(connection: &Connection, url: &str, limit: usize) -> SqlResult<Vec<Removal>> {
        let order = "WHERE url = ?1 ORDER BY time DESC, tombstone_record LIMIT ?2";
        collect_rows(
            connection,
            &format!("{SELECT_REMOVALS} {order}"),
            params![url, sql_limit(limit)],
            read_removal,
        )
    }

    fn removals(connection: &Connection, cursor: ListCursor<RecordId>) -> SqlResult<Vec<Removal>> {
        let after = cursor.after.map_or(Vec::new(), |after| after.as_bytes().to_vec());
        collect_rows(
            connection,
            &format!("{SELECT_REMOVALS} WHERE tombstone_record > ?1 ORDER BY tombstone_record LIMIT ?2"),
            params![after, sql_limit(cursor.limit)],
            read_removal,
        )
    }
}

fn read_removal(row: &Row<'_>) -> SqlResult<Removal> {
    let json: String = row.get(1)?;
    let tombstone = serde_json::from_str(&json);
    let damaged = |error: serde_json::Error| UnlocatedError::Damaged("removals", error.to_string());
    Ok(Removal {
        tombstone_record: required_blob_id(row, 0, "removals")?,
        tombstone: tombstone.map_err(damaged)?,
    })
}
