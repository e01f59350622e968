//! The short verbs for Crystal projects: `new`, `info`, `property`, `migrate` and `save-as`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use varve_crystal::{
    CopyProgress, CreateOptions, GroupInfo, MajorVersion, MigrationProgress, MigrationSummary, OpenOptions,
    OpenReport, Project, ProjectInfo, ProjectWriter, SaveAsOptions,
};

use crate::error::ArchiveError;

/// Creates a project and returns its folder. The suffix `.crystalproj` is added if it is missing.
pub fn new(path: &Path, version: MajorVersion) -> Result<PathBuf, ArchiveError> {
    let writer = ProjectWriter::create(path, CreateOptions { version, watcher: None })?;
    let folder = writer.path().to_owned();
    writer.close()?;
    Ok(folder)
}

/// The counts of a project, with its groups and settings.
pub struct ProjectOverview {
    /// Its folder.
    pub path: PathBuf,
    /// The counts.
    pub info: ProjectInfo,
    /// Its groups, in the order of their ids; empty for a quick overview, which counts no members.
    pub groups: Vec<GroupInfo>,
    /// The prefix omitted when URLs are shown.
    pub default_url_prefix: Option<String>,
}

/// Counts everything in a project. `quick` counts rows, and neither bodies nor members of groups.
pub fn info(path: &Path, quick: bool) -> Result<ProjectOverview, ArchiveError> {
    let project = Project::open(path)?;
    let (info, groups) = match quick {
        true => (project.quick_info()?, Vec::new()),
        false => (project.info()?, project.group_infos().collect::<Result<_, _>>()?),
    };
    Ok(ProjectOverview {
        path: project.path().to_owned(),
        info,
        groups,
        default_url_prefix: project.default_url_prefix()?,
    })
}

/// All properties with their values, in the order of their names.
pub fn properties(path: &Path) -> Result<Vec<(String, Option<String>)>, ArchiveError> {
    Ok(Project::open(path)?.properties().collect::<Result<_, _>>()?)
}

/// The value of a property; `None` if it is not set.
pub fn property(path: &Path, name: &str) -> Result<Option<String>, ArchiveError> {
    Ok(Project::open(path)?.property(name)?)
}

/// Sets a property, or removes it. Returns the repairs made when the project was opened.
pub fn set_property(path: &Path, name: &str, value: Option<&str>) -> Result<OpenReport, ArchiveError> {
    let mut writer = ProjectWriter::open(path)?;
    writer.set_property(name, value)?;
    let report = writer.report().clone();
    writer.close()?;
    Ok(report)
}

/// The result of a migration.
#[derive(Debug)]
pub struct Migrated {
    /// The version before.
    pub from: MajorVersion,
    /// The version after.
    pub to: MajorVersion,
    /// Number of bodies moved or packed, including those of a migration begun earlier.
    pub moved: u64,
    /// Number of bodies that could not be read and are in no pack.
    pub unreadable: u64,
    /// Repairs made when the project was opened.
    pub opened: OpenReport,
}

/// Migrates a project to a later version, or completes an interrupted migration. `progress` is
/// called with the number of bodies moved and its maximum.
pub fn migrate(
    path: &Path,
    version: MajorVersion,
    progress: &dyn Fn(u64, u64),
) -> Result<Migrated, ArchiveError> {
    let from = Project::open(path)?.version();
    let mut tell = |MigrationProgress { moved, expected }: MigrationProgress| {
        progress(moved, expected);
        ControlFlow::Continue(())
    };
    // Rows without a body are left to `verify --repair`, which preserves their contents.
    let options =
        OpenOptions { on_progress: Some(&mut tell), keep_last_without_body: true, ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(path, options)?;
    let opened = writer.report().clone();
    let done = writer.migrate(version, &mut tell)?.and(opened.resumed_migration.unwrap_or_default());
    let to = writer.version();
    writer.close()?;
    let MigrationSummary { moved, unreadable } = done;
    Ok(Migrated { from, to, moved, unreadable, opened })
}

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its folder.
    pub path: PathBuf,
    /// Number of its files.
    pub files: u64,
    /// Their total length in bytes.
    pub bytes: u64,
}

/// Copies a project. `progress` is called with the number of bytes just copied.
pub fn save_as(source: &Path, target: &Path, progress: &dyn Fn(u64)) -> Result<Saved, ArchiveError> {
    let mut so_far = CopyProgress::default();
    let mut tell = |copied: CopyProgress| {
        progress(copied.bytes - so_far.bytes);
        so_far = copied;
        ControlFlow::Continue(())
    };
    let options = SaveAsOptions { on_progress: Some(&mut tell), watcher: None };
    let path = Project::open(source)?.save_as(target, options)?;
    Ok(Saved { path, files: so_far.files, bytes: so_far.bytes })
}
