//! The error of a catalog, independent of its database.

use std::path::PathBuf;

use crate::VersionId;
use crate::secret::ShownUrl;

/// The result of a function of a catalog.
pub type CatalogResult<T> = Result<T, CatalogError>;

/// Why rows could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The database reported an error, which is the source.
    #[error("{path}: the database cannot be used")]
    Database {
        /// The database.
        path: PathBuf,
        /// The error that it reported.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system could not read or write the file; its error is the source. The content may be
    /// intact.
    #[error("{path}: the database cannot be reached")]
    Unreachable {
        /// The database.
        path: PathBuf,
        /// The error that the database reported.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk is full. The database is unchanged.
    #[error("{path}: there is no room left on the disk of the database")]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// Another process writes, and did not finish in time.
    #[error("{path}: another program is writing to the database")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The file, its folder or the disk cannot be written.
    #[error("{path}: the database can only be read here")]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("{path}: {what}")]
    Newer {
        /// The database.
        path: PathBuf,
        /// Which program and format, as a sentence.
        what: String,
    },
    /// The file is not a database, is empty, or belongs to another program.
    #[error("{path}: {what}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The kind of file, as a sentence.
        what: String,
    },
    /// The database cannot be used in this way.
    #[error("{path}: {what}")]
    Unsupported {
        /// The database.
        path: PathBuf,
        /// The reason, as a sentence.
        what: String,
    },
    /// The catalog has an earlier format.
    #[error("{path}: a catalog of an earlier varve, in format {format}")]
    Older {
        /// The database.
        path: PathBuf,
        /// Its format.
        format: i64,
    },
    /// The site has the tables of an early Moku, which can be read and not written.
    #[error(
        "{path}: it has the tables of an early Moku: it can be read as it is, and must be upgraded before it can be written"
    )]
    EarlyMoku {
        /// The database.
        path: PathBuf,
    },
    /// A row holds a value that is not allowed.
    #[error("{path}: {table}: {what}")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// The row and its defect.
        what: String,
    },
    /// The database belongs to another project.
    #[error("{path} belongs to the project {found}, not to {wanted}")]
    OtherProject {
        /// The database.
        path: PathBuf,
        /// The project that the caller asked for.
        wanted: String,
        /// The project that the database belongs to.
        found: String,
    },
    /// An alias leads to a URL that the project does not hold.
    #[error("an alias leads `{}` out of the project, to {}", ShownUrl(url), ShownUrl(target))]
    Outside {
        /// The URL that the caller asked for.
        url: String,
        /// The target of the alias, on the live web.
        target: String,
    },
    /// There is no such version.
    #[error("there is no version {0}")]
    NoVersion(VersionId),
}
