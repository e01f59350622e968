//! Which migration a project waits for: one that was queued, or begun and interrupted.
//!
//! Crystal's preferences queue a migration by its marker alone: an empty `revisions.inprogress`, or
//! the properties of version 3 without any pack. The next program that opens the project for
//! writing performs it.

use rusqlite::Row;
use serde::Serialize;

use crate::error::Result;
use crate::ids::RevisionId;
use crate::packing::last_of_pack;
use crate::project::Project;
use crate::rows::RowColumns;
use crate::rows::property_name::MAJOR_VERSION_OLD;
use crate::version::MajorVersion;

/// A migration that the next writer completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PendingMigration {
    /// The version to come.
    pub to: MajorVersion,
    /// Whether it has begun.
    pub stage: MigrationStage,
}

/// How far a migration is that is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigrationStage {
    /// Somebody asked for it, and no body was moved yet.
    Queued,
    /// Some bodies were moved.
    Interrupted,
}

impl Project {
    /// The migration that this project waits for, if any.
    pub fn pending_migration(&self) -> Result<Option<PendingMigration>> {
        let in_progress = self.layout.in_progress();
        if self.layout.has_folder(&in_progress)? {
            let mut moved = self.layout.folder().entries(self.layout.name(&in_progress))?;
            let is_begun = self.version != MajorVersion::Flat || moved.next().transpose()?.is_some();
            return Ok(Some(PendingMigration { to: MajorVersion::Tree, stage: stage(is_begun) }));
        }
        if self.is_packing()? {
            let stage = stage(self.has_first_pack()?);
            return Ok(Some(PendingMigration { to: MajorVersion::Packed, stage }));
        }
        Ok(None)
    }

    /// Whether bodies are still to be packed.
    pub(crate) fn is_packing(&self) -> Result<bool> {
        let old = self.property(MAJOR_VERSION_OLD)?;
        let is_tree = old.is_some_and(|old| MajorVersion::read(&old) == Ok(MajorVersion::Tree));
        Ok(is_tree && self.version == MajorVersion::Packed)
    }

    /// Whether the first body is in a pack. Packs are made in the order of ids.
    fn has_first_pack(&self) -> Result<bool> {
        let sql = "SELECT id FROM resource_revision WHERE id > 0 AND error = 'null' ORDER BY id LIMIT 1";
        let id = |row: &Row<'_>| Ok(RevisionId(RowColumns::of("resource_revision", row, 0).id()));
        match self.one(sql, [], id)? {
            Some(first) => self.bodies().has_pack(last_of_pack(first)),
            None => Ok(false),
        }
    }
}

const fn stage(is_begun: bool) -> MigrationStage {
    if is_begun { MigrationStage::Interrupted } else { MigrationStage::Queued }
}
