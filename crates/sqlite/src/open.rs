//! Opens one connection, to read or to write, and sets its pragmas. Knows no table.
//!
//! A database may come from someone else. Neither it nor a file that SQLite keeps beside it may be a
//! link or a special file: a link could lead a write elsewhere, and a named pipe would make SQLite
//! wait for ever. Both are checked first, and SQLite itself refuses links that appear later.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::SqlResult;
use crate::database_path::{DatabasePath, sibling_file};
use crate::error::{UnlocatedError, is_disk_full};

/// How long a connection waits for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of prepared statements that a connection caches: more than this program has.
const STATEMENT_CACHE_SIZE: usize = 96;

/// Flags of every connection.
const COMMON_FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// A connection that reads.
pub(crate) struct PooledReader {
    pub(crate) connection: Connection,
    /// The files when the database was opened as immutable.
    immutable_since: Option<DatabaseFiles>,
}

impl PooledReader {
    /// Whether the connection reads the current content of the files.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        self.immutable_since.as_ref().is_none_or(|files| *files == DatabaseFiles::of(path))
    }

    /// Whether a database that was opened as immutable changed. Then one query may have mixed two
    /// states.
    pub(crate) fn was_overwritten(&self, path: &Path) -> bool {
        self.immutable_since.as_ref().is_some_and(|files| files.database != file_stamp(path))
    }
}

/// Length and modification time of a file: both change when a process writes to it.
type FileStamp = Option<(u64, Option<SystemTime>)>;

fn file_stamp(path: &Path) -> FileStamp {
    std::fs::symlink_metadata(path).ok().map(|about| (about.len(), about.modified().ok()))
}

/// The stamps of a database and its log.
#[derive(PartialEq)]
struct DatabaseFiles {
    database: FileStamp,
    log: FileStamp,
}

impl DatabaseFiles {
    fn of(path: &Path) -> Self {
        Self { database: file_stamp(path), log: file_stamp(&sibling_file(path, "-wal")) }
    }
}

/// Opens a database to read, and changes nothing.
///
/// On a disk that is read-only or full, SQLite cannot make its shared memory. The file is then
/// opened as immutable. If a log beside it holds rows, they cannot be read there, and opening
/// fails.
///
/// A read-only connection leaves behind the log files that it had to make. Where there are none
/// yet, a connection that may write is used, with `query_only` set.
pub(crate) fn open_to_read(path: &DatabasePath) -> SqlResult<PooledReader> {
    let path = &path.checked()?;
    let read_only = COMMON_FLAGS | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let removes_log = COMMON_FLAGS | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let flags = if sibling_file(path, "-wal").exists() { read_only } else { removes_log };
    match Connection::open_with_flags(path, flags).and_then(configure) {
        Err(error) if (cannot_open(&error) || lacks_shared_memory(&error)) && path.is_file() => {
            open_immutable(path, read_only, &error)
        }
        opened => Ok(PooledReader { connection: opened?, immutable_since: None }),
    }
}

/// Opens a database as one that no process changes, because SQLite could not open it otherwise.
fn open_immutable(path: &Path, flags: OpenFlags, cause: &rusqlite::Error) -> SqlResult<PooledReader> {
    // Taken before opening, so that a write in between counts as a change.
    let files = DatabaseFiles::of(path);
    let advice = if is_disk_full(cause) {
        "on a full disk: make room there"
    } else {
        "on a read-only disk: copy it with the files beside it to a disk that can be written"
    };
    let leftovers = [
        ("-wal", "its newest rows are in a write-ahead log, which cannot be read"),
        ("-journal", "a writer was interrupted, which cannot be undone"),
    ];
    for (suffix, what) in leftovers {
        if std::fs::metadata(sibling_file(path, suffix)).is_ok_and(|log| log.len() > 0) {
            return Err(UnlocatedError::Unsupported(format!("{what} {advice}")));
        }
    }
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(immutable_uri(path), flags).and_then(configure)?;
    Ok(PooledReader { connection, immutable_since: Some(files) })
}

/// Opens a database to write. Creates it if it does not exist.
pub fn open_to_write(path: &DatabasePath) -> SqlResult<Connection> {
    let flags = COMMON_FLAGS | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = Connection::open_with_flags(path.checked()?, flags).and_then(configure)?;
    if connection.is_readonly("main")? {
        return Err(UnlocatedError::ReadOnly);
    }
    Ok(connection)
}

/// Turns on the write-ahead log and durable commits. The caller has checked that the database is
/// one of ours: journal modes of foreign databases are never changed.
pub fn configure_writer(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    // Pages that change often are copied back once in a while, and not with every batch.
    connection.pragma_update(None, "wal_autocheckpoint", 8_192)?;
    connection.pragma_update(None, "journal_size_limit", 67_108_864)
}

fn configure(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Without this the query plan depends on bound values, a limit above all, and is made again for
    // each: ten times the cost of a small query.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // Opening reads nothing. This finds a file that is no database here, and not in a later query.
    connection.query_row("SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)", [], |_| Ok(()))?;
    Ok(connection)
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Whether only the shared memory beside the database cannot be made.
fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    let codes = [ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMMAP];
    is_disk_full(error) || error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code))
}

/// A URI that tells SQLite that no process changes the file.
fn immutable_uri(path: &Path) -> String {
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
