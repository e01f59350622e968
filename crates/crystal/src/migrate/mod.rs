//! From one version to the next, at any size, interruptible at any instant. The way from version 2
//! to version 3 is in `pack_all`; this is the way from version 1 to version 2: every body from one
//! folder into a tree.
//!
//! The names and the order are Crystal's, so that each of the two programs goes on where the other
//! stopped:
//!
//! 1. `revisions.inprogress` is created. From here on the migration can be resumed but not called off.
//! 2. Every body is renamed from `revisions/<decimal>` to its place in that tree.
//! 3. `major_version` becomes 2, in a transaction of its own: the point of no return.
//! 4. `revisions.inprogress` becomes `revisions`.
//!
//! Three things are done otherwise. Crystal asks the database for ids and deletes in the end what
//! no row named; here the folder itself is emptied, so that nothing is left to delete: a body
//! without a row moves along, and what is no body goes to `salvage`. All folders are made durable
//! before step 3. And step 4 is one rename onto the emptied folder, where Crystal makes two and,
//! stopped between them, refuses ever to open the project again.
//!
//! Every state that either program can stop in is recognised when a project is opened for writing,
//! and completed. No step removes a file.

mod drain;
mod pack_all;
mod pending;

pub(crate) use drain::{DrainTarget, drain};
pub use pending::{MigrationStage, PendingMigration};

use std::ops::ControlFlow;
use std::path::Path;
use varve_file::EntryKind;

use crate::body::MAX_TREE_ID;
use crate::disk::ProjectDisk;
use crate::error::{Error, Result, database_at};
use crate::location::ProjectLayout;
use crate::project::Project;
use crate::rows::property_name::{MAJOR_VERSION, MAJOR_VERSION_OLD};
use crate::version::MajorVersion;

/// How far a migration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrationProgress {
    /// The bodies moved or packed by this run.
    pub moved: u64,
    /// The highest id: no fewer than the bodies, as far as rows know of them.
    pub expected: u64,
}

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MigrationSummary {
    /// Bodies that were moved or packed.
    pub moved: u64,
    /// Bodies that could not be read: they stay files of their own beside the packs.
    pub unreadable: u64,
}

impl MigrationSummary {
    const fn of_moved(moved: u64) -> Self {
        Self { moved, unreadable: 0 }
    }

    /// Both together.
    pub const fn and(self, other: Self) -> Self {
        Self { moved: self.moved + other.moved, unreadable: self.unreadable + other.unreadable }
    }
}

/// Told of progress, and asked whether to go on. A migration that is broken off is resumed by the
/// next open.
pub type OnProgress<'a> = &'a mut dyn FnMut(MigrationProgress) -> ControlFlow<()>;

/// The folder that the bodies of a project belong in, and its layout.
pub(crate) fn into(layout: &ProjectLayout, version: MajorVersion) -> DrainTarget {
    match version {
        MajorVersion::Flat => DrainTarget::Flat(layout.revisions()),
        MajorVersion::Tree | MajorVersion::Packed => DrainTarget::Tree(layout.revisions()),
    }
}

/// A migration of one project, run on a project that this process alone may write.
pub(crate) struct Migration<'p> {
    project: &'p mut Project,
    disk: &'p ProjectDisk,
}

impl<'p> Migration<'p> {
    pub(crate) fn new(project: &'p mut Project, disk: &'p ProjectDisk) -> Self {
        Self { project, disk }
    }

    /// Migrates a project that is open in a session to a later version.
    pub(crate) fn run(&mut self, to: MajorVersion, on_progress: OnProgress<'_>) -> Result<MigrationSummary> {
        if self.project.version >= to {
            return Ok(MigrationSummary::default());
        }
        let ended = self.project.end_log().map_err(|error| self.in_use(error));
        let alone = ended.and_then(|()| self.project.take_alone());
        let done = alone.and_then(|()| self.step_up(to, on_progress));
        // The session continues also after a failure.
        let shared = self.project.share().and_then(|()| self.project.begin_log());
        done.and_then(|done| shared.map(|()| done))
    }

    fn step_up(&mut self, to: MajorVersion, on_progress: OnProgress<'_>) -> Result<MigrationSummary> {
        let mut done = MigrationSummary::default();
        if self.project.version == MajorVersion::Flat {
            done = done.and(MigrationSummary::of_moved(self.migrate_flat(on_progress)?));
        }
        if to == MajorVersion::Packed {
            self.queue_packing()?;
            done = done.and(self.pack_all(on_progress)?);
        }
        Ok(done)
    }

    fn in_use(&self, error: Error) -> Error {
        if error.is_busy() { Error::InUse { path: self.project.layout.dir.clone() } } else { error }
    }

