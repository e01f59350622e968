//! Forgetting versions and runs, and moving captures from one owner to another: what hardly ever happens.

use rusqlite::{OptionalExtension, params};
use varve_core::history::Capture;
use varve_core::{RunId, VersionId};

use super::read_captures::{CAPTURE, capture_of};
use super::write::Batch;
use varve_sqlite::UnlocatedError;

impl Batch<'_> {
    /// Forgets a version. Its children descend from its parent, and so does HEAD if it pointed there.
    pub(super) fn forget_version(&mut self, id: &VersionId) -> Result<(), UnlocatedError> {
        let id_bytes = id.as_bytes();
        let sql = "SELECT no, parent FROM owners WHERE id = ?1 AND written IS NOT NULL";
        let found = self
            .connection
            .prepare_cached(sql)?
            .query_row([id_bytes], |row| Ok((row.get(0)?, row.get::<_, Option<[u8; 16]>>(1)?)))
            .optional()?;
        let Some((no, parent)) = found else { return Ok(()) };
        self.execute("UPDATE owners SET parent = ?2 WHERE parent = ?1", params![id_bytes, parent])?;
        for sql in [
            "DELETE FROM kept_diffs WHERE head = ?1 OR base = ?1",
            "DELETE FROM scores WHERE version = ?1",
            "DELETE FROM tags WHERE version = ?1",
        ] {
            self.execute(sql, [id_bytes])?;
        }
        self.turn_head(id, parent)?;
        self.forget_owner_row(no)
    }

    fn turn_head(&mut self, from: &VersionId, to: Option<[u8; 16]>) -> Result<(), UnlocatedError> {
        if self.settled_head()? != Some(*from) {
            return Ok(());
        }
        match to {
            Some(to) => self.execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('head', ?1)",
                params![uuid::Uuid::from_bytes(to).to_string()],
            ),
            None => self.execute("DELETE FROM meta WHERE key = 'head'", []),
        }
    }

    /// Forgets a run that has not become a version.
    pub(super) fn forget_run(&mut self, run: &RunId) -> Result<(), UnlocatedError> {
        let sql = "SELECT no FROM owners WHERE run = ?1 AND id IS NULL";
        let found =
            self.connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| row.get(0)).optional()?;
        found.map_or(Ok(()), |no| self.forget_owner_row(no))
    }

    /// Forgets an owner and its captures. Captures that named a body by one of these get its id themselves.
    fn forget_owner_row(&mut self, no: i64) -> Result<(), UnlocatedError> {
        self.undo_line_of(no)?;
        self.write_counts()?;
        for sql in [
            "UPDATE captures SET body = (SELECT b.body FROM captures AS b WHERE b.no = captures.body)
             WHERE url_no IN (SELECT url_no FROM captures WHERE owner_no = ?1) AND typeof(body) = 'integer'
               AND body IN (SELECT no FROM captures WHERE owner_no = ?1)",
            "CREATE TEMP TABLE gone AS SELECT DISTINCT url_no FROM captures WHERE owner_no = ?1",
            "DELETE FROM captures WHERE owner_no = ?1",
            "DELETE FROM owners WHERE no = ?1",
        ] {
            self.connection.execute(sql, [no])?;
        }
        self.connection.execute_batch(
            "DELETE FROM urls WHERE no IN (SELECT url_no FROM temp.gone)
                 AND NOT EXISTS (SELECT 1 FROM captures WHERE url_no = urls.no);
             DROP TABLE temp.gone",
        )?;
        self.memory.forget();
        self.forget_owner();
        Ok(())
    }

    /// Gives the captures of one owner to another. Their ids, which came from the first, are written down.
    pub(super) fn move_captures(&mut self, from: i64, to: i64) -> Result<(), UnlocatedError> {
        self.write_counts()?;
        let moved: Vec<(i64, Capture)> = self
            .connection
            .prepare(&format!("{CAPTURE} WHERE c.owner_no = ?1"))?
            .query_and_then([from], |row| Ok::<_, UnlocatedError>((row.get(0)?, capture_of(row)?)))?
            .collect::<Result<_, _>>()?;
        for (no, capture) in &moved {
            self.execute(
                "UPDATE captures SET owner_no = ?2, id = ?3 WHERE no = ?1",
                params![no, to, capture.id.as_bytes()],
            )?;
        }
        self.more.insert(to, i64::try_from(moved.len()).unwrap_or(i64::MAX));
        self.execute("DELETE FROM owners WHERE no = ?1", [from])
    }
}
