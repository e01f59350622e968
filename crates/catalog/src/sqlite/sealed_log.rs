//! The log of versions: the tables `log_leaves`, `log_checkpoints` and `log_timestamps`.
//!
//! A row that exists stays as it is: the log is only appended to.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::fact::{CheckpointSigned, CheckpointTimestamped, LeavesAdded};
use varve_core::history::ListCursor;
use varve_core::{ManifestDigest, Moment, VersionId};
use varve_sqlite::column::required_blob_id;
use varve_sqlite::{SealedLogTables, SqlResult, collect_rows, sql_limit};

use super::ArchiveTables;
use super::write_batch::WriteBatch;

/// The columns that [`read_checkpoint`] expects.
const SELECT_CHECKPOINTS: &str = "SELECT size, note, keys, time FROM log_checkpoints";

impl WriteBatch<'_> {
    pub(super) fn log_leaves(&self, added: &LeavesAdded) -> SqlResult<()> {
        for (leaf, manifest) in (added.first..).zip(&added.manifests) {
            self.execute(
                "INSERT OR IGNORE INTO log_leaves (leaf, manifest, version) VALUES (?1, ?2, ?3)",
                params![leaf, manifest.as_bytes(), manifest.version().as_bytes()],
            )?;
        }
        Ok(())
    }

    pub(super) fn log_checkpoint(&self, signed: &CheckpointSigned) -> SqlResult<()> {
        let CheckpointSigned { size, note, keys, time } = signed;
        self.execute(
            "INSERT OR IGNORE INTO log_checkpoints (size, note, keys, time) VALUES (?1, ?2, ?3, ?4)",
            params![size, note, keys.join("\n"), time.micros()],
        )
    }

    pub(super) fn log_timestamp(&self, stamped: &CheckpointTimestamped) -> SqlResult<()> {
        let CheckpointTimestamped { size, answer, time } = stamped;
        self.execute(
            "INSERT OR IGNORE INTO log_timestamps (size, answer, time) VALUES (?1, ?2, ?3)",
            params![size, answer, time.micros()],
        )
    }
}

impl SealedLogTables for ArchiveTables {
    fn log_size(connection: &Connection) -> SqlResult<u64> {
        let sql = "SELECT coalesce(max(leaf) + 1, 0) FROM log_leaves";
        Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn log_leaves(
        connection: &Connection,
        first: u64,
        limit: usize,
    ) -> SqlResult<Vec<(u64, ManifestDigest)>> {
        let sql = "SELECT leaf, manifest FROM log_leaves WHERE leaf >= ?1 ORDER BY leaf LIMIT ?2";
        // A larger number is not in the table.
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        collect_rows(connection, sql, params![first, sql_limit(limit)], |row| {
            Ok((row.get(0)?, required_blob_id(row, 1, "log_leaves")?))
        })
    }

    fn leaf_of_version(connection: &Connection, version: &VersionId) -> SqlResult<Option<u64>> {
        let sql = "SELECT leaf FROM log_leaves WHERE version = ?1 ORDER BY leaf LIMIT 1";
        Ok(connection.prepare_cached(sql)?.query_row([version.as_bytes()], |row| row.get(0)).optional()?)
    }

    fn versions_without_leaf(connection: &Connection, limit: usize) -> SqlResult<Vec<VersionId>> {
        // Versions become leaves in the order of writing, so those after the last leaf that is still a
        // version are enough. One that was damaged and written again can be among them.
        let sql = "SELECT id FROM owners AS o
             WHERE id IS NOT NULL
               AND no > coalesce((SELECT v.no FROM log_leaves AS l CROSS JOIN owners AS v ON v.id = l.version
                                  ORDER BY l.leaf DESC LIMIT 1), -1)
               AND NOT EXISTS (SELECT 1 FROM log_leaves AS l WHERE l.version = o.id)
             ORDER BY no LIMIT ?1";
        collect_rows(connection, sql, [sql_limit(limit)], |row| required_blob_id(row, 0, "owners"))
    }

    fn versions_by_writing(
        connection: &Connection,
        cursor: ListCursor<VersionId>,
    ) -> SqlResult<Vec<VersionId>> {
        let sql = "SELECT id FROM owners
             WHERE id IS NOT NULL AND no > coalesce((SELECT no FROM owners WHERE id = ?1), -1) ORDER BY no LIMIT ?2";
        let after = cursor.after.as_ref().map(VersionId::as_bytes);
        collect_rows(connection, sql, params![after, sql_limit(cursor.limit)], |row| {
            required_blob_id(row, 0, "owners")
        })
    }

    fn log_checkpoints(connection: &Connection, cursor: ListCursor<u64>) -> SqlResult<Vec<CheckpointSigned>> {
        let after = cursor.after.map_or(-1, |size| i64::try_from(size).unwrap_or(i64::MAX));
        let sql = format!("{SELECT_CHECKPOINTS} WHERE size > ?1 ORDER BY size LIMIT ?2");
        collect_rows(connection, &sql, params![after, sql_limit(cursor.limit)], read_checkpoint)
    }

    fn last_log_checkpoint(connection: &Connection) -> SqlResult<Option<CheckpointSigned>> {
        let sql = format!("{SELECT_CHECKPOINTS} ORDER BY size DESC LIMIT 1");
        Ok(collect_rows(connection, &sql, [], read_checkpoint)?.pop())
    }

    fn log_timestamps(connection: &Connection, size: u64) -> SqlResult<Vec<CheckpointTimestamped>> {
        let sql = "SELECT answer, time FROM log_timestamps WHERE size = ?1 ORDER BY answer";
        collect_rows(connection, sql, [i64::try_from(size).unwrap_or(i64::MAX)], |row| {
            Ok(CheckpointTimestamped { size, answer: row.get(0)?, time: read_time(row, 1)? })
        })
    }
}

fn read_checkpoint(row: &Row<'_>) -> SqlResult<CheckpointSigned> {
    let keys: String = row.get(2)?;
    Ok(CheckpointSigned {
        size: row.get(0)?,
        note: row.get(1)?,
        keys: keys.lines().map(str::to_owned).collect(),
        time: read_time(row, 3)?,
    })
}

fn read_time(row: &Row<'_>, column: usize) -> SqlResult<Moment> {
    Ok(Moment::from_micros(row.get(column)?))
}
