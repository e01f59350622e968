//! Reads captures of versions in version runs, where a page that does not change has one row.
//!
//! The row in `captures` belongs to the first version that holds the page, and queries by URL read
//! it there. This module reads the page in the later versions, each at the time of its version.

use rusqlite::{Connection, OptionalExtension, params};
use varve_core::history::{Capture, CaptureFilter, CaptureOwner, ListCursor, TimeOrder};

use super::read_captures::{capture_columns, read_capture, url_order_is_cheaper};
use varve_sqlite::{SqlResult, collect_rows, sql_limit, sql_order};

/// The columns of the capture `c` as the version `o` holds it.
const HELD_CAPTURE_COLUMNS: &str = capture_columns!("iif(s.first = o.sequence, c.time, o.time)");

/// The spans of a version run as one version holds them, with the number of the URL and the last
/// position.
pub(super) const SELECT_SPANS: &str = concat!(
    "SELECT ",
    capture_columns!("iif(s.first = o.sequence, c.time, o.time)"),
    ", s.url_no, s.until FROM owners AS o CROSS JOIN spans AS s ON s.version_run = o.version_run
    CROSS JOIN captures AS c ON c.no = s.capture_no CROSS JOIN urls AS u ON u.no = s.url_no
    LEFT JOIN headers AS h ON h.no = c.headers_no"
);

/// A version in a version run.
#[derive(Clone, Copy)]
pub(super) struct RunPosition {
    /// The number of its owner.
    pub(super) owner: i64,
    /// The version run.
    pub(super) version_run: i64,
    /// Its position in the version run.
    pub(super) sequence: i64,
}

/// The captures of a version after the cursor.
pub(super) fn in_version(
    connection: &Connection,
    at: RunPosition,
    held: i64,
    cursor: ListCursor<(&str, &str)>,
) -> SqlResult<Vec<Capture>> {
    let limit = sql_limit(cursor.limit);
    let from = if url_order_is_cheaper(connection, held, limit)? {
        "urls AS u CROSS JOIN spans AS s ON s.version_run = ?1 AND s.url_no = u.no"
    } else {
        "spans AS s CROSS JOIN urls AS u ON u.no = s.url_no"
    };
    let after = if cursor.after.is_some() { "AND (u.path, u.url) > (?5, ?6)" } else { "AND ?5 IS ?6" };
    let sql = format!(
        "SELECT {HELD_CAPTURE_COLUMNS} FROM {from} CROSS JOIN captures AS c ON c.no = s.capture_no
         CROSS JOIN owners AS o ON o.no = ?3 LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE s.version_run = ?1 AND s.first <= ?2 AND s.until >= ?2 {after} ORDER BY u.path, u.url LIMIT ?4"
    );
    let (path, url) = cursor.after.unzip();
    collect_rows(
        connection,
        &sql,
        params![at.version_run, at.sequence, at.owner, limit, path, url],
        read_capture,
    )
}

/// The captures of a version with one path.
pub(super) fn at_path(connection: &Connection, at: RunPosition, path: &str) -> SqlResult<Vec<Capture>> {
    let sql = format!(
        "SELECT {HELD_CAPTURE_COLUMNS} FROM urls AS u CROSS JOIN spans AS s ON s.version_run = ?1 AND s.url_no = u.no
         CROSS JOIN captures AS c ON c.no = s.capture_no CROSS JOIN owners AS o ON o.no = ?3
         LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE u.path = ?4 AND s.first <= ?2 AND s.until >= ?2 ORDER BY u.url"
    );
    collect_rows(connection, &sql, params![at.version_run, at.sequence, at.owner, path], read_capture)
}

/// Looking up one path in two versions costs about as much as reading this number of their pages.
const PAGES_PER_LOOKUP: i64 = 4;
/// The number of paths that are looked up in any case.
const MIN_LOOKUPS: i64 = 64;

/// The paths of all pages that came or went between two versions of a version run. `held` is the
/// number of captures in one of them. `None` if reading both versions is as fast as following all
/// paths.
pub(super) fn paths_that_differ(
    connection: &Connection,
    [base, head]: [RunPosition; 2],
    held: i64,
) -> SqlResult<Option<Vec<String>>> {
    let limit = held / PAGES_PER_LOOKUP + MIN_LOOKUPS;
    let (earlier, later) = (base.sequence.min(head.sequence), base.sequence.max(head.sequence));
    let sql = "SELECT DISTINCT u.path FROM spans AS s CROSS JOIN urls AS u ON u.no = s.url_no
         WHERE s.version_run = ?1 AND (s.first > ?2 AND s.first <= ?3 OR s.until >= ?2 AND s.until < ?3) LIMIT ?4";
    let mut paths: Vec<String> =
        collect_rows(connection, sql, [head.version_run, earlier, later, limit + 1], |row| Ok(row.get(0)?))?;
    paths.sort_unstable();
    Ok((i64::try_from(paths.len()).unwrap_or(i64::MAX) <= limit).then_some(paths))
}

