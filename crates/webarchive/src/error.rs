//! Why a foreign archive cannot be opened, or a record of it cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use varve_core::catalog::CatalogError;
use varve_wacz::WaczError;

/// Why a foreign archive cannot be opened, or a record of it cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WebArchiveError {
    /// There is no WARC, ARC or WACZ file.
    #[error("`{}` holds no WARC, ARC or WACZ file", path.display())]
    NoRecordFiles {
        /// The file or folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The index cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file of records cannot be read at some place.
    #[error("could not read the records of `{}`", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// The cause, with the offset.
        source: varve_warc::Error,
    },
    /// A package cannot be read.
    #[error("could not read the package `{}`", path.display())]
    Package {
        /// The file.
        path: PathBuf,
        /// The cause, with the offset.
        source: WaczError,
    },
    /// A file is not as it was when the index was made.
    #[error("`{}` has changed since it was opened", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The record is not where the index says.
    #[error("the record at byte {offset} of `{}` is not there", path.display())]
    RecordGone {
        /// The file.
        path: PathBuf,
        /// The offset.
        offset: u64,
    },
    /// A revisit repeats a record that is in none of the files.
    #[error("the capture of `{}` repeats a record that is in none of the files", url.escape_debug())]
    NoOriginal {
        /// The URL of the capture.
        url: String,
    },
    /// The index failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl WebArchiveError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
