//! Reads the state of a version.
//!
//! Nearly every page has one spelling, and its newest capture shows it: one statement reads these
//! with their captures, in the order of paths. All others are folded from their events.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use varve_core::catalog::UrlMatch;
use varve_core::history::{AbsenceKind, Capture, ListCursor, PageAbsence, PageState, Presence, StateCounts};
use varve_core::{Moment, RecordId, VersionId};
use varve_sqlite::{CaptureTables, SqlResult, UnlocatedError, collect_rows, sql_limit};

use super::ArchiveTables;
use super::ancestry::Ancestry;
use super::read_captures::{
    CAPTURE_COLUMNS, SELECT_CAPTURES, read_capture, url_nos_of, url_order_is_cheaper,
};

/// Comparing the pages of one path costs about as much as reading this number of pages.
const PAGES_PER_LOOKUP: usize = 4;
/// The number of paths that are compared one by one in any case.
const MIN_LOOKUPS: usize = 64;
/// The number of absences of a version up to which they are sorted for each batch.
const MAX_SORTED_ABSENCES: i64 = 10_000;

/// The rows of `page_urls` in the order of paths, each with the newest capture up to the version `?1`,
/// and whether it has absences or other spellings.
fn select_urls(condition: &str) -> String {
    format!(
        "SELECT {CAPTURE_COLUMNS}, c.owner_no, u.no, u.page_no,
             EXISTS (SELECT 1 FROM absences AS a WHERE a.url_no = u.no)
             OR EXISTS (SELECT 1 FROM page_urls AS s WHERE s.page_no = u.no), u.path
         FROM page_urls AS u INDEXED BY page_urls_by_path
         LEFT JOIN captures AS c ON c.no = (
             SELECT e.no FROM captures AS e INDEXED BY captures_by_event WHERE e.url_no = u.no AND e.owner_no <= ?1
             ORDER BY e.owner_no DESC, e.time DESC, e.no DESC LIMIT 1)
         LEFT JOIN owners AS o ON o.no = c.owner_no LEFT JOIN headers AS h ON h.no = c.headers_no
         WHERE {condition} ORDER BY u.path, u.url"
    )
}

impl Ancestry<'_> {
    /// The pages of a list of URLs with at least `limit` pages, up to the end of a path.
    fn pages(
        &self,
        connection: &Connection,
        condition: &str,
        path: &dyn ToSql,
        limit: usize,
    ) -> SqlResult<Vec<PageState>> {
        let mut statement = connection.prepare_cached(&select_urls(condition))?;
        let mut rows = statement.query(params![self.owner, path])?;
        let mut states: Vec<PageState> = Vec::new();
        let mut start_of_path = 0;
        while let Some(row) = rows.next()? {
            let is_next_path = match states.last() {
                Some(last) => row.get_ref(19)?.as_bytes().is_ok_and(|path| path != last.path.as_bytes()),
                None => false,
            };
            if is_next_path {
                sort_by_url(&mut states[start_of_path..]);
                start_of_path = states.len();
                if states.len() >= limit {
                    return Ok(states);
                }
            }
            states.extend(self.page_of(connection, row)?);
        }
        sort_by_url(&mut states[start_of_path..]);
        Ok(states)
    }

    /// The page whose first spelling is a row of [`select_urls`].
    fn page_of(&self, connection: &Connection, row: &Row<'_>) -> SqlResult<Option<PageState>> {
        let (url_no, page_no): (i64, Option<i64>) = (row.get(16)?, row.get(17)?);
        if page_no.is_some() {
            return Ok(None);
        }
        let owner: Option<i64> = row.get(15)?;
        if row.get(18)? {
            return self.folded_page(connection, &self.spellings(url_no, true)?);
        }
        let Some(owner) = owner else { return Ok(None) };
        match self.version(owner)? {
            Some(version) if Presence::of_status(row.get(2)?) == Presence::Present => {
                let capture = read_capture(row)?;
                let is_hidden = self.hides(connection, owner, &capture)?;
                Ok(Some(PageState { is_hidden, ..PageState::listed(version, capture) }))
            }
            _ => self.folded_page(connection, &[url_no]),
        }
    }

    /// A page from all its events.
    fn folded_page(&self, connection: &Connection, url_nos: &[i64]) -> SqlResult<Option<PageState>> {
        let Some(page) = self.fold(url_nos)? else { return Ok(None) };
        let capture = page.capture.map(|no| numbered_capture(connection, no)).transpose()?;
        let evidence = page.evidence.map(|no| numbered_capture(connection, no)).transpose()?;
        let is_hidden = match &capture {
            Some((owner, capture)) => self.hides(connection, *owner, capture)?,
            None => false,
        };
        let (capture, evidence) = (capture.map(|(_, capture)| capture), evidence.map(|(_, capture)| capture));
        let (url, path) = match &capture {
            Some(capture) => (capture.url.clone(), capture.path.clone()),
            None => url_and_path(connection, page.url_no)?,
        };
        let (presence, said_by) = (page.presence, page.said_by);
        Ok(Some(PageState { url, path, presence, capture, said_by, evidence, is_hidden }))
    }

    /// Whether a purge removed the page of a capture.
    fn hides(&self, connection: &Connection, owner: i64, capture: &Capture) -> SqlResult<bool> {
        if !self.has_hidden_pages {
            return Ok(false);
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM hidden_pages WHERE record = ?1 AND url = ?2 AND until >= ?3)";
        let record = capture.record.as_ref().map(RecordId::as_bytes);
        Ok(connection
            .prepare_cached(sql)?
            .query_row(params![record, capture.url, owner], |row| row.get(0))?)
    }
}

