//! Pages that were taken out of versions: their captures lose their headers and are marked as hidden.
//!
//! A tombstone of a page speaks of the versions that stand before it in the silos. Rows come in that order, so those are the versions
//! that are here when it comes for the first time; when it comes again, others may be here that it does not speak of.

use rusqlite::params;
use varve_core::RecordId;

use super::read_captures::{RESOLVED_BODY, url_key};
use super::write::Batch;
use varve_sqlite::UnlocatedError;

impl Batch<'_> {
    /// Takes a page out of the versions that are here.
    pub(super) fn hide(
        &mut self,
        tombstone_record: &RecordId,
        record: &RecordId,
        url: &str,
    ) -> Result<(), UnlocatedError> {
        let sql = "INSERT OR IGNORE INTO hidden_pages (tombstone_record, record, url, until)
            VALUES (?1, ?2, ?3, (SELECT coalesce(max(written), 0) FROM owners WHERE written IS NOT NULL))";
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
                 SELECT c.no FROM urls AS u CROSS JOIN captures AS c ON c.url_no = u.no
                 WHERE u.url_key = ?1 AND u.url = ?2
                   AND iif(typeof(c.record) = 'integer', {RESOLVED_BODY}, c.record) IS ?3)
             AND (headers_no IS NOT NULL OR own_headers IS NOT NULL)"
        );
        let params = params![url_key(url), url, record.as_bytes()];
        self.erased |= self.connection.prepare_cached(&sql)?.execute(params)? > 0;
        Ok(())
    }

    /// Forgets sets of headers that no capture has any more, if some may be such.
    pub(super) fn forget_headers(&mut self) -> Result<(), UnlocatedError> {
        if !self.erased {
            return Ok(());
        }
        // The writer knows sets by numbers that go now.
        self.memory.forget();
        let sql = "DELETE FROM headers
            WHERE no NOT IN (SELECT headers_no FROM captures WHERE headers_no IS NOT NULL)";
        self.execute(sql, [])
    }
}
