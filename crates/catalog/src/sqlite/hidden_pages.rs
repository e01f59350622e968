//! Hides pages that were removed from versions, and deletes the headers of their captures.
//!
//! A tombstone of a page applies to the versions that precede it in the silos. Rows come in that
//! order, so these are the versions that exist when the tombstone is applied for the first time.
//! When it is applied again, later versions may exist, to which it does not apply.

use rusqlite::params;
use varve_core::RecordId;

use super::read_captures::{BODY_ID_SQL, url_key};
use super::write_batch::WriteBatch;
use varve_sqlite::{SqlResult, WriteCache as _};

impl WriteBatch<'_> {
    /// Hides a page in the versions that exist now.
    pub(super) fn hide_page(
        &mut self,
        tombstone_record: &RecordId,
        record: &RecordId,
        url: &str,
    ) -> SqlResult<()> {
        let sql = "INSERT OR IGNORE INTO hidden_pages (tombstone_record, record, url, until)
            VALUES (?1, ?2, ?3, (SELECT coalesce(max(no), 0) FROM owners WHERE id IS NOT NULL))";
        let new = self.connection.prepare_cached(sql)?.execute(params![
            tombstone_record.as_bytes(),
            record.as_bytes(),
            url
        ])?;
        if new == 0 {
            return Ok(());
        }
        let sql = format!(
            "UPDATE captures SET headers_no = NULL, own_headers = NULL WHERE no IN (
                 SELECT c.no FROM page_urls AS u CROSS JOIN captures AS c ON c.url_no = u.no
                 WHERE u.url_key = ?1 AND u.url = ?2
                   AND iif(typeof(c.record) = 'integer', {BODY_ID_SQL}, c.record) IS ?3)
             AND (headers_no IS NOT NULL OR own_headers IS NOT NULL)"
        );
        let params = params![url_key(url), url, record.as_bytes()];
        self.erased |= self.connection.prepare_cached(&sql)?.execute(params)? > 0;
        Ok(())
    }

    /// Deletes sets of headers that no capture uses, if this batch erased headers.
    pub(super) fn delete_unused_headers(&mut self) -> SqlResult<()> {
        if !self.erased {
            return Ok(());
        }
        // The cache holds numbers of sets that are deleted here.
        self.cache.clear();
        let sql = "DELETE FROM headers
            WHERE no NOT IN (SELECT headers_no FROM captures WHERE headers_no IS NOT NULL)";
        self.execute(sql, [])
    }
}
