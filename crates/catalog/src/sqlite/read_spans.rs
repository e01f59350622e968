//! Captures of versions in lines are read: what stayed from one version to the next has one row for all of them.
//!
//! The first version that a page is in has its row in `captures`, and is read there when a URL is asked for. Here is the rest: the page
//! in the versions behind the first, each at the time of its version.

use rusqlite::{Connection, OptionalExtension, params};
use varve_core::history::{Belongs, Capture, CaptureFilter, ListCursor, TimeOrder};

use super::read_captures::{capture_of, collect, walking_is_cheaper};
use varve_sqlite::UnlocatedError;
use varve_sqlite::sql_limit;

/// The columns that [`capture_of`] reads, of the capture `c` as it is in the version `o`.
const COLUMNS: &str = "c.no, iif(s.first = o.step, c.time, o.time), c.status, h.json, c.own_headers,
    iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body),
    c.length, c.record, c.truncated, c.id, u.url, u.path, o.id, o.run, o.by_run";

/// Spans of a line, each as a version of it has them; with the number of the URL and the last step.
pub(super) const HELD: &str =
    "SELECT c.no, iif(s.first = o.step, c.time, o.time), c.status, h.json, c.own_headers,
    iif(typeof(c.body) = 'integer', (SELECT b.body FROM captures AS b WHERE b.no = c.body), c.body),
    c.length, c.record, c.truncated, c.id, u.url, u.path, o.id, o.run, o.by_run, s.url_no, s.until
    FROM owners AS o CROSS JOIN spans AS s ON s.line = o.line CROSS JOIN captures AS c ON c.no = s.capture_no
    CROSS JOIN urls AS u ON u.no = s.url_no LEFT JOIN headers AS h ON h.no = c.headers_no";

/// A version in a line.
#[derive(Clone, Copy)]
pub(super) struct InLine {
    /// Its owner.
    pub(super) owner: i64,
    /// Its line.
    pub(super) line: i64,
    /// Its place in it.
    pub(super) step: i64,
}

/// The captures of a version behind `page.after`.
pub(super) fn in_version(
    connection: &Connection,
    at: InLine,
    held: i64,
    page: ListCursor<(&str, &str)>,
) -> Result<Vec<Capture>, UnlocatedError> {
    let limit = sql_limit(page.limit);
    let from = if walking_is_cheaper(connection, held, limit)? {
        "urls AS u CROSS JOIN spans AS s ON s.line = ?1 AND s.url_no = u.no"
    } else {
        "spans AS s CROSS JOIN urls AS u ON u.no = s.url_no"
    };
    let after = if page.after.is_some() { "AND (u.path, u.url) > (?5, ?6)" } else { "AND ?5 IS ?6" };
    let sql = format!(
        "SELECT {COLUMNS} FROM {from} CROSS JOIN captures AS c ON c.no = s.capture_no
         CROSS JOIN owners AS o ON o.no = ?3 LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE s.line = ?1 AND s.first <= ?2 AND s.until >= ?2 {after} ORDER BY u.path, u.url LIMIT ?4"
    );
    let (path, url) = page.after.unzip();
    collect(connection, &sql, params![at.line, at.step, at.owner, limit, path, url], capture_of)
}

/// The captures of a version with one path.
pub(super) fn at_path(
    connection: &Connection,
    at: InLine,
    path: &str,
) -> Result<Vec<Capture>, UnlocatedError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM urls AS u CROSS JOIN spans AS s ON s.line = ?1 AND s.url_no = u.no
         CROSS JOIN captures AS c ON c.no = s.capture_no CROSS JOIN owners AS o ON o.no = ?3
         LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE u.path = ?4 AND s.first <= ?2 AND s.until >= ?2 ORDER BY u.url"
    );
    collect(connection, &sql, params![at.line, at.step, at.owner, path], capture_of)
}

/// Looking up a path in two versions costs about as much as reading so many of their pages in a row; fewer paths than this are
/// looked up all the same.
const LOOK_UP: (i64, i64) = (4, 64);

/// The paths of all that came or went between two versions of a line, of which one holds so many captures; none where there are so
/// many that reading all is as quick.
pub(super) fn paths_that_differ(
    connection: &Connection,
    [base, head]: [InLine; 2],
    held: i64,
) -> Result<Option<Vec<String>>, UnlocatedError> {
    let most = held / LOOK_UP.0 + LOOK_UP.1;
    let (earlier, later) = (base.step.min(head.step), base.step.max(head.step));
    let sql = "SELECT DISTINCT u.path FROM spans AS s CROSS JOIN urls AS u ON u.no = s.url_no
         WHERE s.line = ?1 AND (s.first > ?2 AND s.first <= ?3 OR s.until >= ?2 AND s.until < ?3) LIMIT ?4";
    let mut paths: Vec<String> =
        collect(connection, sql, [head.line, earlier, later, most + 1], |row| Ok(row.get(0)?))?;
    paths.sort_unstable();
    Ok((i64::try_from(paths.len()).unwrap_or(i64::MAX) <= most).then_some(paths))
}

