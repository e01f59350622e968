//! Which way to open a database that is only read: with locks, without, or through a copy. Reading
//! leaves no trace.
//!
//! A folder that can be written may change while it is read, so its database is opened with
//! SQLite's locks. One that cannot (a DVD, a read-only mount) is opened as immutable, since SQLite
//! could not even create its lock files there. But an immutable database is read as if no log lay
//! beside it, and a log that a crash left holds rows that belong to the project. Then the database
//! and its logs are copied to a temporary folder, where SQLite replays them; the project itself is
//! not touched. The same helps where a half-written transaction must be rolled back, which a reader
//! may not do.
//!
//! A database in WAL mode would have even a reader create a log and its index where they are
//! missing. With both there, somebody writes, or was killed: neither is written, but for the index
//! of a log that holds nothing. Without an index nobody writes: a log is replayed in a copy, and
//! without one the file is all there is, and is read as immutable.

use rusqlite::Connection;
use serde::Serialize;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;
use tempfile::TempDir;

use super::{How, connect, set_journal_mode};
use crate::error::{Error, Result, database_at, io_at};
use crate::location::ProjectLayout;

/// Attempts to open a database whose files change meanwhile.
const MAX_OPEN_ATTEMPTS: usize = 5;

/// Whether the medium under a project can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProjectMedium {
    /// Find out.
    #[default]
    Unknown,
    /// It can: others may be writing while this one reads.
    Writable,
    /// It cannot: nothing will change.
    ReadOnly,
}

/// How the database of an open project is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseReadMode {
    /// In place, with SQLite's locks.
    Live,
    /// In place, on a medium that does not change.
    Immutable,
    /// From a copy, since a log beside the database had to be replayed where nothing may be
    /// written.
    Copy,
}

/// A database opened for reading, with the copy it may be read from.
pub(crate) struct OpenedDatabase {
    pub(crate) connection: Connection,
    pub(crate) reading: DatabaseReadMode,
    pub(crate) copy: Option<TempDir>,
    /// How the files were, where what is read of them stays as it was then and they need not.
    pub(crate) frozen: Option<ProjectDatabaseFiles>,
}

/// Lengths and modification times of the database and of the files beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProjectDatabaseFiles([Option<(u64, Option<SystemTime>)>; 3]);

impl ProjectDatabaseFiles {
    pub(crate) fn of(layout: &ProjectLayout) -> Self {
        let files = [layout.database(), layout.beside_database("wal"), layout.beside_database("shm")];
        Self(files.map(|path| {
            let about = fs::symlink_metadata(path).ok()?;
            Some((about.len(), about.modified().ok()))
        }))
    }
}

/// Opens a project's database for reading.
pub(crate) fn open_for_reading(layout: &ProjectLayout, medium: ProjectMedium) -> Result<OpenedDatabase> {
    let writable = match medium {
        ProjectMedium::Unknown => can_be_written(layout),
        ProjectMedium::Writable => true,
        ProjectMedium::ReadOnly => false,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let files = ProjectDatabaseFiles::of(layout);
        let frozen = Some(files).filter(|_| writable);
        let Some(how) = way(layout, writable)? else { return open_copy(layout, frozen) };
        match connect(&layout.dir, &layout.database(), how) {
            Ok(connection) if how == How::Immutable => {
                return Ok(OpenedDatabase {
                    connection,
                    reading: DatabaseReadMode::Immutable,
                    copy: None,
                    frozen,
                });
            }
            Ok(connection) => {
                return Ok(OpenedDatabase {
                    connection,
                    reading: DatabaseReadMode::Live,
                    copy: None,
                    frozen: None,
                });
            }
            Err(error) if needs_rollback(&error) => return open_copy(layout, frozen),
            // The writer has just closed or opened the project: the files are no longer those that
            // were seen.
            Err(error) if error.cannot_open() && tries < MAX_OPEN_ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

/// How to open a database without a trace; none where only a copy can be read.
fn way(layout: &ProjectLayout, writable: bool) -> Result<Option<How>> {
    if !writable {
        return Ok(if has_log(layout) { None } else { Some(How::Immutable) });
    }
    let (log, index) = (layout.beside_database("wal"), layout.beside_database("shm"));
    Ok(match (log.exists(), index.exists()) {
        // SQLite cannot make an index of its own for a log without a transaction, and waits for one
        // in vain.
        (true, true) if !has_transactions(&log) => Some(How::ReadOnly),
        (true, true) => Some(How::Beside),
        (true, false) if has_transactions(&log) => None,
        (true, false) => Some(How::Immutable),
        (false, _) if is_in_wal_mode(&layout.database())? => Some(How::Immutable),
        (false, _) => Some(How::ReadOnly),
    })
}

/// Whether the header of a database says that it is used with a log.
fn is_in_wal_mode(database: &Path) -> Result<bool> {
    // Where the header says which version a reader must know, and what it says then.
    const AT: usize = 19;
    const WAL: u8 = 2;
    let mut header = [0; AT + 1];
    let read = fs::File::open(database).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Ok(()) => Ok(header[AT] == WAL),
        // What is shorter is no database, as opening it will say.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(io_at("read", database)(error)),
    }
}

/// Whether the folder and the database in it can be written, as far as the system says beforehand.
pub(crate) fn can_be_written(layout: &ProjectLayout) -> bool {
    may_write(&layout.dir) && may_write(&layout.database())
}

#[cfg(unix)]
fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.permissions().readonly())
}

/// Whether a log of WAL mode is longer than its header.
fn has_transactions(log: &Path) -> bool {
    const HEADER: u64 = 32;
    fs::symlink_metadata(log).is_ok_and(|meta| meta.len() > HEADER)
}

/// Whether there is a log beside the database that is not empty.
pub(crate) fn has_log(layout: &ProjectLayout) -> bool {
    ["wal", "journal"].iter().any(|kind| is_filled(&layout.beside_database(kind)))
}

fn is_filled(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0)
}

/// Whether SQLite found a half-written transaction that a reader may not roll back.
fn needs_rollback(error: &Error) -> bool {
    matches!(error, Error::Database { source: rusqlite::Error::SqliteFailure(code, _), .. }
        if code.extended_code == rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

fn open_copy(layout: &ProjectLayout, frozen: Option<ProjectDatabaseFiles>) -> Result<OpenedDatabase> {
    let copy =
        TempDir::with_prefix("varve-crystal-").map_err(io_at("create a folder in", &std::env::temp_dir()))?;
    let database = copy.path().join("database.sqlite");
    copy_file(&layout.database(), &database)?;
    for kind in ["wal", "journal"] {
        let log = layout.beside_database(kind);
        if is_filled(&log) {
            copy_file(&log, &copy.path().join(format!("database.sqlite-{kind}")))?;
        }
    }
    let connection = connect(&layout.dir, &database, How::ReadWrite)?;
    set_journal_mode(&connection, "delete").map_err(database_at(&layout.dir))?;
    connection.pragma_update(None, "query_only", true).map_err(database_at(&layout.dir))?;
    Ok(OpenedDatabase { connection, reading: DatabaseReadMode::Copy, copy: Some(copy), frozen })
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let mut source = fs::File::open(from).map_err(io_at("read", from))?;
    let mut target = fs::File::create_new(to).map_err(io_at("create", to))?;
    io::copy(&mut source, &mut target).map_err(io_at("copy", from))?;
    Ok(())
}
