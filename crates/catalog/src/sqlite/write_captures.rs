//! Writes captures: the hot path of a crawl and of a rebuild.
//!
//! A capture that exists is left alone. Two things keep rows small. A body that did not change
//! since the last capture of the URL is a reference to the row that holds its id. The id of the
//! capture is left out if it can be derived from the other columns.

use rusqlite::types::ToSqlOutput;
use rusqlite::{OptionalExtension, ToSql, params};
use varve_core::history::Capture;
use varve_core::url::PageUrl;
use varve_core::{BodyId, CaptureId, RecordId};

use super::read_captures::{BODY_ID_SQL, url_key};
use super::shared_headers;
use super::write_batch::{OwnerRow, WriteBatch};
use super::write_cache::{CachedUrl, NewestCapture};
use varve_sqlite::SqlResult;

const INSERT_CAPTURE: &str = "INSERT INTO captures
    (owner_no, url_no, time, status, headers_no, own_headers, body, length, record, truncated, id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// The value of the column `body`.
enum BodyColumn {
    Id(BodyId),
    /// The number of the capture whose row holds the id.
    Capture(i64),
}

/// The value of the column `record`.
enum RecordColumn<'a> {
    SameAsBody,
    Id(Option<&'a RecordId>),
}

impl ToSql for BodyColumn {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Id(body) => Ok(ToSqlOutput::from(&body.as_bytes()[..])),
            Self::Capture(no) => Ok(ToSqlOutput::from(*no)),
        }
    }
}

impl ToSql for RecordColumn<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::SameAsBody => Ok(ToSqlOutput::from(0)),
            Self::Id(Some(record)) => Ok(ToSqlOutput::from(&record.as_bytes()[..])),
            Self::Id(None) => Ok(ToSqlOutput::from(rusqlite::types::Null)),
        }
    }
}

