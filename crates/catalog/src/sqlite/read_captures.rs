//! Captures are read: of a version, of a URL; and the URLs themselves.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use uuid::Uuid;
use varve_core::headers::HeaderView;
use varve_core::history::{Belongs, Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_core::url::{PageUrl, key};
use varve_core::{BodyId, CaptureId, Moment, RecordId, RunId, VersionId};

use super::headers;
use super::read_spans::{self, InLine, Key, Wanted};
use varve_core::catalog::CatalogError;
use varve_sqlite::UnlocatedError;
use varve_sqlite::sql_limit;

/// The 32 bytes of a body's id, wherever they are.
pub(super) const RESOLVED_BODY: &str =
    "iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body)";

/// The columns that [`capture_of`] reads; in [`CAPTURE`] as well, which has the number of the owner besides.
const COLUMNS: &str = "c.no, c.time, c.status, h.json, c.own_headers,
    iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body),
    c.length, c.record, c.truncated, c.id, u.url, u.path, o.id, o.run, o.by_run";

/// Captures with all that belongs to them.
pub(super) const CAPTURE: &str = "SELECT c.no, c.time, c.status, h.json, c.own_headers,
    iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body),
    c.length, c.record, c.truncated, c.id, u.url, u.path, o.id, o.run, o.by_run, c.owner_no
    FROM captures AS c CROSS JOIN owners AS o ON o.no = c.owner_no CROSS JOIN urls AS u ON u.no = c.url_no
    LEFT JOIN headers AS h ON h.no = c.headers_no";

/// The number by which rows of a URL are found: that of its address, so that all its spellings are found together. A text that is
/// no URL has one as well.
pub(super) fn url_key(url: &str) -> i64 {
    let page = PageUrl::parse(url).map(|page| page.key());
    page.or_else(|| key(url).ok()).map_or(0, varve_core::UrlKey::to_signed)
}

/// The records of a run's captures. The record of a capture that a run made is never that of its body.
pub(super) fn each_record_of_run(
    connection: &Connection,
    run: &RunId,
    each: &mut dyn FnMut(RecordId),
) -> Result<(), UnlocatedError> {
    let sql = "SELECT c.record FROM captures AS c JOIN owners AS o ON o.no = c.owner_no
        WHERE o.run = ?1 AND typeof(c.record) = 'blob'";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([run.as_bytes()])?;
    while let Some(row) = rows.next()? {
        each(RecordId::new(row.get(0)?));
    }
    Ok(())
}

/// The captures of a version behind `page.after`. Those that share path and URL come together.
pub(super) fn in_version(
    connection: &Connection,
    version: &VersionId,
    page: ListCursor<(&str, &str)>,
) -> Result<Vec<Capture>, UnlocatedError> {
    let Some((owner, held, line)) = owner_of(connection, version)? else { return Ok(Vec::new()) };
    if let Some(line) = line {
        return read_spans::in_version(connection, line, held, page);
    }
    let limit = sql_limit(page.limit);
    let from = if walking_is_cheaper(connection, held, limit)? {
        "urls AS u CROSS JOIN captures AS c INDEXED BY captures_by_owner ON c.owner_no = ?1 AND c.url_no = u.no"
    } else {
        "captures AS c INDEXED BY captures_by_owner CROSS JOIN urls AS u ON u.no = c.url_no"
    };
    let after = if page.after.is_some() { "AND (u.path, u.url) > (?3, ?4)" } else { "AND ?3 IS ?4" };
    let sql = format!(
        "SELECT {COLUMNS}, c.url_no FROM {from} CROSS JOIN owners AS o ON o.no = c.owner_no
         LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE c.owner_no = ?1 {after} ORDER BY u.path, u.url, c.time, c.no LIMIT ?2"
    );
    let (path, url) = page.after.unzip();
    let mut last = None;
    let mut captures = collect(connection, &sql, params![owner, limit, path, url], |row| {
        last = Some((row.get(15)?, row.get(1)?, row.get(0)?));
        capture_of(row)
    })?;
    if let Some(last) = last.filter(|_| captures.len() == page.limit) {
        captures.append(&mut rest_of_group(connection, owner, last)?);
    }
    Ok(captures)
}

