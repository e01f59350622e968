//! Version runs: versions that list all their pages share rows for pages that do not change.
//!
//! A version run is a row of versions, each the child of the one before. A version continues the
//! run of its parent if the parent is the end of the newest run and nothing newer exists.
//! Otherwise, or when the run has become long compared with the pages of a version, it begins a new
//! run with all its pages. So a query about any version reads at most a few times the rows that it
//! returns.
//!
//! A batch that does not fit (a page listed twice, a capture on its own, a removed version)
//! dissolves the run first: each capture then has a row of its own.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};
use varve_core::VersionId;
use varve_core::history::{Capture, CaptureOwner};
use varve_sqlite::column::blob_id;
use varve_sqlite::{SqlResult, UnlocatedError, WriteCache as _};

use super::read_captures::read_capture;
use super::read_version_runs::SELECT_SPANS;
use super::write_batch::{OwnerRow, WriteBatch};
use super::write_captures::underivable_id;

/// The value of `until` for a page that the end of the run still holds.
const UNTIL_CHANGED: i64 = i64::MAX;
/// A run has at most this many spans for each page of its newest version...
const MAX_SPANS_PER_PAGE: usize = 3;
/// ...and this many more.
const EXTRA_SPANS: usize = 64;
/// The maximum number of versions in a run.
const MAX_RUN_LENGTH: i64 = 128;

/// A version whose pages are to be stored.
struct ListedVersion {
    owner: OwnerRow,
    parent: Option<VersionId>,
    time: i64,
    captures: i64,
    version_run: Option<i64>,
    has_crawl_run: bool,
}

/// The captures of a version by URL and path, each with the number of its URL.
type HeldPages = HashMap<(String, String), (i64, Capture)>;

/// The position of a version in a version run.
#[derive(Clone, Copy)]
struct RunSlot {
    version_run: i64,
    sequence: i64,
}