impl WriteBatch<'_> {
    /// Stores a capture.
    pub(super) fn capture(&mut self, capture: &Capture) -> SqlResult<()> {
        let owner = self.owner(capture.owner)?;
        let id = underivable_id(capture, owner);
        let (_, newest, is_only_row) = self.url_row(&capture.url, &capture.path)?;
        let is_newest = newest.is_none_or(|newest| newest.time < capture.time.micros());
        let surely_new = id.is_none() && is_only_row && is_newest;
        if !surely_new && self.exists(capture, owner, id)? {
            return Ok(());
        }
        self.insert_new(capture, owner, id)?;
        *self.more.entry(owner.no).or_default() += 1;
        self.reset_counts_of(owner.no)?;
        Ok(())
    }

    /// Inserts a capture that does not exist.
    fn insert_new(&mut self, capture: &Capture, owner: OwnerRow, id: Option<CaptureId>) -> SqlResult<()> {
        let (url_no, newest, _) = self.url_row(&capture.url, &capture.path)?;
        let is_newest = newest.is_none_or(|newest| newest.time < capture.time.micros());
        let same = newest.filter(|newest| newest.body == capture.body);
        let no = self.insert_row(capture, owner, url_no, same.map(|same| same.body_at), id)?;
        if is_newest && let Some(cached) = self.cache.url(&capture.url, &capture.path) {
            let body_at = same.map_or(no, |same| same.body_at);
            cached.newest = Some(NewestCapture { time: capture.time.micros(), body: capture.body, body_at });
        }
        Ok(())
    }

    fn insert_row(
        &mut self,
        capture: &Capture,
        owner: OwnerRow,
        url_no: i64,
        body_at: Option<i64>,
        id: Option<CaptureId>,
    ) -> SqlResult<i64> {
        let (shared, own) = shared_headers::split(&capture.headers);
        let headers_no = shared.map(|shared| self.headers_no(&shared)).transpose()?;
        self.connection.prepare_cached(INSERT_CAPTURE)?.execute(params![
            owner.no,
            url_no,
            capture.time.micros(),
            capture.status,
            headers_no,
            own,
            body_at.map_or(BodyColumn::Id(capture.body), BodyColumn::Capture),
            capture.length,
            record_column(capture),
            capture.truncated,
            id.as_ref().map(CaptureId::as_bytes),
        ])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn exists(&self, capture: &Capture, owner: OwnerRow, id: Option<CaptureId>) -> SqlResult<bool> {
        if let Some(id) = id {
            let sql = "SELECT EXISTS (SELECT 1 FROM captures WHERE id = ?1)";
            return Ok(self.connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0))?);
        }
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM page_urls AS u CROSS JOIN captures AS c ON c.url_no = u.no
             WHERE u.url_key = ?1 AND u.url = ?2 AND c.time = ?3 AND c.owner_no = ?4 AND c.id IS NULL
               AND iif(typeof(c.record) = 'integer', {BODY_ID_SQL}, c.record) IS ?5)"
        );
        let found = self.connection.prepare_cached(&sql)?.query_row(
            params![
                url_key(&capture.url),
                capture.url,
                capture.time.micros(),
                owner.no,
                capture.record.as_ref().map(RecordId::as_bytes)
            ],
            |row| row.get(0),
        );
        Ok(found?)
    }

    /// The row of the URL, its newest capture, and whether it is the only row of the URL. Creates
    /// the row if it does not exist.
    fn url_row(&mut self, url: &str, path: &str) -> SqlResult<(i64, Option<NewestCapture>, bool)> {
        if let Some(cached) = self.cache.url(url, path) {
            return Ok((cached.no, cached.newest, cached.is_only_row));
        }
        let found = self.find_url(url, path)?;
        let known = (found.no, found.newest, found.is_only_row);
        self.cache.insert_url(url, found);
        Ok(known)
    }

    /// The number of the row of a URL. Creates the row if it does not exist.
    pub(super) fn url_no(&mut self, url: &str, path: &str) -> SqlResult<i64> {
        self.url_row(url, path).map(|(no, _, _)| no)
    }

    fn find_url(&self, url: &str, path: &str) -> SqlResult<CachedUrl> {
        let key = url_key(url);
        let (mut found, mut page_no, mut is_only_row) = (None, None, true);
        let page = PageUrl::parse(url);
        let sql = "SELECT no, path, url, page_no FROM page_urls WHERE url_key = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([key])?;
        while let Some(row) = rows.next()? {
            let other: String = row.get(2)?;
            let has_path = row.get_ref(1)?.as_bytes().is_ok_and(|bytes| bytes == path.as_bytes());
            match (other == url, has_path) {
                (true, true) => found = Some(row.get(0)?),
                (true, false) => is_only_row = false,
                (false, true) if page.is_some() && page == PageUrl::parse(&other) => {
                    page_no = row.get(3)?;
                    page_no = page_no.or(Some(row.get::<_, i64>(0)?));
                }
                (false, _) => {}
            }
        }
        let Some(no) = found else {
            self.execute(
                "INSERT INTO page_urls (url_key, url, path, page_no) VALUES (?1, ?2, ?3, ?4)",
                params![key, url, path, page_no],
            )?;
            let no = self.connection.last_insert_rowid();
            return Ok(CachedUrl { no, path: path.into(), is_only_row, newest: None });
        };
        Ok(CachedUrl { no, path: path.into(), is_only_row, newest: self.newest(no)? })
    }

    fn newest(&self, url_no: i64) -> SqlResult<Option<NewestCapture>> {
        let sql = format!(
            "SELECT c.time, {BODY_ID_SQL}, iif(typeof(c.body) = 'integer', c.body, c.no)
             FROM captures AS c WHERE c.url_no = ?1 ORDER BY c.time DESC, c.no DESC LIMIT 1"
        );
        let newest = self.connection.prepare_cached(&sql)?.query_row([url_no], |row| {
            Ok(NewestCapture { time: row.get(0)?, body: BodyId::new(row.get(1)?), body_at: row.get(2)? })
        });
        Ok(newest.optional()?)
    }

    fn headers_no(&mut self, json: &str) -> SqlResult<i64> {
        if let Some(no) = self.cache.headers(json) {
            return Ok(no);
        }
        let digest = shared_headers::digest(json);
        let found = self
            .connection
            .prepare_cached("SELECT no FROM headers WHERE digest = ?1 AND json = ?2")?
            .query_row(params![digest, json], |row| row.get(0))
            .optional()?;
        let no = match found {
            Some(no) => no,
            None => {
                self.execute("INSERT INTO headers (digest, json) VALUES (?1, ?2)", params![digest, json])?;
                self.connection.last_insert_rowid()
            }
        };
        self.cache.insert_headers(json, no);
        Ok(no)
    }
}

/// The id of a capture, unless it can be derived from the other columns.
fn underivable_id(capture: &Capture, owner: OwnerRow) -> Option<CaptureId> {
    let derived =
        capture.record.map(|record| Capture::derive_id(owner.origin, &capture.url, capture.time, &record));
    (derived != Some(capture.id)).then_some(capture.id)
}

fn record_column(capture: &Capture) -> RecordColumn<'_> {
    let same = capture.record.is_some_and(|record| record.as_bytes() == capture.body.as_bytes());
    if same { RecordColumn::SameAsBody } else { RecordColumn::Id(capture.record.as_ref()) }
}
