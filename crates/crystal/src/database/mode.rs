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
use varve_file::{EntryInfo, EntryKind};

use super::{ConnectMode, connect, set_journal_mode};
use crate::error::{Error, Result, database_at, io_at};
use crate::location::{DATABASE_FILE, ProjectLayout};
use crate::sparse_copy::copy_sparse;

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
        let files = [DATABASE_FILE, "database.sqlite-wal", "database.sqlite-shm"];
        Self(files.map(|name| {
            let about = layout.folder().entry(name).ok().flatten()?;
            Some((about.length, Some(about.modified)))
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
        let Some(mode) = connect_mode(layout, writable)? else { return open_copy(layout, frozen) };
        match connect(&layout.dir, &layout.folder().checked_path(DATABASE_FILE)?, mode) {
            Ok(connection) if mode == ConnectMode::Immutable => {
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

/// How to open a database so that no file is changed; `None` where only a copy can be read.
fn connect_mode(layout: &ProjectLayout, writable: bool) -> Result<Option<ConnectMode>> {
    if !writable {
        return Ok(if has_log(layout)? { None } else { Some(ConnectMode::Immutable) });
    }
    let [log, index] = ["wal", "shm"].map(|kind| beside(layout, kind));
    let (log, index) = (log?, index?.is_some());
    let has_transactions = log.is_some_and(|log| log.length > WAL_HEADER_BYTES);
    Ok(match (log.is_some(), index) {
        // SQLite cannot make an index of its own for a log without a transaction, and would wait
        // for another process to write one.
        (true, true) if !has_transactions => Some(ConnectMode::ReadOnly),
        (true, true) => Some(ConnectMode::ReadOnlyWithLog),
        (true, false) if has_transactions => None,
        (true, false) => Some(ConnectMode::Immutable),
        (false, _) if is_in_wal_mode(layout)? => Some(ConnectMode::Immutable),
        (false, _) => Some(ConnectMode::ReadOnly),
    })
}

/// Whether the header of a database says that it is used with a log.
fn is_in_wal_mode(layout: &ProjectLayout) -> Result<bool> {
    // Where the header says which version a reader must know, and what it says then.
    const AT: usize = 19;
    const WAL: u8 = 2;
    let mut header = [0; AT + 1];
    match layout.folder().open_to_read(DATABASE_FILE)?.read_exact(&mut header) {
        Ok(()) => Ok(header[AT] == WAL),
        // What is shorter is no database, as opening it will say.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(io_at("read", &layout.database())(error)),
    }
}

/// Whether the folder and the database in it can be written, as far as the system says beforehand.
pub(crate) fn can_be_written(layout: &ProjectLayout) -> bool {
    may_write(&layout.dir) && may_write(&layout.database())
}

/// Links are followed, but nothing is opened.
fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The length of the header of a log of WAL mode.
const WAL_HEADER_BYTES: u64 = 32;

/// Whether there is a log beside the database that is not empty.
pub(crate) fn has_log(layout: &ProjectLayout) -> Result<bool> {
    Ok(is_filled(beside(layout, "wal")?) || is_filled(beside(layout, "journal")?))
}

/// A file that SQLite keeps beside the database, if it is there.
fn beside(layout: &ProjectLayout, kind: &str) -> Result<Option<EntryInfo>> {
    Ok(layout.folder().entry(layout.name(&layout.beside_database(kind)))?)
}

fn is_filled(found: Option<EntryInfo>) -> bool {
    found.is_some_and(|found| found.kind == EntryKind::File && found.length > 0)
}

/// Whether SQLite found a half-written transaction that a reader may not roll back.
fn needs_rollback(error: &Error) -> bool {
    matches!(error, Error::Database { source: rusqlite::Error::SqliteFailure(code, _), .. }
        if code.extended_code == rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

fn open_copy(layout: &ProjectLayout, frozen: Option<ProjectDatabaseFiles>) -> Result<OpenedDatabase> {
    let copy =
        TempDir::with_prefix("varve-crystal-").map_err(io_at("create a folder in", &std::env::temp_dir()))?;
    let folder = fs::canonicalize(copy.path()).map_err(io_at("find", copy.path()))?;
    let database = folder.join(DATABASE_FILE);
    copy_file(layout, &layout.database(), &database)?;
    for kind in ["wal", "journal"] {
        if is_filled(beside(layout, kind)?) {
            let log = layout.beside_database(kind);
            copy_file(layout, &log, &folder.join(layout.name(&log)))?;
        }
    }
    let connection = connect(&layout.dir, &database, ConnectMode::ReadWrite)?;
    set_journal_mode(&connection, "delete").map_err(database_at(&layout.dir))?;
    connection.pragma_update(None, "query_only", true).map_err(database_at(&layout.dir))?;
    Ok(OpenedDatabase { connection, reading: DatabaseReadMode::Copy, copy: Some(copy), frozen })
}

fn copy_file(layout: &ProjectLayout, from: &Path, to: &Path) -> Result<()> {
    let source = layout.folder().open_to_read(layout.name(from))?;
    let target = fs::File::create_new(to).map_err(io_at("create", to))?;
    copy_sparse(&source, &target).map(drop).map_err(io_at("copy", from))
}
