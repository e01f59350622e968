//! Reads versions, in any layout.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use varve_core::history::{Coverage, ListCursor, Version, VersionFilter, VersionInfo, uuid_range};
use varve_core::{RunId, VersionId};

use crate::column::blob_id;
use crate::table_layout::{TableLayout, TagTable, VersionTable};
use crate::{SqlResult, UnlocatedError, collect_rows, sql_limit};

/// The number of versions, counted up to `limit`.
pub(crate) fn count<L: TableLayout>(connection: &Connection, limit: u64) -> SqlResult<u64> {
    let VersionTable { table, .. } = L::VERSIONS;
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} AS v WHERE v.id IS NOT NULL LIMIT ?1)");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(&sql)?.query_row([limit], |row| row.get(0))?)
}

/// Whether a version exists.
pub(crate) fn exists<L: TableLayout>(connection: &Connection, id: &VersionId) -> SqlResult<bool> {
    let VersionTable { table, .. } = L::VERSIONS;
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} AS v WHERE v.id = ?1)");
    Ok(connection.prepare_cached(&sql)?.query_row([L::ID_FORM.value(id)], |row| row.get(0))?)
}

/// A version.
pub(crate) fn version<L: TableLayout>(
    connection: &Connection,
    id: &VersionId,
) -> SqlResult<Option<VersionInfo>> {
    let VersionTable { table, columns, .. } = L::VERSIONS;
    let sql = format!("SELECT {columns} FROM {table} AS v WHERE v.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok(read_info::<L>(connection, row));
    statement.query_row([L::ID_FORM.value(id)], read).optional()?.transpose()
}

/// The versions whose ids begin with these hex digits.
pub(crate) fn beginning<L: TableLayout>(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> SqlResult<Vec<VersionId>> {
    let Some((first, last)) = uuid_range(prefix) else { return Ok(Vec::new()) };
    let VersionTable { table, .. } = L::VERSIONS;
    let sql = format!("SELECT v.id FROM {table} AS v WHERE v.id BETWEEN ?1 AND ?2 ORDER BY v.id LIMIT ?3");
    let (first, last) = (VersionId::new(first), VersionId::new(last));
    let (first, last) = (L::ID_FORM.value(&first), L::ID_FORM.value(&last));
    ids::<L>(connection, &sql, params![first, last, sql_limit(limit)])
}

/// The version that a run became.
pub(crate) fn of_run<L: TableLayout>(connection: &Connection, run: &RunId) -> SqlResult<Option<VersionId>> {
    Ok(ids::<L>(connection, L::VERSION_OF_RUN, [L::ID_FORM.value(run)])?.pop())
}

/// The versions with this parent, in the order in which they were written.
pub(crate) fn children<L: TableLayout>(connection: &Connection, id: &VersionId) -> SqlResult<Vec<VersionId>> {
    let VersionTable { table, parent, order, .. } = L::VERSIONS;
    let sql = format!("SELECT v.id FROM {table} AS v WHERE v.{parent} = ?1 ORDER BY v.{order}");
    ids::<L>(connection, &sql, [L::ID_FORM.value(id)])
}

fn ids<L: TableLayout>(connection: &Connection, sql: &str, params: impl Params) -> SqlResult<Vec<VersionId>> {
    collect_rows(connection, sql, params, |row| L::ID_FORM.read_required(row, 0, L::VERSIONS.table))
}

/// Versions, newest first.
pub(crate) fn versions<L: TableLayout>(
    connection: &Connection,
    filter: &VersionFilter,
    cursor: ListCursor<VersionId>,
) -> SqlResult<Vec<VersionInfo>> {
    let VersionTable { columns, time, order, .. } = L::VERSIONS;
    let (from, parameter) = smallest_source::<L>(connection, filter)?;
    let sql = format!(
        "SELECT {columns} FROM {from}
         WHERE v.id IS NOT NULL AND v.{time} BETWEEN ?1 AND ?2 AND (v.{time}, v.{order}) < (?3, ?4) AND ?5 IS ?5
         ORDER BY v.{time} DESC, v.{order} DESC"
    );
    let since = filter.since.map_or(i64::MIN, |since| L::TIME_UNIT.at_or_after(since));
    let until = filter.until.map_or(i64::MAX, |until| L::TIME_UNIT.at_or_before(until));
    let (time, order) = cursor_position::<L>(connection, cursor.after)?;
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![since, until, time, order, parameter])?;
    let matcher = filter.text_matcher();
    let mut found = Vec::new();
    while found.len() < cursor.limit {
        let Some(row) = rows.next()? else { break };
        let info = read_info::<L>(connection, row)?;
        // An index that contradicts its table would lead the caller in a circle.
        if cursor.after == Some(info.version.id) {
            let what = "a version follows itself, so its index is wrong".to_owned();
            return Err(UnlocatedError::Damaged(L::VERSIONS.table, what));
        }
        if matcher.matches(&info) {
            found.push(info);
        }
    }
    Ok(found)
}

/// The `FROM` clause with the fewest rows for a filter, and the value of `?5` in it.
fn smallest_source<L: TableLayout>(
    connection: &Connection,
    filter: &VersionFilter,
) -> SqlResult<(String, Option<String>)> {
    if let Some(url) = &filter.url {
        return L::versions_with_url(connection, url);
    }
    let versions = L::VERSIONS.table;
    let TagTable { table, version } = L::TAGS;
    Ok(match &filter.tag {
        Some(tag) => {
            let tagged = format!("(SELECT {version} AS version FROM {table} WHERE name = ?5) AS t");
            (format!("{tagged} CROSS JOIN {versions} AS v ON v.id = t.version"), Some(tag.clone()))
        }
        None => (format!("{versions} AS v"), None),
    })
}

/// The time and the order of writing after which a batch begins.
fn cursor_position<L: TableLayout>(
    connection: &Connection,
    after: Option<VersionId>,
) -> SqlResult<(i64, i64)> {
    let Some(after) = after else { return Ok((i64::MAX, i64::MAX)) };
    let VersionTable { table, time, order, .. } = L::VERSIONS;
    let sql = format!("SELECT v.{time}, v.{order} FROM {table} AS v WHERE v.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    statement.query_row([L::ID_FORM.value(&after)], read).optional()?.ok_or(UnlocatedError::NoVersion(after))
}

fn read_info<L: TableLayout>(connection: &Connection, row: &Row<'_>) -> SqlResult<VersionInfo> {
    let version = read_version::<L>(row)?;
    let id = L::ID_FORM.value(&version.id);
    let captures =
        connection.prepare_cached(L::VERSIONS.capture_count)?.query_row([&id], |row| row.get(0))?;
    let TagTable { table, version: column } = L::TAGS;
    let sql = format!("SELECT name FROM {table} WHERE {column} = ?1 ORDER BY name");
    let tags = collect_rows(connection, &sql, [&id], |row| Ok(row.get(0)?))?;
    Ok(VersionInfo { version, captures, tags })
}

fn read_version<L: TableLayout>(row: &Row<'_>) -> SqlResult<Version> {
    let table = L::VERSIONS.table;
    Ok(Version {
        id: L::ID_FORM.read_required(row, 0, table)?,
        parent: L::ID_FORM.read(row, 1, table)?,
        message: row.get(2)?,
        author: row.get(3)?,
        time: L::TIME_UNIT.moment(row.get(4)?),
        run: L::ID_FORM.read(row, 5, table)?,
        record: blob_id(row, 6, table)?,
        coverage: read_coverage::<L>(row)?,
    })
}

fn read_coverage<L: TableLayout>(row: &Row<'_>) -> SqlResult<Option<Coverage>> {
    let json: Option<String> = row.get(7)?;
    let damaged = |error: serde_json::Error| UnlocatedError::Damaged(L::VERSIONS.table, error.to_string());
    json.map(|json| serde_json::from_str(&json).map_err(damaged)).transpose()
}
