//! HEAD, a file that holds only the id of a version, and the file for an intended move of HEAD.

use std::fs;
use std::io;
use std::path::Path;

use varve_core::VersionId;

use super::atomic_replace::replace;
use crate::error::RepositoryError;

/// The operation that moves HEAD. It determines which pages stay in a working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMove {
    /// A new version was committed: its pages are written, and all others stay.
    Commit,
    /// A version was checked out: pages that only the previous HEAD has are removed.
    Checkout,
}

/// The word after the id, for the operation that moves HEAD.
const CHECKOUT_WORD: &str = "checkout";
const COMMIT_WORD: &str = "commit";

/// Reads HEAD. `None` if the file is missing or empty.
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

/// A move of HEAD that a writer is about to make.
pub(super) struct IntendedHead {
    /// The target version.
    pub(super) to: VersionId,
    /// The operation.
    pub(super) by: HeadMove,
    /// The previous version, if any.
    from: Option<VersionId>,
}

impl IntendedHead {
    /// Whether the intent is still valid: HEAD is at its previous or its target version. Otherwise
    /// HEAD has been moved since, and the intent is obsolete.
    pub(super) fn stands(&self, head: Option<VersionId>) -> bool {
        self.from.is_none() || head.is_none() || head == self.from || head == Some(self.to)
    }
}

/// Reads the intended move. `None` if the file is missing or cannot be parsed.
pub(super) fn read_intended(path: &Path) -> Option<IntendedHead> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let to = words.next()?.parse().ok()?;
    // Unless the word allows removing pages, they stay.
    let by = if words.next() == Some(CHECKOUT_WORD) { HeadMove::Checkout } else { HeadMove::Commit };
    Some(IntendedHead { to, by, from: words.next().and_then(|id| id.parse().ok()) })
}

/// Records the intended move of HEAD, durably.
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
