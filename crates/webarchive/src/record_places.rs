//! Where records are: the database of an index beside its catalog.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::RecordId;
use varve_core::catalog::CatalogResult;
use varve_sqlite::{DatabasePath, ReaderPool, SqlResult, collect_rows, open_to_write};
use varve_warc::Format;

use crate::file_state::FileState;
use crate::finding::ArchiveFinding;
use crate::record_files::{RecordBytes, RecordFile};
use crate::response::BlockForm;
use crate::staging::STAGING_FILE;

/// The name of the database in the folder of the index.
pub(crate) const PLACES_FILE: &str = "places.db";

/// A file on the disk, as it was read.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    pub(crate) relative: PathBuf,
    pub(crate) state: FileState,
}

/// A file of records, as it was read.
#[derive(Clone, Debug)]
pub(crate) struct IndexedRecordFile {
    pub(crate) file: RecordFile,
    pub(crate) format: Format,
}

/// Where a record is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordPosition {
    /// The number of its file of records.
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) ordinal: u32,
    pub(crate) form: BlockForm,
    pub(crate) kind: RecordKind,
}

/// Whether a record holds its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Full,
    Revisit { original: Option<RecordId>, is_not_modified: bool },
}

/// Writes the database of an index, from the staging database beside it.
pub(crate) fn write_places(
    folder: &Path,
    files: &[ReadFile],
    record_files: &[IndexedRecordFile],
    findings: &[ArchiveFinding],
) -> SqlResult<()> {
    let connection = open_to_write(&DatabasePath::below(folder, PLACES_FILE))?;
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "temp_store", "FILE")?;
    connection.execute_batch(include_str!("places.sql"))?;
    let staging = folder.join(STAGING_FILE);
    connection.execute("ATTACH ?1 AS staging", [staging.to_string_lossy()])?;
    let writing = connection.unchecked_transaction()?;
    connection.execute_batch(
        "INSERT INTO records (key, file, offset, ordinal, has_head, decodes, revisit, original)
         SELECT c.key, c.file, c.offset, c.ordinal, c.has_head, c.decodes, c.is_revisit + c.not_modified, o.key
         FROM staging.captures AS c LEFT JOIN staging.captures AS o ON o.no = c.original ORDER BY c.key",
    )?;
    for (no, file) in files.iter().enumerate() {
        let sql = "INSERT INTO files (no, path, size, modified, ends) VALUES (?1, ?2, ?3, ?4, ?5)";
        let FileState { size, modified_nanos, ends } = file.state;
        let path = file.relative.as_os_str().as_bytes();
        connection.prepare_cached(sql)?.execute(params![
            no as i64,
            path,
            size as i64,
            modified_nanos,
            ends
        ])?;
    }
    for (no, file) in record_files.iter().enumerate() {
        write_record_file(&connection, no, file)?;
    }
    for finding in findings {
        let sql = "INSERT INTO findings (file, offset, rule, is_loss, message, of_records)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let ArchiveFinding { file, offset, rule, is_loss, message, is_of_records } = finding;
        let offset = offset.map(|offset| offset as i64);
        connection.prepare_cached(sql)?.execute(params![
            file,
            offset,
            rule,
            is_loss,
            message,
            is_of_records
        ])?;
    }
    Ok(writing.commit()?)
}

