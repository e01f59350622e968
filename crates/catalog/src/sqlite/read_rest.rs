//! Tags, HEAD, runs, diffs and scores are read.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use uuid::Uuid;
use varve_core::history::{StoredDiff, StoredDiffInfo, StoredScore, Tag};
use varve_core::{Moment, RunId, VersionId};

use varve_core::catalog::LatestPageList;
use varve_sqlite::UnlocatedError;

/// All tags, by name.
pub(super) fn tags(connection: &Connection) -> Result<Vec<Tag>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT name, version, time FROM tags ORDER BY name")?;
    Ok(statement.query_map([], tag_of)?.collect::<Result<_, _>>()?)
}

/// A tag.
pub(super) fn tag(connection: &Connection, name: &str) -> Result<Option<Tag>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT name, version, time FROM tags WHERE name = ?1")?;
    Ok(statement.query_row([name], tag_of).optional()?)
}

fn tag_of(row: &Row<'_>) -> rusqlite::Result<Tag> {
    let version = VersionId::new(Uuid::from_bytes(row.get(1)?));
    Ok(Tag { name: row.get(0)?, version, time: Moment::from_micros(row.get(2)?) })
}

/// Where HEAD points.
pub(super) fn head(connection: &Connection) -> Result<Option<VersionId>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'head'")?;
    let head: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
    let read = |text: String| {
        text.parse().map_err(|error| UnlocatedError::Damaged("meta", format!("head: {error}")))
    };
    head.map(read).transpose()
}

/// How far the silos have been read.
pub(super) fn scanned_up_to(connection: &Connection) -> Result<Option<u64>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'scanned_up_to'")?;
    let reached: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
    let read = |text: String| {
        text.parse().map_err(|error| UnlocatedError::Damaged("meta", format!("scanned_up_to: {error}")))
    };
    reached.map(read).transpose()
}

/// The list of pages that was written last.
pub(super) fn latest_page_list(connection: &Connection) -> Result<Option<LatestPageList>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'page_list'")?;
    let list: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
    let read = |text: String| {
        let parts = text.split_once(' ').and_then(|(record, deviations)| {
            Some(LatestPageList { record: record.parse().ok()?, deviations: deviations.parse().ok()? })
        });
        parts.ok_or_else(|| UnlocatedError::Damaged("meta", format!("list: {text}")))
    };
    list.map(read).transpose()
}

/// When gc was done last. What is no time is as good as none: it keeps nobody from gc, which writes it anew.
pub(super) fn last_gc(connection: &Connection) -> Result<Option<Moment>, UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'last_gc'")?;
    let time: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(time.and_then(|text| text.parse().ok()))
}

/// The runs that have captures and have not become versions.
pub(super) fn open_runs(connection: &Connection) -> Result<Vec<RunId>, UnlocatedError> {
    let sql = "SELECT run FROM owners WHERE id IS NULL AND captures > 0 ORDER BY no";
    let mut statement = connection.prepare_cached(sql)?;
    let runs = statement.query_map([], |row| Ok(RunId::new(Uuid::from_bytes(row.get(0)?))))?;
    Ok(runs.collect::<Result<_, _>>()?)
}

/// How many captures a run has.
pub(super) fn captures_of_run(connection: &Connection, run: &RunId) -> Result<u64, UnlocatedError> {
    let sql = "SELECT captures FROM owners WHERE run = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([run.as_bytes()], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// What the column for the base of a diff holds.
pub(super) fn base_bytes(base: Option<&VersionId>) -> &[u8] {
    base.map_or(&[], |base| &base.as_bytes()[..])
}

/// The diff that is kept for two versions.
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

/// The scores of a version, the newest first.
pub(super) fn scores(
    connection: &Connection,
    version: &VersionId,
) -> Result<Vec<StoredScore>, UnlocatedError> {
    let sql = "SELECT scoring_version, score, normalized, confidence, json, time, evidence, attributions
        FROM scores WHERE version = ?1 ORDER BY time DESC, no DESC";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then([version.as_bytes()], |row| score_of(row, version))?.collect()
}

fn score_of(row: &Row<'_>, version: &VersionId) -> Result<StoredScore, UnlocatedError> {
    Ok(StoredScore {
        version: *version,
        scoring_version: row.get(0)?,
        score: row.get(1)?,
        normalized: row.get(2)?,
        confidence: row.get(3)?,
        json: row.get(4)?,
        time: Moment::from_micros(row.get(5)?),
        evidence: list(row, 6)?,
        attributions: list(row, 7)?,
    })
}

fn list<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Vec<T>, UnlocatedError> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json).map_err(|error| UnlocatedError::Damaged("scores", error.to_string()))
}

/// How many diffs were computed before an instant.
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
    let diffs = statement.query_map([version.as_bytes()], |row| {
        let id = |bytes| VersionId::new(Uuid::from_bytes(bytes));
        // The base of a diff with nothing is no bytes at all.
        let base: Vec<u8> = row.get(0)?;
        let time = Moment::from_micros(row.get(2)?);
        Ok(StoredDiffInfo { base: base.try_into().ok().map(id), head: id(row.get(1)?), time })
    })?;
    let mut diffs: Vec<StoredDiffInfo> = diffs.collect::<Result<_, _>>()?;
    diffs.sort();
    Ok(diffs)
}
