//! Versions that list all their pages become lines: what did not change from one to the next is not written again.
//!
//! A version goes on with the line of its parent if that is the end of the newest line, and if nothing newer is
//! there; otherwise, or when the line has become long against what a version holds, it begins one with all its
//! pages. So a question about any version looks at no more than a few times what it answers. Whatever does not fit
//! (a page that is there twice, a capture on its own, a version that is forgotten) undoes the line first: then
//! every capture has a row of its own, and all is as if there had been none.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};
use varve_core::VersionId;
use varve_core::history::{Belongs, Capture};

use super::capture::own_id;
use super::read_captures::capture_of;
use super::read_spans::HELD;
use super::write::{Batch, Owner};
use varve_sqlite::UnlocatedError;

/// The last step of what is still there.
const STAYS: i64 = i64::MAX;
/// A line may hold so many times the pages of a version, and so many more, before another begins.
const LONGEST: (usize, usize) = (3, 64);
/// And so many versions, however little changes.
const MOST_STEPS: i64 = 128;

/// A version on its way into a line.
struct Listed {
    owner: Owner,
    parent: Option<[u8; 16]>,
    time: i64,
    captures: i64,
    line: Option<i64>,
    has_run: bool,
}

/// What a version holds, by URL and path, each with the number of its URL.
type Held = HashMap<(String, String), (i64, Capture)>;

/// Where a version stands in a line.
#[derive(Clone, Copy)]
struct Step {
    line: i64,
    step: i64,
}

