//! Writes rows to a site.
//!
//! A batch is one transaction. Within it a capture may come before its version: references are
//! checked at the end.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use varve_core::history::{Capture, CaptureOwner, StoredDiff, Version, uuid_of};
use varve_core::moku_json::escaped;
use varve_core::{CaptureId, RecordId, RunId, VersionId};

use crate::create_tables::MokuTables;
use crate::{remove_version, schema, score};
use varve_core::catalog::CatalogRow;
use varve_sqlite::{SqlResult, UnlocatedError, execute, store_check, store_verdict};

/// Stores rows, in an open transaction.
pub(crate) fn apply(connection: &Connection, rows: &mut dyn Iterator<Item = CatalogRow>) -> SqlResult<()> {
    connection.pragma_update(None, "defer_foreign_keys", true)?;
    let mut waiting = BTreeSet::new();
    for row in rows {
        store(connection, row, &mut waiting)?;
    }
    match waiting.first() {
        Some(missing) => Err(UnlocatedError::NoVersion(*missing)),
        None => Ok(()),
    }
}

fn store(connection: &Connection, row: CatalogRow, waiting: &mut BTreeSet<VersionId>) -> SqlResult<()> {
    match row {
        CatalogRow::Version(row) => {
            waiting.remove(&row.id);
            version(connection, &row)
        }
        CatalogRow::Capture(row) => capture(connection, &row, waiting),
        // The versions of a site list all their pages, and a site has no silos.
        CatalogRow::Absence(_) | CatalogRow::Removal(_) => Ok(()),
        // Extractions are facts, which a site has no place for.
        CatalogRow::Extraction(_)
        | CatalogRow::ForgetExtraction(_)
        | CatalogRow::DomainSettings(_)
        | CatalogRow::ForgetDomainSettings(_) => Ok(()),
        // The log is made from manifests, which a site does not store.
        CatalogRow::LogLeaves(_) | CatalogRow::LogCheckpoint(_) | CatalogRow::LogTimestamp(_) => Ok(()),
        CatalogRow::Tag { name, version: Some(version), time } => execute(
            connection,
            "INSERT OR REPLACE INTO varve_tags (name, version_id, time) VALUES (?1, ?2, ?3)",
            params![name, version.to_string(), time.micros()],
        ),
        CatalogRow::Tag { name, version: None, .. } => {
            execute(connection, "DELETE FROM varve_tags WHERE name = ?1", [name])
        }
        CatalogRow::Head(version) => set_head(connection, Some(&version)),
        CatalogRow::GcDone(time) => schema::set_last_gc(connection, time),
        CatalogRow::Diff(row) => diff(connection, &row),
        CatalogRow::Score(row) => score::store_score(connection, &row),
        CatalogRow::Check(row) => store_check::<MokuTables>(connection, &row),
        CatalogRow::Verdict(row) => store_verdict::<MokuTables>(connection, &row),
        CatalogRow::ForgetVersion(id) => remove_version::remove_version(connection, &id),
        CatalogRow::ForgetDiffs(before) => remove_version::remove_diffs(connection, before),
        // A site has no silos.
        CatalogRow::ScannedUpTo(_) => Ok(()),
        CatalogRow::ForgetRun(run) => {
            execute(connection, "DELETE FROM varve_run_snapshots WHERE run = ?1", [run.to_string()])
        }
    }
}

/// Stores the position of HEAD.
pub(crate) fn set_head(connection: &Connection, head: Option<&VersionId>) -> SqlResult<()> {
    match head {
        Some(head) => execute(
            connection,
            "INSERT OR REPLACE INTO varve_state (key, value) VALUES ('head', ?1)",
            [head.to_string()],
        ),
        None => execute(connection, "DELETE FROM varve_state WHERE key = 'head'", []),
    }
}

/// Fails if a version does not exist.
pub(crate) fn require_version(connection: &Connection, id: &VersionId) -> SqlResult<()> {
    if has(connection, id)? { Ok(()) } else { Err(UnlocatedError::NoVersion(*id)) }
}

fn has(connection: &Connection, id: &VersionId) -> SqlResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM versions WHERE id = ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([id.to_string()], |row| row.get(0))?)
}

fn version(connection: &Connection, version: &Version) -> SqlResult<()> {
    set_head(connection, Some(&version.id))?;
    if has(connection, &version.id)? {
        return Ok(());
    }
    if let Some(parent) = &version.parent {
        require_version(connection, parent)?;
    }
    let id = version.id.to_string();
    execute(
        connection,
        "INSERT INTO versions (id, parent_id, message, author, timestamp) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            id,
            version.parent.map(|parent| parent.to_string()),
            version.message,
            version.author,
            version.time.seconds()
        ],
    )?;
    let run = version.run.map(|run| run.to_string());
    let holds_run = version.run.is_some() && holder_of(connection, version.run)?.is_none();
    execute(
        connection,
        "INSERT OR REPLACE INTO varve_versions (version_id, run, holds_run, record) VALUES (?1, ?2, ?3, ?4)",
        params![id, run, holds_run, version.record.as_ref().map(RecordId::as_bytes)],
    )?;
    match run.filter(|_| holds_run) {
        Some(run) => move_run_captures(connection, &run, &id),
        None => Ok(()),
    }
}

