//! Versions and times as people name them, with ages such as `2d`.
//!
//! The crates below have no clock; the current time is added here. An id or a tag takes precedence
//! over an age.

pub(crate) use varve_archive::history::resolve_named_version;
use varve_archive::history::{HistoryReader, resolve_version as resolve_exactly};
use varve_archive::verbs::cat::{CaptureSelector, at as at_exactly};
use varve_archive::{ArchiveError, RepositoryError, VersionId};

use crate::clock;

/// The help of verbs that take a version.
pub(crate) const VERSION_HELP: &str = "The version: HEAD, a tag, an id or its first digits, `HEAD~2`, or a time (a day or a second counts to its end)";

/// The version with this name: HEAD, a tag, an id or its first digits, an ancestor of any of them,
/// or a time.
pub(crate) fn resolve_version(history: &HistoryReader, text: &str) -> Result<VersionId, ArchiveError> {
    resolve_or_ago(text, |text| Ok(resolve_exactly(history, text)?))
}

/// The time or version with this name.
pub(crate) fn at(history: &HistoryReader, text: &str) -> Result<CaptureSelector, ArchiveError> {
    resolve_or_ago(text, |text| at_exactly(history, text))
}

/// Resolves the text, and if nothing has that name, as an age.
fn resolve_or_ago<T>(text: &str, ask: impl Fn(&str) -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
    let answer = ask(text);
    match (&answer, clock::parse_ago(text)) {
        (Err(ArchiveError::Repository(RepositoryError::NoVersion { .. })), Some(time)) => {
            match ask(&time.to_string()) {
                // Report the text as it was typed.
                Err(ArchiveError::Repository(RepositoryError::NoVersionYet { .. })) => {
                    Err(RepositoryError::NoVersionYet { text: text.to_owned() }.into())
                }
                other => other,
            }
        }
        _ => answer,
    }
}
