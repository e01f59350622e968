//! Connections: how a database is opened to read or to write, and the few that are kept for reading.
//!
//! Owns flags, pragmas and the pool. Knows no table: whoever opens says what else a connection needs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::error::CatalogError;
use crate::problem::Problem;

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many idle connections are kept for readers to come.
const KEPT: usize = 4;
/// How many prepared statements a connection remembers: more than there are.
const STATEMENTS: usize = 96;

/// Opens a database to read, changing nothing. On a disk where SQLite cannot keep its shared memory, because it can only be
/// read or is full, the file is read as one that nobody writes to; what is still in a log cannot be read there, and that is
/// said.
///
/// A connection that may only read leaves the files of a log behind that it had to make, so one that may write is used
/// where there are none yet, and told not to.
fn to_read(path: &Path) -> Result<Reader, Problem> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let tidy = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let flags = if beside(path, "-wal").exists() { read_only } else { tidy };
    match Connection::open_with_flags(path, flags).and_then(settle) {
        Err(error) if (cannot_open(&error) || lacks_shared_memory(&error)) && path.is_file() => {
            to_read_unchanging(path, read_only, &error)
        }
        opened => Ok(Reader { connection: opened?, as_of: None }),
    }
}

/// A file that SQLite has beside a database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Opens a database as one that nobody writes to, since it could not be opened otherwise.
fn to_read_unchanging(path: &Path, flags: OpenFlags, why: &rusqlite::Error) -> Result<Reader, Problem> {
    // Before it is opened, so that what comes in between counts as a change.
    let as_of = Files::of(path);
    let where_not = if lacks_room(why) {
        "on a full disk: make room there"
    } else {
        "on a read-only disk: \
        copy it with the files beside it to where it can be written"
    };
    let left = [
        ("-wal", "its newest rows lie in a write-ahead log, which cannot be read"),
        ("-journal", "somebody was stopped while writing to it, which cannot be undone"),
    ];
    for (ending, what) in left {
        if std::fs::metadata(beside(path, ending)).is_ok_and(|log| log.len() > 0) {
            return Err(Problem::Unknown(format!("{what} {where_not}")));
        }
    }
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(unchanging_uri(path), flags).and_then(settle)?;
    Ok(Reader { connection, as_of: Some(as_of) })
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

/// Whether a database is all right, and only what SQLite wants beside it cannot be had.
fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    let wanted = [ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMMAP];
    lacks_room(error) || error.sqlite_error().is_some_and(|error| wanted.contains(&error.extended_code))
}

/// Whether the disk is full.
pub(crate) fn lacks_room(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        // The first thing that SQLite writes where it has a log, and the first for which there is no room.
        error.code == ErrorCode::DiskFull || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
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

/// A connection to read with.
struct Reader {
    connection: Connection,
    /// How the files were, if they are read as if they could not change.
    as_of: Option<Files>,
}

impl Reader {
    /// Whether what it would read is still what lies there.
    fn is_current(&self, path: &Path) -> bool {
        self.as_of.as_ref().is_none_or(|as_of| *as_of == Files::of(path))
    }

    /// Whether the database was changed though nobody was to do so: then what was read may be of before and after.
    fn was_deceived(&self, path: &Path) -> bool {
        self.as_of.as_ref().is_some_and(|as_of| as_of.database != changes(path))
    }
}

/// What shows that a file was written.
type Changes = Option<(u64, Option<SystemTime>)>;

/// A database and its log, as far as it takes to know that somebody has written.
#[derive(PartialEq)]
struct Files {
    database: Changes,
    log: Changes,
}

impl Files {
    fn of(path: &Path) -> Self {
        Self { database: changes(path), log: changes(&beside(path, "-wal")) }
    }
}

fn changes(path: &Path) -> Changes {
    std::fs::metadata(path).ok().map(|about| (about.len(), about.modified().ok()))
}

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
    readers: Vec<Reader>,
}

/// What tells a file from another of the same name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

impl Readers {
    /// Opens the first one, to know that the database is what it should be.
    pub(crate) fn open(path: &Path, prepare: Prepare) -> Result<Self, CatalogError> {
        let idle = Idle { file: identity(path), readers: Vec::new() };
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
        let reader = match self.take_up(file).filter(|reader| reader.is_current(&self.path)) {
            Some(reader) => reader,
            None => self.another()?,
        };
        let state = reader.connection.unchecked_transaction()?;
        let answer = questions(&reader.connection);
        let ended = state.finish();
        if reader.was_deceived(&self.path) {
            return Err(Problem::Busy);
        }
        ended?;
        self.lay_down(reader, file);
        answer
    }

    fn another(&self) -> Result<Reader, Problem> {
        let reader = to_read(&self.path)?;
        (self.prepare)(&reader.connection)?;
        reader.connection.pragma_update(None, "query_only", true)?;
        Ok(reader)
    }

    /// An idle connection to this file; those to another one of its name are closed.
    fn take_up(&self, file: Option<(u64, u64)>) -> Option<Reader> {
        let mut idle = self.idle();
        if idle.file != file {
            *idle = Idle { file, readers: Vec::new() };
        }
        idle.readers.pop()
    }

    fn lay_down(&self, reader: Reader, file: Option<(u64, u64)>) {
        let mut idle = self.idle();
        if idle.file == file && idle.readers.len() < KEPT {
            idle.readers.push(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
