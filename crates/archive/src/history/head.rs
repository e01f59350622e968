//! HEAD: a file that holds the id of a version and nothing else.

use std::fs;
use std::io;
use std::path::Path;

use varve_core::VersionId;

use super::replace::replace;
use crate::error::ArchiveError;

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
