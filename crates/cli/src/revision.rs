//! What people call a version or a time, with times that are told from now: `2d` is two days ago.
//!
//! The rooms below have no clock; here the present is added, and what is an id or a tag stays one.

use varve_archive::RepositoryError;
pub(crate) use varve_archive::history::resolve_named_version;
use varve_archive::history::{Holdings, resolve_version as resolve_exactly};
use varve_archive::verbs::cat::{At, at as at_exactly};
use varve_archive::{ArchiveError, VersionId};

use crate::clock;

/// How a version can be called, for the help of verbs that take one.
pub(crate) const NAMES: &str = "The version: HEAD, a tag, an id or its beginning, `HEAD~2`, or a time, of which a day or a second means its end";

/// The version that a person means: HEAD, a tag, an id, the beginning of one, a step back from any of them, or a time.
pub(crate) fn resolve_version(holdings: &dyn Holdings, text: &str) -> Result<VersionId, ArchiveError> {
    or_ago(text, |text| Ok(resolve_exactly(holdings, text)?))
}

/// What a person's text means: a time, or a version.
pub(crate) fn at(holdings: &dyn Holdings, text: &str) -> Result<At, ArchiveError> {
    or_ago(text, |text| at_exactly(holdings, text))
}

/// Asks for the text, and if nothing is called that, for the time that lies so far back.
fn or_ago<T>(text: &str, ask: impl Fn(&str) -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
    let answer = ask(text);
    match (&answer, clock::parse_ago(text)) {
        (Err(ArchiveError::Repository(RepositoryError::NoVersion { .. })), Some(time)) => {
            match ask(&time.to_string()) {
                // What was typed is what people know.
                Err(ArchiveError::Repository(RepositoryError::NoVersionYet { .. })) => {
                    Err(ArchiveError::Repository(RepositoryError::NoVersionYet { text: text.to_owned() }))
                }
                other => other,
            }
        }
        _ => answer,
    }
}
