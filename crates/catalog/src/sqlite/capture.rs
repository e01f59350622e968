//! Captures become rows: the hot path of a crawl and of a rebuild.
//!
//! A capture that is there already is left alone. Two things keep rows small: a body that the URL had the last time is
//! named by the capture that has its id, and the id of the capture itself is left out where it follows from the rest.

use rusqlite::types::ToSqlOutput;
use rusqlite::{OptionalExtension, ToSql, params};
use varve_core::history::Capture;
use varve_core::{BodyId, CaptureId};

use super::headers;
use super::memory::{Newest, Place};
use super::read_captures::{RESOLVED_BODY, url_key};
use super::write::{Batch, Owner};
use varve_sqlite::UnlocatedError;

const INSERT: &str = "INSERT INTO captures
    (owner_no, url_no, time, status, headers_no, own_headers, body, length, record, truncated, id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// Where the 32 bytes of a body's id are.
enum BodyAt {
    Here(BodyId),
    Capture(i64),
}

/// The record of a capture, as the column holds it.
enum RecordAt<'a> {
    SameAsBody,
    Here(Option<&'a [u8; 32]>),
}

impl ToSql for BodyAt {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Here(body) => Ok(ToSqlOutput::from(&body.as_bytes()[..])),
            Self::Capture(no) => Ok(ToSqlOutput::from(*no)),
        }
    }
}

impl ToSql for RecordAt<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::SameAsBody => Ok(ToSqlOutput::from(0)),
            Self::Here(Some(record)) => Ok(ToSqlOutput::from(&record[..])),
            Self::Here(None) => Ok(ToSqlOutput::from(rusqlite::types::Null)),
        }
    }
}