/// Whether it is cheaper to walk through the URLs in order and look for each in the version, than to sort what the
/// version holds. The one costs what the answer costs if the version holds most URLs, the other if it holds few.
pub(super) fn walking_is_cheaper(
    connection: &Connection,
    held: i64,
    limit: i64,
) -> Result<bool, UnlocatedError> {
    let sql = "SELECT coalesce(max(no), 0) FROM urls";
    let urls: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let steps = i128::from(limit.min(held)) * i128::from(urls) / i128::from(held.max(1));
    Ok(steps < i128::from(held))
}

/// The captures of a version that share path and URL with the last one of a page, and come behind it.
fn rest_of_group(
    connection: &Connection,
    owner: i64,
    (url_no, time, no): (i64, i64, i64),
) -> Result<Vec<Capture>, UnlocatedError> {
    let sql = format!(
        "{CAPTURE} WHERE c.owner_no = ?1 AND c.url_no = ?2 AND (c.time, c.no) > (?3, ?4) ORDER BY c.time, c.no"
    );
    collect(connection, &sql, params![owner, url_no, time, no], capture_of)
}

/// The captures of a version with one path.
pub(super) fn at_path(
    connection: &Connection,
    version: &VersionId,
    path: &str,
) -> Result<Vec<Capture>, UnlocatedError> {
    let Some((owner, _, line)) = owner_of(connection, version)? else { return Ok(Vec::new()) };
    if let Some(line) = line {
        return read_spans::at_path(connection, line, path);
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM urls AS u
         CROSS JOIN captures AS c INDEXED BY captures_by_owner ON c.owner_no = ?1 AND c.url_no = u.no
         CROSS JOIN owners AS o ON o.no = c.owner_no LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE u.path = ?2 ORDER BY u.url, c.time, c.no"
    );
    collect(connection, &sql, params![owner, path], capture_of)
}

/// The paths at which two versions of one line may hold other captures. What is in no line, or in two, would have to be read whole.
pub(super) fn paths_that_differ(
    connection: &Connection,
    base: &VersionId,
    head: &VersionId,
) -> Result<Option<Vec<String>>, UnlocatedError> {
    let (Some((_, _, Some(base))), Some((_, held, Some(head)))) =
        (owner_of(connection, base)?, owner_of(connection, head)?)
    else {
        return Ok(None);
    };
    if base.line != head.line {
        return Ok(None);
    }
    read_spans::paths_that_differ(connection, [base, head], held)
}

/// The captures of some URLs, in one line.
pub(super) fn of_urls(
    connection: &Connection,
    urls: &[&str],
    filter: &CaptureFilter,
    order: TimeOrder,
    page: ListCursor<&Capture>,
) -> Result<Vec<Capture>, UnlocatedError> {
    let mut url_nos = Vec::with_capacity(urls.len());
    for url in urls {
        url_nos.append(&mut self::url_nos(connection, url)?);
    }
    url_nos.sort_unstable();
    url_nos.dedup();
    let behind = begin_behind(connection, order, page.after)?;
    let wanted = Wanted { order, filter, behind, limit: page.limit };
    let mut found = Vec::new();
    for url_no in &url_nos {
        found.extend(rows_of_url(connection, *url_no, &wanted)?);
        found.extend(read_spans::of_url(connection, *url_no, &wanted)?);
    }
    found.sort_by_key(|(key, _)| *key);
    if order == TimeOrder::NewestFirst {
        found.reverse();
    }
    found.truncate(page.limit);
    Ok(found.into_iter().map(|(_, capture)| capture).collect())
}

/// The captures of some URLs in a version, by time.
pub(super) fn of_urls_in(
    connection: &Connection,
    version: &VersionId,
    urls: &[&str],
) -> Result<Vec<Capture>, UnlocatedError> {
    let sql = "SELECT path FROM urls WHERE url_key = ?1 AND url = ?2";
    let mut paths: Vec<String> = Vec::new();
    for url in urls {
        paths.append(&mut collect(connection, sql, params![url_key(url), url], |row| Ok(row.get(0)?))?);
    }
    paths.sort_unstable();
    paths.dedup();
    let mut found = Vec::new();
    for path in &paths {
        found.append(&mut at_path(connection, version, path)?);
    }
    found.retain(|capture| urls.contains(&capture.url.as_str()));
    found.sort_by_key(|capture| capture.time);
    Ok(found)
}

