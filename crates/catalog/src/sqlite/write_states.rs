//! Writes what states are made from: absences, the order of versions and their lines, and the number
//! of pages in each state.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};
use varve_core::VersionId;
use varve_core::history::{AbsenceKind, CaptureOwner, PageAbsence, Presence, PresenceFold, StateCounts};
use varve_sqlite::column::blob_id;
use varve_sqlite::{SqlResult, UnlocatedError, collect_rows};

use super::ancestry::{Ancestry, LinePosition, PageEvent};
use super::read_states::read_counts;
use super::write_batch::WriteBatch;

impl WriteBatch<'_> {
    /// Stores an absence. One that exists is left alone.
    pub(super) fn absence(&mut self, absence: &PageAbsence) -> SqlResult<()> {
        let owner = self.owner(CaptureOwner::Version(absence.version))?;
        let url_no = self.url_no(&absence.url, &absence.path)?;
        let reason = match &absence.kind {
            AbsenceKind::Gone => None,
            AbsenceKind::Unreachable { reason } => Some(reason),
        };
        let sql = "INSERT OR IGNORE INTO absences (url_no, owner_no, time, reason) VALUES (?1, ?2, ?3, ?4)";
        let params = params![url_no, owner.no, absence.time.micros(), reason];
        if self.connection.prepare_cached(sql)?.execute(params)? > 0 {
            self.reset_counts_of(owner.no)?;
        }
        Ok(())
    }

    /// Marks the states that an added event may change as not counted. Done once for each owner.
    pub(super) fn reset_counts_of(&mut self, owner: i64) -> SqlResult<()> {
        if !self.uncounted.insert(owner) {
            return Ok(());
        }
        // The captures of a run change no state until the run becomes a version.
        self.execute(
            "UPDATE owners SET present = NULL WHERE no >= ?1 AND present IS NOT NULL
                 AND EXISTS (SELECT 1 FROM owners AS o WHERE o.no = ?1 AND o.id IS NOT NULL)",
            [owner],
        )
    }

    /// Marks the states of a version and of all later ones as not counted.
    pub(super) fn reset_counts_from(&self, owner: i64) -> SqlResult<()> {
        // Nearly always the newest version, which is not counted yet.
        self.execute("UPDATE owners SET present = NULL WHERE no >= ?1 AND present IS NOT NULL", [owner])
    }

    /// Gives an owner the greatest number of all versions, and returns its number.
    pub(super) fn renumber_as_newest(&mut self, no: i64) -> SqlResult<i64> {
        let sql = "SELECT max(no) FROM owners INDEXED BY owners_versions WHERE id IS NOT NULL";
        let last: Option<i64> = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        if last.is_none_or(|last| last < no) {
            return Ok(no);
        }
        self.write_counts()?;
        let sql = "SELECT max(no) + 1 FROM owners";
        let new: i64 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        // The captures follow their owner.
        self.connection.pragma_update(None, "defer_foreign_keys", true)?;
        for sql in [
            "UPDATE owners SET no = ?2 WHERE no = ?1",
            "UPDATE captures SET owner_no = ?2 WHERE owner_no = ?1",
            "UPDATE absences SET owner_no = ?2 WHERE owner_no = ?1",
        ] {
            self.execute(sql, [no, new])?;
        }
        Ok(new)
    }

    /// Adds a new version to the line of its parent, or begins a line.
    pub(super) fn enter_line(&self, no: i64, parent: Option<VersionId>) -> SqlResult<()> {
        let base = self.nearest_version(parent)?;
        let position = match base {
            Some(base) if self.is_end_of_line(base)? => LinePosition { sequence: base.sequence + 1, ..base },
            base => {
                self.execute(
                    "INSERT INTO lines (base_line, base_sequence) VALUES (?1, ?2)",
                    params![base.map(|base| base.line), base.map(|base| base.sequence)],
                )?;
                LinePosition { line: self.connection.last_insert_rowid(), sequence: 0 }
            }
        };
        self.execute(
            "UPDATE owners SET line = ?2, sequence = ?3 WHERE no = ?1",
            [no, position.line, position.sequence],
        )
    }

    /// The first existing version from `version` on, across removed ones.
    fn nearest_version(&self, version: Option<VersionId>) -> SqlResult<Option<LinePosition>> {
        let mut seen = HashSet::new();
        let mut next = version;
        while let Some(version) = next.filter(|version| seen.insert(*version)) {
            let sql = "SELECT line, sequence FROM owners WHERE id = ?1 AND line IS NOT NULL";
            let read = |row: &Row<'_>| Ok(LinePosition { line: row.get(0)?, sequence: row.get(1)? });
            let found =
                self.connection.prepare_cached(sql)?.query_row([version.as_bytes()], read).optional()?;
            if found.is_some() {
                return Ok(found);
            }
            let sql = "SELECT parent FROM removed_versions WHERE id = ?1";
            let read = |row: &Row<'_>| blob_id(row, 0, "removed_versions");
            next = collect_rows(self.connection, sql, [version.as_bytes()], read)?.pop().flatten();
        }
        Ok(None)
    }

    /// Whether neither a version nor a line comes behind a position. A removed version may have been
    /// there.
    fn is_end_of_line(&self, at: LinePosition) -> SqlResult<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM owners WHERE line = ?1 AND sequence > ?2)
            AND NOT EXISTS (SELECT 1 FROM lines WHERE base_line = ?1 AND base_sequence > ?2)";
        Ok(self.connection.prepare_cached(sql)?.query_row([at.line, at.sequence], |row| row.get(0))?)
    }

    /// Stores the parent of a removed version, and links the versions that descend from it.
    pub(super) fn link_over_removed(&self, version: &VersionId, parent: Option<VersionId>) -> SqlResult<()> {
        self.execute(
            "INSERT OR IGNORE INTO removed_versions (id, parent) VALUES (?1, ?2)",
            params![version.as_bytes(), parent.as_ref().map(VersionId::as_bytes)],
        )?;
        let Some(base) = self.nearest_version(Some(*version))? else { return Ok(()) };
        let (mut seen, mut waiting) = (HashSet::new(), vec![*version]);
        while let Some(removed) = waiting.pop().filter(|removed| seen.insert(*removed)) {
            let sql = "SELECT o.no, o.line FROM owners AS o CROSS JOIN lines AS l ON l.no = o.line
                WHERE o.parent = ?1 AND o.sequence = 0 AND l.base_line IS NULL";
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let children: Vec<(i64, i64)> = collect_rows(self.connection, sql, [removed.as_bytes()], read)?;
            for (child, line) in children.into_iter().filter(|(_, line)| *line != base.line) {
                self.execute(
                    "UPDATE lines SET base_line = ?2, base_sequence = ?3 WHERE no = ?1",
                    [line, base.line, base.sequence],
                )?;
                self.reset_counts_from(child)?;
            }
            let sql = "SELECT id FROM removed_versions WHERE parent = ?1";
            let read = |row: &Row<'_>| blob_id(row, 0, "removed_versions");
            let below: Vec<Option<VersionId>> =
                collect_rows(self.connection, sql, [removed.as_bytes()], read)?;
            waiting.extend(below.into_iter().flatten());
        }
        Ok(())
    }

    /// Counts the pages in states that are not counted, oldest version first.
    pub(super) fn count_pages(&self) -> SqlResult<()> {
        let sql = "SELECT no, line, sequence FROM owners INDEXED BY owners_uncounted
            WHERE id IS NOT NULL AND present IS NULL ORDER BY no";
        let read =
            |row: &Row<'_>| Ok((row.get(0)?, LinePosition { line: row.get(1)?, sequence: row.get(2)? }));
        let uncounted: Vec<(i64, LinePosition)> = collect_rows(self.connection, sql, [], read)?;
        for (no, position) in uncounted {
            let mut counts = self.counts_before(position)?;
            self.count_changes(no, position, &mut counts)?;
            self.execute(
                "UPDATE owners SET present = ?2, unreachable = ?3, gone = ?4 WHERE no = ?1",
                params![no, counts.present, counts.unreachable, counts.gone],
            )?;
        }
        Ok(())
    }

    /// The number of pages in the state of the parent, which is counted.
    fn counts_before(&self, at: LinePosition) -> SqlResult<StateCounts> {
        let sql = "SELECT present, unreachable, gone FROM owners WHERE line = ?1 AND sequence <= ?2
            ORDER BY sequence DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut next = Some(LinePosition { sequence: at.sequence - 1, ..at });
        while let Some(LinePosition { line, sequence }) = next {
            let read = |row: &Row<'_>| match row.get_ref(0)? {
                ValueRef::Null => Ok(None),
                _ => read_counts(row).map(Some),
            };
            if let Some(counts) = statement.query_row([line, sequence], read).optional()? {
                let trouble = || format!("no version behind {line}.{sequence} is counted");
                return counts.ok_or_else(|| UnlocatedError::Damaged("owners", trouble()));
            }
            let sql = "SELECT base_line, base_sequence FROM lines WHERE no = ?1 AND base_line IS NOT NULL";
            let read = |row: &Row<'_>| Ok(LinePosition { line: row.get(0)?, sequence: row.get(1)? });
            next = self.connection.prepare_cached(sql)?.query_row([line], read).optional()?;
        }
        Ok(StateCounts::default())
    }

    /// Adds the difference that a version makes to the number of pages.
    fn count_changes(&self, no: i64, at: LinePosition, counts: &mut StateCounts) -> SqlResult<()> {
        let ancestry = Ancestry::at(self.connection, no, Some(at))?;
        let sql = "SELECT p.no, EXISTS (SELECT 1 FROM page_urls AS s WHERE s.page_no = p.no) FROM (
                 SELECT DISTINCT coalesce(u.page_no, u.no) AS no FROM (
                     SELECT url_no FROM captures WHERE owner_no = ?1 UNION ALL
                     SELECT url_no FROM absences WHERE owner_no = ?1) AS e
                 CROSS JOIN page_urls AS u ON u.no = e.url_no) AS p";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([no])?;
        while let Some(row) = rows.next()? {
            let url_nos = ancestry.spellings(row.get(0)?, row.get(1)?)?;
            let [mut now, mut before] = [CountedPage::default(), CountedPage::default()];
            ancestry.each_event(&url_nos, &mut |event| {
                now.add(&event);
                if event.owner != no {
                    before.add(&event);
                }
                Ok(!before.is_known())
            })?;
            if let Some(presence) = now.presence {
                counts.add(&presence);
            }
            if let Some(presence) = before.presence {
                counts.remove(&presence);
            }
        }
        Ok(())
    }
}

/// The presence of a page that was captured, from its events.
#[derive(Default)]
struct CountedPage {
    fold: PresenceFold<()>,
    presence: Option<Presence>,
}

impl CountedPage {
    /// Adds the next older event.
    fn add(&mut self, event: &PageEvent) {
        if self.presence.is_none() {
            let folded = self.fold.add(event.says.clone(), event.version, ());
            self.presence = folded.map(|folded| folded.presence);
        }
    }

    fn is_known(&self) -> bool {
        self.presence.is_some()
    }
}
