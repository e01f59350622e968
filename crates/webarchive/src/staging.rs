//! What was read from the files, in a database that is removed when the catalog is made.
//!
//! Memory does not grow with the files: rows are sorted and joined by SQLite, with its temporary
//! files in the file system.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use varve_core::RecordId;
use varve_sqlite::{DatabasePath, SqlResult, open_to_write};

use crate::scan_records::{IndexableRecord, ScannedCapture};
use crate::version_key::VersionKey;

/// The name of the database in the folder of the index.
pub(crate) const STAGING_FILE: &str = "staging.db";
/// Size of the page cache in KiB; SQLite takes a negative number as a size.
const CACHE_KIB: i64 = -32_768;

/// The database while files are read.
pub(crate) struct Staging {
    connection: Connection,
    /// The number of captures that are in several files.
    copies: u64,
}

impl Staging {
    /// Makes the database in the folder of the index.
    pub(crate) fn create(folder: &Path) -> SqlResult<Self> {
        let connection = open_to_write(&DatabasePath::below(folder, STAGING_FILE))?;
        // A process that is killed leaves a folder that no other process uses.
        connection.pragma_update(None, "journal_mode", "OFF")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "temp_store", "FILE")?;
        connection.pragma_update(None, "cache_size", CACHE_KIB)?;
        connection.execute_batch(include_str!("staging.sql"))?;
        Ok(Self { connection, copies: 0 })
    }

    /// The connection.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The number of captures that were passed over, because another file has them too.
    pub(crate) fn copies(&self) -> u64 {
        self.copies
    }

    /// Begins a batch of rows.
    pub(crate) fn begin(&self) -> SqlResult<()> {
        Ok(self.connection.execute_batch("BEGIN")?)
    }

    /// Ends a batch of rows.
    pub(crate) fn commit(&self) -> SqlResult<()> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// The number of a version.
    pub(crate) fn version_no(&self, version: &VersionKey) -> SqlResult<i64> {
        let find = "SELECT no FROM versions WHERE key = ?1";
        let known = self.connection.prepare_cached(find)?.query_row([&version.key], |row| row.get(0));
        if let Some(no) = known.optional()? {
            return Ok(no);
        }
        let add = "INSERT INTO versions (key, message, author) VALUES (?1, ?2, ?3)";
        let values = params![version.key, version.message, version.author];
        self.connection.prepare_cached(add)?.execute(values)?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Adds a record of the file of records with number `file`.
    pub(crate) fn add(&mut self, record: &IndexableRecord, place: &FilePlace<'_>) -> SqlResult<()> {
        match record {
            IndexableRecord::Capture(capture) => self.add_capture(capture, place),
            IndexableRecord::OtherMethod(ids) => {
                let sql = "INSERT OR IGNORE INTO other_methods (id) VALUES (?1)";
                let mut statement = self.connection.prepare_cached(sql)?;
                ids.iter().try_for_each(|id| statement.execute([id]).map(drop))?;
                Ok(())
            }
            IndexableRecord::Info(_) => Ok(()),
        }
    }

    fn add_capture(&mut self, capture: &ScannedCapture, place: &FilePlace<'_>) -> SqlResult<()> {
        let sql =
            "INSERT OR IGNORE INTO captures (key, version, file, offset, ordinal, id, url, time, status,
                head, has_head, decodes, body, length, truncated, payload, concurrent, is_revisit,
                not_modified, refers_to, refers_url, refers_time)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                ?21, ?22)";
        let revisit = capture.revisit.as_ref();
        let added = self.connection.prepare_cached(sql)?.execute(params![
            record_id(capture, place.name).as_bytes(),
            place.version,
            place.file as i64,
            capture.offset as i64,
            capture.ordinal,
            capture.id,
            capture.url,
            capture.time.micros(),
            capture.status,
            capture.head,
            capture.form.has_head,
            capture.form.decodes,
            capture.body.as_bytes(),
            i64::try_from(capture.length).unwrap_or(i64::MAX),
            capture.is_truncated,
            capture.payload_digest,
            capture.concurrent,
            revisit.is_some(),
            revisit.is_some_and(|revisit| revisit.is_not_modified),
            revisit.and_then(|revisit| revisit.refers_to),
            revisit.and_then(|revisit| revisit.refers_url.as_ref()),
            revisit.and_then(|revisit| revisit.refers_time).map(varve_core::Moment::micros),
        ])?;
        self.copies += u64::from(added == 0);
        Ok(())
    }
}

/// Where a record was read.
pub(crate) struct FilePlace<'a> {
    /// The number of the file of records.
    pub(crate) file: usize,
    /// Its name.
    pub(crate) name: &'a str,
    /// The number of the version that its records belong to now.
    pub(crate) version: i64,
}

/// The id that varve gives a record: the same for copies of it, and each time the files are read.
fn record_id(capture: &ScannedCapture, file: &str) -> RecordId {
    let mut hasher = Sha256::new();
    hasher.update(b"record of a web archive\n");
    match capture.id {
        Some(id) => {
            hasher.update(id);
            hasher.update(capture.time.micros().to_be_bytes());
            hasher.update(capture.url.as_bytes());
        }
        None => {
            hasher.update(capture.offset.to_be_bytes());
            hasher.update(capture.ordinal.to_be_bytes());
            hasher.update(file.as_bytes());
        }
    }
    RecordId::new(hasher.finalize().into())
}
