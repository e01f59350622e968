//! Reads tags, HEAD, runs, diffs and scores of a site.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::history::{
    Attribution, StoredDiff, StoredDiffInfo, StoredEvidenceLocation, StoredScore, VersionTag,
};
use varve_core::{Moment, RunId, VersionId};

use varve_sqlite::UnlocatedError;
use varve_sqlite::column::{required_text_id, text_id};

/// All tags, by name.
pub(crate) fn tags(connection: &Connection) -> Result<Vec<VersionTag>, UnlocatedError> {
    let sql = "SELECT name, version_id, time FROM varve_tags ORDER BY name";
    connection.prepare_cached(sql)?.query_and_then([], read_tag)?.collect()
}

/// A tag.
pub(crate) fn tag(connection: &Connection, name: &str) -> Result<Option<VersionTag>, UnlocatedError> {
    let sql = "SELECT name, version_id, time FROM varve_tags WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([name], |row| Ok(read_tag(row))).optional()?.transpose()
}

fn read_tag(row: &Row<'_>) -> Result<VersionTag, UnlocatedError> {
    Ok(VersionTag {
        name: row.get(0)?,
        version: required_text_id(row, 1, "varve_tags")?,
        time: Moment::from_micros(row.get(2)?),
    })
}

/// The position of HEAD when varve last wrote.
pub(crate) fn head(connection: &Connection) -> Result<Option<VersionId>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT value FROM varve_state WHERE key = 'head'")?;
    statement.query_row([], |row| Ok(required_text_id(row, 0, "varve_state"))).optional()?.transpose()
}

/// The runs that have captures and have not become versions.
pub(crate) fn open_runs(connection: &Connection) -> Result<Vec<RunId>, UnlocatedError> {
    let sql = "SELECT run FROM varve_run_snapshots GROUP BY run ORDER BY min(place)";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then([], |row| required_text_id(row, 0, "varve_run_snapshots"))?.collect()
}

/// The number of captures of a run.
pub(crate) fn captures_of_run(connection: &Connection, run: &RunId) -> Result<u64, UnlocatedError> {
    let sql = "SELECT (SELECT count(*) FROM varve_run_snapshots WHERE run = ?1) + (SELECT count(*) FROM pages
        WHERE version_id = (SELECT version_id FROM varve_versions WHERE run = ?1 AND holds_run))";
    Ok(connection.prepare_cached(sql)?.query_row([run.to_string()], |row| row.get(0))?)
}

/// The stored diff of two versions; of several, the one written last.
pub(crate) fn diff(
    connection: &Connection,
    base: Option<&VersionId>,
    head: &VersionId,
) -> Result<Option<StoredDiff>, UnlocatedError> {
    let sql = "SELECT diff_json, created_at FROM diffs
        WHERE head_version_id = ?1 AND base_version_id IS ?2 ORDER BY rowid DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let diff = statement.query_row(params![head.to_string(), base.map(VersionId::to_string)], |row| {
        let time = Moment::from_seconds(row.get(1)?);
        Ok(StoredDiff { base: base.copied(), head: *head, json: row.get(0)?, time })
    });
    Ok(diff.optional()?)
}

/// The scores of a version, newest first.
pub(crate) fn scores(
    connection: &Connection,
    version: &VersionId,
) -> Result<Vec<StoredScore>, UnlocatedError> {
    let sql = "SELECT scoring_version, score, normalized, confidence, score_json, created_at
        FROM version_scores WHERE version_id = ?1 ORDER BY created_at DESC, rowid DESC";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then([version.to_string()], |row| read_score(connection, row, version))?.collect()
}

fn read_score(
    connection: &Connection,
    row: &Row<'_>,
    version: &VersionId,
) -> Result<StoredScore, UnlocatedError> {
    let scoring_version: String = row.get(0)?;
    Ok(StoredScore {
        version: *version,
        score: row.get(1)?,
        normalized: row.get::<_, Option<i64>>(2)?.unwrap_or(0).clamp(0, 100) as u8,
        confidence: row.get::<_, Option<f64>>(3)?.unwrap_or(0.0),
        json: row.get(4)?,
        time: Moment::from_seconds(row.get(5)?),
        evidence: evidence(connection, version, &scoring_version)?,
        attributions: attributions(connection, version, &scoring_version)?,
        scoring_version,
    })
}

fn evidence(
    connection: &Connection,
    version: &VersionId,
    rules: &str,
) -> Result<Vec<StoredEvidenceLocation>, UnlocatedError> {
    let sql =
        "SELECT evidence_id, evidence_index, location_index, evidence_key, selector, file_path, byte_start,
            byte_end, line_start, line_end, loc_confidence, evidence_json, location_json
        FROM version_evidence_locations WHERE version_id = ?1 AND scoring_version = ?2 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let evidence = statement.query_map(params![version.to_string(), rules], |row| {
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
    })?;
    Ok(evidence.collect::<Result<_, _>>()?)
}

fn read_range(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<(u64, u64)>> {
    let end =
        |column| row.get::<_, Option<i64>>(column).map(|end| end.and_then(|end| u64::try_from(end).ok()));
    Ok(end(column)?.zip(end(column + 1)?))
}

fn attributions(
    connection: &Connection,
    version: &VersionId,
    rules: &str,
) -> Result<Vec<Attribution>, UnlocatedError> {
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
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_and_then(params![version.to_string(), rules], read_attribution)?.collect()
}

fn read_attribution(row: &Row<'_>) -> Result<Attribution, UnlocatedError> {
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

/// The number of diffs that were computed before an instant.
pub(crate) fn diffs_before(connection: &Connection, before: Moment) -> Result<u64, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT count(*) FROM diffs WHERE created_at < ?1")?;
    Ok(statement.query_row([crate::read_captures::seconds_up(before)], |row| row.get(0))?)
}

/// The diffs from a version or to it.
pub(crate) fn diffs_with(
    connection: &Connection,
    version: &VersionId,
) -> Result<Vec<StoredDiffInfo>, UnlocatedError> {
    let sql = "SELECT base_version_id, head_version_id, created_at FROM diffs
        WHERE base_version_id = ?1 OR head_version_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let diffs = statement.query_and_then([version.to_string()], |row| {
        Ok::<_, UnlocatedError>(StoredDiffInfo {
            base: text_id(row, 0, "diffs")?,
            head: required_text_id(row, 1, "diffs")?,
            time: Moment::from_seconds(row.get(2)?),
        })
    })?;
    let mut diffs: Vec<StoredDiffInfo> = diffs.collect::<Result<_, _>>()?;
    diffs.sort();
    Ok(diffs)
}
