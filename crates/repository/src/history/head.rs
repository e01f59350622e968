//! HEAD: a file that holds the id of a version and nothing else; and where HEAD is about to point, with what moves it there.

use std::fs;
use std::io;
use std::path::Path;

use varve_core::VersionId;

use super::atomic_replace::replace;
use crate::error::RepositoryError;

/// What moves HEAD to a version, by which it is known what becomes of the pages that lie in a working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMove {
    /// The version was made: its pages are written, and all others stay.
    Commit,
    /// The version was asked for: pages that only the last HEAD has go.
    Checkout,
}

/// The words that stand behind the id, for what moves HEAD.
const CHECKOUT_WORD: &str = "checkout";
const COMMIT_WORD: &str = "commit";

/// Reads HEAD; none when there is no such file, or an empty one.
pub(super) fn read(path: &Path) -> Result<Option<VersionId>, RepositoryError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RepositoryError::Read { path: path.to_owned(), source }),
    };
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|source| RepositoryError::BadHead { path: path.to_owned(), source })
}

/// Replaces HEAD, durably: after a power cut it holds the old id or the new one.
pub(super) fn write(path: &Path, version: &VersionId) -> Result<(), RepositoryError> {
    replace(path, &mut version.to_string().as_bytes(), true).map_err(RepositoryError::write(path))
}

/// A move of HEAD that somebody is about to make.
pub(super) struct IntendedHead {
    /// Where it is to point.
    pub(super) to: VersionId,
    /// What moves it.
    pub(super) by: HeadMove,
    /// Where it pointed, if anywhere.
    from: Option<VersionId>,
}

impl IntendedHead {
    /// Whether HEAD is still where it was, or there already. Where it is neither, somebody has moved it since, and what was meant then is
    /// no longer meant.
    pub(super) fn stands(&self, head: Option<VersionId>) -> bool {
        self.from.is_none() || head.is_none() || head == self.from || head == Some(self.to)
    }
}

/// What is about to become of HEAD; none where nobody said so, or not in words that are known.
pub(super) fn read_intended(path: &Path) -> Option<IntendedHead> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let to = words.next()?.parse().ok()?;
    // Whoever does not say that pages may go lets them stay.
    let by = if words.next() == Some(CHECKOUT_WORD) { HeadMove::Checkout } else { HeadMove::Commit };
    Some(IntendedHead { to, by, from: words.next().and_then(|id| id.parse().ok()) })
}

/// Says where HEAD is about to point, durably.
pub(super) fn write_intended(
    path: &Path,
    version: &VersionId,
    by: HeadMove,
    from: Option<VersionId>,
) -> Result<(), RepositoryError> {
    let word = match by {
        HeadMove::Commit => COMMIT_WORD,
        HeadMove::Checkout => CHECKOUT_WORD,
    };
    let from = from.map(|from| from.to_string()).unwrap_or_default();
    let text = format!("{version} {word} {from}");
    replace(path, &mut text.trim_end().as_bytes(), true).map_err(RepositoryError::write(path))
}