/// Which captures behind the first of a span are wanted.
pub(super) struct Wanted<'a> {
    /// In this order.
    pub(super) order: TimeOrder,
    /// Of those times.
    pub(super) filter: &'a CaptureFilter,
    /// Behind this one, in that order.
    pub(super) behind: Key,
    /// At most so many.
    pub(super) limit: usize,
}

/// The place of a capture among all of its page: its time, the number of its owner, that of its own row; for one that stayed from
/// an earlier version, that of its URL, below zero.
pub(super) type Key = (i64, i64, i64);

/// A stretch of versions that hold one capture of a URL.
struct Span {
    line: i64,
    first: i64,
    until: i64,
    time: i64,
    capture: i64,
}

impl Wanted<'_> {
    /// The first and the last instant that a capture may have.
    fn bounds(&self) -> (i64, i64) {
        let since = self.filter.since.map_or(i64::MIN, varve_core::Moment::micros);
        let until = self.filter.until.map_or(i64::MAX, varve_core::Moment::micros);
        match self.order {
            TimeOrder::OldestFirst => (since.max(self.behind.0), until),
            TimeOrder::NewestFirst => (since, until.min(self.behind.0)),
        }
    }
}

/// The captures of a URL in the versions behind the first of each span.
pub(super) fn of_url(
    connection: &Connection,
    url_no: i64,
    wanted: &Wanted<'_>,
) -> Result<Vec<(Key, Capture)>, UnlocatedError> {
    let (from, to) = wanted.bounds();
    let mut found = Vec::new();
    if from > to {
        return Ok(found);
    }
    // Spans follow one another in time: of those that begin before an instant only the last may reach it.
    let sql = match wanted.order {
        TimeOrder::OldestFirst => {
            "SELECT line, first, until, time, capture_no FROM spans
             WHERE url_no = ?1 AND until > first AND time <= ?3
               AND time >= coalesce((SELECT max(time) FROM spans WHERE url_no = ?1 AND until > first AND time < ?2), ?2)
             ORDER BY time, line, first"
        }
        TimeOrder::NewestFirst => {
            "SELECT line, first, until, time, capture_no FROM spans
             WHERE url_no = ?1 AND until > first AND time <= ?3 AND ?2 IS ?2
             ORDER BY time DESC, line DESC, first DESC"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([url_no, from, to])?;
    while found.len() < wanted.limit
        && let Some(row) = rows.next()?
    {
        let span = Span {
            line: row.get(0)?,
            first: row.get(1)?,
            until: row.get(2)?,
            time: row.get(3)?,
            capture: row.get(4)?,
        };
        let begins_before = span.time < from;
        found.extend(of_span(connection, &span, (from, to), wanted, wanted.limit - found.len())?);
        if begins_before && wanted.order == TimeOrder::NewestFirst {
            break;
        }
    }
    Ok(found)
}

fn of_span(
    connection: &Connection,
    span: &Span,
    (from, to): (i64, i64),
    wanted: &Wanted<'_>,
    limit: usize,
) -> Result<Vec<(Key, Capture)>, UnlocatedError> {
    let (compare, direction) = match wanted.order {
        TimeOrder::OldestFirst => (">", "ASC"),
        TimeOrder::NewestFirst => ("<", "DESC"),
    };
    let sql = format!(
        "SELECT {COLUMNS}, o.no, c.url_no FROM owners AS o CROSS JOIN (SELECT ?2 AS first) AS s
         CROSS JOIN captures AS c ON c.no = ?4 CROSS JOIN urls AS u ON u.no = c.url_no
         LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE o.line = ?1 AND o.step > ?2 AND o.step <= ?3 AND o.time BETWEEN ?5 AND ?6
           AND (o.time, o.no, -c.url_no) {compare} (?8, ?9, ?10)
         ORDER BY o.step {direction} LIMIT ?7"
    );
    let (time, owner, row) = wanted.behind;
    let params = params![
        span.line,
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
    collect(connection, &sql, params, |row| {
        Ok(((row.get(1)?, row.get(15)?, -row.get::<_, i64>(16)?), capture_of(row)?))
    })
}

/// The place of a capture of a URL, if it is one behind the first of its span.
pub(super) fn key_of(
    connection: &Connection,
    url_no: i64,
    capture: &Capture,
) -> Result<Option<Key>, UnlocatedError> {
    let Belongs::Version(version) = capture.belongs else { return Ok(None) };
    let sql = "SELECT o.no FROM owners AS o CROSS JOIN spans AS s ON s.line = o.line
         WHERE o.id = ?1 AND o.time = ?2 AND s.url_no = ?3 AND s.first < o.step AND s.until >= o.step";
    let time = capture.time.micros();
    let mut statement = connection.prepare_cached(sql)?;
    let owner =
        statement.query_row(params![version.as_bytes(), time, url_no], |row| row.get(0)).optional()?;
    Ok(owner.map(|owner| (time, owner, -url_no)))
}
