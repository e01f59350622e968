//! Reads versions.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::history::{ListCursor, Version, VersionFilter, VersionInfo, version_id_range};
use varve_core::{Moment, RunId, VersionId};

use super::read_captures::{spellings, url_nos};
use varve_sqlite::UnlocatedError;
use varve_sqlite::column::{blob_id, required_blob_id};
use varve_sqlite::sql_limit;

/// The columns that [`read_version`] expects.
const VERSION_COLUMNS: &str =
    "o.id, o.parent, o.message, o.author, o.time, coalesce(o.run, o.named), o.record, o.captures";

/// The number of versions, counted up to `limit`.
pub(super) fn count(connection: &Connection, limit: u64) -> Result<u64, UnlocatedError> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM owners WHERE id IS NOT NULL LIMIT ?1)";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.query_row([limit], |row| row.get(0))?)
}

/// A version.
pub(super) fn version(
    connection: &Connection,
    id: &VersionId,
) -> Result<Option<VersionInfo>, UnlocatedError> {
    let sql = format!("SELECT {VERSION_COLUMNS} FROM owners AS o WHERE o.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id.as_bytes()], |row| Ok(read_info(connection, row))).optional()?;
    found.transpose()
}

/// The versions whose ids begin with these hex digits.
pub(super) fn beginning(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> Result<Vec<VersionId>, UnlocatedError> {
    let Some((first, last)) = version_id_range(prefix) else { return Ok(Vec::new()) };
    let sql = "SELECT id FROM owners WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
    ids(connection, sql, params![first.as_bytes(), last.as_bytes(), sql_limit(limit)])
}

/// The version that a run became.
pub(super) fn of_run(connection: &Connection, run: &RunId) -> Result<Option<VersionId>, UnlocatedError> {
    let sql = "SELECT id FROM owners WHERE run = ?1 AND id IS NOT NULL";
    Ok(ids(connection, sql, [run.as_bytes()])?.pop())
}

/// The versions with this parent, in the order in which they were written.
pub(super) fn children(connection: &Connection, id: &VersionId) -> Result<Vec<VersionId>, UnlocatedError> {
    let sql = "SELECT id FROM owners WHERE parent = ?1 ORDER BY written";
    ids(connection, sql, [id.as_bytes()])
}

fn ids(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<VersionId>, UnlocatedError> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then(params, |row| required_blob_id(row, 0, "owners"))?.collect()
}

/// Versions, newest first.
pub(super) fn versions(
    connection: &Connection,
    filter: &VersionFilter,
    cursor: ListCursor<VersionId>,
) -> Result<Vec<VersionInfo>, UnlocatedError> {
    let (from, parameter) = smallest_source(connection, filter)?;
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM {from}
         WHERE o.id IS NOT NULL AND o.time BETWEEN ?1 AND ?2 AND (o.time, o.written) < (?3, ?4) AND ?5 IS ?5
         ORDER BY o.time DESC, o.written DESC"
    );
    let since = filter.since.map_or(i64::MIN, Moment::micros);
    let until = filter.until.map_or(i64::MAX, Moment::micros);
    let (time, written) = cursor_position(connection, cursor.after)?;
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![since, until, time, written, parameter])?;
    let matcher = filter.text_matcher();
    let mut found = Vec::new();
    while found.len() < cursor.limit {
        let Some(row) = rows.next()? else { break };
        let info = read_info(connection, row)?;
        if matcher.matches(&info) {
            found.push(info);
        }
    }
    Ok(found)
}

/// The `FROM` clause with the fewest rows for a filter, and the value of `?5` in it.
fn smallest_source(
    connection: &Connection,
    filter: &VersionFilter,
) -> Result<(String, Option<rusqlite::types::Value>), UnlocatedError> {
    if let Some(url) = &filter.url {
        let mut numbers = url_nos(connection, url)?;
        for spelling in spellings(connection, url)?.iter().filter(|spelling| *spelling != url) {
            numbers.extend(url_nos(connection, spelling)?);
        }
        let numbers = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let holding = format!(
            "SELECT owner_no FROM captures WHERE url_no IN ({numbers})
             UNION SELECT v.no FROM spans AS s CROSS JOIN owners AS v
                 ON v.version_run = s.version_run AND v.sequence > s.first AND v.sequence <= s.until
             WHERE s.url_no IN ({numbers}) AND s.until > s.first"
        );
        return Ok((format!("({holding}) AS c CROSS JOIN owners AS o ON o.no = c.owner_no"), None));
    }
    match &filter.tag {
        Some(tag) => {
            let tagged =
                "(SELECT version FROM tags WHERE name = ?5) AS t CROSS JOIN owners AS o ON o.id = t.version";
            Ok((tagged.to_owned(), Some(tag.clone().into())))
        }
        None => Ok(("owners AS o".to_owned(), None)),
    }
}

/// The time and the order of writing after which a batch begins.
fn cursor_position(connection: &Connection, after: Option<VersionId>) -> Result<(i64, i64), UnlocatedError> {
    let Some(after) = after else { return Ok((i64::MAX, i64::MAX)) };
    let sql = "SELECT time, written FROM owners WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let position =
        statement.query_row([after.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    position.ok_or(UnlocatedError::NoVersion(after))
}

fn read_info(connection: &Connection, row: &Row<'_>) -> Result<VersionInfo, UnlocatedError> {
    let version = read_version(row)?;
    let mut statement =
        connection.prepare_cached("SELECT name FROM tags WHERE version = ?1 ORDER BY name")?;
    let tags = statement.query_map([version.id.as_bytes()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(VersionInfo { version, captures: row.get(7)?, tags })
}

fn read_version(row: &Row<'_>) -> Result<Version, UnlocatedError> {
    Ok(Version {
        id: required_blob_id(row, 0, "owners")?,
        parent: blob_id(row, 1, "owners")?,
        message: row.get(2)?,
        author: row.get(3)?,
        time: Moment::from_micros(row.get(4)?),
        run: blob_id(row, 5, "owners")?,
        record: blob_id(row, 6, "owners")?,
    })
}
