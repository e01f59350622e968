//! From version 1 to version 2: every body from one folder into a tree, at any size, interruptible at any instant.
//!
//! The names and the order are Crystal's, so that each of the two programs goes on where the other stopped:
//!
//! 1. `revisions.inprogress` is created. From here on the migration can be resumed but not called off.
//! 2. Every body is renamed from `revisions/<decimal>` to its place in that tree.
//! 3. `major_version` becomes 2, in a transaction of its own: the point of no return.
//! 4. `revisions.inprogress` becomes `revisions`.
//!
//! Three things are done otherwise. Crystal asks the database for ids and deletes in the end what no row named;
//! here the folder itself is emptied, so that nothing is left to delete: a body without a row moves along, and
//! what is no body goes to `salvage`. All folders are made durable before step 3. And step 4 is one rename onto
//! the emptied folder, where Crystal makes two and, stopped between them, refuses ever to open the project again.
//!
//! Every state that either program can stop in is recognised when a project is opened for writing, and completed.
//! No step removes a file.

mod drain;

pub(crate) use drain::{Target, drain};

use std::ops::ControlFlow;
use std::path::Path;

use crate::body::LARGEST_TREE_ID;
use crate::disk::Disk;
use crate::error::{Error, Result, database_at, io_at};
use crate::location::Layout;
use crate::project::{Project, ProjectWriter};
use crate::rows::property_name::MAJOR_VERSION;
use crate::version::MajorVersion;

/// How far a migration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The bodies moved by this run.
    pub moved: u64,
    /// The highest id: no fewer than the bodies, as far as rows know of them.
    pub expected: u64,
}

/// Told of progress, and asked whether to go on. A migration that is broken off is resumed by the next open.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The folder into which bodies of a project belong, and how they lie in it.
pub(crate) fn into(layout: &Layout, version: MajorVersion) -> Target {
    match version {
        MajorVersion::Flat => Target::Flat(layout.revisions()),
        MajorVersion::Tree | MajorVersion::Packed => Target::Tree(layout.revisions()),
    }
}

impl ProjectWriter {
    /// Migrates a project of version 1 to version 2, and says how many bodies were moved. A project that is of
    /// version 2 already stays as it is.
    pub fn migrate(&mut self, on_progress: OnProgress<'_>) -> Result<u64> {
        if self.version() != MajorVersion::Flat {
            return Ok(0);
        }
        let disk = self.disk.clone();
        let ended = self.project.end_log().map_err(|error| self.project.in_use(error));
        let alone = ended.and_then(|()| self.project.take_alone());
        let moved = alone.and_then(|()| self.project.migrate_flat(&disk, on_progress));
        // However it went, the session goes on as it was.
        let shared = self.project.share().and_then(|()| self.project.begin_log());
        moved.and_then(|moved| shared.map(|()| moved))
    }
}

impl Project {
    fn in_use(&self, error: Error) -> Error {
        if error.is_busy() { Error::InUse { path: self.layout.dir.clone() } } else { error }
    }

    /// Completes whatever an interrupted migration left, and says how many bodies were moved, if there was any.
    pub(crate) fn recover(&mut self, disk: &Disk, on_progress: OnProgress<'_>) -> Result<Option<u64>> {
        let layout = self.layout.clone();
        match (self.version, layout.revisions().is_dir(), layout.in_progress().is_dir()) {
            (_, true, false) => Ok(None),
            (_, false, false) => {
                let (from, to) = (layout.discarded(), layout.revisions());
                disk.rename(&from, &to).map_err(io_at("rename", &from))?;
                disk.sync_folder(&layout.dir)?;
                Ok(Some(0))
            }
            (MajorVersion::Flat, ..) => self.migrate_flat(disk, on_progress).map(Some),
            (_, has_revisions, true) => {
                let moved = if has_revisions { self.empty_revisions(disk, on_progress)? } else { 0 };
                put_in_place(disk, &layout)?;
                Ok(Some(moved))
            }
        }
    }

    /// The whole of a migration, from wherever an earlier one stopped.
    fn migrate_flat(&mut self, disk: &Disk, on_progress: OnProgress<'_>) -> Result<u64> {
        let layout = self.layout.clone();
        if let Some(id) = self.newest_revision()?.filter(|id| id.get() > LARGEST_TREE_ID) {
            return Err(Error::TooManyRevisions { path: layout.dir, id: id.get() });
        }
        disk.ensure_folder(&layout.revisions())?;
        disk.ensure_folder(&layout.in_progress())?;
        disk.sync_folder(&layout.dir)?;
        let moved = self.empty_revisions(disk, on_progress)?;
        self.commit_version(disk, MajorVersion::Tree)?;
        disk.sync_folder(&layout.dir)?;
        put_in_place(disk, &layout)?;
        Ok(moved)
    }

    /// Moves everything from `revisions` into the tree, and makes that durable.
    fn empty_revisions(&self, disk: &Disk, on_progress: OnProgress<'_>) -> Result<u64> {
        let layout = &self.layout;
        let expected = self.newest_revision()?.map_or(0, |id| id.get().max(0).unsigned_abs());
        let mut each = |moved| match on_progress(Progress { moved, expected }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted { path: layout.dir.clone() }),
        };
        let tree = layout.in_progress();
        let moved = drain(disk, layout, &layout.revisions(), &Target::Tree(tree.clone()), &mut each)?;
        sync_folders(disk, &tree, TREE_DEPTH)?;
        disk.sync_folder(&layout.revisions())?;
        Ok(moved)
    }

    fn commit_version(&mut self, disk: &Disk, version: MajorVersion) -> Result<()> {
        let failed = database_at(&self.layout.dir);
        let transaction = self.connection.unchecked_transaction().map_err(&failed)?;
        let number = version.number().to_string();
        let update = "UPDATE project_property SET value = ?2 WHERE name = ?1";
        if transaction.execute(update, [MAJOR_VERSION, &number]).map_err(&failed)? == 0 {
            let insert = "INSERT INTO project_property (name, value) VALUES (?1, ?2)";
            transaction.execute(insert, [MAJOR_VERSION, &number]).map_err(&failed)?;
        }
        disk.before_commit(&self.layout.dir, "major version")?;
        transaction.commit().map_err(&failed)?;
        self.version = version;
        Ok(())
    }
}

/// How many folders stand above a body in the tree.
const TREE_DEPTH: usize = 4;

/// Makes the names in a folder durable, and those in the folders below it, so many levels down.
fn sync_folders(disk: &Disk, folder: &Path, levels: usize) -> Result<()> {
    if levels > 0 {
        for entry in std::fs::read_dir(folder).map_err(io_at("list", folder))? {
            let entry = entry.map_err(io_at("list", folder))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                sync_folders(disk, &entry.path(), levels - 1)?;
            }
        }
    }
    disk.sync_folder(folder)
}

/// Gives the finished tree its name, in place of the emptied folder.
fn put_in_place(disk: &Disk, layout: &Layout) -> Result<()> {
    let (tree, revisions) = (layout.in_progress(), layout.revisions());
    // A POSIX rename replaces an empty folder in one step. Elsewhere it goes first, and the next open repairs that.
    if !cfg!(unix) && revisions.is_dir() {
        disk.remove_all(&revisions)?;
    }
    disk.rename(&tree, &revisions).map_err(io_at("rename", &tree))?;
    disk.sync_folder(&layout.dir)
}
