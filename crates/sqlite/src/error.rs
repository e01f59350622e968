//! A [`CatalogError`] before the path of the database is known.
//!
//! Functions over a connection return [`UnlocatedError`]. The owner of the path converts it once.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};
use varve_core::VersionId;
use varve_core::catalog::CatalogError;

/// Why a query or a write failed.
#[derive(Debug)]
pub enum UnlocatedError {
    /// SQLite reported an error.
    Sql(rusqlite::Error),
    /// A row of this table holds a value that is not allowed.
    Damaged(&'static str, String),
    /// A newer program wrote the database; the text is a sentence.
    Newer(String),
    /// The file is no database, or that of another program; the text is a sentence.
    Foreign(String),
    /// The database cannot be used in this way; the text is a sentence.
    Unsupported(String),
    /// The catalog has this earlier format.
    Older(i64),
    /// The site has the tables of an early Moku, and the caller did not ask for an upgrade.
    EarlyMoku,
    /// The site belongs to another project.
    OtherProject {
        /// The project that the caller asked for.
        wanted: String,
        /// The project that the site belongs to.
        found: String,
    },
    /// The database cannot be written.
    ReadOnly,
    /// Another process writes.
    Busy,
    /// There is no such version.
    NoVersion(VersionId),
    /// A callback returned this error.
    Callback(CatalogError),
}

impl From<rusqlite::Error> for UnlocatedError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CatalogError> for UnlocatedError {
    fn from(error: CatalogError) -> Self {
        Self::Callback(error)
    }
}

impl UnlocatedError {
    /// The error, with the path of the database.
    pub fn at(self, path: &Path) -> CatalogError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => from_sqlite(error, path),
            Self::Damaged(table, what) => CatalogError::Damaged { path, table, what },
            Self::Newer(what) => CatalogError::Newer { path, what },
            Self::Foreign(what) => CatalogError::Foreign { path, what },
            Self::Unsupported(what) => CatalogError::Unsupported { path, what },
            Self::Older(format) => CatalogError::Older { path, format },
            Self::EarlyMoku => CatalogError::EarlyMoku { path },
            Self::OtherProject { wanted, found } => CatalogError::OtherProject { path, wanted, found },
            Self::ReadOnly => CatalogError::ReadOnly { path },
            Self::Busy => CatalogError::Busy { path },
            Self::NoVersion(id) => CatalogError::NoVersion(id),
            Self::Callback(error) => error,
        }
    }
}

fn from_sqlite(error: rusqlite::Error, path: PathBuf) -> CatalogError {
    if is_disk_full(&error) {
        return CatalogError::DiskFull { path };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => CatalogError::Busy { path },
        Some(ErrorCode::ReadOnly) => CatalogError::ReadOnly { path },
        Some(ErrorCode::NotADatabase) => {
            CatalogError::Foreign { path, what: "this is not a database of SQLite".to_owned() }
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            CatalogError::Damaged { path, table: "the file itself", what: error.to_string() }
        }
        Some(ErrorCode::SystemIoFailure) if !is_cut_off(&error) => {
            CatalogError::Unreachable { path, source: Box::new(error) }
        }
        Some(ErrorCode::CannotOpen) if path.exists() => {
            CatalogError::Unreachable { path, source: Box::new(error) }
        }
        _ => CatalogError::Database { path, source: Box::new(without_sql(error)) },
    }
}

/// Whether the disk is full.
pub(crate) fn is_disk_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        // With a write-ahead log, the shared memory is the first file that SQLite writes.
        error.code == ErrorCode::DiskFull || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
}

/// Whether the file is shorter than its header says: damage, and no failure of the disk.
fn is_cut_off(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHORT_READ)
}

/// Removes the text of the statement, which does not help a user with a strange database.
fn without_sql(error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqlInputError { error, msg, .. } => rusqlite::Error::SqliteFailure(error, Some(msg)),
        other => other,
    }
}
