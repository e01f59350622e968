//! The project's SQLite database as a file: how it is opened, and with which settings.
//!
//! What the tables mean is not here but in `rows`. Two facts rule the settings. Crystal runs
//! without foreign keys and with double-quoted strings, which its indexes contain, so both are set
//! here instead of being left to how SQLite was compiled. And the file may come from a stranger: a
//! link in its place is not followed, triggers and views are off, functions of the schema are not
//! trusted, and no value may be longer than [`MAX_VALUE_BYTES`].

pub(crate) mod mode;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod stream;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};

/// SQLite refuses longer texts and blobs: rows of a project are small.
const MAX_VALUE_BYTES: i32 = 64 << 20;
/// The page cache of a connection, in kibibytes with a minus, as SQLite wants it. Pages are listed in
/// the order of URLs and read rows in any order.
const CACHE_SIZE: i32 = -32_768;
/// How long to wait for another connection's short transaction.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How the database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectMode {
    /// To read and write it.
    ReadWrite,
    /// To read it while others may write it.
    ReadOnly,
    /// To read it with the write-ahead log and its index that are there already. SQLite writes
    /// neither of them.
    ReadOnlyWithLog,
    /// To read it where no process can write. SQLite takes no lock and ignores the files beside the
    /// database.
    Immutable,
}

/// Opens the database `file` of the project at `dir`. SQLite refuses a path with a link in it.
pub(crate) fn connect(dir: &Path, file: &Path, mode: ConnectMode) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | match mode {
            ConnectMode::ReadWrite => OpenFlags::SQLITE_OPEN_READ_WRITE,
            ConnectMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
            ConnectMode::ReadOnlyWithLog | ConnectMode::Immutable => {
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI
            }
        };
    let opened = match mode {
        ConnectMode::ReadOnlyWithLog => Connection::open_with_flags(uri(file, "readonly_shm=1"), flags),
        ConnectMode::Immutable => Connection::open_with_flags(uri(file, "immutable=1"), flags),
        ConnectMode::ReadWrite | ConnectMode::ReadOnly => Connection::open_with_flags(file, flags),
    };
    opened.and_then(configure).map_err(failure(dir, file))
}

/// Creates the database `file` of the project at `dir`.
pub(crate) fn create(dir: &Path, file: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE;
    Connection::open_with_flags(file, flags).and_then(configure).map_err(failure(dir, file))
}

/// Turns an error of SQLite into one that names the project, or the file when it is not a database.
/// A program that locks the database for longer than `BUSY_TIMEOUT` counts as using the project: a
/// migration does that.
fn failure<'a>(dir: &'a Path, file: &'a Path) -> impl Fn(rusqlite::Error) -> Error + 'a {
    |source| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotSqlite { path: file.to_owned() },
        Some(ErrorCode::DatabaseBusy) => Error::InUse { path: dir.to_owned() },
        _ => Error::Database { path: dir.to_owned(), source },
    }
}

fn configure(connection: Connection) -> rusqlite::Result<Connection> {
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, true),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, true),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
    // The first read is what tells whether the file is a database.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// The file as a URI with a parameter, with every byte escaped that a URI could read as anything
/// but a name.
fn uri(file: &Path, parameter: &str) -> String {
    let mut uri = String::from("file:");
    for &byte in OsStr::as_encoded_bytes(file.as_os_str()) {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push('?');
    uri.push_str(parameter);
    uri
}

/// The journal mode of the database, after a change to `mode` if one is given.
pub(crate) fn set_journal_mode(connection: &Connection, mode: &str) -> rusqlite::Result<String> {
    connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))
}

/// The journal mode that the database has.
pub(crate) fn journal_mode(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_survive_in_a_uri() {
        let uri = uri(Path::new("/a b/ü?x=1#y%41.crystalproj/database.sqlite"), "immutable=1");
        assert_eq!(uri, "file:/a%20b/%C3%BC%3Fx%3D1%23y%2541.crystalproj/database.sqlite?immutable=1");
    }
}
