//! Rows become rows: versions, tags, HEAD, diffs, scores, verdicts and removals. Captures have a file of their own.
//!
//! A batch is one transaction. Within it a capture may come before its version; that the version came is checked at
//! the end.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use varve_core::history::{Belongs, StoredDiff, StoredScore, StoredVerdict, Version};
use varve_core::{RunId, VersionId};

use super::memory::Memory;
use varve_core::catalog::{CatalogRow, LatestPageList, Removal};
use varve_sqlite::UnlocatedError;

/// Is told of rows that are left out because they are about a version that is not here.
pub(super) type LeaveOut<'a> = &'a mut dyn FnMut(CatalogRow);

/// What keeping rows came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// Something was added.
    Added,
    /// Something was erased besides that must not be found in the file any more.
    Erased,
}

/// Keeps rows, in a transaction that is open. Scores and moves of HEAD that are about a version that is not here are
/// given to `leave_out`, if there is one.
pub(super) fn apply(
    connection: &Connection,
    memory: &mut Memory,
    rows: &mut dyn Iterator<Item = CatalogRow>,
    mut leave_out: Option<LeaveOut<'_>>,
) -> Result<Applied, UnlocatedError> {
    let mut batch = Batch {
        connection,
        memory,
        owner: None,
        more: HashMap::new(),
        waiting: HashMap::new(),
        head: None,
        erased: false,
    };
    for row in rows {
        match &mut leave_out {
            Some(leave_out) if batch.is_about_lost(&row)? => leave_out(row),
            _ => batch.keep(row)?,
        }
    }
    batch.finish()
}

/// A batch of rows on its way.
pub(super) struct Batch<'a> {
    pub(super) connection: &'a Connection,
    pub(super) memory: &'a mut Memory,
    /// The owner of the last capture: the next one's is nearly always the same.
    owner: Option<(Belongs, Owner)>,
    /// How many captures owners have got; written at the end.
    pub(super) more: HashMap<i64, i64>,
    /// Versions that captures belong to and that have not come yet.
    waiting: HashMap<VersionId, i64>,
    /// Where HEAD points, if this batch moved it; written at the end.
    head: Option<VersionId>,
    /// Whether headers were taken from captures.
    pub(super) erased: bool,
}

/// A row of `owners`.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    /// Its number.
    pub(super) no: i64,
    /// What the ids of its captures are derived from.
    pub(super) origin: Belongs,
}

