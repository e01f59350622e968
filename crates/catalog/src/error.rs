//! What can go wrong with a database.

use std::path::PathBuf;

use varve_core::VersionId;
use varve_core::secret::ShownUrl;

/// Why rows could not be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The database refused; its words are the source.
    #[error("{path}: the database cannot be used")]
    Database {
        /// The database.
        path: PathBuf,
        /// What it says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It cannot be read or written where it lies; the words of the system are the source. What is in it may be whole.
    #[error("{path}: the database cannot be reached")]
    Unreachable {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no room for what had to be written. The database is as it was.
    #[error("{path}: there is no room left on the disk of the database")]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// Another process is writing, and did not finish in time.
    #[error("{path}: another program is writing to the database")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// Nothing can be written there: the file, its folder or the disk forbids it.
    #[error("{path}: the database can only be read here")]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// It was written by something newer.
    #[error("{path}: {what}")]
    Newer {
        /// The database.
        path: PathBuf,
        /// By what, as a sentence.
        what: String,
    },
    /// It is something else: no database, an empty one, or that of another program.
    #[error("{path}: {what}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is, as a sentence.
        what: String,
    },
    /// It cannot be used as it is asked for here.
    #[error("{path}: {what}")]
    Unknown {
        /// The database.
        path: PathBuf,
        /// Why, as a sentence.
        what: String,
    },
    /// It is a catalog of an earlier varve.
    #[error("{path}: a catalog of an earlier varve, in format {format}")]
    Older {
        /// The database.
        path: PathBuf,
        /// Its format.
        format: i64,
    },
    /// It is of an early Moku, which can be read and not written.
    #[error(
        "{path}: it has the tables of an early Moku: it can be read as it is, and must be upgraded before it can be written"
    )]
    Early {
        /// The database.
        path: PathBuf,
    },
    /// A row holds what no row may hold.
    #[error("{path}: {table}: {what}")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// What is wrong with the row, and which it is.
        what: String,
    },
    /// The database belongs to another project.
    #[error("{path} belongs to the project {found}, not to {wanted}")]
    OtherProject {
        /// The database.
        path: PathBuf,
        /// The project that was asked for.
        wanted: String,
        /// The project that it belongs to.
        found: String,
    },
    /// An alias says that what stands there is not kept here.
    #[error("an alias leads `{}` out of the project, to {}", ShownUrl(url), ShownUrl(target))]
    Outside {
        /// The URL that was asked for.
        url: String,
        /// Where it is instead, on the live web.
        target: String,
    },
    /// There is no such version.
    #[error("there is no version {0}")]
    NoVersion(VersionId),
}
