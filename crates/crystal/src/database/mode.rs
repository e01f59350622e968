//! Which way to open a database that is only read: with locks, without, or through a copy.
//!
//! A folder that can be written may change while it is read, so its database is opened with SQLite's locks. One
//! that cannot (a DVD, a read-only mount) is opened as immutable, since SQLite could not even create its lock
//! files there. But an immutable database is read as if no log lay beside it, and a log that a crash left holds
//! rows that belong to the project. Then the database and its logs are copied to a temporary folder, where SQLite
//! replays them; the project itself is not touched. The same helps where a half-written transaction must be
//! rolled back, which a reader may not do.

use rusqlite::Connection;
use serde::Serialize;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

use super::{How, connect, set_journal_mode};
use crate::error::{Error, Result, database_at, io_at};
use crate::location::Layout;

/// Whether the medium under a project can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
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
pub enum Reading {
    /// In place, with SQLite's locks.
    Live,
    /// In place, on a medium that does not change.
    Immutable,
    /// From a copy, since a log beside the database had to be replayed where nothing may be written.
    Copy,
}

/// A database opened for reading, with the copy it may be read from.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) reading: Reading,
    pub(crate) copy: Option<TempDir>,
}

/// Opens a project's database for reading.
pub(crate) fn open_for_reading(layout: &Layout, medium: Medium) -> Result<Opened> {
    let writable = match medium {
        Medium::Unknown => can_be_written(layout),
        Medium::Writable => true,
        Medium::ReadOnly => false,
    };
    if !writable && has_log(layout) {
        return open_copy(layout);
    }
    let (how, reading) =
        if writable { (How::ReadOnly, Reading::Live) } else { (How::Immutable, Reading::Immutable) };
    match connect(&layout.dir, &layout.database(), how) {
        Ok(connection) => Ok(Opened { connection, reading, copy: None }),
        Err(error) if needs_rollback(&error) => open_copy(layout),
        Err(error) => Err(error),
    }
}

/// Whether the folder and the database in it can be written, as far as the system says beforehand.
pub(crate) fn can_be_written(layout: &Layout) -> bool {
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

/// Whether a log lies beside the database that holds anything.
pub(crate) fn has_log(layout: &Layout) -> bool {
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

fn open_copy(layout: &Layout) -> Result<Opened> {
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
    Ok(Opened { connection, reading: Reading::Copy, copy: Some(copy) })
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let mut source = fs::File::open(from).map_err(io_at("read", from))?;
    let mut target = fs::File::create_new(to).map_err(io_at("create", to))?;
    std::io::copy(&mut source, &mut target).map_err(io_at("copy", from))?;
    Ok(())
}
