//! Reads captures of a site.

use rusqlite::{Connection, Row, params};
use serde_json::Value;
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureFilter, CaptureOwner, ListCursor, TimeOrder};
use varve_core::url::PageUrl;
use varve_core::{BodyId, Moment, RecordId, VersionId};

use crate::create_tables::MokuTables;
use varve_core::catalog::CatalogResult;
use varve_sqlite::column::TimeUnit;
use varve_sqlite::{
    CaptureTables, SqlResult, UnlocatedError, collect_rows, cursor_limits, sql_limit, sql_order,
};

/// The columns that [`read_capture`] expects.
const SELECT_PAGES: &str =
    "SELECT place, id, version_id, run, status_code, url, file_path, blob_id, created_at, headers,
    record, length, truncated FROM pages";

/// The maximum number of URLs with one path that are compared to find spellings of a URL.
const MAX_COMPARED_URLS: usize = 2_000;

impl CaptureTables for MokuTables {
    fn versions_with_url(connection: &Connection, url: &str) -> SqlResult<(String, Option<String>)> {
        let spellings = Self::spellings_of(connection, url)?;
        let urls: Vec<&str> = std::iter::once(url).chain(spellings.iter().map(String::as_str)).collect();
        let pages = "SELECT DISTINCT version_id FROM pages WHERE url IN (SELECT value FROM json_each(?5))";
        let from = format!("({pages}) AS p CROSS JOIN commits AS v ON v.id = p.version_id");
        Ok((from, Some(json_texts(&urls))))
    }

