//! `crystal info`: counts the contents of a project.

use std::path::{Path, PathBuf};

use varve_crystal::{GroupInfo, Project, ProjectInfo};

use crate::error::ArchiveError;

/// The counts of a project, with its groups and settings.
pub struct ProjectOverview {
    /// Its folder.
    pub path: PathBuf,
    /// The counts.
    pub info: ProjectInfo,
    /// Its groups, in the order of their ids.
    pub groups: Vec<GroupInfo>,
    /// The prefix omitted when URLs are shown.
    pub default_url_prefix: Option<String>,
}

/// Counts everything in a project.
pub fn info(path: &Path) -> Result<ProjectOverview, ArchiveError> {
    let project = Project::open(path)?;
    let groups = project.group_infos().collect::<Result<_, _>>()?;
    Ok(ProjectOverview {
        path: project.path().to_owned(),
        info: project.info()?,
        groups,
        default_url_prefix: project.default_url_prefix()?,
    })
}