impl WriteBatch<'_> {
    /// Stores all captures of a version.
    pub(super) fn pages(&mut self, version: VersionId, captures: &[Capture]) -> SqlResult<()> {
        let listed = self.listed_version(version)?;
        if listed.version_run.is_some() {
            // The id of a version is derived from its list of pages, so these are the same.
            return Ok(());
        }
        let has_others = listed.captures > 0 || self.more.contains_key(&listed.owner.no);
        if has_others || !fits_run(&listed, captures) || !self.is_newest(&listed)? {
            return captures.iter().try_for_each(|capture| self.capture(capture));
        }
        let end = self.run_end(&listed)?;
        let continued = end.map(|end| self.continue_run(&listed, end, captures)).transpose()?;
        if continued != Some(true) {
            let start = RunSlot { version_run: listed.owner.no, sequence: 0 };
            for capture in captures {
                self.begin_span(&listed, start, capture)?;
            }
            self.set_slot(&listed, start)?;
        }
        *self.more.entry(listed.owner.no).or_default() += i64::try_from(captures.len()).unwrap_or(i64::MAX);
        Ok(())
    }

    fn listed_version(&self, id: VersionId) -> SqlResult<ListedVersion> {
        let sql = "SELECT no, parent, time, captures, version_run, run IS NOT NULL OR by_run FROM owners
            WHERE id = ?1 AND written IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([id.as_bytes()])?;
        let row = rows.next()?.ok_or(UnlocatedError::NoVersion(id))?;
        Ok(ListedVersion {
            owner: OwnerRow { no: row.get(0)?, origin: CaptureOwner::Version(id) },
            parent: blob_id(row, 1, "owners")?,
            time: row.get(2)?,
            captures: row.get(3)?,
            version_run: row.get(4)?,
            has_crawl_run: row.get(5)?,
        })
    }

    /// Whether the version has the latest time of all versions, and was written last.
    fn is_newest(&self, listed: &ListedVersion) -> SqlResult<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM owners WHERE id IS NOT NULL AND time > ?1)
            AND ?2 = (SELECT no FROM owners WHERE written IS NOT NULL ORDER BY written DESC LIMIT 1)
            AND ?2 = (SELECT max(no) FROM owners)";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([listed.time, listed.owner.no], |row| row.get(0))?)
    }

    /// The slot of the parent, if it is the end of the newest version run.
    fn run_end(&self, listed: &ListedVersion) -> SqlResult<Option<RunSlot>> {
        let sql = "SELECT id, version_run, sequence FROM owners WHERE version_run IS NOT NULL
            ORDER BY version_run DESC, sequence DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let id: Option<VersionId> = blob_id(row, 0, "owners")?;
        let slot = RunSlot { version_run: row.get(1)?, sequence: row.get(2)? };
        Ok((id.is_some() && id == listed.parent).then_some(slot))
    }

    /// Stores the differences from the end of a run. Returns false, and stores nothing, if the run
    /// would become too long.
    fn continue_run(
        &mut self,
        listed: &ListedVersion,
        end: RunSlot,
        captures: &[Capture],
    ) -> SqlResult<bool> {
        let (mut held, spans) = self.held_pages(end)?;
        let stays = |capture: &&Capture, held: &mut HeldPages| {
            let key = (capture.url.clone(), capture.path.clone());
            let same = capture.time.micros() == listed.time
                && held.get(&key).is_some_and(|(_, before)| has_same_content(before, capture));
            same && held.remove(&key).is_some()
        };
        let changed: Vec<&Capture> = captures.iter().filter(|capture| !stays(capture, &mut held)).collect();
        let is_long = spans + changed.len() > captures.len() * MAX_SPANS_PER_PAGE + EXTRA_SPANS;
        if is_long || end.sequence + 1 >= MAX_RUN_LENGTH {
            return Ok(false);
        }
        // The pages that remain in `held` are gone or have changed.
        for (url_no, _) in held.values() {
            self.execute(
                "UPDATE spans SET until = ?3 WHERE version_run = ?1 AND url_no = ?2 AND until = ?4",
                params![end.version_run, url_no, end.sequence, UNTIL_CHANGED],
            )?;
        }
        let slot = RunSlot { version_run: end.version_run, sequence: end.sequence + 1 };
        for capture in changed {
            self.begin_span(listed, slot, capture)?;
        }
        self.set_slot(listed, slot)?;
        Ok(true)
    }

    /// The pages at the end of a run, and the number of spans in the run.
    fn held_pages(&self, end: RunSlot) -> SqlResult<(HeldPages, usize)> {
        let sql = format!("{SELECT_SPANS} WHERE o.version_run = ?1 AND o.sequence = ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([end.version_run, end.sequence])?;
        let (mut held, mut spans) = (HashMap::new(), 0);
        while let Some(row) = rows.next()? {
            spans += 1;
            if row.get::<_, i64>(16)? == UNTIL_CHANGED {
                let capture = read_capture(row)?;
                held.insert((capture.url.clone(), capture.path.clone()), (row.get(15)?, capture));
            }
        }
        Ok((held, spans))
    }

    /// Stores a capture that is new in this slot. Later slots hold it too until it changes.
    fn begin_span(&mut self, listed: &ListedVersion, at: RunSlot, capture: &Capture) -> SqlResult<()> {
        let (no, url_no) = self.insert_new(capture, listed.owner, None)?;
        // A page with a time of its own is not the same in the next version, whose time differs.
        let until = if capture.time.micros() == listed.time { UNTIL_CHANGED } else { at.sequence };
        self.execute(
            "INSERT INTO spans (version_run, url_no, first, until, time, capture_no)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![at.version_run, url_no, at.sequence, until, listed.time, no],
        )
    }

    fn set_slot(&self, listed: &ListedVersion, at: RunSlot) -> SqlResult<()> {
        self.execute(
            "UPDATE owners SET version_run = ?2, sequence = ?3 WHERE no = ?1",
            [listed.owner.no, at.version_run, at.sequence],
        )
    }

    /// Gives every capture of the version run of an owner a row of its own.
    pub(super) fn dissolve_run_of(&mut self, owner: i64) -> SqlResult<()> {
        let sql = "SELECT version_run FROM owners WHERE no = ?1";
        let version_run: Option<i64> =
            self.connection.prepare_cached(sql)?.query_row([owner], |row| row.get(0)).optional()?.flatten();
        let Some(version_run) = version_run else { return Ok(()) };
        for sql in [
            "INSERT INTO captures
                 (owner_no, url_no, time, status, headers_no, own_headers, body, length, record, truncated)
             SELECT o.no, c.url_no, o.time, c.status, c.headers_no, c.own_headers,
                    iif(typeof(c.body) = 'integer', c.body, c.no), c.length, c.record, c.truncated
             FROM spans AS s
             CROSS JOIN owners AS o
                 ON o.version_run = s.version_run AND o.sequence > s.first AND o.sequence <= s.until
             CROSS JOIN captures AS c ON c.no = s.capture_no
             WHERE s.version_run = ?1 ORDER BY o.sequence, c.no",
            "DELETE FROM spans WHERE version_run = ?1",
            "UPDATE owners SET version_run = NULL, sequence = NULL WHERE version_run = ?1",
        ] {
            self.execute(sql, [version_run])?;
        }
        self.cache.clear();
        Ok(())
    }
}

/// Whether pages can be part of a version run: each is listed once, and its id can be derived.
fn fits_run(listed: &ListedVersion, captures: &[Capture]) -> bool {
    let mut seen = HashSet::new();
    !listed.has_crawl_run
        && !captures.is_empty()
        && captures.iter().all(|capture| {
            capture.owner == listed.owner.origin
                && underivable_id(capture, listed.owner).is_none()
                && seen.insert((&capture.url, &capture.path))
        })
}

/// Whether two captures differ only in what belongs to their versions.
fn has_same_content(before: &Capture, after: &Capture) -> bool {
    let Capture {
        id: _,
        owner: _,
        url: _,
        path: _,
        time: _,
        status,
        headers,
        body,
        length,
        record,
        truncated,
    } = before;
    (status, headers, body, length, record, truncated)
        == (&after.status, &after.headers, &after.body, &after.length, &after.record, &after.truncated)
}