impl Batch<'_> {
    /// Keeps a capture.
    pub(super) fn capture(&mut self, capture: &Capture) -> Result<(), UnlocatedError> {
        let owner = self.owner(capture.belongs)?;
        let id = own_id(capture, owner);
        let (_, newest, alone) = self.place(capture)?;
        let is_newest = newest.is_none_or(|newest| newest.time < capture.time.micros());
        let surely_new = id.is_none() && alone && is_newest;
        if !surely_new && self.is_there(capture, owner, id)? {
            return Ok(());
        }
        self.add(capture, owner, id)?;
        *self.more.entry(owner.no).or_default() += 1;
        Ok(())
    }

    /// Writes a capture down that is not there; gives its number and that of its URL.
    pub(super) fn add(
        &mut self,
        capture: &Capture,
        owner: Owner,
        id: Option<CaptureId>,
    ) -> Result<(i64, i64), UnlocatedError> {
        let (url_no, newest, _) = self.place(capture)?;
        let is_newest = newest.is_none_or(|newest| newest.time < capture.time.micros());
        let same = newest.filter(|newest| newest.body == capture.body);
        let no = self.insert(capture, owner, url_no, same.map(|same| same.body_at), id)?;
        if is_newest && let Some(place) = self.memory.place(&capture.url, &capture.path) {
            let body_at = same.map_or(no, |same| same.body_at);
            place.newest = Some(Newest { time: capture.time.micros(), body: capture.body, body_at });
        }
        Ok((no, url_no))
    }

    fn insert(
        &mut self,
        capture: &Capture,
        owner: Owner,
        url_no: i64,
        body_at: Option<i64>,
        id: Option<CaptureId>,
    ) -> Result<i64, UnlocatedError> {
        let (shared, own) = headers::split(&capture.headers);
        let headers_no = shared.map(|shared| self.headers_no(&shared)).transpose()?;
        self.connection.prepare_cached(INSERT)?.execute(params![
            owner.no,
            url_no,
            capture.time.micros(),
            capture.status,
            headers_no,
            own,
            body_at.map_or(BodyAt::Here(capture.body), BodyAt::Capture),
            capture.length,
            record_at(capture),
            capture.truncated,
            id.as_ref().map(CaptureId::as_bytes),
        ])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn is_there(
        &self,
        capture: &Capture,
        owner: Owner,
        id: Option<CaptureId>,
    ) -> Result<bool, UnlocatedError> {
        if let Some(id) = id {
            let sql = "SELECT EXISTS (SELECT 1 FROM captures WHERE id = ?1)";
            return Ok(self.connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0))?);
        }
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM urls AS u CROSS JOIN captures AS c ON c.url_no = u.no
             WHERE u.url_key = ?1 AND u.url = ?2 AND c.time = ?3 AND c.owner_no = ?4 AND c.id IS NULL
               AND iif(typeof(c.record) = 'integer', {RESOLVED_BODY}, c.record) IS ?5)"
        );
        let found = self.connection.prepare_cached(&sql)?.query_row(
            params![
                url_key(&capture.url),
                capture.url,
                capture.time.micros(),
                owner.no,
                capture.record.as_ref().map(varve_core::RecordId::as_bytes)
            ],
            |row| row.get(0),
        );
        Ok(found?)
    }

    /// The row of the URL, its newest capture, and whether it is the only row of the URL; made where there is none.
    fn place(&mut self, capture: &Capture) -> Result<(i64, Option<Newest>, bool), UnlocatedError> {
        if let Some(place) = self.memory.place(&capture.url, &capture.path) {
            return Ok((place.no, place.newest, place.alone));
        }
        let place = self.find_place(&capture.url, &capture.path)?;
        let known = (place.no, place.newest, place.alone);
        self.memory.keep_place(&capture.url, place);
        Ok(known)
    }

    fn find_place(&self, url: &str, path: &str) -> Result<Place, UnlocatedError> {
        let key = url_key(url);
        let mut found = None;
        let mut others = false;
        let mut statement =
            self.connection.prepare_cached("SELECT no, path FROM urls WHERE url_key = ?1 AND url = ?2")?;
        let mut rows = statement.query(params![key, url])?;
        while let Some(row) = rows.next()? {
            if row.get_ref(1)?.as_bytes().is_ok_and(|bytes| bytes == path.as_bytes()) {
                found = Some(row.get(0)?);
            } else {
                others = true;
            }
        }
        let alone = !others;
        let Some(no) = found else {
            self.execute(
                "INSERT INTO urls (url_key, url, path) VALUES (?1, ?2, ?3)",
                params![key, url, path],
            )?;
            let no = self.connection.last_insert_rowid();
            return Ok(Place { no, path: path.into(), alone, newest: None });
        };
        Ok(Place { no, path: path.into(), alone, newest: self.newest(no)? })
    }

    fn newest(&self, url_no: i64) -> Result<Option<Newest>, UnlocatedError> {
        let sql = format!(
            "SELECT c.time, {RESOLVED_BODY}, iif(typeof(c.body) = 'integer', c.body, c.no)
             FROM captures AS c WHERE c.url_no = ?1 ORDER BY c.time DESC, c.no DESC LIMIT 1"
        );
        let newest = self.connection.prepare_cached(&sql)?.query_row([url_no], |row| {
            Ok(Newest { time: row.get(0)?, body: BodyId::new(row.get(1)?), body_at: row.get(2)? })
        });
        Ok(newest.optional()?)
    }

    fn headers_no(&mut self, json: &str) -> Result<i64, UnlocatedError> {
        if let Some(no) = self.memory.headers(json) {
            return Ok(no);
        }
        let digest = headers::digest(json);
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
        self.memory.keep_headers(json, no);
        Ok(no)
    }
}

/// The id of a capture, unless it is the one that follows from the rest.
pub(super) fn own_id(capture: &Capture, owner: Owner) -> Option<CaptureId> {
    let derived =
        capture.record.map(|record| Capture::derive_id(owner.origin, &capture.url, capture.time, &record));
    (derived != Some(capture.id)).then_some(capture.id)
}

fn record_at(capture: &Capture) -> RecordAt<'_> {
    let record = capture.record.as_ref().map(varve_core::RecordId::as_bytes);
    if record == Some(capture.body.as_bytes()) { RecordAt::SameAsBody } else { RecordAt::Here(record) }
}
