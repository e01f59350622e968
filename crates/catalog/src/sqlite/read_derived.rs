//! Reads tags, HEAD, runs, diffs, scores and positions.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use varve_core::history::{StoredDiff, StoredDiffInfo, StoredScore, VersionTag};
use varve_core::{Moment, RunId, VersionId};

use varve_core::catalog::LatestPageList;
use varve_sqlite::UnlocatedError;
use varve_sqlite::column::{blob_id, required_blob_id};

/// All tags, by name.
pub(super) fn tags(connection: &Connection) -> Result<Vec<VersionTag>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT name, version, time FROM tags ORDER BY name")?;
    statement.query_and_then([], read_tag)?.collect()
}

/// A tag.
pub(super) fn tag(connection: &Connection, name: &str) -> Result<Option<VersionTag>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT name, version, time FROM tags WHERE name = ?1")?;
    statement.query_row([name], |row| Ok(read_tag(row))).optional()?.transpose()
}

fn read_tag(row: &Row<'_>) -> Result<VersionTag, UnlocatedError> {
    let version = required_blob_id(row, 1, "tags")?;
    Ok(VersionTag { name: row.get(0)?, version, time: Moment::from_micros(row.get(2)?) })
}

/// A value of the table `meta`.
fn meta_value(connection: &Connection, key: &str) -> Result<Option<String>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

/// A value of the table `meta`, parsed.
fn parsed_meta<T: FromStr<Err: Display>>(
    connection: &Connection,
    key: &str,
) -> Result<Option<T>, UnlocatedError> {
    let parse = |text: String| {
        text.parse().map_err(|error| UnlocatedError::Damaged("meta", format!("{key}: `{text}`: {error}")))
    };
    meta_value(connection, key)?.map(parse).transpose()
}

/// The version that HEAD points to.
pub(super) fn head(connection: &Connection) -> Result<Option<VersionId>, UnlocatedError> {
    parsed_meta(connection, "head")
}

/// The position up to which the silos were scanned.
pub(super) fn scanned_up_to(connection: &Connection) -> Result<Option<u64>, UnlocatedError> {
    parsed_meta(connection, "scanned_up_to")
}

/// The page list that was written last.
pub(super) fn latest_page_list(connection: &Connection) -> Result<Option<LatestPageList>, UnlocatedError> {
    let Some(record) = parsed_meta(connection, "page_list")? else { return Ok(None) };
    let deviations = parsed_meta(connection, "page_list_deviations")?.unwrap_or(0);
    Ok(Some(LatestPageList { record, deviations }))
}

/// The time of the last garbage collection. An invalid value counts as none: the next garbage
/// collection replaces it.
pub(super) fn last_gc(connection: &Connection) -> Result<Option<Moment>, UnlocatedError> {
    Ok(meta_value(connection, "last_gc")?.and_then(|text| text.parse().ok()))
}

/// The runs that have captures and have not become versions.
pub(super) fn open_runs(connection: &Connection) -> Result<Vec<RunId>, UnlocatedError> {
    let sql = "SELECT run FROM owners WHERE id IS NULL AND captures > 0 ORDER BY no";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then([], |row| required_blob_id(row, 0, "owners"))?.collect()
}

/// The number of captures of a run.
pub(super) fn captures_of_run(connection: &Connection, run: &RunId) -> Result<u64, UnlocatedError> {
    let sql = "SELECT captures FROM owners WHERE run = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([run.as_bytes()], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// The value of the column `base` of a diff. The empty version has no bytes.
pub(super) fn base_bytes(base: Option<&VersionId>) -> &[u8] {
    base.map_or(&[], |base| &base.as_bytes()[..])
}

/// The stored diff of two versions.
pub(super) fn diff(
    connection: &Connection,
    base: Option<&VersionId>,
    head: &VersionId,
) -> Result<Option<StoredDiff>, UnlocatedError> {
    let sql = "SELECT json, time FROM kept_diffs WHERE head = ?1 AND base = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let diff = statement.query_row(params![head.as_bytes(), base_bytes(base)], |row| {
        let time = Moment::from_micros(row.get(1)?);
        Ok(StoredDiff { base: base.copied(), head: *head, json: row.get(0)?, time })
    });
    Ok(diff.optional()?)
}

/// The scores of a version, newest first.
pub(super) fn scores(
    connection: &Connection,
    version: &VersionId,
) -> Result<Vec<StoredScore>, UnlocatedError> {
    let sql = "SELECT scoring_version, score, normalized, confidence, json, time, evidence, attributions
        FROM scores WHERE version = ?1 ORDER BY time DESC, no DESC";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then([version.as_bytes()], |row| read_score(row, version))?.collect()
}

fn read_score(row: &Row<'_>, version: &VersionId) -> Result<StoredScore, UnlocatedError> {
    Ok(StoredScore {
        version: *version,
        scoring_version: row.get(0)?,
        score: row.get(1)?,
        normalized: row.get(2)?,
        confidence: row.get(3)?,
        json: row.get(4)?,
        time: Moment::from_micros(row.get(5)?),
        evidence: read_json_list(row, 6)?,
        attributions: read_json_list(row, 7)?,
    })
}

fn read_json_list<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Vec<T>, UnlocatedError> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json).map_err(|error| UnlocatedError::Damaged("scores", error.to_string()))
}

/// The number of diffs that were computed before an instant.
pub(super) fn diffs_before(connection: &Connection, before: Moment) -> Result<u64, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT count(*) FROM kept_diffs WHERE time < ?1")?;
    Ok(statement.query_row([before.micros()], |row| row.get(0))?)
}

/// The diffs from a version or to it.
pub(super) fn diffs_with(
    connection: &Connection,
    version: &VersionId,
) -> Result<Vec<StoredDiffInfo>, UnlocatedError> {
    let mut statement =
        connection.prepare_cached("SELECT base, head, time FROM kept_diffs WHERE head = ?1 OR base = ?1")?;
    let diffs = statement.query_and_then([version.as_bytes()], |row| {
        let has_base = !row.get_ref(0)?.as_blob().unwrap_or_default().is_empty();
        Ok::<_, UnlocatedError>(StoredDiffInfo {
            base: if has_base { blob_id(row, 0, "kept_diffs")? } else { None },
            head: required_blob_id(row, 1, "kept_diffs")?,
            time: Moment::from_micros(row.get(2)?),
        })
    })?;
    let mut diffs: Vec<StoredDiffInfo> = diffs.collect::<Result<_, _>>()?;
    diffs.sort();
    Ok(diffs)
}
