//! What goes wrong inside, before it is known where: a [`CatalogError`] without the path of the database.
//!
//! Functions over a connection return these, and whoever holds the path turns them into errors, once.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};
use varve_core::VersionId;

use crate::connect::lacks_room;
use crate::error::CatalogError;

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Problem {
    /// SQLite says so.
    Sql(rusqlite::Error),
    /// A row holds what no row may hold.
    Damaged(&'static str, String),
    /// It was written by something newer.
    Newer(String),
    /// It is none of ours.
    Foreign(String),
    /// It cannot be used as it is asked for here.
    Unknown(String),
    /// It is a catalog of an earlier varve, in that format.
    Older(i64),
    /// It is of an early Moku, and nobody asked for it to be upgraded.
    Early,
    /// It belongs to another project.
    OtherProject { wanted: String, found: String },
    /// Nothing can be written there.
    ReadOnly,
    /// Somebody else is writing.
    Busy,
    /// There is no such version.
    NoVersion(VersionId),
    /// Whoever was called back could not go on.
    Said(CatalogError),
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        Self::Said(error)
    }
}

impl Problem {
    /// The error, at the database where it happened.
    pub(crate) fn at(self, path: &Path) -> CatalogError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => of_sqlite(error, path),
            Self::Damaged(table, what) => CatalogError::Damaged { path, table, what },
            Self::Newer(what) => CatalogError::Newer { path, what },
            Self::Foreign(what) => CatalogError::Foreign { path, what },
            Self::Unknown(what) => CatalogError::Unknown { path, what },
            Self::Older(format) => CatalogError::Older { path, format },
            Self::Early => CatalogError::Early { path },
            Self::OtherProject { wanted, found } => CatalogError::OtherProject { path, wanted, found },
            Self::ReadOnly => CatalogError::ReadOnly { path },
            Self::Busy => CatalogError::Busy { path },
            Self::NoVersion(id) => CatalogError::NoVersion(id),
            Self::Said(error) => error,
        }
    }
}

fn of_sqlite(error: rusqlite::Error, path: PathBuf) -> CatalogError {
    if lacks_room(&error) {
        return CatalogError::Full { path };
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

/// Whether the file ends before what it says it holds, which no disk can help.
fn is_cut_off(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHORT_READ)
}

/// What is wrong with a statement, without the statement, which says nothing to whoever has an odd database.
fn without_sql(error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqlInputError { error, msg, .. } => rusqlite::Error::SqliteFailure(error, Some(msg)),
        other => other,
    }
}