impl Batch<'_> {
    /// Keeps all captures of a version.
    pub(super) fn pages(&mut self, version: VersionId, captures: &[Capture]) -> Result<(), UnlocatedError> {
        let listed = self.listed(version)?;
        if listed.line.is_some() {
            // Its id follows from what it lists, so these are the same.
            return Ok(());
        }
        let has_others = listed.captures > 0 || self.more.contains_key(&listed.owner.no);
        if has_others || !fits(&listed, captures) || !self.is_newest(&listed)? {
            return captures.iter().try_for_each(|capture| self.capture(capture));
        }
        let end = self.end_of_line(&listed)?;
        let gone_on = end.map(|end| self.go_on(&listed, end, captures)).transpose()?;
        if gone_on != Some(true) {
            let start = Step { line: listed.owner.no, step: 0 };
            for capture in captures {
                self.begin_span(&listed, start, capture)?;
            }
            self.take_place(&listed, start)?;
        }
        *self.more.entry(listed.owner.no).or_default() += i64::try_from(captures.len()).unwrap_or(i64::MAX);
        Ok(())
    }

    fn listed(&self, id: VersionId) -> Result<Listed, UnlocatedError> {
        let sql = "SELECT no, parent, time, captures, line, run IS NOT NULL OR by_run FROM owners
            WHERE id = ?1 AND written IS NOT NULL";
        let found = self.connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| {
            Ok(Listed {
                owner: Owner { no: row.get(0)?, origin: Belongs::Version(id) },
                parent: row.get(1)?,
                time: row.get(2)?,
                captures: row.get(3)?,
                line: row.get(4)?,
                has_run: row.get(5)?,
            })
        });
        found.optional()?.ok_or(UnlocatedError::NoVersion(id))
    }

    /// Whether it was made last of all versions, and written last.
    fn is_newest(&self, listed: &Listed) -> Result<bool, UnlocatedError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM owners WHERE id IS NOT NULL AND time > ?1)
            AND ?2 = (SELECT no FROM owners WHERE written IS NOT NULL ORDER BY written DESC LIMIT 1)
            AND ?2 = (SELECT max(no) FROM owners)";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([listed.time, listed.owner.no], |row| row.get(0))?)
    }

    /// Where the parent stands, if it is the end of the newest line.
    fn end_of_line(&self, listed: &Listed) -> Result<Option<Step>, UnlocatedError> {
        let sql =
            "SELECT id, line, step FROM owners WHERE line IS NOT NULL ORDER BY line DESC, step DESC LIMIT 1";
        let end = self.connection.prepare_cached(sql)?.query_row([], |row| {
            Ok((row.get::<_, Option<[u8; 16]>>(0)?, Step { line: row.get(1)?, step: row.get(2)? }))
        });
        let end = end.optional()?;
        Ok(end.filter(|(id, _)| id.is_some() && *id == listed.parent).map(|(_, end)| end))
    }

    /// Writes down what differs from the end of a line. False, and nothing is written, when that is too much.
    fn go_on(&mut self, listed: &Listed, end: Step, captures: &[Capture]) -> Result<bool, UnlocatedError> {
        let (mut held, spans) = self.held_at(end)?;
        let stays = |capture: &&Capture, held: &mut Held| {
            let key = (capture.url.clone(), capture.path.clone());
            let same = capture.time.micros() == listed.time
                && held.get(&key).is_some_and(|(_, before)| says_the_same(before, capture));
            same && held.remove(&key).is_some()
        };
        let changed: Vec<&Capture> = captures.iter().filter(|capture| !stays(capture, &mut held)).collect();
        let is_long = spans + changed.len() > captures.len() * LONGEST.0 + LONGEST.1;
        if is_long || end.step + 1 >= MOST_STEPS {
            return Ok(false);
        }
        // What is left is gone, or is another by now.
        for (url_no, _) in held.values() {
            self.execute(
                "UPDATE spans SET until = ?3 WHERE line = ?1 AND url_no = ?2 AND until = ?4",
                params![end.line, url_no, end.step, STAYS],
            )?;
        }
        let step = Step { line: end.line, step: end.step + 1 };
        for capture in changed {
            self.begin_span(listed, step, capture)?;
        }
        self.take_place(listed, step)?;
        Ok(true)
    }

    /// What the end of a line holds, each with the number of its URL; and how many spans the line has.
    fn held_at(&self, end: Step) -> Result<(Held, usize), UnlocatedError> {
        let mut statement =
            self.connection.prepare_cached(&format!("{HELD} WHERE o.line = ?1 AND o.step = ?2"))?;
        let mut rows = statement.query([end.line, end.step])?;
        let (mut held, mut spans) = (HashMap::new(), 0);
        while let Some(row) = rows.next()? {
            spans += 1;
            if row.get::<_, i64>(16)? == STAYS {
                let capture = capture_of(row)?;
                held.insert((capture.url.clone(), capture.path.clone()), (row.get(15)?, capture));
            }
        }
        Ok((held, spans))
    }

    /// Keeps a capture that a step brought; it is in the steps to come as well, as long as nothing changes it.
    fn begin_span(&mut self, listed: &Listed, at: Step, capture: &Capture) -> Result<(), UnlocatedError> {
        let (no, url_no) = self.add(capture, listed.owner, None)?;
        // A page with a time of its own is not what stays with the next version, whose time would be another.
        let until = if capture.time.micros() == listed.time { STAYS } else { at.step };
        self.execute(
            "INSERT INTO spans (line, url_no, first, until, time, capture_no) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![at.line, url_no, at.step, until, listed.time, no],
        )
    }

    fn take_place(&self, listed: &Listed, at: Step) -> Result<(), UnlocatedError> {
        self.execute(
            "UPDATE owners SET line = ?2, step = ?3 WHERE no = ?1",
            [listed.owner.no, at.line, at.step],
        )
    }

    /// Gives every capture of a line a row of its own, if the owner is in a line.
    pub(super) fn undo_line_of(&mut self, owner: i64) -> Result<(), UnlocatedError> {
        let sql = "SELECT line FROM owners WHERE no = ?1";
        let line: Option<i64> =
            self.connection.prepare_cached(sql)?.query_row([owner], |row| row.get(0)).optional()?.flatten();
        let Some(line) = line else { return Ok(()) };
        for sql in [
            "INSERT INTO captures
                 (owner_no, url_no, time, status, headers_no, own_headers, body, length, record, truncated)
             SELECT o.no, c.url_no, o.time, c.status, c.headers_no, c.own_headers,
                    iif(typeof(c.body) = 'integer', c.body, c.no), c.length, c.record, c.truncated
             FROM spans AS s
             CROSS JOIN owners AS o ON o.line = s.line AND o.step > s.first AND o.step <= s.until
             CROSS JOIN captures AS c ON c.no = s.capture_no
             WHERE s.line = ?1 ORDER BY o.step, c.no",
            "DELETE FROM spans WHERE line = ?1",
            "UPDATE owners SET line = NULL, step = NULL WHERE line = ?1",
        ] {
            self.execute(sql, [line])?;
        }
        self.memory.forget();
        Ok(())
    }
}

/// Whether pages can be part of a line: each is there once, and its id follows from the rest.
fn fits(listed: &Listed, captures: &[Capture]) -> bool {
    let mut seen = HashSet::new();
    !listed.has_run
        && !captures.is_empty()
        && captures.iter().all(|capture| {
            capture.belongs == listed.owner.origin
                && own_id(capture, listed.owner).is_none()
                && seen.insert((&capture.url, &capture.path))
        })
}

/// Whether a capture of the next version says what this one says, at another time.
fn says_the_same(before: &Capture, after: &Capture) -> bool {
    let Capture {
        id: _,
        belongs: _,
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
