//! Reads captures, of a version or of a URL, and the URLs themselves.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::headers::HeaderView;
use varve_core::history::{
    Capture, CaptureFilter, CaptureOwner, ListCursor, PageAbsence, PageState, StateCounts, TimeOrder,
};
use varve_core::url::{PageUrl, key};
use varve_core::{BodyId, Moment, RecordId, VersionId};

use super::ArchiveTables;
use super::newest_captures::newest_captures;
use super::{read_states, shared_headers};
use varve_core::catalog::{CatalogResult, UrlMatch};
use varve_sqlite::column::{blob_id, required_blob_id};
use varve_sqlite::{
    CaptureTables, SqlResult, UnlocatedError, collect_rows, cursor_limits, sql_limit, sql_order,
};

/// The id of a body, from this row or from the row that it refers to.
pub(super) const BODY_ID_SQL: &str =
    "iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body)";

macro_rules! capture_columns {
    () => {
        "c.no, c.time, c.status, h.json, c.own_headers,
        iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body),
        c.length, c.record, c.truncated, c.id, u.url, u.path, o.id, o.run, o.by_run"
    };
}

pub(super) use capture_columns;

/// The columns that [`read_capture`] expects.
pub(super) const CAPTURE_COLUMNS: &str = capture_columns!();

/// Captures with the tables they refer to, and the number of the owner as last column.
pub(super) const SELECT_CAPTURES: &str = concat!(
    "SELECT ",
    capture_columns!(),
    ", c.owner_no
    FROM captures AS c CROSS JOIN owners AS o ON o.no = c.owner_no CROSS JOIN page_urls AS u ON u.no = c.url_no
    LEFT JOIN headers AS h ON h.no = c.headers_no"
);

/// The value by which rows of a URL are looked up: the key of its page identity, which all
/// spellings share. A text that is no URL has one as well.
pub(super) fn url_key(url: &str) -> i64 {
    let page = PageUrl::parse(url).map(|page| page.key());
    page.or_else(|| key(url).ok()).map_or(0, varve_core::UrlKey::to_signed)
}

impl CaptureTables for ArchiveTables {
    fn versions_with_url(connection: &Connection, url: &str) -> SqlResult<(String, Option<String>)> {
        let mut numbers = url_nos_of(connection, url)?;
        for spelling in Self::spellings_of(connection, url)?.iter().filter(|spelling| *spelling != url) {
            numbers.extend(url_nos_of(connection, spelling)?);
        }
        let numbers = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let from = format!(
            "(SELECT DISTINCT owner_no FROM captures WHERE url_no IN ({numbers})) AS c
             CROSS JOIN owners AS v ON v.no = c.owner_no"
        );
        Ok((from, None))
    }

