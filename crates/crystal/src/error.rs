//! Why something could not be done with a project: one type, every failure with the path it
//! happened at.
//!
//! Failures only. What a project merely has wrong (a body that is not there, a source that points
//! nowhere) is a finding, which is data, and lives in `verify`. A variant has a message or a
//! source, never the source's text in its own message, so that a printed chain has each cause once.

use std::io;
use std::path::{Path, PathBuf};
use varve_core::secret::ShownUrl;
use varve_file::{EntryKind, FolderError};

use crate::format_error::{BodyPackError, JsonProblem, RowError};

/// The result of anything done with a project.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder's name is not that of a project.
    #[error("`{}` is not a Crystal project: its name does not end with `.crystalproj`", path.display())]
    NotNamedSo {
        /// The folder.
        path: PathBuf,
    },
    /// A copy that was never finished.
    #[error("`{}` is a project that was never wholly copied", path.display())]
    Partial {
        /// The folder.
        path: PathBuf,
    },
    /// The path does not exist.
    #[error("`{}` does not exist", path.display())]
    Absent {
        /// The path that was looked for.
        path: PathBuf,
    },
    /// The path exists already.
    #[error("`{}` already exists", path.display())]
    Exists {
        /// What is in the way.
        path: PathBuf,
    },
    /// The folder lacks what every project has.
    #[error("`{}` is missing or incomplete: it has no {part}", path.display())]
    Incomplete {
        /// The project.
        path: PathBuf,
        /// What it lacks.
        part: &'static str,
    },
    /// A symbolic link where none is followed.
    #[error("`{}` is a symbolic link; inside a project none is followed", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Something of another kind, or a file that is too large, where the project has a file of its
    /// own.
    #[error(transparent)]
    Folder(FolderError),
    /// A later version than this program understands.
    #[error("`{}` has major version {version}; versions 1 to 3 are understood", path.display())]
    TooNew {
        /// The project.
        path: PathBuf,
        /// Its version, as it is written there.
        version: String,
    },
    /// A version that is not a number of a version.
    #[error("`{}` has a major version that cannot be read: {text:?}", path.display())]
    BadVersion {
        /// The project.
        path: PathBuf,
        /// What is written there.
        text: Option<String>,
    },
    /// The project is on a medium that cannot be written.
    #[error("`{}` cannot be written: the folder, its database or the medium is read-only", path.display())]
    ReadOnly {
        /// The project.
        path: PathBuf,
    },
    /// Another varve writes here.
    #[error("`{}` is being written by {holder}", path.display())]
    Locked {
        /// The project.
        path: PathBuf,
        /// Who holds the lock, as far as that is known.
        holder: String,
    },
    /// Another program has the database open.
    #[error("`{}` is open in another program, perhaps in Crystal itself", path.display())]
    InUse {
        /// The project.
        path: PathBuf,
    },
    /// The caller stopped a migration; the next open continues it.
    #[error("`{}` was left in the middle of its migration, which the next open resumes", path.display())]
    Interrupted {
        /// The project.
        path: PathBuf,
    },
    /// The caller stopped a copy; nothing is left of it.
    #[error("the copy of `{}` was stopped", path.display())]
    Stopped {
        /// The project that was being copied.
        path: PathBuf,
    },
    /// A project cannot be copied into itself.
    #[error("`{}` lies inside the project that is to be copied", path.display())]
    Inside {
        /// Where the copy was to be.
        path: PathBuf,
    },
    /// Ids past the end of what the tree of folders can hold.
    #[error("`{}` has revision {id}, too large a number for its layout", path.display())]
    TooManyRevisions {
        /// The project.
        path: PathBuf,
        /// The id that is too large.
        id: i64,
    },
    /// The disk is nearly full.
    #[error("`{}` lies on a disk with {free} bytes free, fewer than the {needed} to keep free", path.display())]
    NoRoom {
        /// The project.
        path: PathBuf,
        /// The bytes that are free.
        free: u64,
        /// The bytes that stay free.
        needed: u64,
    },
    /// A file could not be read or changed.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database could not be read or changed.
    #[error("the database of `{}` failed", path.display())]
    Database {
        /// The project.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file is no SQLite database.
    #[error("`{}` is not an SQLite database", path.display())]
    NotSqlite {
        /// The file.
        path: PathBuf,
    },
    /// The database is not that of a project.
    #[error("the database of `{}` has no {what}", path.display())]
    Schema {
        /// The project.
        path: PathBuf,
        /// The table or column it lacks.
        what: String,
    },
    /// One row cannot be understood.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A pack of bodies cannot be read.
    #[error("cannot read the pack `{}`", path.display())]
    Pack {
        /// The pack.
        path: PathBuf,
        /// What is wrong with it.
        source: BodyPackError,
    },
    /// A change that the project's rules forbid.
    #[error(transparent)]
    Refused(#[from] ChangeRefusal),
}

/// A change that the rules of a project forbid. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeRefusal {
    /// There is no such row.
    #[error("there is no {what} with id {id}")]
    Unknown {
        /// The kind of row.
        what: &'static str,
        /// The id that nothing has.
        id: i64,
    },
    /// The name or place is taken.
    #[error("there is already {what}")]
    Taken {
        /// What it is taken by.
        what: String,
    },
    /// A group must match something.
    #[error("a group's pattern must not be empty")]
    EmptyPattern,
    /// A source that leads back to the group itself.
    #[error("group {group} would become its own source")]
    SourceCycle {
        /// The group.
        group: i64,
    },
    /// An alias is made of whole folders.
    #[error("an alias's prefix must end with `/`: `{}`", ShownUrl(prefix))]
    AliasPrefix {
        /// The prefix that does not.
        prefix: String,
    },
    /// Crystal's own scheme names no page.
    #[error("a URL of Crystal's own scheme cannot be kept: `{}`", ShownUrl(url))]
    OwnScheme {
        /// The URL.
        url: String,
    },
    /// A revision that failed has no body.
    #[error("a revision that records an error has no body")]
    BodyOfError,
    /// A text of a row that no revision can have.
    #[error("the text for column `{column}` is not one of a revision")]
    Text {
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        #[source]
        problem: JsonProblem,
    },
    /// An alias leads the URL out of the project.
    #[error("an alias leads this URL out of the project, to `{}`", ShownUrl(url))]
    External {
        /// Where it leads.
        url: String,
    },
    /// An id that a row of a project cannot have.
    #[error("{id} is no id of a row")]
    BadId {
        /// The id.
        id: i64,
    },
    /// A value that Crystal cannot use.
    #[error("the property `{name}` must be {expected}")]
    PropertyValue {
        /// The property.
        name: String,
        /// What its value must be.
        expected: &'static str,
    },
    /// A property that decides how bodies are stored cannot be set by hand.
    #[error("the property `{name}` is not set by hand")]
    OwnProperty {
        /// The property.
        name: String,
    },
}

/// Names the file for an error of the system.
pub(crate) fn io_at<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { doing, path: path.to_owned(), source }
}

impl From<FolderError> for Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io { operation, path, source } => Self::Io { doing: operation, path, source },
            FolderError::WrongKind { path, found: EntryKind::SymbolicLink, .. } => Self::Link { path },
            error => Self::Folder(error),
        }
    }
}

/// Names the project for an error of SQLite.
pub(crate) fn database_at(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
    move |source| Error::Database { path: path.to_owned(), source }
}

impl Error {
    /// Whether SQLite said that someone else holds the database.
    pub(crate) fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        matches!(self, Self::Database { source, .. }
            if matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked)))
    }

    /// Whether a file or a folder was not there.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }

    /// Whether SQLite said that a row may not be there, or not twice.
    pub(crate) fn is_constraint(&self) -> bool {
        matches!(self, Self::Database { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation))
    }

    /// Whether SQLite said that a file it needs is not there.
    pub(crate) fn cannot_open(&self) -> bool {
        matches!(self, Self::Database { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen))
    }

    /// Whether SQLite said that the database cannot be written.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Database { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly))
    }
}
