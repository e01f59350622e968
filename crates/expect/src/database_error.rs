//! Errors of reading and writing a URL database.

use std::io;
use std::path::{Path, PathBuf};

use crate::{DomainFileError, TargetError};

/// An error of a URL database.
#[derive(Debug, thiserror::Error)]
pub enum UrlsError {
    /// There is no such folder.
    #[error("there is no URL database in `{}`", path.display())]
    NoDatabase {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file or folder cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A file is longer than any domain needs.
    #[error("`{}` is longer than {most} bytes", path.display())]
    TooLong {
        /// Its path.
        path: PathBuf,
        /// The limit.
        most: u64,
    },
    /// A file is not in UTF-8.
    #[error("`{}` is not text in UTF-8: see line {line}", path.display())]
    NotText {
        /// Its path.
        path: PathBuf,
        /// The first line that is not.
        line: u64,
    },
    /// A file cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// A file is not a domain file.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The cause, with its place.
        source: DomainFileError,
    },
    /// The text is not a URL that can have an expectation.
    #[error("the URL cannot be used")]
    Target(#[from] TargetError),
    /// An alias is not for a host that is checked.
    #[error("`{host}` is an alias, and aliases are not asked")]
    AliasNotAsked {
        /// The alias.
        host: String,
    },
    /// No file is for that host.
    #[error("no domain file is for `{}`", host.escape_debug())]
    UnknownDomain {
        /// The host.
        host: String,
    },
    /// The host cannot be the name of a file.
    #[error("`{}` cannot be the name of a domain file", host.escape_debug())]
    DomainName {
        /// The host.
        host: String,
    },
    /// There is no record for that URL.
    #[error("nothing is expected of `{}`", url.escape_debug())]
    Unexpected {
        /// The URL, in the spelling of the database.
        url: String,
    },
}

impl UrlsError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
