//! Writes a batch of rows in one transaction: versions, tags, HEAD, diffs, scores, verdicts and
//! removals. `write_captures` writes captures, and `extractions` writes extractions.
//!
//! Within a batch a capture may come before its version. The end of the batch checks that all
//! versions came.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};
use varve_core::history::{CaptureOwner, StoredDiff, StoredScore, Version};
use varve_core::{RunId, VersionId};

use super::ArchiveTables;
use super::write_cache::UrlCache;
use varve_core::catalog::{CatalogRow, Removal};
use varve_sqlite::column::blob_id;
use varve_sqlite::{BatchEffect, SqlResult, UnlocatedError, parsed_state, store_check, store_verdict};

/// Stores rows in an open transaction.
pub(super) fn apply(
    connection: &Connection,
    cache: &mut UrlCache,
    rows: &mut dyn Iterator<Item = CatalogRow>,
) -> SqlResult<BatchEffect> {
    let mut batch = WriteBatch {
        connection,
        cache,
        owner: None,
        more: HashMap::new(),
        waiting: HashMap::new(),
        head: None,
        erased: false,
        is_complete: false,
        uncounted: HashSet::new(),
    };
    for row in rows {
        batch.store(row)?;
    }
    batch.finish()
}

/// A batch that is being written.
pub(super) struct WriteBatch<'a> {
    pub(super) connection: &'a Connection,
    pub(super) cache: &'a mut UrlCache,
    /// The owner of the last capture, which is nearly always that of the next one.
    owner: Option<(CaptureOwner, OwnerRow)>,
    /// The number of captures that each owner gained. Written at the end.
    pub(super) more: HashMap<i64, i64>,
    /// Versions that captures belong to and that have not come yet, with their owners.
    waiting: HashMap<VersionId, i64>,
    /// The version that this batch moved HEAD to. Written at the end.
    head: Option<VersionId>,
    /// Whether headers of captures were erased.
    pub(super) erased: bool,
    /// Whether the catalog has all rows of the silos after this batch.
    is_complete: bool,
    /// Owners that gained events in this batch.
    pub(super) uncounted: HashSet<i64>,
}

/// A row of `owners`.
#[derive(Clone, Copy)]
pub(super) struct OwnerRow {
    /// Its number.
    pub(super) no: i64,
    /// The version or run that the ids of its captures are derived from.
    pub(super) origin: CaptureOwner,
}

