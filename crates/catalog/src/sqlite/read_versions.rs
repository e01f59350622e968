//! Versions are read.

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;
use varve_core::history::{ListCursor, Version, VersionFilter, VersionInfo, version_id_range};
use varve_core::{Moment, RecordId, RunId, VersionId};

use super::read_captures::{spellings, url_nos};
use varve_sqlite::UnlocatedError;
use varve_sqlite::sql_limit;

/// The columns that [`version_of`] reads.
const COLUMNS: &str =
    "o.id, o.parent, o.message, o.author, o.time, coalesce(o.run, o.named), o.record, o.captures";

/// How many versions there are, counted no further than `most`.
pub(super) fn count(connection: &Connection, most: u64) -> Result<u64, UnlocatedError> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM owners WHERE id IS NOT NULL LIMIT ?1)";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.query_row([most], |row| row.get(0))?)
}

/// A version.
pub(super) fn version(
    connection: &Connection,
    id: &VersionId,
) -> Result<Option<VersionInfo>, UnlocatedError> {
    let sql = format!("SELECT {COLUMNS} FROM owners AS o WHERE o.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id.as_bytes()], |row| Ok(info_of(connection, row))).optional()?;
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

/// The versions that descend directly from one, as they were written.
pub(super) fn of_run(connection: &Connection, run: &RunId) -> Result<Option<VersionId>, UnlocatedError> {
    let sql = "SELECT id FROM owners WHERE run = ?1 AND id IS NOT NULL";
    let id = connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| row.get(0)).optional()?;
    Ok(id.map(|id| VersionId::new(Uuid::from_bytes(id))))
}

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
    let ids = statement.query_map(params, |row| Ok(VersionId::new(Uuid::from_bytes(row.get(0)?))))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Versions, the newest first.
pub(super) fn versions(
    connection: &Connection,
    filter: &VersionFilter,
    page: ListCursor<VersionId>,
) -> Result<Vec<VersionInfo>, UnlocatedError> {
    let (from, which) = source(connection, filter)?;
    let sql = format!(
        "SELECT {COLUMNS} FROM {from}
         WHERE o.id IS NOT NULL AND o.time BETWEEN ?1 AND ?2 AND (o.time, o.written) < (?3, ?4) AND ?5 IS ?5
         ORDER BY o.time DESC, o.written DESC"
    );
    let since = filter.since.map_or(i64::MIN, Moment::micros);
    let until = filter.until.map_or(i64::MAX, Moment::micros);
    let (time, written) = place_of(connection, page.after)?;
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![since, until, time, written, which])?;
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

/// The least that must be looked through, and what `?5` stands for in it.
fn source(
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
                 ON v.line = s.line AND v.step > s.first AND v.step <= s.until
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

/// The time and the place among equals behind which a page begins.
fn place_of(connection: &Connection, after: Option<VersionId>) -> Result<(i64, i64), UnlocatedError> {
    let Some(after) = after else { return Ok((i64::MAX, i64::MAX)) };
    let sql = "SELECT time, written FROM owners WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let place = statement.query_row([after.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    place.ok_or(UnlocatedError::NoVersion(after))
}

fn info_of(connection: &Connection, row: &Row<'_>) -> Result<VersionInfo, UnlocatedError> {
    let version = version_of(row)?;
    let mut statement =
        connection.prepare_cached("SELECT name FROM tags WHERE version = ?1 ORDER BY name")?;
    let tags = statement.query_map([version.id.as_bytes()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(VersionInfo { version, captures: row.get(7)?, tags })
}

fn version_of(row: &Row<'_>) -> rusqlite::Result<Version> {
    let uuid = |column| row.get::<_, Option<[u8; 16]>>(column).map(|bytes| bytes.map(Uuid::from_bytes));
    Ok(Version {
        id: VersionId::new(Uuid::from_bytes(row.get(0)?)),
        parent: uuid(1)?.map(VersionId::new),
        message: row.get(2)?,
        author: row.get(3)?,
        time: Moment::from_micros(row.get(4)?),
        run: uuid(5)?.map(RunId::new),
        record: row.get::<_, Option<_>>(6)?.map(RecordId::new),
    })
}