/// The URLs with the same address as this one. Two addresses may share a key, so they are compared.
pub(super) fn spellings(connection: &Connection, url: &str) -> Result<Vec<String>, UnlocatedError> {
    let wanted = PageUrl::parse(url);
    let sql = "SELECT DISTINCT url FROM urls WHERE url_key = ?1 ORDER BY url";
    let mut found: Vec<String> = collect(connection, sql, [url_key(url)], |row| Ok(row.get(0)?))?;
    found.retain(|kept| kept == url || (wanted.is_some() && PageUrl::parse(kept) == wanted));
    Ok(found)
}

/// The captures of a URL that have rows of their own.
fn rows_of_url(
    connection: &Connection,
    url_no: i64,
    wanted: &Wanted<'_>,
) -> Result<Vec<(Key, Capture)>, UnlocatedError> {
    let since = wanted.filter.since.map_or(i64::MIN, Moment::micros);
    let until = wanted.filter.until.map_or(i64::MAX, Moment::micros);
    let (compare, bound, direction) = match wanted.order {
        TimeOrder::OldestFirst => (">", ">=", "ASC"),
        TimeOrder::NewestFirst => ("<", "<=", "DESC"),
    };
    let committed = if wanted.filter.committed_only { "AND o.id IS NOT NULL" } else { "" };
    let sql = format!(
        "{CAPTURE} WHERE c.url_no = ?1 AND c.time BETWEEN ?2 AND ?3
           AND c.time {bound} ?4 AND (c.time, c.owner_no, c.no) {compare} (?4, ?5, ?6) {committed}
         ORDER BY c.time {direction}, c.owner_no {direction}, c.no {direction} LIMIT ?7"
    );
    let (time, owner, row) = wanted.behind;
    let params = params![url_no, since, until, time, owner, row, sql_limit(wanted.limit)];
    collect(connection, &sql, params, |row| Ok((key_of(row)?, capture_of(row)?)))
}

/// The place of a row of [`CAPTURE`] among those of its URL.
fn key_of(row: &Row<'_>) -> Result<Key, UnlocatedError> {
    Ok((row.get(1)?, row.get(15)?, row.get(0)?))
}

/// Behind what a page begins that goes on behind a capture.
fn begin_behind(
    connection: &Connection,
    order: TimeOrder,
    after: Option<&Capture>,
) -> Result<Key, UnlocatedError> {
    let (before_all, behind_equals) = match order {
        TimeOrder::OldestFirst => (i64::MIN, i64::MAX),
        TimeOrder::NewestFirst => (i64::MAX, i64::MIN),
    };
    let Some(after) = after else { return Ok((before_all, before_all, before_all)) };
    let time = after.time.micros();
    if let Some(url_no) = url_no_at(connection, &after.url, &after.path)? {
        if let Some(key) = read_spans::key_of(connection, url_no, after)? {
            return Ok(key);
        }
        let sql = format!("{CAPTURE} WHERE c.url_no = ?1 AND c.time = ?2");
        let same_time =
            collect(connection, &sql, params![url_no, time], |row| Ok((key_of(row)?, capture_of(row)?)))?;
        if let Some((key, _)) = same_time.iter().find(|(_, capture)| capture.id == after.id) {
            return Ok(*key);
        }
    }
    Ok((time, behind_equals, behind_equals))
}

/// The row of a URL that was kept under a path.
fn url_no_at(connection: &Connection, url: &str, path: &str) -> Result<Option<i64>, UnlocatedError> {
    let sql = "SELECT no FROM urls WHERE path = ?1 AND url = ?2";
    Ok(connection.prepare_cached(sql)?.query_row([path, url], |row| row.get(0)).optional()?)
}

/// The rows of a URL: one, unless it was kept under several paths.
pub(super) fn url_nos(connection: &Connection, url: &str) -> Result<Vec<i64>, UnlocatedError> {
    let sql = "SELECT no FROM urls WHERE url_key = ?1 AND url = ?2 ORDER BY no";
    collect(connection, sql, params![url_key(url), url], |row| Ok(row.get(0)?))
}