    /// Completes a migration that was queued or interrupted; none if there was none.
    pub(crate) fn recover(&mut self, on_progress: OnProgress<'_>) -> Result<Option<MigrationSummary>> {
        let moved = self.recover_tree(&mut *on_progress)?.map(MigrationSummary::of_moved);
        if !self.project.is_packing()? {
            return Ok(moved);
        }
        let packed = self.pack_all(on_progress)?;
        Ok(Some(moved.unwrap_or_default().and(packed)))
    }

    /// Completes an interrupted migration to the tree. Returns how many bodies were moved, or none
    /// if there was no migration.
    fn recover_tree(&mut self, on_progress: OnProgress<'_>) -> Result<Option<u64>> {
        let layout = self.project.layout.clone();
        let has = |place: &Path| layout.has_folder(place);
        match (self.project.version, has(&layout.revisions())?, has(&layout.in_progress())?) {
            (_, true, false) => Ok(None),
            (_, false, false) => {
                let (from, to) = (layout.discarded(), layout.revisions());
                self.disk.rename(&from, &to)?;
                self.disk.sync_folder(&layout.dir)?;
                Ok(Some(0))
            }
            (MajorVersion::Flat, ..) => self.migrate_flat(on_progress).map(Some),
            (_, has_revisions, true) => {
                let moved = if has_revisions { self.empty_revisions(on_progress)? } else { 0 };
                put_in_place(self.disk, &layout)?;
                Ok(Some(moved))
            }
        }
    }

    /// The whole of a migration, from wherever an earlier one stopped.
    fn migrate_flat(&mut self, on_progress: OnProgress<'_>) -> Result<u64> {
        let layout = self.project.layout.clone();
        if let Some(id) = self.project.newest_revision()?.filter(|id| id.get() > MAX_TREE_ID) {
            return Err(Error::TooManyRevisions { path: layout.dir, id: id.get() });
        }
        self.disk.ensure_folder(&layout.revisions())?;
        self.disk.ensure_folder(&layout.in_progress())?;
        self.disk.sync_folder(&layout.dir)?;
        let moved = self.empty_revisions(on_progress)?;
        self.commit_version(MajorVersion::Tree)?;
        self.disk.sync_folder(&layout.dir)?;
        put_in_place(self.disk, &layout)?;
        Ok(moved)
    }

    /// Moves everything from `revisions` into the tree, and makes that durable.
    fn empty_revisions(&self, on_progress: OnProgress<'_>) -> Result<u64> {
        let layout = &self.project.layout;
        let expected = self.project.newest_revision()?.map_or(0, |id| id.get().max(0).unsigned_abs());
        let mut each = |moved| match on_progress(MigrationProgress { moved, expected }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted { path: layout.dir.clone() }),
        };
        let tree = layout.in_progress();
        let moved =
            drain(self.disk, layout, &layout.revisions(), &DrainTarget::Tree(tree.clone()), &mut each)?;
        sync_folders(self.disk, layout, &tree, TREE_DEPTH)?;
        self.disk.sync_folder(&layout.revisions())?;
        Ok(moved)
    }

    fn commit_version(&mut self, version: MajorVersion) -> Result<()> {
        let number = version.number().to_string();
        self.set_properties("major version", &[(MAJOR_VERSION, Some(&number))])?;
        self.project.version = version;
        Ok(())
    }

    /// Sets properties, or removes them, in one transaction.
    fn set_properties(&self, what: &'static str, values: &[(&str, Option<&str>)]) -> Result<()> {
        let failed = database_at(&self.project.layout.dir);
        let transaction = self.project.connection.unchecked_transaction().map_err(&failed)?;
        for (name, value) in values {
            let delete = "DELETE FROM project_property WHERE name = ?1";
            transaction.execute(delete, [name]).map_err(&failed)?;
            if let Some(value) = value {
                let insert = "INSERT INTO project_property (name, value) VALUES (?1, ?2)";
                transaction.execute(insert, [name, value]).map_err(&failed)?;
            }
        }
        self.disk.before_commit(&self.project.layout.dir, what)?;
        transaction.commit().map_err(&failed)
    }
}

/// How many folders stand above a body in the tree.
const TREE_DEPTH: usize = 4;

/// Makes the names in a folder durable, and those in the folders below it, `levels` deep.
fn sync_folders(disk: &ProjectDisk, layout: &ProjectLayout, folder: &Path, levels: usize) -> Result<()> {
    if levels > 0 {
        for entry in layout.folder().entries(layout.name(folder))? {
            let entry = entry?;
            if entry.kind == EntryKind::Folder {
                sync_folders(disk, layout, &folder.join(&entry.name), levels - 1)?;
            }
        }
    }
    disk.sync_folder(folder)
}

/// Gives the finished tree its name, in place of the emptied folder.
fn put_in_place(disk: &ProjectDisk, layout: &ProjectLayout) -> Result<()> {
    let (tree, revisions) = (layout.in_progress(), layout.revisions());
    // A POSIX rename replaces an empty folder in one step.
    disk.rename(&tree, &revisions)?;
    disk.sync_folder(&layout.dir)
}
