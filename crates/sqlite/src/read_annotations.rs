//! Reads tags, runs, diffs, scores and single values, in any layout.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::history::{StoredDiff, StoredDiffInfo, StoredScore, VersionTag};
use varve_core::{Moment, RecordId, RunId, VersionId};

use crate::column::required_blob_id;
use crate::table_layout::{DiffTable, TableLayout, TagTable};
use crate::{SqlResult, UnlocatedError, collect_rows};

/// All tags by name, or the one with this name.
pub(crate) fn tags<L: TableLayout>(
    connection: &Connection,
    name: Option<&str>,
) -> SqlResult<Vec<VersionTag>> {
    let TagTable { table, version } = L::TAGS;
    let which = if name.is_some() { "name = ?1" } else { "?1 IS NULL" };
    let sql = format!("SELECT name, {version}, time FROM {table} WHERE {which} ORDER BY name");
    collect_rows(connection, &sql, [name], |row| {
        let version = L::ID_FORM.read_required(row, 1, table)?;
        Ok(VersionTag { name: row.get(0)?, version, time: Moment::from_micros(row.get(2)?) })
    })
}

/// A single value.
pub(crate) fn state<L: TableLayout>(connection: &Connection, key: &str) -> SqlResult<Option<String>> {
    let sql = format!("SELECT value FROM {} WHERE key = ?1", L::STATE);
    Ok(connection.prepare_cached(&sql)?.query_row([key], |row| row.get(0)).optional()?)
}

/// A single value, parsed.
pub fn parsed_state<L: TableLayout, T: FromStr<Err: Display>>(
    connection: &Connection,
    key: &str,
) -> SqlResult<Option<T>> {
    let parse = |text: String| {
        let damaged = |error: T::Err| UnlocatedError::Damaged(L::STATE, format!("{key}: `{text}`: {error}"));
        text.parse().map_err(damaged)
    };
    state::<L>(connection, key)?.map(parse).transpose()
}

/// The time of the last garbage collection. An invalid value counts as none: the next garbage
/// collection replaces it.
pub(crate) fn last_gc<L: TableLayout>(connection: &Connection) -> SqlResult<Option<Moment>> {
    Ok(state::<L>(connection, "last_gc")?.and_then(|text| text.parse().ok()))
}

/// The runs that have captures and have not become versions.
pub(crate) fn open_runs<L: TableLayout>(connection: &Connection) -> SqlResult<Vec<RunId>> {
    collect_rows(connection, L::OPEN_RUNS, [], |row| L::ID_FORM.read_required(row, 0, "runs"))
}

/// The number of captures of a run.
pub(crate) fn captures_of_run<L: TableLayout>(connection: &Connection, run: &RunId) -> SqlResult<u64> {
    let run = L::ID_FORM.value(run);
    Ok(connection.prepare_cached(L::CAPTURES_OF_RUN)?.query_row([run], |row| row.get(0))?)
}

/// The records of the captures of a run.
pub(crate) fn each_record_of_run<L: TableLayout>(
    connection: &Connection,
    run: &RunId,
    each: &mut dyn FnMut(RecordId),
) -> SqlResult<()> {
    let mut statement = connection.prepare_cached(L::RECORDS_OF_RUN)?;
    let mut rows = statement.query([L::ID_FORM.value(run)])?;
    while let Some(row) = rows.next()? {
        each(required_blob_id(row, 0, "captures")?);
    }
    Ok(())
}

/// The stored diff of two versions; of several, the one written last.
pub(crate) fn diff<L: TableLayout>(
    connection: &Connection,
    base: Option<&VersionId>,
    head: &VersionId,
) -> SqlResult<Option<StoredDiff>> {
    let DiffTable { table, base: base_column, no_base, head: head_column, json, time } = L::DIFFS;
    let sql = format!(
        "SELECT {json}, {time} FROM {table} WHERE {head_column} = ?1 AND {base_column} IS coalesce(?2, {no_base})
         ORDER BY rowid DESC LIMIT 1"
    );
    let values = params![L::ID_FORM.value(head), base.map(|base| L::ID_FORM.value(base))];
    let diff = connection.prepare_cached(&sql)?.query_row(values, |row| {
        let time = L::TIME_UNIT.moment(row.get(1)?);
        Ok(StoredDiff { base: base.copied(), head: *head, json: row.get(0)?, time })
    });
    Ok(diff.optional()?)
}

/// The diffs from a version or to it.
pub(crate) fn diffs_with<L: TableLayout>(
    connection: &Connection,
    version: &VersionId,
) -> SqlResult<Vec<StoredDiffInfo>> {
    let DiffTable { table, base, no_base, head, time, .. } = L::DIFFS;
    let sql = format!(
        "SELECT nullif({base}, {no_base}), {head}, {time} FROM {table} WHERE {head} = ?1 OR {base} = ?1"
    );
    let mut diffs = collect_rows(connection, &sql, [L::ID_FORM.value(version)], |row| {
        Ok(StoredDiffInfo {
            base: L::ID_FORM.read(row, 0, table)?,
            head: L::ID_FORM.read_required(row, 1, table)?,
            time: L::TIME_UNIT.moment(row.get(2)?),
        })
    })?;
    diffs.sort();
    Ok(diffs)
}

/// The number of diffs that were computed before an instant.
pub(crate) fn diffs_before<L: TableLayout>(connection: &Connection, before: Moment) -> SqlResult<u64> {
    let DiffTable { table, time, .. } = L::DIFFS;
    let sql = format!("SELECT count(*) FROM {table} WHERE {time} < ?1");
    let before = L::TIME_UNIT.at_or_after(before);
    Ok(connection.prepare_cached(&sql)?.query_row([before], |row| row.get(0))?)
}

/// The scores of a version, newest first.
pub(crate) fn scores<L: TableLayout>(
    connection: &Connection,
    version: &VersionId,
) -> SqlResult<Vec<StoredScore>> {
    let id = L::ID_FORM.value(version);
    collect_rows(connection, L::SELECT_SCORES, [id], |row| read_score::<L>(connection, row, version))
}

fn read_score<L: TableLayout>(
    connection: &Connection,
    row: &Row<'_>,
    version: &VersionId,
) -> SqlResult<StoredScore> {
    let mut score = StoredScore {
        version: *version,
        scoring_version: row.get(0)?,
        score: row.get(1)?,
        normalized: row.get::<_, Option<i64>>(2)?.unwrap_or(0).clamp(0, 100) as u8,
        confidence: row.get::<_, Option<f64>>(3)?.unwrap_or(0.0),
        json: row.get(4)?,
        time: L::TIME_UNIT.moment(row.get(5)?),
        evidence: Vec::new(),
        attributions: Vec::new(),
    };
    L::add_evidence(connection, row, &mut score)?;
    Ok(score)
}
