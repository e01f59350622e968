//! From typed errors to what a person reads and what a script tests: message, causes, hint, exit code.
//!
//! Rooms below say what failed, with path and offset; they know neither hints nor exit codes. Verbs pass their
//! errors up unchanged. This file is the only place that decides how a failure is worded for people.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use clap::error::ErrorKind;
use varve_archive::verbs::doctor::DoctorError;

use crate::urls::{Place, Unreadable};

/// The exit code for "done, and there are findings".
pub(crate) const FINDINGS: u8 = 1;
/// The exit code for "could not run": usage, settings, surroundings.
pub(crate) const COULD_NOT_RUN: u8 = 2;

/// Everything that can stop a verb.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line makes no sense.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// Standard output cannot be written.
    #[error("could not write to standard output")]
    Output(#[source] io::Error),
    /// Standard input cannot be read.
    #[error("could not read standard input")]
    Input(#[source] io::Error),
    /// What was given is no URL.
    #[error("{place} is not a URL")]
    Url {
        /// Where it stood.
        place: Place,
        /// What is wrong with it.
        #[source]
        source: Unreadable,
    },
    /// A WARC or ARC file could not be dealt with.
    #[error(transparent)]
    Doctor(#[from] DoctorError),
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

impl Error {
    /// Whether the reader of our output went away, as `head` does: the end of the work, not a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The help page, when nothing at all was asked for: then it is worth more than an error message.
    pub(crate) fn help_for_bare_call(&self) -> Option<String> {
        match self {
            Self::Usage(mistake) if mistake.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Some(mistake.render().ansi().to_string())
            }
            _ => None,
        }
    }
}

/// A failure, worded.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// What failed, in one line.
    pub(crate) message: String,
    /// Why, nearest cause first.
    pub(crate) causes: Vec<String>,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
    /// What the process ends with.
    pub(crate) code: u8,
}

impl Report {
    /// Message and causes on one line, for machines.
    pub(crate) fn one_line(&self) -> String {
        let parts: Vec<&str> =
            std::iter::once(&self.message).chain(&self.causes).map(String::as_str).collect();
        parts.join(": ")
    }
}

/// Words `failure`.
pub(crate) fn report(failure: &Error) -> Report {
    if let Error::Usage(mistake) = failure {
        return usage(mistake);
    }
    Report {
        message: failure.to_string(),
        causes: causes(failure),
        hints: hints(failure),
        code: COULD_NOT_RUN,
    }
}

fn causes(failure: &Error) -> Vec<String> {
    std::iter::successors(failure.source(), |cause| (*cause).source()).map(ToString::to_string).collect()
}

fn hints(failure: &Error) -> Vec<String> {
    let hint = match failure {
        Error::Write { source, .. } | Error::Doctor(DoctorError::Write { source, .. }) => {
            for_writing(source.kind())
        }
        Error::Doctor(failure) => crate::commands::doctor::hint(failure),
        Error::Usage(_) | Error::Output(_) | Error::Input(_) | Error::Url { .. } => None,
    };
    hint.map(str::to_owned).into_iter().collect()
}

fn for_writing(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::PermissionDenied => Some("choose a place that you may write to"),
        io::ErrorKind::StorageFull => Some("make room on that disk, or choose another"),
        _ => None,
    }
}

/// Puts clap's wording into varve's: its paragraphs are the message, tips, the usage line and a pointer to help.
fn usage(mistake: &clap::Error) -> Report {
    let text = mistake.render().to_string().replace('\'', "`");
    let mut paragraphs = text.split("\n\n").map(str::trim_end);
    let message = paragraphs.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut hints = Vec::new();
    for paragraph in paragraphs {
        let lines = paragraph.lines().map(str::trim);
        hints.extend(lines.filter_map(|line| {
            let tip = line.strip_prefix("tip: ").map(str::to_owned);
            tip.or_else(|| line.strip_prefix("Usage: ").map(|usage| format!("usage is `{usage}`")))
        }));
    }
    Report { message, causes: Vec::new(), hints, code: COULD_NOT_RUN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_hints_come_with_the_message() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let report = report(&Error::Write { path: "man/varve.1".into(), source });
        assert_eq!(report.message, "could not write `man/varve.1`");
        assert_eq!(report.causes, ["permission denied"]);
        assert_eq!(report.hints, ["choose a place that you may write to"]);
        assert_eq!(report.code, 2);
    }

    #[test]
    fn only_a_closed_pipe_on_stdout_is_quiet() {
        assert!(Error::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Error::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
        let elsewhere = Error::Write { path: "x".into(), source: io::ErrorKind::BrokenPipe.into() };
        assert!(!elsewhere.is_closed_pipe());
    }
}