/// Which captures of a URL a query returns.
pub(super) struct CaptureQuery<'a> {
    /// Their order.
    pub(super) order: TimeOrder,
    /// The filter on time and owner.
    pub(super) filter: &'a CaptureFilter,
    /// The key after which the list begins, in that order.
    pub(super) after: CaptureKey,
    /// The maximum number.
    pub(super) limit: usize,
}

/// The position of a capture among all captures of its URL: its time, the number of its owner, and
/// the number of its row. A capture without a row of its own has the negated number of its URL.
pub(super) type CaptureKey = (i64, i64, i64);

/// Consecutive versions that hold one capture of a URL.
struct CaptureSpan {
    version_run: i64,
    first: i64,
    until: i64,
    time: i64,
    capture: i64,
}

impl CaptureQuery<'_> {
    /// The first and the last instant that a capture can have.
    fn bounds(&self) -> (i64, i64) {
        let since = self.filter.since.map_or(i64::MIN, varve_core::Moment::micros);
        let until = self.filter.until.map_or(i64::MAX, varve_core::Moment::micros);
        match self.order {
            TimeOrder::OldestFirst => (since.max(self.after.0), until),
            TimeOrder::NewestFirst => (since, until.min(self.after.0)),
        }
    }
}

/// The captures of a URL in all versions of each span but the first.
pub(super) fn of_url(
    connection: &Connection,
    url_no: i64,
    query: &CaptureQuery<'_>,
) -> SqlResult<Vec<(CaptureKey, Capture)>> {
    let (from, to) = query.bounds();
    let mut found = Vec::new();
    if from > to {
        return Ok(found);
    }
    // Spans follow one another in time. Of those that begin before an instant, only the last can
    // reach it.
    let sql = match query.order {
        TimeOrder::OldestFirst => {
            "SELECT version_run, first, until, time, capture_no FROM spans
             WHERE url_no = ?1 AND until > first AND time <= ?3
               AND time >= coalesce((SELECT max(time) FROM spans WHERE url_no = ?1 AND until > first AND time < ?2), ?2)
             ORDER BY time, version_run, first"
        }
        TimeOrder::NewestFirst => {
            "SELECT version_run, first, until, time, capture_no FROM spans
             WHERE url_no = ?1 AND until > first AND time <= ?3 AND ?2 IS ?2
             ORDER BY time DESC, version_run DESC, first DESC"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([url_no, from, to])?;
    while found.len() < query.limit
        && let Some(row) = rows.next()?
    {
        let span = CaptureSpan {
            version_run: row.get(0)?,
            first: row.get(1)?,
            until: row.get(2)?,
            time: row.get(3)?,
            capture: row.get(4)?,
        };
        let begins_before = span.time < from;
        found.extend(of_span(connection, &span, (from, to), query, query.limit - found.len())?);
        if begins_before && query.order == TimeOrder::NewestFirst {
            break;
        }
    }
    Ok(found)
}

fn of_span(
    connection: &Connection,
    span: &CaptureSpan,
    (from, to): (i64, i64),
    query: &CaptureQuery<'_>,
    limit: usize,
) -> SqlResult<Vec<(CaptureKey, Capture)>> {
    let (compare, direction) = sql_order(query.order);
    let sql = format!(
        "SELECT {HELD_CAPTURE_COLUMNS}, o.no, c.url_no FROM owners AS o CROSS JOIN (SELECT ?2 AS first) AS s
         CROSS JOIN captures AS c ON c.no = ?4 CROSS JOIN urls AS u ON u.no = c.url_no
         LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE o.version_run = ?1 AND o.sequence > ?2 AND o.sequence <= ?3 AND o.time BETWEEN ?5 AND ?6
           AND (o.time, o.no, -c.url_no) {compare} (?8, ?9, ?10)
         ORDER BY o.sequence {direction} LIMIT ?7"
    );
    let (time, owner, row) = query.after;
    let params = params![
        span.version_run,
        span.first,
        span.until,
        span.capture,
        from,
        to,
        sql_limit(limit),
        time,
        owner,
        row
    ];
    collect_rows(connection, &sql, params, |row| {
        Ok(((row.get(1)?, row.get(15)?, -row.get::<_, i64>(16)?), read_capture(row)?))
    })
}

/// The key of a capture that has no row of its own.
pub(super) fn key_of(
    connection: &Connection,
    url_no: i64,
    capture: &Capture,
) -> SqlResult<Option<CaptureKey>> {
    let CaptureOwner::Version(version) = capture.owner else { return Ok(None) };
    let sql = "SELECT o.no FROM owners AS o CROSS JOIN spans AS s ON s.version_run = o.version_run
         WHERE o.id = ?1 AND o.time = ?2 AND s.url_no = ?3 AND s.first < o.sequence AND s.until >= o.sequence";
    let time = capture.time.micros();
    let mut statement = connection.prepare_cached(sql)?;
    let owner =
        statement.query_row(params![version.as_bytes(), time, url_no], |row| row.get(0)).optional()?;
    Ok(owner.map(|owner| (time, owner, -url_no)))
}