    fn captures_in(
        connection: &Connection,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<Capture>> {
        let version = version.to_string();
        let order = "ORDER BY file_path, url, created_at, place";
        let after = if cursor.after.is_some() { "(file_path, url) > (?3, ?4)" } else { "?3 IS ?4" };
        let sql = format!("{SELECT_PAGES} WHERE version_id = ?1 AND {after} {order} LIMIT ?2");
        let (path, url) = cursor.after.unzip();
        let mut last_place: i64 = 0;
        let mut captures =
            collect_rows(connection, &sql, params![version, sql_limit(cursor.limit), path, url], |row| {
                last_place = row.get(0)?;
                read_capture(row)
            })?;
        if let Some(last) = captures.last().filter(|_| captures.len() == cursor.limit) {
            let sql = format!(
                "{SELECT_PAGES} WHERE version_id = ?1 AND file_path = ?2 AND url = ?3 AND (created_at, place) > (?4, ?5) {order}"
            );
            let params = params![version, last.path, last.url, last.time.seconds(), last_place];
            let mut rest = collect_rows(connection, &sql, params, read_capture)?;
            captures.append(&mut rest);
        }
        Ok(captures)
    }

    fn captures_at_path(connection: &Connection, version: &VersionId, path: &str) -> SqlResult<Vec<Capture>> {
        let sql = format!(
            "{SELECT_PAGES} WHERE version_id = ?1 AND file_path = ?2 ORDER BY url, created_at, place"
        );
        collect_rows(connection, &sql, params![version.to_string(), path], read_capture)
    }

    fn captures_of_any(
        connection: &Connection,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> SqlResult<Vec<Capture>> {
        let (compare, direction) = sql_order(order);
        let committed = if filter.committed_only { "AND version_id IS NOT NULL" } else { "" };
        let sql = format!(
            "{SELECT_PAGES} WHERE url IN (SELECT value FROM json_each(?1)) AND created_at BETWEEN ?2 AND ?3 AND (created_at, place) {compare} (?4, ?5)
             {committed} ORDER BY created_at {direction}, place {direction} LIMIT ?6"
        );
        let since = filter.since.map_or(i64::MIN, |since| TimeUnit::Seconds.at_or_after(since));
        let until = filter.until.map_or(i64::MAX, Moment::seconds);
        let (time, place) = cursor_position(connection, order, cursor.after)?;
        let urls = json_texts(urls);
        collect_rows(
            connection,
            &sql,
            params![urls, since, until, time, place, sql_limit(cursor.limit)],
            read_capture,
        )
    }

    fn captures_of_any_in(
        connection: &Connection,
        version: &VersionId,
        urls: &[&str],
    ) -> SqlResult<Vec<Capture>> {
        let sql = format!(
            "{SELECT_PAGES} WHERE version_id = ?1 AND url IN (SELECT value FROM json_each(?2)) ORDER BY created_at, place"
        );
        let urls = json_texts(urls);
        collect_rows(connection, &sql, params![version.to_string(), urls], read_capture)
    }

    fn spellings_of(connection: &Connection, url: &str) -> SqlResult<Vec<String>> {
        let Some(wanted) = PageUrl::parse(url) else { return Ok(Vec::new()) };
        let bare = wanted.as_str().split('?').next().unwrap_or_default();
        let with_query = format!("{bare}?");
        let mut found = Self::urls(connection, &with_query, ListCursor::first(MAX_COMPARED_URLS))?;
        for exactly in [bare, url] {
            let first = Self::urls(connection, exactly, ListCursor::first(1))?;
            found.extend(first.into_iter().filter(|first| first == exactly));
        }
        found.retain(|kept| PageUrl::parse(kept).as_ref() == Some(&wanted));
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn urls(connection: &Connection, prefix: &str, cursor: ListCursor<&str>) -> SqlResult<Vec<String>> {
        let next = |compare: &str| {
            format!(
                "SELECT min(url) FROM (SELECT min(url) AS url FROM snapshots WHERE url {compare} ?1
                 UNION ALL SELECT min(url) FROM varve_run_snapshots WHERE url {compare} ?1)"
            )
        };
        let (first, later) = (next(">="), next(">"));
        let mut found: Vec<String> = Vec::new();
        while found.len() < cursor.limit {
            let last = found.last().map(String::as_str).or(cursor.after.filter(|after| *after >= prefix));
            let (sql, from) = last.map_or((&first, prefix), |last| (&later, last));
            let url: Option<String> = connection.prepare_cached(sql)?.query_row([from], |row| row.get(0))?;
            match url.filter(|url| url.starts_with(prefix)) {
                Some(url) => found.push(url),
                None => break,
            }
        }
        Ok(found)
    }

    fn each_body(
        connection: &Connection,
        each: &mut dyn FnMut(BodyId) -> CatalogResult<()>,
    ) -> SqlResult<()> {
        let mut statement = connection.prepare_cached("SELECT place, id, blob_id FROM pages")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(parse_column(row, 2)?)?;
        }
        Ok(())
    }
}

/// Texts as a JSON array, for `json_each`.
fn json_texts(texts: &[&str]) -> String {
    serde_json::to_string(texts).expect("texts can be written as JSON")
}

fn cursor_position(
    connection: &Connection,
    order: TimeOrder,
    after: Option<&Capture>,
) -> SqlResult<(i64, i64)> {
    let (before_all, after_equals) = cursor_limits(order);
    let Some(after) = after else { return Ok((before_all, before_all)) };
    // An early site may tie one snapshot to several versions.
    let sql = "SELECT place, version_id, run FROM pages WHERE id = ?1";
    let (version, run) = match after.owner {
        CaptureOwner::Version(id) => (Some(id.to_string()), None),
        CaptureOwner::Run(id) => (None, Some(id.to_string())),
    };
    let places = collect_rows(connection, sql, [after.id.to_string()], |row| {
        let same = row.get::<_, Option<String>>(1)? == version && row.get::<_, Option<String>>(2)? == run;
        Ok((same, row.get::<_, i64>(0)?))
    })?;
    let place = places.iter().find(|(same, _)| *same).or(places.first());
    Ok((after.time.seconds(), place.map_or(after_equals, |(_, place)| *place)))
}

fn read_capture(row: &Row<'_>) -> SqlResult<Capture> {
    let belongs = match row.get_ref(2)? {
        rusqlite::types::ValueRef::Null => CaptureOwner::Run(parse_column(row, 3)?),
        _ => CaptureOwner::Version(parse_column(row, 2)?),
    };
    Ok(Capture {
        id: parse_column(row, 1)?,
        owner: belongs,
        url: row.get(5)?,
        path: row.get(6)?,
        time: Moment::from_seconds(row.get(8)?),
        status: u16::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
        headers: read_headers(row)?,
        body: parse_column(row, 7)?,
        length: row.get(11)?,
        record: row.get::<_, Option<_>>(10)?.map(RecordId::new),
        truncated: row.get(12)?,
    })
}

/// Reads an id.
fn parse_column<T: std::str::FromStr<Err = varve_core::id::IdError>>(
    row: &Row<'_>,
    column: usize,
) -> SqlResult<T> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: varve_core::id::IdError| damaged(row, &format!("`{text}`: {error}")))
}

/// Reads headers as Moku wrote them: an object of lists, or `null`. A batch of Moku keeps names as
/// the server spelled them. Comparison, redaction and scoring go by name, so names are normalised
/// here.
fn read_headers(row: &Row<'_>) -> SqlResult<HeaderView> {
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
        _ => Err(damaged(row, "its headers are not an object")),
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

fn damaged(row: &Row<'_>, what: &str) -> UnlocatedError {
    let id: String = row.get(1).unwrap_or_default();
    UnlocatedError::Damaged("snapshots", format!("{id}: {what}"))
}