impl Batch<'_> {
    fn keep(&mut self, row: CatalogRow) -> Result<(), UnlocatedError> {
        match row {
            CatalogRow::Version(version) => self.version(&version),
            CatalogRow::Capture(capture) => self.capture(&capture),
            CatalogRow::Pages { version, captures } => self.pages(version, &captures),
            CatalogRow::Tag { name, version: Some(version), time } => self.execute(
                "INSERT OR REPLACE INTO tags (name, version, time) VALUES (?1, ?2, ?3)",
                params![name, version.as_bytes(), time.micros()],
            ),
            CatalogRow::Tag { name, version: None, .. } => {
                self.execute("DELETE FROM tags WHERE name = ?1", params![name])
            }
            CatalogRow::Head(version) => {
                self.head = Some(version);
                Ok(())
            }
            CatalogRow::ScannedUpTo(place) => self.execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('scanned_up_to', ?1)",
                params![place.to_string()],
            ),
            CatalogRow::PageList(LatestPageList { record, deviations }) => self.execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('page_list', ?1)",
                params![format!("{record} {deviations}")],
            ),
            CatalogRow::GcDone(time) => self.execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('last_gc', ?1)",
                params![time.to_string()],
            ),
            CatalogRow::Diff(diff) => self.diff(&diff),
            CatalogRow::Score(score) => self.score(&score),
            CatalogRow::Verdict(verdict) => self.verdict(&verdict),
            CatalogRow::Removal(removal) => self.removal(&removal),
            CatalogRow::ForgetVersion(id) => self.forget_version(&id),
            CatalogRow::ForgetDiffs(before) => {
                self.execute("DELETE FROM kept_diffs WHERE time < ?1", params![before.micros()])
            }
            CatalogRow::ForgetRun(run) => self.forget_run(&run),
        }
    }

    /// A statement without an answer.
    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<(), UnlocatedError> {
        self.connection.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    fn finish(mut self) -> Result<Applied, UnlocatedError> {
        if let Some(&missing) = self.waiting.keys().min() {
            return Err(UnlocatedError::NoVersion(missing));
        }
        self.write_counts()?;
        self.write_head()?;
        self.forget_headers()?;
        Ok(if self.erased { Applied::Erased } else { Applied::Added })
    }

    /// Writes down how many captures owners have got.
    pub(super) fn write_counts(&mut self) -> Result<(), UnlocatedError> {
        for (owner, more) in std::mem::take(&mut self.more) {
            self.execute("UPDATE owners SET captures = captures + ?2 WHERE no = ?1", [owner, more])?;
        }
        Ok(())
    }

    /// Writes down where HEAD points.
    fn write_head(&mut self) -> Result<(), UnlocatedError> {
        let Some(head) = self.head.take() else { return Ok(()) };
        self.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('head', ?1)",
            params![head.to_string()],
        )
    }

    /// Where HEAD points by now, which is written down first.
    pub(super) fn settled_head(&mut self) -> Result<Option<VersionId>, UnlocatedError> {
        self.write_head()?;
        super::read_rest::head(self.connection)
    }

    fn version(&mut self, version: &Version) -> Result<(), UnlocatedError> {
        self.head = Some(version.id);
        let waiting = self.waiting.remove(&version.id);
        if waiting.is_none() && self.owner_with_id(&version.id)?.is_some() {
            return Ok(());
        }
        self.owner = None;
        match (self.unclaimed(version.run)?, waiting) {
            (Some(run), Some(waiting)) => {
                self.move_captures(waiting, run)?;
                self.claim(run, version)
            }
            (Some(no), None) | (None, Some(no)) => self.claim(no, version),
            (None, None) => {
                self.execute("INSERT INTO owners (by_run) VALUES (0)", [])?;
                self.claim(self.connection.last_insert_rowid(), version)
            }
        }
    }

    /// Gives an owner all that a version has.
    fn claim(&self, no: i64, version: &Version) -> Result<(), UnlocatedError> {
        self.execute(
            "UPDATE owners SET id = ?2, parent = ?3, message = ?4, author = ?5, time = ?6,
                 run = iif(?7, ?8, NULL), named = iif(?7, NULL, ?8), record = ?9,
                 written = (SELECT coalesce(max(written), 0) + 1 FROM owners WHERE written IS NOT NULL)
             WHERE no = ?1",
            params![
                no,
                version.id.as_bytes(),
                version.parent.as_ref().map(VersionId::as_bytes),
                version.message,
                version.author,
                version.time.micros(),
                self.is_first_to_name(no, version.run)?,
                version.run.as_ref().map(RunId::as_bytes),
                version.record.as_ref().map(varve_core::RecordId::as_bytes),
            ],
        )
    }

    /// Whether no other version holds the captures of the run.
    fn is_first_to_name(&self, no: i64, run: Option<RunId>) -> Result<bool, UnlocatedError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM owners WHERE run = ?1 AND no <> ?2)";
        let run = run.as_ref().map(RunId::as_bytes);
        Ok(self.connection.prepare_cached(sql)?.query_row(params![run, no], |row| row.get(0))?)
    }

    /// The owner that a run has, if it has not become a version.
    fn unclaimed(&self, run: Option<RunId>) -> Result<Option<i64>, UnlocatedError> {
        let Some(run) = run else { return Ok(None) };
        let sql = "SELECT no FROM owners WHERE run = ?1 AND id IS NULL";
        Ok(self.connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| row.get(0)).optional()?)
    }

    /// The owner of captures; made where there is none.
    pub(super) fn owner(&mut self, belongs: Belongs) -> Result<Owner, UnlocatedError> {
        if let Some((_, owner)) = self.owner.filter(|(known, _)| *known == belongs) {
            return Ok(owner);
        }
        let owner = match belongs {
            Belongs::Version(id) => self.owner_of_version(id)?,
            Belongs::Run(run) => self.owner_of_run(run)?,
        };
        self.owner = Some((belongs, owner));
        Ok(owner)
    }

    fn owner_of_version(&mut self, id: VersionId) -> Result<Owner, UnlocatedError> {
        if let Some(owner) = self.owner_with_id(&id)? {
            // A capture on its own is no part of a line.
            self.undo_line_of(owner.no)?;
            return Ok(owner);
        }
        self.execute("INSERT INTO owners (id) VALUES (?1)", [id.as_bytes()])?;
        let no = self.connection.last_insert_rowid();
        self.waiting.insert(id, no);
        Ok(Owner { no, origin: Belongs::Version(id) })
    }

    fn owner_of_run(&self, run: RunId) -> Result<Owner, UnlocatedError> {
        let sql = "SELECT no, by_run, id FROM owners WHERE run = ?1";
        let found = self.connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| {
            let by_run: bool = row.get(1)?;
            let id: Option<[u8; 16]> = row.get(2)?;
            let origin = match id.filter(|_| !by_run) {
                Some(id) => Belongs::Version(VersionId::new(uuid::Uuid::from_bytes(id))),
                None => Belongs::Run(run),
            };
            Ok(Owner { no: row.get(0)?, origin })
        });
        if let Some(owner) = found.optional()? {
            return Ok(owner);
        }
        self.execute("INSERT INTO owners (run, by_run) VALUES (?1, 1)", [run.as_bytes()])?;
        Ok(Owner { no: self.connection.last_insert_rowid(), origin: Belongs::Run(run) })
    }

    fn owner_with_id(&self, id: &VersionId) -> Result<Option<Owner>, UnlocatedError> {
        let sql = "SELECT no, by_run, run FROM owners WHERE id = ?1";
        let owner = self.connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| {
            let by_run: bool = row.get(1)?;
            let run: Option<[u8; 16]> = row.get(2)?;
            let origin = match run.filter(|_| by_run) {
                Some(run) => Belongs::Run(RunId::new(uuid::Uuid::from_bytes(run))),
                None => Belongs::Version(*id),
            };
            Ok(Owner { no: row.get(0)?, origin })
        });
        Ok(owner.optional()?)
    }

    /// Forgets which owner came last, because owners changed.
    pub(super) fn forget_owner(&mut self) {
        self.owner = None;
    }

    /// Whether it is about a version that is not there. A tag is kept all the same: it tells what was there.
    fn is_about_lost(&self, row: &CatalogRow) -> Result<bool, UnlocatedError> {
        let version = match row {
            CatalogRow::Score(score) => &score.version,
            CatalogRow::Head(version) => version,
            _ => return Ok(false),
        };
        Ok(self.owner_with_id(version)?.is_none())
    }

    /// Refuses what is about a version that is not there.
    fn must_have(&self, id: &VersionId) -> Result<(), UnlocatedError> {
        self.owner_with_id(id)?.map(|_| ()).ok_or(UnlocatedError::NoVersion(*id))
    }

    fn diff(&self, diff: &StoredDiff) -> Result<(), UnlocatedError> {
        diff.base.iter().chain([&diff.head]).try_for_each(|id| self.must_have(id))?;
        self.execute(
            "INSERT INTO kept_diffs (base, head, json, time) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (head, base) DO UPDATE SET json = excluded.json, time = excluded.time",
            params![
                super::read_rest::base_bytes(diff.base.as_ref()),
                diff.head.as_bytes(),
                diff.json,
                diff.time.micros()
            ],
        )
    }

    fn score(&self, score: &StoredScore) -> Result<(), UnlocatedError> {
        self.must_have(&score.version)?;
        let not_json = |error: serde_json::Error| UnlocatedError::Damaged("scores", error.to_string());
        let evidence = serde_json::to_string(&score.evidence).map_err(not_json)?;
        let attributions = serde_json::to_string(&score.attributions).map_err(not_json)?;
        self.execute(
            "INSERT OR REPLACE INTO scores
                 (version, scoring_version, score, normalized, confidence, json, time, evidence, attributions)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                score.version.as_bytes(),
                score.scoring_version,
                score.score,
                score.normalized,
                score.confidence,
                score.json,
                score.time.micros(),
                evidence,
                attributions,
            ],
        )
    }

    fn removal(&mut self, removal: &Removal) -> Result<(), UnlocatedError> {
        if let Some(url) = removal.tombstone.page() {
            self.hide(&removal.tombstone_record, &removal.tombstone.record, url)?;
        }
        let not_json = |error: serde_json::Error| UnlocatedError::Damaged("removals", error.to_string());
        self.execute(
            "INSERT OR REPLACE INTO removals (tombstone_record, record, url, time, json) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                removal.tombstone_record.as_bytes(),
                removal.tombstone.record.as_bytes(),
                removal.url_of_response(),
                removal.tombstone.time.micros(),
                serde_json::to_string(&removal.tombstone).map_err(not_json)?,
            ],
        )
    }

    fn verdict(&self, verdict: &StoredVerdict) -> Result<(), UnlocatedError> {
        self.execute(
            "INSERT OR REPLACE INTO verdicts (url, time, verdict, status, json) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![verdict.url, verdict.time.micros(), verdict.verdict, verdict.status, verdict.json],
        )
    }
}
