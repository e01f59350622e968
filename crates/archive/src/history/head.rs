//! HEAD: a file that holds the id of a version and nothing else; and where HEAD is about to point, with what moves it there.

use std::fs;
use std::io;
use std::path::Path;

use varve_core::VersionId;

use super::replace::replace;
use crate::error::ArchiveError;

/// What moves HEAD to a version, by which it is known what becomes of the pages that lie in a working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMove {
    /// The version was made: its pages are written, and all others stay.
    Commit,
    /// The version was asked for: pages that only the last HEAD has go.
    Checkout,
}

/// The word that stands behind the id where a checkout moves HEAD.
const CHECKOUT: &str = "checkout";

/// Reads HEAD; none when there is no such file, or an empty one.
pub(super) fn read(path: &Path) -> Result<Option<VersionId>, ArchiveError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ArchiveError::Read { path: path.to_owned(), source }),
    };
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|source| ArchiveError::BadHead { path: path.to_owned(), source })
}

/// Replaces HEAD, durably: after a power cut it holds the old id or the new one.
pub(super) fn write(path: &Path, version: &VersionId) -> Result<(), ArchiveError> {
    replace(path, &mut version.to_string().as_bytes(), true).map_err(ArchiveError::write(path))
}

/// Where HEAD is about to point; none where nobody said so, or not in words that are known.
pub(super) fn read_intended(path: &Path) -> Option<(VersionId, HeadMove)> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let version = words.next()?.parse().ok()?;
    // Whoever does not say that pages may go lets them stay.
    let by = if words.next() == Some(CHECKOUT) { HeadMove::Checkout } else { HeadMove::Commit };
    Some((version, by))
}

/// Says where HEAD is about to point, durably.
pub(super) fn write_intended(path: &Path, version: &VersionId, by: HeadMove) -> Result<(), ArchiveError> {
    let text = match by {
        HeadMove::Commit => version.to_string(),
        HeadMove::Checkout => format!("{version} {CHECKOUT}"),
    };
    replace(path, &mut text.as_bytes(), true).map_err(ArchiveError::write(path))
}
