//! Captures of a site are read.

use rusqlite::{Connection, Params, Row, params};
use serde_json::Value;
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Belongs, Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_core::url::PageUrl;
use varve_core::{BodyId, Moment, RecordId, VersionId};

use crate::error::CatalogError;
use crate::problem::Problem;
use crate::sql_limit;

/// What [`capture_of`] reads.
const PAGES: &str =
    "SELECT place, id, version_id, run, status_code, url, file_path, blob_id, created_at, headers,
    record, length, truncated FROM pages";

/// So many URLs of one path are looked at for spellings of one of them.
const MOST_WITH_QUERY: usize = 2_000;

/// The captures of a version behind `page.after`. Those that share path and URL come together.
pub(super) fn in_version(
    connection: &Connection,
    version: &VersionId,
    page: ListCursor<(&str, &str)>,
) -> Result<Vec<Capture>, Problem> {
    let version = version.to_string();
    let order = "ORDER BY file_path, url, created_at, place";
    let after = if page.after.is_some() { "(file_path, url) > (?3, ?4)" } else { "?3 IS ?4" };
    let sql = format!("{PAGES} WHERE version_id = ?1 AND {after} {order} LIMIT ?2");
    let (path, url) = page.after.unzip();
    let mut last_place: i64 = 0;
    let mut captures =
        collect(connection, &sql, params![version, sql_limit(page.limit), path, url], |row| {
            last_place = row.get(0)?;
            capture_of(row)
        })?;
    if let Some(last) = captures.last().filter(|_| captures.len() == page.limit) {
        let sql = format!(
            "{PAGES} WHERE version_id = ?1 AND file_path = ?2 AND url = ?3 AND (created_at, place) > (?4, ?5) {order}"
        );
        let params = params![version, last.path, last.url, last.time.seconds(), last_place];
        let mut rest = collect(connection, &sql, params, capture_of)?;
        captures.append(&mut rest);
    }
    Ok(captures)
}

/// The captures of a version with one path.
pub(super) fn at_path(
    connection: &Connection,
    version: &VersionId,
    path: &str,
) -> Result<Vec<Capture>, Problem> {
    let sql = format!("{PAGES} WHERE version_id = ?1 AND file_path = ?2 ORDER BY url, created_at, place");
    collect(connection, &sql, params![version.to_string(), path], capture_of)
}

/// The captures of some URLs, in one line.
pub(super) fn of_urls(
    connection: &Connection,
    wanted: &[&str],
    filter: &CaptureFilter,
    order: TimeOrder,
    page: ListCursor<&Capture>,
) -> Result<Vec<Capture>, Problem> {
    let (compare, direction) = match order {
        TimeOrder::OldestFirst => (">", "ASC"),
        TimeOrder::NewestFirst => ("<", "DESC"),
    };
    let committed = if filter.committed_only { "AND version_id IS NOT NULL" } else { "" };
    let sql = format!(
        "{PAGES} WHERE url IN (SELECT value FROM json_each(?1)) AND created_at BETWEEN ?2 AND ?3 AND (created_at, place) {compare} (?4, ?5)
         {committed} ORDER BY created_at {direction}, place {direction} LIMIT ?6"
    );
    let since = filter.since.map_or(i64::MIN, seconds_up);
    let until = filter.until.map_or(i64::MAX, Moment::seconds);
    let (time, place) = begin_behind(connection, order, page.after)?;
    let wanted = serde_json::to_string(wanted).expect("texts can be written as JSON");
    collect(connection, &sql, params![wanted, since, until, time, place, sql_limit(page.limit)], capture_of)
}

/// The captures of some URLs in a version.
pub(super) fn of_urls_in(
    connection: &Connection,
    version: &VersionId,
    wanted: &[&str],
) -> Result<Vec<Capture>, Problem> {
    let sql = format!(
        "{PAGES} WHERE version_id = ?1 AND url IN (SELECT value FROM json_each(?2)) ORDER BY created_at, place"
    );
    let wanted = serde_json::to_string(wanted).expect("texts can be written as JSON");
    collect(connection, &sql, params![version.to_string(), wanted], capture_of)
}

/// The first whole second at or after an instant.
pub(super) fn seconds_up(moment: Moment) -> i64 {
    moment.seconds() + i64::from(moment != Moment::from_seconds(moment.seconds()))
}

fn begin_behind(
    connection: &Connection,
    order: TimeOrder,
    after: Option<&Capture>,
) -> Result<(i64, i64), Problem> {
    let (before_all, behind_equals) = match order {
        TimeOrder::OldestFirst => (i64::MIN, i64::MAX),
        TimeOrder::NewestFirst => (i64::MAX, i64::MIN),
    };
    let Some(after) = after else { return Ok((before_all, before_all)) };
    // An early site may tie one snapshot to several versions.
    let sql = "SELECT place, version_id, run FROM pages WHERE id = ?1";
    let (version, run) = match after.belongs {
        Belongs::Version(id) => (Some(id.to_string()), None),
        Belongs::Run(id) => (None, Some(id.to_string())),
    };
    let places = collect(connection, sql, [after.id.to_string()], |row| {
        let same = row.get::<_, Option<String>>(1)? == version && row.get::<_, Option<String>>(2)? == run;
        Ok((same, row.get::<_, i64>(0)?))
    })?;
    let place = places.iter().find(|(same, _)| *same).or(places.first());
    Ok((after.time.seconds(), place.map_or(behind_equals, |(_, place)| *place)))
}