fn write_record_file(connection: &Connection, no: usize, indexed: &IndexedRecordFile) -> SqlResult<()> {
    let RecordFile { file, name, package, bytes } = &indexed.file;
    let (start, length, inflated) = match bytes {
        RecordBytes::Range { start, length } => {
            (Some(*start as i64), length.map(|length| length as i64), None)
        }
        RecordBytes::Inflated { name } => (None, None, Some(name)),
    };
    let format = match indexed.format {
        Format::Warc => 0,
        Format::Arc { version } => version,
    };
    let sql = "INSERT INTO record_files (no, file, name, package, start, length, inflated, format)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = params![no as i64, *file as i64, name, package, start, length, inflated, format];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// The database of an index, open for reading.
pub(crate) struct RecordPlaces(ReaderPool);

impl RecordPlaces {
    /// Opens the database in the folder of an index.
    pub(crate) fn open(folder: &Path) -> CatalogResult<Self> {
        ReaderPool::open(&DatabasePath::below(folder, PLACES_FILE), |_| Ok(())).map(Self)
    }

    /// The files on the disk.
    pub(crate) fn files(&self) -> CatalogResult<Vec<ReadFile>> {
        let sql = "SELECT path, size, modified, ends FROM files ORDER BY no";
        self.0.query_statement(|connection| {
            collect_rows(connection, sql, [], |row| {
                let path: Vec<u8> = row.get(0)?;
                let state =
                    FileState { size: unsigned(row, 1)?, modified_nanos: row.get(2)?, ends: row.get(3)? };
                Ok(ReadFile { relative: std::ffi::OsString::from_vec(path).into(), state })
            })
        })
    }

    /// The files of records.
    pub(crate) fn record_files(&self) -> CatalogResult<Vec<IndexedRecordFile>> {
        let sql = "SELECT file, name, package, start, length, inflated, format FROM record_files ORDER BY no";
        self.0.query_statement(|connection| collect_rows(connection, sql, [], |row| Ok(read_file(row)?)))
    }

    /// Where a record is.
    pub(crate) fn find(&self, record: &RecordId) -> CatalogResult<Option<RecordPosition>> {
        let sql =
            "SELECT file, offset, ordinal, has_head, decodes, revisit, original FROM records WHERE key = ?1";
        self.0.query_statement(|connection| {
            let found = connection.prepare_cached(sql)?.query_row([record.as_bytes()], read_place);
            Ok(found.optional()?)
        })
    }

    /// The findings of the time when the index was made.
    pub(crate) fn findings(&self) -> CatalogResult<Vec<ArchiveFinding>> {
        let sql = "SELECT file, offset, rule, is_loss, message, of_records FROM findings ORDER BY no";
        self.0.query_statement(|connection| {
            collect_rows(connection, sql, [], |row| {
                let offset = row.get::<_, Option<i64>>(1)?.map(|offset| offset as u64);
                Ok(ArchiveFinding {
                    file: row.get(0)?,
                    offset,
                    rule: row.get(2)?,
                    is_loss: row.get(3)?,
                    message: row.get(4)?,
                    is_of_records: row.get(5)?,
                })
            })
        })
    }
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|number| number as u64)
}

fn read_file(row: &Row<'_>) -> rusqlite::Result<IndexedRecordFile> {
    let bytes = match row.get::<_, Option<String>>(5)? {
        Some(name) => RecordBytes::Inflated { name },
        None => {
            let length = row.get::<_, Option<i64>>(4)?.map(|length| length as u64);
            RecordBytes::Range { start: unsigned(row, 3)?, length }
        }
    };
    let format = match row.get(6)? {
        0 => Format::Warc,
        version => Format::Arc { version },
    };
    let file = usize::try_from(row.get::<_, i64>(0)?).unwrap_or(usize::MAX);
    Ok(IndexedRecordFile {
        file: RecordFile { file, name: row.get(1)?, package: row.get(2)?, bytes },
        format,
    })
}

fn read_place(row: &Row<'_>) -> rusqlite::Result<RecordPosition> {
    let original = row.get::<_, Option<[u8; 32]>>(6)?.map(RecordId::new);
    let kind = match row.get::<_, i64>(5)? {
        0 => RecordKind::Full,
        revisit => RecordKind::Revisit { original, is_not_modified: revisit > 1 },
    };
    Ok(RecordPosition {
        file: usize::try_from(row.get::<_, i64>(0)?).unwrap_or(usize::MAX),
        offset: unsigned(row, 1)?,
        ordinal: row.get(2)?,
        form: BlockForm { has_head: row.get(3)?, decodes: row.get(4)? },
        kind,
    })
}

/// The path of a file of an archive.
pub(crate) fn full_path(root: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str() == OsStr::new("") { root.to_owned() } else { root.join(relative) }
}