/// URLs that begin with a text.
pub(super) fn urls(
    connection: &Connection,
    prefix: &str,
    page: ListCursor<&str>,
) -> Result<Vec<String>, UnlocatedError> {
    let (compare, from) = match page.after {
        Some(after) if after >= prefix => (">", after),
        _ => (">=", prefix),
    };
    let sql = format!("SELECT DISTINCT url FROM urls WHERE url {compare} ?1 ORDER BY url LIMIT ?2");
    let mut found: Vec<String> =
        collect(connection, &sql, params![from, sql_limit(page.limit)], |row| Ok(row.get(0)?))?;
    found.truncate(found.partition_point(|url| url.starts_with(prefix)));
    Ok(found)
}

/// Every body that a capture refers to.
pub(super) fn each_body(
    connection: &Connection,
    each: &mut dyn FnMut(BodyId) -> Result<(), CatalogError>,
) -> Result<(), UnlocatedError> {
    let mut statement = connection.prepare_cached("SELECT body FROM captures WHERE typeof(body) = 'blob'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(BodyId::new(row.get(0)?))?;
    }
    Ok(())
}

/// The number of a version's owner, how many captures it has, and where it stands if it is in a line.
fn owner_of(
    connection: &Connection,
    version: &VersionId,
) -> Result<Option<(i64, i64, Option<InLine>)>, UnlocatedError> {
    let sql = "SELECT no, captures, line, step FROM owners WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([version.as_bytes()], |row| {
        let owner = row.get(0)?;
        let place: Option<i64> = row.get(2)?;
        let line = match place {
            Some(line) => Some(InLine { owner, line, step: row.get(3)? }),
            None => None,
        };
        Ok((owner, row.get(1)?, line))
    });
    Ok(found.optional()?)
}

pub(super) fn collect<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, UnlocatedError>,
) -> Result<Vec<T>, UnlocatedError> {
    connection.prepare_cached(sql)?.query_and_then(params, read)?.collect()
}

/// Reads a row of [`CAPTURE`].
pub(super) fn capture_of(row: &Row<'_>) -> Result<Capture, UnlocatedError> {
    let body = BodyId::new(row.get(5)?);
    let record = match row.get_ref(7)? {
        rusqlite::types::ValueRef::Integer(_) => Some(RecordId::new(*body.as_bytes())),
        _ => row.get::<_, Option<_>>(7)?.map(RecordId::new),
    };
    let (belongs, origin) = owners_of(row)?;
    let url: String = row.get(10)?;
    let time = Moment::from_micros(row.get(1)?);
    let id = match (row.get::<_, Option<[u8; 16]>>(9)?, &record) {
        (Some(id), _) => CaptureId::new(Uuid::from_bytes(id)),
        (None, Some(record)) => Capture::derive_id(origin, &url, time, record),
        (None, None) => return Err(damaged(row, "it has neither an id nor a record")),
    };
    Ok(Capture {
        id,
        belongs,
        path: row.get(11)?,
        time,
        status: row.get(2)?,
        headers: headers_of(row)?,
        body,
        length: row.get(6)?,
        record,
        truncated: row.get(8)?,
        url,
    })
}

/// What the capture belongs to, and what its id was derived from.
fn owners_of(row: &Row<'_>) -> Result<(Belongs, Belongs), UnlocatedError> {
    let version = row.get::<_, Option<[u8; 16]>>(12)?.map(|id| VersionId::new(Uuid::from_bytes(id)));
    let run = row.get::<_, Option<[u8; 16]>>(13)?.map(|id| RunId::new(Uuid::from_bytes(id)));
    match (version.map(Belongs::Version), run.map(Belongs::Run)) {
        (Some(version), Some(run)) if row.get(14)? => Ok((version, run)),
        (Some(version), _) => Ok((version, version)),
        (None, Some(run)) => Ok((run, run)),
        (None, None) => Err(damaged(row, "it belongs to nothing")),
    }
}

fn headers_of(row: &Row<'_>) -> Result<HeaderView, UnlocatedError> {
    let text = |error: rusqlite::types::FromSqlError| damaged(row, &error.to_string());
    let shared = row.get_ref(3)?.as_str_or_null().map_err(text)?;
    let own = row.get_ref(4)?.as_str_or_null().map_err(text)?;
    headers::join(shared, own).map_err(|error| damaged(row, &error.to_string()))
}

fn damaged(row: &Row<'_>, what: &str) -> UnlocatedError {
    let no = row.get::<_, i64>(0).unwrap_or_default();
    UnlocatedError::Damaged("captures", format!("row {no}: {what}"))
}
