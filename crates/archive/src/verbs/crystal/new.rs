//! `crystal new`: a project that holds nothing yet.

use std::path::{Path, PathBuf};

use varve_crystal::{CreateOptions, MajorVersion, ProjectWriter};

use crate::error::ArchiveError;

/// Makes a project, whose name ends with `.crystalproj` whether or not that was said, and gives its folder.
pub fn new(path: &Path, version: MajorVersion) -> Result<PathBuf, ArchiveError> {
    let writer = ProjectWriter::create(path, CreateOptions { version, watcher: None })?;
    let folder = writer.path().to_owned();
    writer.close()?;
    Ok(folder)
}
