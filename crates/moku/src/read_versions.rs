//! Reads versions of a site.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::history::{ListCursor, Version, VersionFilter, VersionInfo, version_id_range};
use varve_core::{Moment, VersionId};

use crate::read_captures::{seconds_up, spellings};
use varve_sqlite::UnlocatedError;
use varve_sqlite::column::{blob_id, required_text_id, text_id};
use varve_sqlite::sql_limit;

/// The columns that [`read_version`] expects.
const VERSION_COLUMNS: &str = "c.id, c.parent_id, c.message, c.author, c.timestamp, c.run, c.record";

/// The number of versions, counted up to `limit`.
pub(crate) fn count(connection: &Connection, limit: u64) -> Result<u64, UnlocatedError> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM versions LIMIT ?1)";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.query_row([limit], |row| row.get(0))?)
}

/// A version.
pub(crate) fn version(
    connection: &Connection,
    id: &VersionId,
) -> Result<Option<VersionInfo>, UnlocatedError> {
    let sql = format!("SELECT {VERSION_COLUMNS} FROM commits AS c WHERE c.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id.to_string()], |row| Ok(read_info(connection, row))).optional()?;
    found.transpose()
}

/// The versions whose ids begin with these hex digits.
pub(crate) fn beginning(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> Result<Vec<VersionId>, UnlocatedError> {
    let Some((first, last)) = version_id_range(prefix) else { return Ok(Vec::new()) };
    let sql = "SELECT id FROM versions WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
    ids(connection, sql, params![first.to_string(), last.to_string(), sql_limit(limit)])
}

/// The versions with this parent, in the order in which they were written.
pub(crate) fn children(connection: &Connection, id: &VersionId) -> Result<Vec<VersionId>, UnlocatedError> {
    ids(connection, "SELECT id FROM versions WHERE parent_id = ?1 ORDER BY rowid", [id.to_string()])
}

fn ids(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<VersionId>, UnlocatedError> {
    connection
        .prepare_cached(sql)?
        .query_and_then(params, |row| required_text_id(row, 0, "versions"))?
        .collect()
}

/// Versions, newest first.
pub(crate) fn versions(
    connection: &Connection,
    filter: &VersionFilter,
    cursor: ListCursor<VersionId>,
) -> Result<Vec<VersionInfo>, UnlocatedError> {
    let (which, asked) = match (&filter.url, &filter.tag) {
        (Some(url), _) => {
            let urls = [vec![url.clone()], spellings(connection, url)?].concat();
            let urls = serde_json::to_string(&urls).expect("texts can be written as JSON");
            let any = "SELECT version_id FROM pages WHERE url IN (SELECT value FROM json_each(?5))";
            (format!("AND c.id IN ({any})"), Some(urls))
        }
        (None, Some(tag)) => {
            let tagged = "AND c.id = (SELECT version_id FROM varve_tags WHERE name = ?5)";
            (tagged.to_owned(), Some(tag.clone()))
        }
        (None, None) => ("AND ?5 IS NULL".to_owned(), None),
    };
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM commits AS c
         WHERE c.timestamp BETWEEN ?1 AND ?2 AND (c.timestamp, c.place) < (?3, ?4) {which}
         ORDER BY c.timestamp DESC, c.place DESC"
    );
    let since = filter.since.map_or(i64::MIN, seconds_up);
    let until = filter.until.map_or(i64::MAX, Moment::seconds);
    let (time, place) = cursor_position(connection, cursor.after)?;
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![since, until, time, place, asked])?;
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

fn cursor_position(connection: &Connection, after: Option<VersionId>) -> Result<(i64, i64), UnlocatedError> {
    let Some(after) = after else { return Ok((i64::MAX, i64::MAX)) };
    let mut statement = connection.prepare_cached("SELECT timestamp, place FROM commits WHERE id = ?1")?;
    let place = statement.query_row([after.to_string()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    place.ok_or(UnlocatedError::NoVersion(after))
}

fn read_info(connection: &Connection, row: &Row<'_>) -> Result<VersionInfo, UnlocatedError> {
    let version = read_version(row)?;
    let id = version.id.to_string();
    let captures = connection
        .prepare_cached("SELECT count(*) FROM pages WHERE version_id = ?1")?
        .query_row([&id], |row| row.get(0))?;
    let mut statement =
        connection.prepare_cached("SELECT name FROM varve_tags WHERE version_id = ?1 ORDER BY name")?;
    let tags = statement.query_map([&id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(VersionInfo { version, captures, tags })
}

fn read_version(row: &Row<'_>) -> Result<Version, UnlocatedError> {
    Ok(Version {
        id: required_text_id(row, 0, "versions")?,
        parent: text_id(row, 1, "versions")?,
        message: row.get(2)?,
        author: row.get::<_, Option<String>>(3)?.filter(|author| !author.is_empty()),
        time: Moment::from_seconds(row.get(4)?),
        run: text_id(row, 5, "varve_versions")?,
        record: blob_id(row, 6, "varve_versions")?,
    })
}
