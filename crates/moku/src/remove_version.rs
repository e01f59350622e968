//! Retention: removes versions and diffs of a site.

use rusqlite::{Connection, OptionalExtension, params};
use varve_core::{Moment, VersionId};

use crate::create_tables::MokuTables;
use crate::write::set_head;
use varve_sqlite::column::TimeUnit;
use varve_sqlite::{SqlResult, UnlocatedError, execute, parsed_state};

/// Copies the attributions of removed diffs to a table that needs no diff.
const COPY_ATTRIBUTIONS: &str = "INSERT INTO varve_diff_attributions (base_version_id, head_version_id,
        evidence_id, evidence_location_index, chunk_index, evidence_key, evidence_json, location_json,
        scoring_version, contribution, contribution_pct, note, created_at)
    SELECT d.base_version_id, a.head_version_id, a.evidence_id, a.evidence_location_index, a.chunk_index,
        a.evidence_key, a.evidence_json, a.location_json, a.scoring_version, a.contribution, a.contribution_pct,
        a.note, a.created_at
    FROM diff_attributions AS a JOIN diffs AS d ON d.id = a.diff_id";

/// Removes the diffs that were computed before an instant.
pub(crate) fn remove_diffs(connection: &Connection, before: Moment) -> SqlResult<()> {
    let before = TimeUnit::Seconds.at_or_after(before);
    let sql = format!("{COPY_ATTRIBUTIONS} WHERE d.created_at < ?1 ORDER BY a.rowid");
    execute(connection, &sql, [before])?;
    execute(connection, "DELETE FROM diffs WHERE created_at < ?1", [before])
}

/// Removes a version. Its children, and HEAD if it pointed there, move to its parent. If the row of
/// the version is lost, its parent is unknown and the children become roots.
pub(crate) fn remove_version(connection: &Connection, id: &VersionId) -> SqlResult<()> {
    let text = id.to_string();
    let found: Option<Option<String>> = connection
        .prepare_cached("SELECT parent_id FROM versions WHERE id = ?1")?
        .query_row([&text], |row| row.get(0))
        .optional()?;
    if found.is_none() && !is_mentioned(connection, &text)? {
        return Ok(());
    }
    let parent = found.flatten();
    // The id of a version is derived from its first parent, which audits need.
    let remember = "INSERT OR IGNORE INTO varve_parents (version_id, parent_id)
        SELECT id, parent_id FROM versions WHERE parent_id = ?1";
    execute(connection, remember, [&text])?;
    execute(connection, "UPDATE versions SET parent_id = ?2 WHERE parent_id = ?1", params![text, parent])?;
    let others = format!("{COPY_ATTRIBUTIONS} WHERE d.base_version_id = ?1 AND d.head_version_id <> ?1");
    for sql in [
        others.as_str(),
        "DELETE FROM diffs WHERE base_version_id = ?1 OR head_version_id = ?1",
        "DELETE FROM scans WHERE version_id = ?1",
        "DELETE FROM varve_diff_attributions WHERE head_version_id = ?1",
        "DELETE FROM varve_snapshots WHERE snapshot_id IN (SELECT id FROM snapshots WHERE version_id = ?1)",
        "DELETE FROM varve_versions WHERE version_id = ?1",
        "DELETE FROM varve_seen_versions WHERE version_id = ?1",
        "DELETE FROM varve_tags WHERE version_id = ?1",
        "DELETE FROM varve_parents WHERE version_id = ?1",
        // Cascades to snapshots and scores.
        "DELETE FROM versions WHERE id = ?1",
    ] {
        execute(connection, sql, [&text])?;
    }
    if parsed_state::<MokuTables, _>(connection, "head")? != Some(*id) {
        return Ok(());
    }
    let parent = parent.map(|parent| {
        parent.parse().map_err(|error| UnlocatedError::Damaged("versions", format!("{parent}: {error}")))
    });
    set_head(connection, parent.transpose()?.as_ref())
}

/// Whether a version without a row is mentioned elsewhere: by a child, or as committed by varve.
fn is_mentioned(connection: &Connection, id: &str) -> SqlResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM versions WHERE parent_id = ?1)
        OR EXISTS (SELECT 1 FROM varve_versions WHERE version_id = ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
}