fn sort_by_url(states: &mut [PageState]) {
    if states.len() > 1 {
        states.sort_by(|one, other| one.url.cmp(&other.url));
    }
}

/// A capture with the number of its owner.
fn numbered_capture(connection: &Connection, no: i64) -> SqlResult<(i64, Capture)> {
    let sql = format!("{SELECT_CAPTURES} WHERE c.no = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([no])?;
    let row =
        rows.next()?.ok_or_else(|| UnlocatedError::Damaged("captures", format!("row {no} is missing")))?;
    Ok((row.get(15)?, read_capture(row)?))
}

fn url_and_path(connection: &Connection, url_no: i64) -> SqlResult<(String, String)> {
    let sql = "SELECT url, path FROM page_urls WHERE no = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([url_no], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// The state of a version after the path of the cursor.
pub(super) fn state_in(
    connection: &Connection,
    version: &VersionId,
    cursor: ListCursor<(&str, &str)>,
) -> SqlResult<Vec<PageState>> {
    let Some(ancestry) = Ancestry::of(connection, version)? else { return Ok(Vec::new()) };
    match cursor.after {
        Some((path, _)) => ancestry.pages(connection, "u.path > ?2", &path, cursor.limit),
        None => ancestry.pages(connection, "?2 IS NULL", &rusqlite::types::Null, cursor.limit),
    }
}

/// The pages at some paths.
pub(super) fn states_at(
    connection: &Connection,
    version: &VersionId,
    paths: &[&str],
) -> SqlResult<Vec<PageState>> {
    let Some(ancestry) = Ancestry::of(connection, version)? else { return Ok(Vec::new()) };
    let mut states = Vec::new();
    for path in paths {
        states.append(&mut ancestry.pages(connection, "u.path = ?2", path, usize::MAX)?);
    }
    Ok(states)
}

/// The pages of some URLs.
pub(super) fn states_of(
    connection: &Connection,
    version: &VersionId,
    urls: &[&str],
    matching: UrlMatch,
) -> SqlResult<Vec<Option<PageState>>> {
    let Some(ancestry) = Ancestry::of(connection, version)? else { return Ok(vec![None; urls.len()]) };
    let mut states = Vec::with_capacity(urls.len());
    for url in urls {
        let mut url_nos = url_nos_of(connection, url)?;
        if matching == UrlMatch::SamePage {
            for spelling in ArchiveTables::spellings_of(connection, url)?.iter().filter(|other| other != url)
            {
                url_nos.append(&mut url_nos_of(connection, spelling)?);
            }
        }
        states.push(match url_nos[..] {
            [] => None,
            _ => ancestry.folded_page(connection, &url_nos)?,
        });
    }
    Ok(states)
}

/// The number of pages in the state of a version.
pub(super) fn state_counts(connection: &Connection, version: &VersionId) -> SqlResult<StateCounts> {
    let sql = "SELECT present, unreachable, gone FROM owners WHERE id = ?1 AND present IS NOT NULL";
    let counted = connection.prepare_cached(sql)?.query_row([version.as_bytes()], read_counts).optional()?;
    counted.map_or_else(|| count_state(connection, version), Ok)
}

/// Reads three columns.
pub(super) fn read_counts(row: &Row<'_>) -> rusqlite::Result<StateCounts> {
    Ok(StateCounts { present: row.get(0)?, unreachable: row.get(1)?, gone: row.get(2)? })
}

fn count_state(connection: &Connection, version: &VersionId) -> SqlResult<StateCounts> {
    let mut counts = StateCounts::default();
    let Some(ancestry) = Ancestry::of(connection, version)? else { return Ok(counts) };
    let sql = "SELECT no, EXISTS (SELECT 1 FROM page_urls AS s WHERE s.page_no = page_urls.no) FROM page_urls WHERE page_no IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let page = ancestry.fold(&ancestry.spellings(row.get(0)?, row.get(1)?)?)?;
        if let Some(page) = page.filter(|page| page.capture.is_some()) {
            counts.add(&page.presence);
        }
    }
    Ok(counts)
}

/// Calls `each` with the path and the URL of every page about which exactly one of two ancestries
/// says something. Returns false if they are too many, and reading both states is as fast.
pub(super) fn each_page_that_differs(
    connection: &Connection,
    base: &VersionId,
    head: &VersionId,
    each: &mut dyn FnMut(&str, &str),
) -> SqlResult<bool> {
    let (Some(from), Some(to)) = (Ancestry::of(connection, base)?, Ancestry::of(connection, head)?) else {
        return Ok(false);
    };
    let held = state_counts(connection, base)?.shown().max(state_counts(connection, head)?.shown());
    let limit = usize::try_from(held).unwrap_or(usize::MAX) / PAGES_PER_LOOKUP + MIN_LOOKUPS;
    let Some(url_nos) = urls_between(connection, (&from, &to), limit)? else { return Ok(false) };
    let mut statement = connection.prepare_cached("SELECT path, url FROM page_urls WHERE no = ?1")?;
    for url_no in url_nos {
        statement.query_row([url_no], |row| {
            each(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            Ok(())
        })?;
    }
    Ok(true)
}

/// The rows of `page_urls` about which exactly one of two ancestries says something, in the order of
/// their numbers. `None` if there are more than `limit`.
fn urls_between(
    connection: &Connection,
    (one, other): (&Ancestry<'_>, &Ancestry<'_>),
    limit: usize,
) -> SqlResult<Option<Vec<i64>>> {
    let mut url_nos: Vec<i64> = Vec::new();
    for owner in owners_between(connection, one, other)? {
        let sql = "SELECT url_no FROM captures WHERE owner_no = ?1 UNION ALL SELECT url_no FROM absences WHERE owner_no = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([owner])?;
        while let Some(row) = rows.next()? {
            url_nos.push(row.get(0)?);
            // Many versions may have changed few pages, each of them often.
            if url_nos.len() > limit.saturating_mul(2) {
                url_nos.sort_unstable();
                url_nos.dedup();
                if url_nos.len() > limit {
                    return Ok(None);
                }
            }
        }
    }
    url_nos.sort_unstable();
    url_nos.dedup();
    Ok((url_nos.len() <= limit).then_some(url_nos))
}

/// The versions that belong to exactly one of two ancestries.
fn owners_between(connection: &Connection, one: &Ancestry<'_>, other: &Ancestry<'_>) -> SqlResult<Vec<i64>> {
    let lines: HashSet<i64> = one.lines.keys().chain(other.lines.keys()).copied().collect();
    let mut owners = Vec::new();
    for line in lines {
        let [one, other] = [one, other].map(|side| side.lines.get(&line).copied().unwrap_or(-1));
        let sql = "SELECT no FROM owners WHERE line = ?1 AND sequence > ?2 AND sequence <= ?3";
        let range = [line, one.min(other), one.max(other)];
        owners.append(&mut collect_rows(connection, sql, range, |row| Ok(row.get(0)?))?);
    }
    Ok(owners)
}

/// The absences of a version after the cursor.
pub(super) fn absences_in(
    connection: &Connection,
    version: &VersionId,
    cursor: ListCursor<(&str, &str)>,
) -> SqlResult<Vec<PageAbsence>> {
    let sql = "SELECT o.no, (SELECT count(*) FROM (SELECT 1 FROM absences WHERE owner_no = o.no LIMIT ?2))
        FROM owners AS o WHERE o.id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement
        .query_row(params![version.as_bytes(), MAX_SORTED_ABSENCES], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((owner, held)): Option<(i64, i64)> = found else { return Ok(Vec::new()) };
    let limit = sql_limit(cursor.limit);
    let in_url_order = held >= MAX_SORTED_ABSENCES || url_order_is_cheaper(connection, held, limit)?;
    let from = if in_url_order {
        "page_urls AS u CROSS JOIN absences AS a ON a.url_no = u.no AND a.owner_no = ?1"
    } else {
        "absences AS a INDEXED BY absences_by_owner CROSS JOIN page_urls AS u ON u.no = a.url_no"
    };
    let after = if cursor.after.is_some() { "AND (u.path, u.url) > (?3, ?4)" } else { "AND ?3 IS ?4" };
    let sql = format!(
        "SELECT u.url, u.path, a.time, a.reason FROM {from}
         WHERE a.owner_no = ?1 {after} ORDER BY u.path, u.url LIMIT ?2"
    );
    let (path, url) = cursor.after.unzip();
    collect_rows(connection, &sql, params![owner, limit, path, url], |row| {
        let reason: Option<String> = row.get(3)?;
        Ok(PageAbsence {
            version: *version,
            url: row.get(0)?,
            path: row.get(1)?,
            time: Moment::from_micros(row.get(2)?),
            kind: reason.map_or(AbsenceKind::Gone, |reason| AbsenceKind::Unreachable { reason }),
        })
    })
}