/// The version that holds the captures of a run.
fn holder_of(connection: &Connection, run: Option<RunId>) -> SqlResult<Option<String>> {
    let Some(run) = run else { return Ok(None) };
    let sql = "SELECT version_id FROM varve_versions WHERE run = ?1 AND holds_run";
    Ok(connection.prepare_cached(sql)?.query_row([run.to_string()], |row| row.get(0)).optional()?)
}

/// Moves the captures of a run to the version that it became.
fn move_run_captures(connection: &Connection, run: &str, version: &str) -> SqlResult<()> {
    for sql in [
        "INSERT OR IGNORE INTO snapshots
             (id, version_id, status_code, url, file_path, blob_id, created_at, headers)
         SELECT id, ?2, status_code, url, file_path, blob_id, created_at, headers
         FROM varve_run_snapshots WHERE run = ?1 ORDER BY place",
        "INSERT OR IGNORE INTO varve_snapshots (snapshot_id, record, length, truncated)
         SELECT id, record, length, truncated FROM varve_run_snapshots WHERE run = ?1 AND ?2 IS ?2",
        "DELETE FROM varve_run_snapshots WHERE run = ?1 AND ?2 IS ?2",
    ] {
        execute(connection, sql, [run, version])?;
    }
    Ok(())
}

fn capture(connection: &Connection, capture: &Capture, waiting: &mut BTreeSet<VersionId>) -> SqlResult<()> {
    match capture.owner {
        CaptureOwner::Version(version) => {
            if !has(connection, &version)? {
                waiting.insert(version);
            }
            snapshot(connection, capture, &version.to_string())
        }
        CaptureOwner::Run(run) => match holder_of(connection, Some(run))? {
            Some(version) => snapshot(connection, capture, &version),
            None => {
                insert_snapshot(connection, INSERT_RUN_SNAPSHOT, capture, &run.to_string())?;
                Ok(())
            }
        },
    }
}

/// Stores a capture in the tables of a version.
fn snapshot(connection: &Connection, capture: &Capture, version: &str) -> SqlResult<()> {
    if insert_snapshot(connection, INSERT_SNAPSHOT, capture, version)? == 0 {
        return Ok(());
    }
    execute(
        connection,
        "INSERT OR REPLACE INTO varve_snapshots (snapshot_id, record, length, truncated) VALUES (?1, ?2, ?3, ?4)",
        params![
            capture.id.to_string(),
            capture.record.as_ref().map(RecordId::as_bytes),
            capture.length,
            capture.truncated
        ],
    )
}

/// The columns and values that both tables of snapshots have.
macro_rules! insert_snapshot {
    ($table:literal, $columns:literal, $values:literal) => {
        concat!(
            "INSERT OR IGNORE INTO ",
            $table,
            " (id, status_code, url, file_path, blob_id, created_at, headers, ",
            $columns,
            ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8",
            $values
        )
    };
}

/// Stores a snapshot of the version `?8`. Moku has no columns for the other values.
const INSERT_SNAPSHOT: &str =
    insert_snapshot!("snapshots", "version_id", " WHERE (?9, ?10, ?11) IS (?9, ?10, ?11)");
/// Stores a snapshot of the run `?8`.
const INSERT_RUN_SNAPSHOT: &str =
    insert_snapshot!("varve_run_snapshots", "run, record, length, truncated", ", ?9, ?10, ?11");

/// Runs a statement that stores a capture of this version or run. Returns the number of new rows.
fn insert_snapshot(connection: &Connection, sql: &str, capture: &Capture, owner: &str) -> SqlResult<usize> {
    Ok(connection.prepare_cached(sql)?.execute(params![
        capture.id.to_string(),
        capture.status,
        capture.url,
        capture.path,
        capture.body.to_string(),
        capture.time.seconds(),
        headers_json(capture)?,
        owner,
        capture.record.as_ref().map(RecordId::as_bytes),
        capture.length,
        capture.truncated,
    ])?)
}

/// Headers as JSON.
fn headers_json(capture: &Capture) -> SqlResult<String> {
    let damaged = |id: &CaptureId, error: serde_json::Error| {
        UnlocatedError::Damaged("snapshots", format!("{id}: {error}"))
    };
    let json = serde_json::to_string(&capture.headers).map_err(|error| damaged(&capture.id, error))?;
    Ok(escaped(&json))
}

fn diff(connection: &Connection, diff: &StoredDiff) -> SqlResult<()> {
    diff.base.iter().chain([&diff.head]).try_for_each(|id| require_version(connection, id))?;
    let (base, head) = (diff.base.map(|base| base.to_string()), diff.head.to_string());
    let sql = "UPDATE diffs SET diff_json = ?3, created_at = ?4
        WHERE base_version_id IS ?1 AND head_version_id = ?2";
    let values = params![base, head, diff.json, diff.time.seconds()];
    if connection.prepare_cached(sql)?.execute(values)? > 0 {
        return Ok(());
    }
    execute(
        connection,
        "INSERT INTO diffs (id, base_version_id, head_version_id, diff_json, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            derived_id(&["diff", base.as_deref().unwrap_or(""), &head]),
            base,
            head,
            diff.json,
            diff.time.seconds()
        ],
    )
}

/// The id of a row, derived from texts that identify it: the same each time the row is made.
pub(crate) fn derived_id(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    hasher.update("varve row");
    for part in parts {
        hasher.update("\n");
        hasher.update(part);
    }
    uuid_of(&hasher.finalize().into()).to_string()
}