    fn captures_in(
        connection: &Connection,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<Capture>> {
        let Some((owner, held)) = owner_of(connection, version)? else { return Ok(Vec::new()) };
        let limit = sql_limit(cursor.limit);
        let from = if url_order_is_cheaper(connection, held, limit)? {
            "page_urls AS u CROSS JOIN captures AS c INDEXED BY captures_by_owner ON c.owner_no = ?1 AND c.url_no = u.no"
        } else {
            "captures AS c INDEXED BY captures_by_owner CROSS JOIN page_urls AS u ON u.no = c.url_no"
        };
        let after = if cursor.after.is_some() { "AND (u.path, u.url) > (?3, ?4)" } else { "AND ?3 IS ?4" };
        let sql = format!(
            "SELECT {CAPTURE_COLUMNS}, c.url_no FROM {from} CROSS JOIN owners AS o ON o.no = c.owner_no
             LEFT JOIN headers AS h ON h.no = c.headers_no
             WHERE c.owner_no = ?1 {after} ORDER BY u.path, u.url, c.time, c.no LIMIT ?2"
        );
        let (path, url) = cursor.after.unzip();
        let mut last = None;
        let mut captures = collect_rows(connection, &sql, params![owner, limit, path, url], |row| {
            last = Some((row.get(15)?, row.get(1)?, row.get(0)?));
            read_capture(row)
        })?;
        if let Some(last) = last.filter(|_| captures.len() == cursor.limit) {
            captures.append(&mut rest_of_group(connection, owner, last)?);
        }
        Ok(captures)
    }

    fn captures_at_path(connection: &Connection, version: &VersionId, path: &str) -> SqlResult<Vec<Capture>> {
        let Some((owner, _)) = owner_of(connection, version)? else { return Ok(Vec::new()) };
        let sql = format!(
            "SELECT {CAPTURE_COLUMNS} FROM page_urls AS u
             CROSS JOIN captures AS c INDEXED BY captures_by_owner ON c.owner_no = ?1 AND c.url_no = u.no
             CROSS JOIN owners AS o ON o.no = c.owner_no LEFT JOIN headers AS h ON h.no = c.headers_no
             WHERE u.path = ?2 ORDER BY u.url, c.time, c.no"
        );
        collect_rows(connection, &sql, params![owner, path], read_capture)
    }

    fn absences_in(
        connection: &Connection,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<PageAbsence>> {
        read_states::absences_in(connection, version, cursor)
    }

    fn state_in(
        connection: &Connection,
        version: &VersionId,
        cursor: ListCursor<(&str, &str)>,
    ) -> SqlResult<Vec<PageState>> {
        read_states::state_in(connection, version, cursor)
    }

    fn states_at(connection: &Connection, version: &VersionId, paths: &[&str]) -> SqlResult<Vec<PageState>> {
        read_states::states_at(connection, version, paths)
    }

    fn states_of(
        connection: &Connection,
        version: &VersionId,
        urls: &[&str],
        matching: UrlMatch,
    ) -> SqlResult<Vec<Option<PageState>>> {
        read_states::states_of(connection, version, urls, matching)
    }

    fn state_counts(connection: &Connection, version: &VersionId) -> SqlResult<Option<StateCounts>> {
        read_states::state_counts(connection, version).map(Some)
    }

    fn each_page_that_differs(
        connection: &Connection,
        base: &VersionId,
        head: &VersionId,
        each: &mut dyn FnMut(&str, &str),
    ) -> SqlResult<bool> {
        read_states::each_page_that_differs(connection, base, head, each)
    }

    fn captures_of_any(
        connection: &Connection,
        urls: &[&str],
        filter: &CaptureFilter,
        order: TimeOrder,
        cursor: ListCursor<&Capture>,
    ) -> SqlResult<Vec<Capture>> {
        let mut url_nos = Vec::with_capacity(urls.len());
        for url in urls {
            url_nos.append(&mut url_nos_of(connection, url)?);
        }
        url_nos.sort_unstable();
        url_nos.dedup();
        let after = cursor_key(connection, order, cursor.after)?;
        let query = CaptureQuery { order, filter, after, limit: cursor.limit };
        let mut found = Vec::new();
        for url_no in &url_nos {
            found.extend(rows_of_url(connection, *url_no, &query)?);
        }
        found.sort_by_key(|(key, _)| *key);
        if order == TimeOrder::NewestFirst {
            found.reverse();
        }
        found.truncate(cursor.limit);
        Ok(found.into_iter().map(|(_, capture)| capture).collect())
    }

    fn captures_by_url(connection: &Connection, cursor: ListCursor<&str>) -> SqlResult<Option<Vec<Capture>>> {
        let after = if cursor.after.is_some() { "WHERE u.url > ?1" } else { "WHERE ?1 IS NULL" };
        let sql = format!(
            "SELECT {CAPTURE_COLUMNS} FROM page_urls AS u INDEXED BY page_urls_by_url
             CROSS JOIN captures AS c INDEXED BY captures_by_url ON c.url_no = u.no
             CROSS JOIN owners AS o ON o.no = c.owner_no LEFT JOIN headers AS h ON h.no = c.headers_no
             {after} ORDER BY u.url"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([cursor.after])?;
        let mut found: Vec<Capture> = Vec::new();
        while let Some(row) = rows.next()? {
            let is_full = found.len() >= cursor.limit.max(1);
            if let Some(last) = found.last().filter(|_| is_full)
                && row.get_ref(10)?.as_bytes().is_ok_and(|url| url != last.url.as_bytes())
            {
                break;
            }
            found.push(read_capture(row)?);
        }
        Ok(Some(found))
    }

    fn captures_of_any_in(
        connection: &Connection,
        version: &VersionId,
        urls: &[&str],
    ) -> SqlResult<Vec<Capture>> {
        let sql = "SELECT path FROM page_urls WHERE url_key = ?1 AND url = ?2";
        let mut paths: Vec<String> = Vec::new();
        for url in urls {
            paths.append(&mut collect_rows(connection, sql, params![url_key(url), url], |row| {
                Ok(row.get(0)?)
            })?);
        }
        paths.sort_unstable();
        paths.dedup();
        let mut found = Vec::new();
        for path in &paths {
            found.append(&mut Self::captures_at_path(connection, version, path)?);
        }
        found.retain(|capture| urls.contains(&capture.url.as_str()));
        found.sort_by_key(|capture| capture.time);
        Ok(found)
    }

    fn newest_captures(
        connection: &Connection,
        urls: &[&str],
        matching: UrlMatch,
        limit: usize,
    ) -> SqlResult<Vec<Vec<Capture>>> {
        newest_captures(connection, urls, matching, limit)
    }

    fn spellings_of(connection: &Connection, url: &str) -> SqlResult<Vec<String>> {
        let wanted = PageUrl::parse(url);
        let sql = "SELECT DISTINCT url FROM page_urls WHERE url_key = ?1 ORDER BY url";
        let mut found: Vec<String> = collect_rows(connection, sql, [url_key(url)], |row| Ok(row.get(0)?))?;
        found.retain(|kept| kept == url || (wanted.is_some() && PageUrl::parse(kept) == wanted));
        Ok(found)
    }

    fn urls(connection: &Connection, prefix: &str, cursor: ListCursor<&str>) -> SqlResult<Vec<String>> {
        let (compare, from) = match cursor.after {
            Some(after) if after >= prefix => (">", after),
            _ => (">=", prefix),
        };
        let sql = format!(
            "SELECT DISTINCT url FROM page_urls WHERE url {compare} ?1
             AND EXISTS (SELECT 1 FROM captures WHERE url_no = page_urls.no) ORDER BY url LIMIT ?2"
        );
        let mut found: Vec<String> =
            collect_rows(connection, &sql, params![from, sql_limit(cursor.limit)], |row| Ok(row.get(0)?))?;
        found.truncate(found.partition_point(|url| url.starts_with(prefix)));
        Ok(found)
    }

    fn each_body(
        connection: &Connection,
        each: &mut dyn FnMut(BodyId) -> CatalogResult<()>,
    ) -> SqlResult<()> {
        let mut statement =
            connection.prepare_cached("SELECT body FROM captures WHERE typeof(body) = 'blob'")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(required_blob_id(row, 0, "captures")?)?;
        }
        Ok(())
    }
}

/// Whether it is cheaper to look up all URLs in order than to sort the captures of the version. The
/// first is cheap if the version holds most URLs, the second if it holds few.
pub(super) fn url_order_is_cheaper(connection: &Connection, held: i64, limit: i64) -> SqlResult<bool> {
    let sql = "SELECT coalesce(max(no), 0) FROM page_urls";
    let urls: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let lookups = i128::from(limit.min(held)) * i128::from(urls) / i128::from(held.max(1));
    Ok(lookups < i128::from(held))
}

/// The captures of a version that share path and URL with the last one of a batch, and follow it.
fn rest_of_group(
    connection: &Connection,
    owner: i64,
    (url_no, time, no): (i64, i64, i64),
) -> SqlResult<Vec<Capture>> {
    let sql = format!(
        "{SELECT_CAPTURES} WHERE c.owner_no = ?1 AND c.url_no = ?2 AND (c.time, c.no) > (?3, ?4) ORDER BY c.time, c.no"
    );
    collect_rows(connection, &sql, params![owner, url_no, time, no], read_capture)
}

/// Which captures of a URL a query returns.
struct CaptureQuery<'a> {
    /// Their order.
    order: TimeOrder,
    /// The filter on time and owner.
    filter: &'a CaptureFilter,
    /// The key after which the list begins, in that order.
    after: CaptureKey,
    /// The maximum number.
    limit: usize,
}

/// The position of a capture among all captures of its URL: its time, the number of its owner, and
/// the number of its row.
pub(super) type CaptureKey = (i64, i64, i64);

/// The captures of a URL.
fn rows_of_url(
    connection: &Connection,
    url_no: i64,
    query: &CaptureQuery<'_>,
) -> SqlResult<Vec<(CaptureKey, Capture)>> {
    let since = query.filter.since.map_or(i64::MIN, Moment::micros);
    let until = query.filter.until.map_or(i64::MAX, Moment::micros);
    let (compare, direction) = sql_order(query.order);
    let committed = if query.filter.committed_only { "AND o.id IS NOT NULL" } else { "" };
    let sql = format!(
        "{SELECT_CAPTURES} WHERE c.url_no = ?1 AND c.time BETWEEN ?2 AND ?3
           AND c.time {compare}= ?4 AND (c.time, c.owner_no, c.no) {compare} (?4, ?5, ?6) {committed}
         ORDER BY c.time {direction}, c.owner_no {direction}, c.no {direction} LIMIT ?7"
    );
    let (time, owner, row) = query.after;
    let params = params![url_no, since, until, time, owner, row, sql_limit(query.limit)];
    collect_rows(connection, &sql, params, |row| Ok((key_of(row)?, read_capture(row)?)))
}

/// The key of a row of [`SELECT_CAPTURES`].
fn key_of(row: &Row<'_>) -> SqlResult<CaptureKey> {
    Ok((row.get(1)?, row.get(15)?, row.get(0)?))
}

/// The key after which a batch begins.
fn cursor_key(connection: &Connection, order: TimeOrder, after: Option<&Capture>) -> SqlResult<CaptureKey> {
    let (before_all, after_equals) = cursor_limits(order);
    let Some(after) = after else { return Ok((before_all, before_all, before_all)) };
    let time = after.time.micros();
    if let Some(url_no) = url_no_at(connection, &after.url, &after.path)? {
        let sql = format!("{SELECT_CAPTURES} WHERE c.url_no = ?1 AND c.time = ?2");
        let same_time = collect_rows(connection, &sql, params![url_no, time], |row| {
            Ok((key_of(row)?, read_capture(row)?))
        })?;
        if let Some((key, _)) = same_time.iter().find(|(_, capture)| capture.id == after.id) {
            return Ok(*key);
        }
    }
    Ok((time, after_equals, after_equals))
}

/// The row of a URL with a path.
fn url_no_at(connection: &Connection, url: &str, path: &str) -> SqlResult<Option<i64>> {
    let sql = "SELECT no FROM page_urls WHERE path = ?1 AND url = ?2";
    Ok(connection.prepare_cached(sql)?.query_row([path, url], |row| row.get(0)).optional()?)
}

/// The rows of a URL: one for each of its paths.
pub(super) fn url_nos_of(connection: &Connection, url: &str) -> SqlResult<Vec<i64>> {
    let sql = "SELECT no FROM page_urls WHERE url_key = ?1 AND url = ?2 ORDER BY no";
    collect_rows(connection, sql, params![url_key(url), url], |row| Ok(row.get(0)?))
}

/// The number of the owner of a version, and the number of its captures.
fn owner_of(connection: &Connection, version: &VersionId) -> SqlResult<Option<(i64, i64)>> {
    let sql = "SELECT no, captures FROM owners WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([version.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// Reads a row of [`SELECT_CAPTURES`].
pub(super) fn read_capture(row: &Row<'_>) -> SqlResult<Capture> {
    let body: BodyId = required_blob_id(row, 5, "captures")?;
    let record = match row.get_ref(7)? {
        rusqlite::types::ValueRef::Integer(_) => Some(RecordId::new(*body.as_bytes())),
        _ => blob_id(row, 7, "captures")?,
    };
    let (belongs, origin) = read_owners(row)?;
    let url: String = row.get(10)?;
    let time = Moment::from_micros(row.get(1)?);
    let id = match (blob_id(row, 9, "captures")?, &record) {
        (Some(id), _) => id,
        (None, Some(record)) => Capture::derive_id(origin, &url, time, record),
        (None, None) => return Err(damaged(row, "it has neither id nor record")),
    };
    Ok(Capture {
        id,
        owner: belongs,
        path: row.get(11)?,
        time,
        status: row.get(2)?,
        headers: read_headers(row)?,
        body,
        length: row.get(6)?,
        record,
        truncated: row.get(8)?,
        url,
    })
}

/// The owner of the capture, and the owner that its id was derived from.
fn read_owners(row: &Row<'_>) -> SqlResult<(CaptureOwner, CaptureOwner)> {
    let version = blob_id(row, 12, "owners")?.map(CaptureOwner::Version);
    let run = blob_id(row, 13, "owners")?.map(CaptureOwner::Run);
    match (version, run) {
        (Some(version), Some(run)) if row.get(14)? => Ok((version, run)),
        (Some(version), _) => Ok((version, version)),
        (None, Some(run)) => Ok((run, run)),
        (None, None) => Err(damaged(row, "it has no owner")),
    }
}

fn read_headers(row: &Row<'_>) -> SqlResult<HeaderView> {
    let text = |error: rusqlite::types::FromSqlError| damaged(row, &error.to_string());
    let shared = row.get_ref(3)?.as_str_or_null().map_err(text)?;
    let own = row.get_ref(4)?.as_str_or_null().map_err(text)?;
    shared_headers::join(shared, own).map_err(|error| damaged(row, &error.to_string()))
}

fn damaged(row: &Row<'_>, what: &str) -> UnlocatedError {
    let no = row.get::<_, i64>(0).unwrap_or_default();
    UnlocatedError::Damaged("captures", format!("row {no}: {what}"))
}
