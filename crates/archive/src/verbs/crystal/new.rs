//! `crystal new`: creates an empty project.

use std::path::{Path, PathBuf};

use varve_crystal::{CreateOptions, MajorVersion, ProjectWriter};

use crate::error::ArchiveError;

/// Creates a project and returns its folder. The suffix `.crystalproj` is added if it is missing.
pub fn new(path: &Path, version: MajorVersion) -> Result<PathBuf, ArchiveError> {
    let writer = ProjectWriter::create(path, CreateOptions { version, watcher: None })?;
    let folder = writer.path().to_owned();
    writer.close()?;
    Ok(folder)
}
