//! Retention: versions and diffs of a site are forgotten.

use rusqlite::{Connection, OptionalExtension, params};
use varve_core::{Moment, VersionId};

use super::write::{execute, set_head};
use super::{read_captures, read_rest};
use crate::problem::Problem;

/// Keeps the attributions of diffs that go, in a table that needs no diff.
const KEEP_ATTRIBUTIONS: &str = "INSERT INTO varve_diff_attributions (base_version_id, head_version_id,
        evidence_id, evidence_location_index, chunk_index, evidence_key, evidence_json, location_json,
        scoring_version, contribution, contribution_pct, note, created_at)
    SELECT d.base_version_id, a.head_version_id, a.evidence_id, a.evidence_location_index, a.chunk_index,
        a.evidence_key, a.evidence_json, a.location_json, a.scoring_version, a.contribution, a.contribution_pct,
        a.note, a.created_at
    FROM diff_attributions AS a JOIN diffs AS d ON d.id = a.diff_id";

/// Forgets the diffs that were computed before an instant.
pub(super) fn diffs(connection: &Connection, before: Moment) -> Result<(), Problem> {
    let before = read_captures::seconds_up(before);
    let sql = format!("{KEEP_ATTRIBUTIONS} WHERE d.created_at < ?1 ORDER BY a.rowid");
    execute(connection, &sql, [before])?;
    execute(connection, "DELETE FROM diffs WHERE created_at < ?1", [before])
}

/// Forgets a version. Its children descend from its parent, and so does HEAD if it pointed there. One whose row is lost, and from which
/// others descend, has left no parent: they descend from nothing then.
pub(super) fn version(connection: &Connection, id: &VersionId) -> Result<(), Problem> {
    let text = id.to_string();
    let found: Option<Option<String>> = connection
        .prepare_cached("SELECT parent_id FROM versions WHERE id = ?1")?
        .query_row([&text], |row| row.get(0))
        .optional()?;
    if found.is_none() && !is_missed(connection, &text)? {
        return Ok(());
    }
    let parent = found.flatten();
    // The id of a version follows from the parent it had: audits must know that one.
    let remember = "INSERT OR IGNORE INTO varve_parents (version_id, parent_id)
        SELECT id, parent_id FROM versions WHERE parent_id = ?1";
    execute(connection, remember, [&text])?;
    execute(connection, "UPDATE versions SET parent_id = ?2 WHERE parent_id = ?1", params![text, parent])?;
    let others = format!("{KEEP_ATTRIBUTIONS} WHERE d.base_version_id = ?1 AND d.head_version_id <> ?1");
    for sql in [
        others.as_str(),
        "DELETE FROM diffs WHERE base_version_id = ?1 OR head_version_id = ?1",
        "DELETE FROM scans WHERE version_id = ?1",
        "DELETE FROM varve_diff_attributions WHERE head_version_id = ?1",
        "DELETE FROM varve_snapshots WHERE snapshot_id IN (SELECT id FROM snapshots WHERE version_id = ?1)",
        "DELETE FROM varve_versions WHERE version_id = ?1",
        "DELETE FROM varve_tags WHERE version_id = ?1",
        "DELETE FROM varve_parents WHERE version_id = ?1",
        // Snapshots and scores go with it.
        "DELETE FROM versions WHERE id = ?1",
    ] {
        execute(connection, sql, [&text])?;
    }
    if read_rest::head(connection)? != Some(*id) {
        return Ok(());
    }
    let parent = parent.map(|parent| {
        parent.parse().map_err(|error| Problem::Damaged("versions", format!("{parent}: {error}")))
    });
    set_head(connection, parent.transpose()?.as_ref())
}

/// Whether something tells of a version that has no row: one that descends from it, or that varve committed it.
fn is_missed(connection: &Connection, id: &str) -> Result<bool, Problem> {
    let sql = "SELECT EXISTS (SELECT 1 FROM versions WHERE parent_id = ?1)
        OR EXISTS (SELECT 1 FROM varve_versions WHERE version_id = ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
}
