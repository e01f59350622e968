//! Connections: how a database is opened to read or to write, and the few that are kept for reading.
//!
//! Owns flags, pragmas and the pool. Knows no table: whoever opens says what else a connection needs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::CatalogError;
use crate::problem::Problem;

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many idle connections are kept for readers to come.
const KEPT: usize = 4;
/// How many prepared statements a connection remembers: more than there are.
const STATEMENTS: usize = 96;

/// Opens a database to read, changing nothing. On a disk where SQLite cannot keep its shared memory, the file is read
/// as one that nobody writes to; what is still in a write-ahead log cannot be read there, and that is said.
///
/// A connection that may only read leaves the files of a log behind that it had to make, so one that may write is used
/// where there are none yet, and told not to.
pub(crate) fn to_read(path: &Path) -> Result<Connection, Problem> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let tidy = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let flags = if log_of(path).exists() { read_only } else { tidy };
    match Connection::open_with_flags(path, flags).and_then(settle) {
        Err(error) if cannot_open(&error) && path.is_file() => to_read_unchanging(path, read_only),
        opened => Ok(opened?),
    }
}

/// Where the write-ahead log of a database lies.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

fn to_read_unchanging(path: &Path, flags: OpenFlags) -> Result<Connection, Problem> {
    if std::fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0) {
        let what = "its newest rows lie in a write-ahead log, which cannot be read on a read-only disk: \
                    copy it with the files beside it to where it can be written";
        return Err(Problem::Unknown(what.to_owned()));
    }
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(unchanging_uri(path), flags).and_then(settle)?)
}

/// Opens a database to write, with a write-ahead log; makes it where there is none.
pub(crate) fn to_write(path: &Path) -> Result<Connection, Problem> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).and_then(settle)?;
    if connection.is_readonly("main")? {
        return Err(Problem::ReadOnly);
    }
    Ok(connection)
}

/// What a writer needs besides, once it is known that the database is ours: a log, and a commit that is on the disk.
pub(crate) fn settle_writer(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    // Pages that change again and again are put back once in a while, and not with every batch.
    connection.pragma_update(None, "wal_autocheckpoint", 8_192)?;
    connection.pragma_update(None, "journal_size_limit", 67_108_864)
}

fn settle(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Without this a plan depends on the values that are bound, a limit above all, and is made anew for each: ten times
    // the cost of a small answer.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // Opening reads nothing; a file that is none is found out here and not in the middle of an answer.
    connection.query_row("SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)", [], |_| Ok(()))?;
    Ok(connection)
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// A URI that says that nobody will change the file.
fn unchanging_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for letter in path.to_string_lossy().chars() {
        match letter {
            '%' | '?' | '#' => uri.push_str(&format!("%{:02X}", u32::from(letter))),
            _ => uri.push(letter),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// What else a connection needs before it is used.
type Prepare = Box<dyn Fn(&Connection) -> Result<(), Problem> + Send + Sync>;

/// Connections to read with, opened when they are asked for.
pub(crate) struct Readers {
    path: PathBuf,
    prepare: Prepare,
    idle: Mutex<Idle>,
}

/// Connections that nobody uses just now.
struct Idle {
    /// The file that they are connected to: a catalog that is made again is another one under the same name.
    file: Option<(u64, u64)>,
    connections: Vec<Connection>,
}

/// What tells a file from another of the same name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

impl Readers {
    /// Opens the first one, to know that the database is what it should be.
    pub(crate) fn open(path: &Path, prepare: Prepare) -> Result<Self, CatalogError> {
        let idle = Idle { file: identity(path), connections: Vec::new() };
        let readers = Self { path: path.to_owned(), prepare, idle: Mutex::new(idle) };
        let first = readers.another().map_err(|problem| problem.at(path))?;
        readers.lay_down(first, identity(path));
        Ok(readers)
    }

    /// Where the database lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Asks questions that all see the same state of the database.
    pub(crate) fn ask<T>(
        &self,
        questions: impl FnOnce(&Connection) -> Result<T, Problem>,
    ) -> Result<T, CatalogError> {
        self.try_ask(questions).map_err(|problem| problem.at(&self.path))
    }

    fn try_ask<T>(&self, questions: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, Problem> {
        let file = identity(&self.path);
        let connection = match self.take_up(file) {
            Some(connection) => connection,
            None => self.another()?,
        };
        let state = connection.unchecked_transaction()?;
        let answer = questions(&connection);
        state.finish()?;
        self.lay_down(connection, file);
        answer
    }

    fn another(&self) -> Result<Connection, Problem> {
        let connection = to_read(&self.path)?;
        (self.prepare)(&connection)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// An idle connection to this file; those to another one of its name are closed.
    fn take_up(&self, file: Option<(u64, u64)>) -> Option<Connection> {
        let mut idle = self.idle();
        if idle.file != file {
            *idle = Idle { file, connections: Vec::new() };
        }
        idle.connections.pop()
    }

    fn lay_down(&self, connection: Connection, file: Option<(u64, u64)>) {
        let mut idle = self.idle();
        if idle.file == file && idle.connections.len() < KEPT {
            idle.connections.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