/// The URLs with the same address as this one. A site has no number for them, so all are looked at that differ from the
/// address behind their path only, as nearly all spellings do.
pub(super) fn spellings(connection: &Connection, url: &str) -> Result<Vec<String>, Problem> {
    let Some(wanted) = PageUrl::parse(url) else { return Ok(Vec::new()) };
    let bare = wanted.as_str().split('?').next().unwrap_or_default();
    let with_query = format!("{bare}?");
    let mut found = urls(connection, &with_query, ListCursor::first(MOST_WITH_QUERY))?;
    for exactly in [bare, url] {
        let first = urls(connection, exactly, ListCursor::first(1))?;
        found.extend(first.into_iter().filter(|first| first == exactly));
    }
    found.retain(|kept| PageUrl::parse(kept).as_ref() == Some(&wanted));
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// URLs that begin with a text: one step for each, however often it was captured.
pub(super) fn urls(
    connection: &Connection,
    prefix: &str,
    page: ListCursor<&str>,
) -> Result<Vec<String>, Problem> {
    let next = |compare: &str| {
        format!(
            "SELECT min(url) FROM (SELECT min(url) AS url FROM snapshots WHERE url {compare} ?1
             UNION ALL SELECT min(url) FROM varve_run_snapshots WHERE url {compare} ?1)"
        )
    };
    let (first, later) = (next(">="), next(">"));
    let mut found: Vec<String> = Vec::new();
    while found.len() < page.limit {
        let last = found.last().map(String::as_str).or(page.after.filter(|after| *after >= prefix));
        let (sql, from) = last.map_or((&first, prefix), |last| (&later, last));
        let url: Option<String> = connection.prepare_cached(sql)?.query_row([from], |row| row.get(0))?;
        match url.filter(|url| url.starts_with(prefix)) {
            Some(url) => found.push(url),
            None => break,
        }
    }
    Ok(found)
}

/// Every body that a capture refers to.
pub(super) fn each_body(
    connection: &Connection,
    each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>,
) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached("SELECT place, id, blob_id FROM pages")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(parsed(row, 2)?)?;
    }
    Ok(())
}

fn collect<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    connection.prepare_cached(sql)?.query_and_then(params, read)?.collect()
}

fn capture_of(row: &Row<'_>) -> Result<Capture, Problem> {
    let belongs = match row.get_ref(2)? {
        rusqlite::types::ValueRef::Null => Belongs::Run(parsed(row, 3)?),
        _ => Belongs::Version(parsed(row, 2)?),
    };
    Ok(Capture {
        id: parsed(row, 1)?,
        belongs,
        url: row.get(5)?,
        path: row.get(6)?,
        time: Moment::from_seconds(row.get(8)?),
        status: u16::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
        headers: headers_of(row)?,
        body: parsed(row, 7)?,
        length: row.get(11)?,
        record: row.get::<_, Option<_>>(10)?.map(RecordId::new),
        truncated: row.get(12)?,
    })
}

/// Reads an id.
fn parsed<T: std::str::FromStr<Err = varve_core::id::IdError>>(
    row: &Row<'_>,
    column: usize,
) -> Result<T, Problem> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: varve_core::id::IdError| damaged(row, &error.to_string()))
}

/// Headers as Moku wrote them: an object of lists, or the word `null`. A batch of Moku writes names as servers spelled them, and
/// what is compared, hidden and scored is told by its name: so they are brought to one form.
fn headers_of(row: &Row<'_>) -> Result<HeaderView, Problem> {
    let Some(json) = row.get::<_, Option<String>>(9)? else { return Ok(HeaderView::default()) };
    if json.is_empty() {
        return Ok(HeaderView::default());
    }
    let value: Value = serde_json::from_str(&json).map_err(|error| damaged(row, &error.to_string()))?;
    match value {
        Value::Null => Ok(HeaderView::default()),
        Value::Object(object) => {
            let values = |(name, values): (String, Value)| {
                texts(values).into_iter().map(move |value| (name.clone(), value))
            };
            Ok(HeaderView::from_pairs(object.into_iter().flat_map(values), Redaction::Off))
        }
        _ => Err(damaged(row, "its headers are no object")),
    }
}

fn texts(values: Value) -> Vec<String> {
    match values {
        Value::Array(values) => values.into_iter().flat_map(texts).collect(),
        Value::String(text) => vec![text],
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

fn damaged(row: &Row<'_>, what: &str) -> Problem {
    let id: String = row.get(1).unwrap_or_default();
    Problem::Damaged("snapshots", format!("{id}: {what}"))
}
