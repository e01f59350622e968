//! Versions of a site are read.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::history::{ListCursor, Version, VersionFilter, VersionInfo, version_id_range};
use varve_core::{Moment, RecordId, VersionId};

use super::read_captures::{seconds_up, spellings};
use crate::problem::Problem;
use crate::sql_limit;

/// The columns that [`version_of`] reads.
const COLUMNS: &str = "c.id, c.parent_id, c.message, c.author, c.timestamp, c.run, c.record";

/// How many versions there are, counted no further than `most`.
pub(super) fn count(connection: &Connection, most: u64) -> Result<u64, Problem> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM versions LIMIT ?1)";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.query_row([most], |row| row.get(0))?)
}

/// A version.
pub(super) fn version(connection: &Connection, id: &VersionId) -> Result<Option<VersionInfo>, Problem> {
    let sql = format!("SELECT {COLUMNS} FROM commits AS c WHERE c.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id.to_string()], |row| Ok(info_of(connection, row))).optional()?;
    found.transpose()
}

/// The versions whose ids begin with these hex digits.
pub(super) fn beginning(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> Result<Vec<VersionId>, Problem> {
    let Some((first, last)) = version_id_range(prefix) else { return Ok(Vec::new()) };
    let sql = "SELECT id FROM versions WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
    ids(connection, sql, params![first.to_string(), last.to_string(), sql_limit(limit)])
}

/// The versions that descend directly from one, as they were written.
pub(super) fn children(connection: &Connection, id: &VersionId) -> Result<Vec<VersionId>, Problem> {
    ids(connection, "SELECT id FROM versions WHERE parent_id = ?1 ORDER BY rowid", [id.to_string()])
}

fn ids(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<VersionId>, Problem> {
    connection.prepare_cached(sql)?.query_and_then(params, |row| id_at(row, 0))?.collect()
}

/// Versions, the newest first.
pub(super) fn versions(
    connection: &Connection,
    filter: &VersionFilter,
    page: ListCursor<VersionId>,
) -> Result<Vec<VersionInfo>, Problem> {
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
        "SELECT {COLUMNS} FROM commits AS c
         WHERE c.timestamp BETWEEN ?1 AND ?2 AND (c.timestamp, c.place) < (?3, ?4) {which}
         ORDER BY c.timestamp DESC, c.place DESC"
    );
    let since = filter.since.map_or(i64::MIN, seconds_up);
    let until = filter.until.map_or(i64::MAX, Moment::seconds);
    let (time, place) = place_of(connection, page.after)?;
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![since, until, time, place, asked])?;
    let matcher = filter.text_matcher();
    let mut found = Vec::new();
    while found.len() < page.limit {
        let Some(row) = rows.next()? else { break };
        let info = info_of(connection, row)?;
        if matcher.matches(&info) {
            found.push(info);
        }
    }
    Ok(found)
}

fn place_of(connection: &Connection, after: Option<VersionId>) -> Result<(i64, i64), Problem> {
    let Some(after) = after else { return Ok((i64::MAX, i64::MAX)) };
    let mut statement = connection.prepare_cached("SELECT timestamp, place FROM commits WHERE id = ?1")?;
    let place = statement.query_row([after.to_string()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    place.ok_or(Problem::NoVersion(after))
}

fn info_of(connection: &Connection, row: &Row<'_>) -> Result<VersionInfo, Problem> {
    let version = version_of(row)?;
    let id = version.id.to_string();
    let captures = connection
        .prepare_cached("SELECT count(*) FROM pages WHERE version_id = ?1")?
        .query_row([&id], |row| row.get(0))?;
    let mut statement =
        connection.prepare_cached("SELECT name FROM varve_tags WHERE version_id = ?1 ORDER BY name")?;
    let tags = statement.query_map([&id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(VersionInfo { version, captures, tags })
}

fn version_of(row: &Row<'_>) -> Result<Version, Problem> {
    let damaged = |error: varve_core::id::IdError| Problem::Damaged("varve_versions", error.to_string());
    let run: Option<String> = row.get(5)?;
    Ok(Version {
        id: id_at(row, 0)?,
        parent: if row.get::<_, Option<String>>(1)?.is_some() { Some(id_at(row, 1)?) } else { None },
        message: row.get(2)?,
        author: row.get::<_, Option<String>>(3)?.filter(|author| !author.is_empty()),
        time: Moment::from_seconds(row.get(4)?),
        run: run.map(|run| run.parse().map_err(damaged)).transpose()?,
        record: row.get::<_, Option<_>>(6)?.map(RecordId::new),
    })
}

/// Reads the id of a version.
pub(super) fn id_at(row: &Row<'_>, column: usize) -> Result<VersionId, Problem> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| Problem::Damaged("versions", format!("{text}: {error}")))
}
