//! The counts of a project. They are computed on request, and no rows are collected.

use rusqlite::Row;
use serde::Serialize;

use super::Project;
use crate::database::mode::DatabaseReadMode;
use crate::error::{Error, Result};
use crate::ids::RevisionId;
use crate::location::DATABASE_FILE;
use crate::migrate::PendingMigration;
use crate::rows::{ResourceGroup, RowColumns};
use crate::version::MajorVersion;

/// The counts of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectInfo {
    /// How bodies are stored: 1, 2 or 3.
    pub major_version: MajorVersion,
    /// The migration that the next writer completes, if one was queued or interrupted.
    pub migration: Option<PendingMigration>,
    /// How the database is read.
    pub reading: DatabaseReadMode,
    /// Known URLs.
    pub resources: u64,
    /// Stored downloads.
    pub revisions: u64,
    /// Downloads that failed.
    pub error_revisions: u64,
    /// Roots.
    pub roots: u64,
    /// Groups.
    pub groups: u64,
    /// Aliases.
    pub aliases: u64,
    /// Bodies that exist; none if they were not looked for.
    pub bodies: Option<u64>,
    /// Bodies that are missing or cannot be reached; none if they were not looked for.
    pub missing_bodies: Option<u64>,
    /// The total bytes of the bodies; none if they were not looked for.
    pub bytes: Option<u64>,
    /// The bytes of the database.
    pub database_bytes: u64,
    /// Tasks that Crystal would continue.
    pub hibernated_tasks: u64,
}

/// A group with the number of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// The group.
    pub group: ResourceGroup,
    /// The number of its members.
    pub members: u64,
    /// The number of members that were downloaded.
    pub downloaded_members: u64,
}

impl Project {
    /// Counts everything.
    pub fn info(&self) -> Result<ProjectInfo> {
        let (bodies, missing, bytes) = self.count_bodies()?;
        let (bodies, missing_bodies, bytes) = (Some(bodies), Some(missing), Some(bytes));
        Ok(ProjectInfo { bodies, missing_bodies, bytes, ..self.quick_info()? })
    }

    /// Counts rows, and looks at no body.
    pub fn quick_info(&self) -> Result<ProjectInfo> {
        let tasks = self.hibernated()?.and_then(std::result::Result::ok).map_or(0, |state| state.tasks.len());
        Ok(ProjectInfo {
            major_version: self.version(),
            migration: self.pending_migration()?,
            reading: self.reading(),
            resources: self.count("SELECT count(*) FROM resource", [])?,
            revisions: self.count("SELECT count(*) FROM resource_revision", [])?,
            error_revisions: self
                .count("SELECT count(*) FROM resource_revision WHERE error != 'null'", [])?,
            roots: self.count("SELECT count(*) FROM root_resource", [])?,
            groups: self.count("SELECT count(*) FROM resource_group", [])?,
            aliases: if self.shape.has_alias { self.count("SELECT count(*) FROM alias", [])? } else { 0 },
            bodies: None,
            missing_bodies: None,
            bytes: None,
            database_bytes: self.layout.folder().entry(DATABASE_FILE)?.map_or(0, |found| found.length),
            hibernated_tasks: tasks as u64,
        })
    }

    /// The groups, each with the number of its members, in the order of their ids.
    pub fn group_infos(&self) -> impl Iterator<Item = Result<GroupInfo>> + '_ {
        self.groups().map(|group| self.count_members(group?))
    }

    fn count_members(&self, group: ResourceGroup) -> Result<GroupInfo> {
        let mut info = GroupInfo { group, members: 0, downloaded_members: 0 };
        for member in self.members_with_state(&info.group) {
            info.members += 1;
            info.downloaded_members += u64::from(member?.1);
        }
        Ok(info)
    }

    /// The numbers of existing and of missing bodies, and the bytes of the former.
    fn count_bodies(&self) -> Result<(u64, u64, u64)> {
        let (mut bodies, mut missing, mut bytes) = (0, 0, 0_u64);
        let ids = "SELECT id FROM resource_revision WHERE id >= ?1 AND error = 'null' ORDER BY id";
        let id = |row: &Row<'_>| Ok(RevisionId(RowColumns::of("resource_revision", row, 0).id()));
        for id in self.by_id(ids, id) {
            match self.body_length(id?) {
                Ok(Some(length)) => {
                    bodies += 1;
                    bytes = bytes.saturating_add(length);
                }
                Ok(None) | Err(Error::Pack { .. } | Error::Link { .. }) => missing += 1,
                Err(error) => return Err(error),
            }
        }
        Ok((bodies, missing, bytes))
    }
}