impl WriteBatch<'_> {
    fn store(&mut self, row: CatalogRow) -> SqlResult<()> {
        match row {
            CatalogRow::Version(version) => self.version(&version),
            CatalogRow::Capture(capture) => self.capture(&capture),
            CatalogRow::Absence(absence) => self.absence(&absence),
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
            CatalogRow::ScannedUpTo(position) => {
                self.is_complete = true;
                self.set_meta("scanned_up_to", &position.to_string())
            }
            CatalogRow::GcDone(time) => self.set_meta("last_gc", &time.to_string()),
            CatalogRow::Diff(diff) => self.diff(&diff),
            CatalogRow::Score(score) => self.score(&score),
            CatalogRow::Check(check) => store_check::<ArchiveTables>(self.connection, &check),
            CatalogRow::Verdict(verdict) => store_verdict::<ArchiveTables>(self.connection, &verdict),
            CatalogRow::Extraction(extraction) => self.extraction(&extraction),
            CatalogRow::ForgetExtraction(page) => self.remove_extraction(&page),
            CatalogRow::DomainSettings(settings) => self.domain_settings(&settings),
            CatalogRow::ForgetDomainSettings(domain) => {
                self.execute("DELETE FROM domain_settings WHERE domain = ?1", [domain])
            }
            CatalogRow::LogLeaves(added) => self.log_leaves(&added),
            CatalogRow::LogCheckpoint(signed) => self.log_checkpoint(&signed),
            CatalogRow::LogTimestamp(stamped) => self.log_timestamp(&stamped),
            CatalogRow::Removal(removal) => self.removal(&removal),
            CatalogRow::ForgetVersion(id) => self.remove_version(&id),
            CatalogRow::ForgetDiffs(before) => {
                self.execute("DELETE FROM kept_diffs WHERE time < ?1", params![before.micros()])
            }
            CatalogRow::ForgetRun(run) => self.remove_run(&run),
        }
    }

    /// Sets a value of the table `meta`.
    pub(super) fn set_meta(&self, key: &str, value: &str) -> SqlResult<()> {
        self.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", [key, value])
    }

    /// Runs a statement that returns no rows.
    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> SqlResult<()> {
        varve_sqlite::execute(self.connection, sql, params)
    }

    fn finish(mut self) -> SqlResult<BatchEffect> {
        if let Some(&missing) = self.waiting.keys().min() {
            return Err(UnlocatedError::NoVersion(missing));
        }
        self.write_counts()?;
        self.write_head()?;
        self.delete_unused_headers()?;
        if self.is_complete {
            self.count_pages()?;
        }
        Ok(if self.erased { BatchEffect::Erased } else { BatchEffect::Added })
    }

    /// Adds the gained captures to the counters of their owners.
    pub(super) fn write_counts(&mut self) -> SqlResult<()> {
        for (owner, more) in std::mem::take(&mut self.more) {
            self.execute("UPDATE owners SET captures = captures + ?2 WHERE no = ?1", [owner, more])?;
        }
        Ok(())
    }

    /// Stores the position of HEAD, if this batch moved it.
    fn write_head(&mut self) -> SqlResult<()> {
        let Some(head) = self.head.take() else { return Ok(()) };
        self.set_meta("head", &head.to_string())
    }

    /// The version that HEAD points to now.
    pub(super) fn current_head(&mut self) -> SqlResult<Option<VersionId>> {
        self.write_head()?;
        parsed_state::<ArchiveTables, _>(self.connection, "head")
    }

    fn version(&mut self, version: &Version) -> SqlResult<()> {
        self.head = Some(version.id);
        let waiting = self.waiting.remove(&version.id);
        if waiting.is_none() && self.owner_with_id(&version.id)?.is_some() {
            return Ok(());
        }
        self.owner = None;
        let no = match (self.open_run_owner(version.run)?, waiting) {
            (Some(run), Some(waiting)) => {
                // The ids of its captures are derived from the version.
                self.execute(
                    "UPDATE owners SET id = ?2 WHERE no = ?1",
                    params![waiting, version.id.as_bytes()],
                )?;
                self.move_captures(waiting, run)?;
                run
            }
            (Some(no), None) | (None, Some(no)) => no,
            (None, None) => {
                self.execute("INSERT INTO owners (by_run) VALUES (0)", [])?;
                self.connection.last_insert_rowid()
            }
        };
        let no = self.renumber_as_newest(no)?;
        self.become_version(no, version)?;
        self.enter_line(no, version.parent)
    }

    /// Turns an owner into a version.
    fn become_version(&self, no: i64, version: &Version) -> SqlResult<()> {
        let not_json = |error: serde_json::Error| UnlocatedError::Damaged("owners", error.to_string());
        let coverage = version.coverage.as_ref().map(serde_json::to_string).transpose().map_err(not_json)?;
        self.execute(
            "UPDATE owners SET id = ?2, parent = ?3, message = ?4, author = ?5, time = ?6,
                 run = iif(?7, ?8, NULL), named = iif(?7, NULL, ?8), record = ?9, coverage = ?10, unchanged = ?11
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
                coverage,
                version.coverage.as_ref().map_or(0, |coverage| coverage.unchanged),
            ],
        )
    }

    /// Whether no other version holds the captures of the run.
    fn is_first_to_name(&self, no: i64, run: Option<RunId>) -> SqlResult<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM owners WHERE run = ?1 AND no <> ?2)";
        let run = run.as_ref().map(RunId::as_bytes);
        Ok(self.connection.prepare_cached(sql)?.query_row(params![run, no], |row| row.get(0))?)
    }

    /// The owner of a run that has not become a version.
    fn open_run_owner(&self, run: Option<RunId>) -> SqlResult<Option<i64>> {
        let Some(run) = run else { return Ok(None) };
        let sql = "SELECT no FROM owners WHERE run = ?1 AND id IS NULL";
        Ok(self.connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| row.get(0)).optional()?)
    }

    /// The owner of captures. Creates it if it does not exist.
    pub(super) fn owner(&mut self, belongs: CaptureOwner) -> SqlResult<OwnerRow> {
        if let Some((_, owner)) = self.owner.filter(|(known, _)| *known == belongs) {
            return Ok(owner);
        }
        let owner = match belongs {
            CaptureOwner::Version(id) => self.owner_of_version(id)?,
            CaptureOwner::Run(run) => self.owner_of_run(run)?,
        };
        self.owner = Some((belongs, owner));
        Ok(owner)
    }

    fn owner_of_version(&mut self, id: VersionId) -> SqlResult<OwnerRow> {
        if let Some(owner) = self.owner_with_id(&id)? {
            return Ok(owner);
        }
        let origin = CaptureOwner::Version(id);
        if let Some(&no) = self.waiting.get(&id) {
            return Ok(OwnerRow { no, origin });
        }
        self.execute("INSERT INTO owners (by_run) VALUES (0)", [])?;
        let no = self.connection.last_insert_rowid();
        self.waiting.insert(id, no);
        Ok(OwnerRow { no, origin })
    }

    fn owner_of_run(&self, run: RunId) -> SqlResult<OwnerRow> {
        let sql = "SELECT no, by_run, id FROM owners WHERE run = ?1";
        let found = self.connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| {
            let by_run: bool = row.get(1)?;
            let origin = blob_id(row, 2, "owners").map(|id| match id.filter(|_| !by_run) {
                Some(id) => CaptureOwner::Version(id),
                None => CaptureOwner::Run(run),
            });
            let no = row.get(0)?;
            Ok(origin.map(|origin| OwnerRow { no, origin }))
        });
        if let Some(owner) = found.optional()?.transpose()? {
            return Ok(owner);
        }
        self.execute("INSERT INTO owners (run, by_run) VALUES (?1, 1)", [run.as_bytes()])?;
        Ok(OwnerRow { no: self.connection.last_insert_rowid(), origin: CaptureOwner::Run(run) })
    }

    fn owner_with_id(&self, id: &VersionId) -> SqlResult<Option<OwnerRow>> {
        let sql = "SELECT no, by_run, run FROM owners WHERE id = ?1";
        let owner = self.connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| {
            let by_run: bool = row.get(1)?;
            let origin = blob_id(row, 2, "owners").map(|run| match run.filter(|_| by_run) {
                Some(run) => CaptureOwner::Run(run),
                None => CaptureOwner::Version(*id),
            });
            let no = row.get(0)?;
            Ok(origin.map(|origin| OwnerRow { no, origin }))
        });
        owner.optional()?.transpose()
    }

    /// Clears the remembered owner, because owners changed.
    pub(super) fn clear_last_owner(&mut self) {
        self.owner = None;
    }

    /// Fails if a version does not exist.
    fn require_version(&self, id: &VersionId) -> SqlResult<()> {
        self.owner_with_id(id)?.map(|_| ()).ok_or(UnlocatedError::NoVersion(*id))
    }

    fn diff(&self, diff: &StoredDiff) -> SqlResult<()> {
        diff.base.iter().chain([&diff.head]).try_for_each(|id| self.require_version(id))?;
        self.execute(
            "INSERT INTO kept_diffs (base, head, json, time) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (head, base) DO UPDATE SET json = excluded.json, time = excluded.time",
            params![
                diff.base.as_ref().map_or(&[][..], |base| &base.as_bytes()[..]),
                diff.head.as_bytes(),
                diff.json,
                diff.time.micros()
            ],
        )
    }

    fn score(&self, score: &StoredScore) -> SqlResult<()> {
        self.require_version(&score.version)?;
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

    fn removal(&mut self, removal: &Removal) -> SqlResult<()> {
        if let Some(version) = removal.tombstone.version {
            self.link_over_removed(&version, removal.tombstone.parent)?;
        }
        if let Some(url) = removal.tombstone.page() {
            self.hide_page(&removal.tombstone_record, &removal.tombstone.record, url)?;
        }
        let not_json = |error: serde_json::Error| UnlocatedError::Damaged("removals", error.to_string());
        self.execute(
            "INSERT OR REPLACE INTO removals (tombstone_record, record, url, time, json) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                removal.tombstone_record.as_bytes(),
                removal.tombstone.record.as_bytes(),
                removal.url_of_capture(),
                removal.tombstone.time.micros(),
                serde_json::to_string(&removal.tombstone).map_err(not_json)?,
            ],
        )
    }
}
