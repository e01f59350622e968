//! Removes versions and runs, and moves captures from one owner to another. All of this is rare.

use rusqlite::{OptionalExtension, params};
use varve_core::history::Capture;
use varve_core::{RunId, VersionId};

use super::read_captures::{SELECT_CAPTURES, read_capture};
use super::write_batch::WriteBatch;
use varve_sqlite::column::blob_id;
use varve_sqlite::{SqlResult, UnlocatedError, WriteCache as _};

impl WriteBatch<'_> {
    /// Removes a version. Its children, and HEAD if it pointed there, move to its parent.
    pub(super) fn remove_version(&mut self, id: &VersionId) -> SqlResult<()> {
        let id_bytes = id.as_bytes();
        let sql = "SELECT no, parent FROM owners WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([id_bytes])?;
        let Some(row) = rows.next()? else { return Ok(()) };
        let (no, parent): (i64, Option<VersionId>) = (row.get(0)?, blob_id(row, 1, "owners")?);
        drop(rows);
        drop(statement);
        self.execute(
            "UPDATE owners SET parent = ?2 WHERE parent = ?1",
            params![id_bytes, parent.as_ref().map(VersionId::as_bytes)],
        )?;
        for sql in [
            "DELETE FROM kept_diffs WHERE head = ?1 OR base = ?1",
            "DELETE FROM scores WHERE version = ?1",
            "DELETE FROM tags WHERE version = ?1",
        ] {
            self.execute(sql, [id_bytes])?;
        }
        self.move_head(id, parent)?;
        self.remove_owner(no)
    }

    fn move_head(&mut self, from: &VersionId, to: Option<VersionId>) -> SqlResult<()> {
        if self.current_head()? != Some(*from) {
            return Ok(());
        }
        match to {
            Some(to) => self.set_meta("head", &to.to_string()),
            None => self.execute("DELETE FROM meta WHERE key = 'head'", []),
        }
    }

    /// Removes a run that has not become a version.
    pub(super) fn remove_run(&mut self, run: &RunId) -> SqlResult<()> {
        let sql = "SELECT no FROM owners WHERE run = ?1 AND id IS NULL";
        let found =
            self.connection.prepare_cached(sql)?.query_row([run.as_bytes()], |row| row.get(0)).optional()?;
        found.map_or(Ok(()), |no| self.remove_owner(no))
    }

    /// Removes an owner and its captures. Captures that refer to one of these for their body get
    /// the id of the body.
    fn remove_owner(&mut self, no: i64) -> SqlResult<()> {
        self.write_counts()?;
        for sql in [
            "UPDATE captures SET body = (SELECT b.body FROM captures AS b WHERE b.no = captures.body)
             WHERE url_no IN (SELECT url_no FROM captures WHERE owner_no = ?1) AND typeof(body) = 'integer'
               AND body IN (SELECT no FROM captures WHERE owner_no = ?1)",
            "CREATE TEMP TABLE removed_urls AS SELECT DISTINCT url_no FROM captures WHERE owner_no = ?1",
            "INSERT INTO temp.removed_urls SELECT url_no FROM absences WHERE owner_no = ?1",
            "DELETE FROM captures WHERE owner_no = ?1",
            "DELETE FROM absences WHERE owner_no = ?1",
            "DELETE FROM owners WHERE no = ?1",
        ] {
            self.connection.execute(sql, [no])?;
        }
        self.connection.execute_batch(
            "DELETE FROM temp.removed_urls WHERE EXISTS (SELECT 1 FROM captures AS c WHERE c.url_no = removed_urls.url_no)
                 OR EXISTS (SELECT 1 FROM absences AS a WHERE a.url_no = removed_urls.url_no);
             DELETE FROM page_urls WHERE no IN (SELECT url_no FROM temp.removed_urls);
             -- Another spelling becomes the first of its page.
             CREATE TEMP TABLE first_spellings AS SELECT page_no AS old, min(no) AS new FROM page_urls
                 WHERE page_no IN (SELECT url_no FROM temp.removed_urls) GROUP BY page_no;
             UPDATE page_urls SET page_no = (SELECT nullif(f.new, page_urls.no) FROM temp.first_spellings AS f WHERE f.old = page_urls.page_no)
                 WHERE page_no IN (SELECT old FROM temp.first_spellings);
             DROP TABLE temp.first_spellings;
             DROP TABLE temp.removed_urls",
        )?;
        self.reset_counts_from(no)?;
        self.cache.clear();
        self.clear_last_owner();
        Ok(())
    }

    /// Moves the captures of one owner to another. Their ids were derived from the first, and are
    /// stored.
    pub(super) fn move_captures(&mut self, from: i64, to: i64) -> SqlResult<()> {
        self.write_counts()?;
        let moved: Vec<(i64, Capture)> = self
            .connection
            .prepare(&format!("{SELECT_CAPTURES} WHERE c.owner_no = ?1"))?
            .query_and_then([from], |row| Ok::<_, UnlocatedError>((row.get(0)?, read_capture(row)?)))?
            .collect::<Result<_, _>>()?;
        for (no, capture) in &moved {
            self.execute(
                "UPDATE captures SET owner_no = ?2, id = ?3 WHERE no = ?1",
                params![no, to, capture.id.as_bytes()],
            )?;
        }
        self.more.insert(to, i64::try_from(moved.len()).unwrap_or(i64::MAX));
        self.execute("UPDATE OR IGNORE absences SET owner_no = ?2 WHERE owner_no = ?1", [from, to])?;
        self.execute("DELETE FROM owners WHERE no = ?1", [from])
    }
}
