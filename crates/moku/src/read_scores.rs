//! Reads evidence and attributions of scores.

use rusqlite::{Connection, Row, params};
use varve_core::VersionId;
use varve_core::history::{Attribution, StoredEvidenceLocation};
use varve_sqlite::column::text_id;
use varve_sqlite::{SqlResult, collect_rows};

/// The evidence of a score.
pub(crate) fn evidence(
    connection: &Connection,
    version: &VersionId,
    rules: &str,
) -> SqlResult<Vec<StoredEvidenceLocation>> {
    let sql =
        "SELECT evidence_id, evidence_index, location_index, evidence_key, selector, file_path, byte_start,
            byte_end, line_start, line_end, loc_confidence, evidence_json, location_json
        FROM version_evidence_locations WHERE version_id = ?1 AND scoring_version = ?2 ORDER BY rowid";
    collect_rows(connection, sql, params![version.to_string(), rules], |row| {
        Ok(StoredEvidenceLocation {
            evidence_id: row.get(0)?,
            evidence_index: row.get(1)?,
            location_index: row.get(2)?,
            key: row.get::<_, Option<_>>(3)?.unwrap_or_default(),
            selector: row.get(4)?,
            file_path: row.get(5)?,
            bytes: read_range(row, 6)?,
            lines: read_range(row, 8)?,
            confidence: row.get(10)?,
            evidence_json: row.get(11)?,
            location_json: row.get(12)?,
        })
    })
}

fn read_range(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<(u64, u64)>> {
    let end =
        |column| row.get::<_, Option<i64>>(column).map(|end| end.and_then(|end| u64::try_from(end).ok()));
    Ok(end(column)?.zip(end(column + 1)?))
}

/// The attributions of a score.
pub(crate) fn attributions(
    connection: &Connection,
    version: &VersionId,
    rules: &str,
) -> SqlResult<Vec<Attribution>> {
    const ATTRIBUTION_COLUMNS: &str =
        "a.evidence_id, a.evidence_location_index, a.chunk_index, a.evidence_key,
        a.evidence_json, a.location_json, a.contribution, a.contribution_pct, a.note";
    let sql = format!(
        "SELECT * FROM (SELECT d.base_version_id, {ATTRIBUTION_COLUMNS}, 0, a.rowid AS place
            FROM diff_attributions AS a JOIN diffs AS d ON d.id = a.diff_id
            WHERE a.head_version_id = ?1 AND a.scoring_version = ?2
         UNION ALL SELECT a.base_version_id, {ATTRIBUTION_COLUMNS}, 1, a.place FROM varve_diff_attributions AS a
            WHERE a.head_version_id = ?1 AND a.scoring_version = ?2) ORDER BY 11, 12"
    );
    collect_rows(connection, &sql, params![version.to_string(), rules], read_attribution)
}

fn read_attribution(row: &Row<'_>) -> SqlResult<Attribution> {
    Ok(Attribution {
        base: text_id(row, 0, "diff_attributions")?,
        evidence_id: row.get(1)?,
        location_index: row.get::<_, Option<_>>(2)?.unwrap_or(-1),
        chunk_index: row.get(3)?,
        key: row.get::<_, Option<_>>(4)?.unwrap_or_default(),
        evidence_json: row.get::<_, Option<_>>(5)?.unwrap_or_default(),
        location_json: row.get(6)?,
        contribution: row.get(7)?,
        percent: row.get(8)?,
        note: row.get(9)?,
    })
}
