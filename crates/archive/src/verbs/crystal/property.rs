//! `crystal property`: reads and changes the properties of a project.

use std::path::Path;

use varve_crystal::{OpenReport, Project, ProjectWriter};

use crate::error::ArchiveError;

/// All properties with their values, in the order of their names.
pub fn list(path: &Path) -> Result<Vec<(String, Option<String>)>, ArchiveError> {
    Ok(Project::open(path)?.properties().collect::<Result<_, _>>()?)
}

/// The value of a property; `None` if it is not set.
pub fn get(path: &Path, name: &str) -> Result<Option<String>, ArchiveError> {
    Ok(Project::open(path)?.property(name)?)
}

/// Sets a property, or removes it. Returns the repairs made when the project was opened.
pub fn set(path: &Path, name: &str, value: Option<&str>) -> Result<OpenReport, ArchiveError> {
    let mut writer = ProjectWriter::open(path)?;
    writer.set_property(name, value)?;
    let report = writer.report().clone();
    writer.close()?;
    Ok(report)
}
