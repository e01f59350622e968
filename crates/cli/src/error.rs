//! Every error that can stop a verb.
//!
//! The crates below report what failed, with path and offset. Verbs pass their errors up unchanged;
//! `error_report` words them for people, and `error_hints` adds what to do.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::ErrorKind;
use varve_archive::expectations::UrlsError;
use varve_archive::pages::PageError;
use varve_archive::verbs::check::LinkSourceError;
use varve_archive::verbs::doctor::DoctorError;
use varve_archive::verbs::seal::SealKeyError;
use varve_archive::verbs::urls::add::AddError;
use varve_archive::verbs::verify::VerifyFileError;
use varve_archive::{ArchiveError, CrawlError, LockError, RepositoryError};
use varve_serve::ServeError;
use varve_serve::token::SigningKeyError;

use crate::input::{IdLineError, InputPosition, UrlArgumentError};

/// An error that stops a verb.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line cannot be parsed.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// Standard output cannot be written.
    #[error("could not write to standard output")]
    Output(#[source] io::Error),
    /// Standard input cannot be read.
    #[error("could not read standard input")]
    Input(#[source] io::Error),
    /// A temporary file cannot be written or read.
    #[error("could not use a temporary file")]
    Temporary(#[source] io::Error),
    /// The verb would write, and `--readonly` forbids it.
    #[error("`varve {verb}` would write here, and `--readonly` was given")]
    ReadOnlyAsked {
        /// The verb.
        verb: String,
    },
    /// An argument or a line is not a URL.
    #[error("{place} is not a URL")]
    Url {
        /// Its position.
        place: InputPosition,
        /// What is wrong with it.
        #[source]
        source: UrlArgumentError,
    },
    /// A line is not an id.
    #[error("{place} is not an id")]
    Id {
        /// Its position.
        place: InputPosition,
        /// What is wrong with it.
        #[source]
        source: IdLineError,
    },
    /// The archive reports an error.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The current folder was deleted or is not accessible.
    #[error("could not determine the current folder")]
    CurrentFolder(#[source] io::Error),
    /// A page cannot be read.
    #[error(transparent)]
    Page(PageError),
    /// The URL database reports an error.
    #[error(transparent)]
    Urls(#[from] UrlsError),
    /// Links cannot be read.
    #[error(transparent)]
    Links(#[from] LinkSourceError),
    /// A URL was not added to a URL database.
    #[error(transparent)]
    UrlAdd(#[from] AddError),
    /// The server cannot start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The server would be reachable from other machines without `--allow-remote`.
    #[error("{address} can be reached from other machines")]
    Reachable {
        /// The address to listen on.
        address: SocketAddr,
    },
    /// The proxy would be reachable from other machines without `--allow-remote`.
    #[error("{address} can be reached from other machines, which could send requests through this one")]
    OpenProxy {
        /// The address to listen on.
        address: SocketAddr,
    },
    /// Neither `HOME` nor `XDG_CONFIG_HOME` is set.
    #[error("there is no folder for settings: neither HOME nor XDG_CONFIG_HOME is set")]
    NoSettingsFolder,
    /// The signing key cannot be used.
    #[error(transparent)]
    SigningKey(SigningKeyError),
    /// There is no signing key.
    #[error("there is no signing key")]
    NoSigningKey,
    /// A key of the log cannot be made or used.
    #[error(transparent)]
    SealKey(#[from] SealKeyError),
    /// A file cannot be verified.
    #[error(transparent)]
    VerifyFile(#[from] VerifyFileError),
    /// A WARC or ARC file cannot be examined or repaired.
    #[error(transparent)]
    Doctor(#[from] DoctorError),
    /// A file cannot be read.
    #[error("could not read `{path}`")]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// An object in a file of JSON lines is invalid.
    #[error("`{file}`, object {number}: {what}")]
    Object {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file or folder cannot be written.
    #[error("could not write `{path}`")]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl From<PageError> for Error {
    fn from(failure: PageError) -> Self {
        match failure {
            PageError::Archive(failure) => Self::Archive(failure),
            failure => Self::Page(failure),
        }
    }
}

impl From<CrawlError> for Error {
    fn from(failure: CrawlError) -> Self {
        Self::Archive(failure.into())
    }
}

impl From<RepositoryError> for Error {
    fn from(failure: RepositoryError) -> Self {
        Self::Archive(failure.into())
    }
}

impl Error {
    /// The process that is writing, if that is the error.
    pub(crate) fn lock_holder(&self) -> Option<&str> {
        match self {
            Self::Archive(ArchiveError::Repository(RepositoryError::Lock(LockError::Held { holder }))) => {
                Some(holder)
            }
            _ => None,
        }
    }

    /// Whether the reader closed the pipe, as `head` does. That ends the work and is not a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The help text, if the program was called without arguments.
    pub(crate) fn help_for_bare_call(&self) -> Option<String> {
        match self {
            Self::Usage(mistake) if mistake.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Some(mistake.render().ansi().to_string())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_pipe_on_stdout_is_quiet() {
        assert!(Error::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Error::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
        let elsewhere = Error::Write { path: "x".into(), source: io::ErrorKind::BrokenPipe.into() };
        assert!(!elsewhere.is_closed_pipe());
    }
}
