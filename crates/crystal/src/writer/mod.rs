//! Writing a project: it is put in order when it is opened, and the lock is held until the end.
//!
//! The order is Crystal's where Crystal has one: the version is read before anything is touched,
//! then come the schema, the files around it, an unfinished migration, `tmp`, the last revision and
//! the last pack. All of it happens while nobody else can use the database.
//!
//! Each change is one transaction that is durable when the call returns. A change that the
//! project's rules forbid is refused before anything is written.

mod create;
mod entities;
mod free_space;
mod packs;
mod recovery;
mod resources;
mod revisions;

pub use create::CreateOptions;
pub use entities::NewGroup;
pub use free_space::FreeSpace;
pub(crate) use recovery::commit_upgrade;
pub use revisions::{DownloadOutcome, NewRevision};

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Deref};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Params, Transaction, TransactionBehavior};

use crate::database::mode::{self, DatabaseReadMode, ProjectMedium, can_be_written};
use crate::database::schema::Upgraded;
use crate::database::{BUSY_TIMEOUT, ConnectMode, connect};
use crate::disk::{ProjectDisk, Watcher};
use crate::error::{ChangeRefusal, Error, Result, database_at};
use crate::files::ensure_files;
use crate::ids::RevisionId;
use crate::location::{DATABASE_FILE, DRAFT_FOLDER, ProjectLayout};
use crate::lock::Lock;
use crate::migrate::{Migration, MigrationSummary, OnProgress};
use crate::project::{Project, layout_at};
use crate::version::MajorVersion;

/// How long a change waits for a Crystal that has opened the project too and is writing: it stores
/// all links of a page, or builds an index, in one transaction.
const WRITE_BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// How to open a project for writing.
#[derive(Default)]
pub struct OpenOptions<'a> {
    /// Whether the medium can be written.
    pub medium: ProjectMedium,
    /// Receives the progress of a migration that an earlier program began, and may stop it.
    pub on_progress: Option<OnProgress<'a>>,
    /// Keeps a newest revision without a body, which Crystal would delete.
    pub keep_last_without_body: bool,
    /// Makes nothing durable before the project is closed. Only for a new project that is of no use
    /// unless all of it was written.
    pub defers_syncs: bool,
    /// Sees each change to a file before it is made.
    pub watcher: Option<Watcher>,
}

/// An open project, to read and write. It derefs to [`Project`] for reading.
pub struct ProjectWriter {
    pub(crate) project: Project,
    pub(crate) disk: ProjectDisk,
    lock: Lock,
    report: OpenReport,
    /// The last ids of packs that could not be written when their bodies were stored.
    waiting_packs: BTreeSet<RevisionId>,
}

/// What had to be put in order when a project was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// What the schema lacked.
    pub upgraded: Upgraded,
    /// What finishing a migration did that had been begun or queued, if one had.
    pub resumed_migration: Option<MigrationSummary>,
    /// The newest revision, if it was deleted because its body never arrived.
    pub undone_revision: Option<RevisionId>,
}

/// A project opened as well as its place allows.
pub enum OpenedProject {
    /// To read and write.
    Writing(Box<ProjectWriter>),
    /// To read only: its folder, its database or its medium is read-only.
    Reading(Box<Project>),
}

impl ProjectWriter {
    /// Opens a project to write it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a project to write it, as told.
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions<'_>) -> Result<Self> {
        let layout = layout_at(path.as_ref())?;
        if options.medium == ProjectMedium::ReadOnly || !can_be_written(&layout) {
            return Err(Error::ReadOnly { path: layout.dir });
        }
        let lock = Lock::take(&layout)?;
        Self::open_locked(layout, lock, options)
    }

    pub(crate) fn open_locked(layout: ProjectLayout, lock: Lock, options: OpenOptions<'_>) -> Result<Self> {
        let mut disk = ProjectDisk::watched(layout.folder(), options.watcher.clone());
        if options.defers_syncs {
            disk.defer_syncs();
        }
        let database = layout.folder().checked_path(DATABASE_FILE)?;
        let connection = connect(&layout.dir, &database, ConnectMode::ReadWrite)?;
        let opened =
            mode::OpenedDatabase { connection, reading: DatabaseReadMode::Live, copy: None, frozen: None };
        let project = Project::from_opened(layout, opened)?;
        let mut writer =
            Self { project, disk, lock, report: OpenReport::default(), waiting_packs: BTreeSet::new() };
        writer.put_in_order(options)?;
        Ok(writer)
    }

    fn put_in_order(&mut self, options: OpenOptions<'_>) -> Result<()> {
        let Self { project, disk, .. } = self;
        project.take_alone()?;
        recovery::try_writing(project)?;
        let upgraded = recovery::upgrade_schema(project, disk)?;
        ensure_files(disk, &project.layout)?;
        recovery::clear_drafts(project, disk)?;
        let mut go_on = |_| ControlFlow::Continue(());
        let resumed_migration =
            Migration::new(project, disk).recover(options.on_progress.unwrap_or(&mut go_on))?;
        recovery::clear_tmp(project, disk)?;
        let undone_revision = if options.keep_last_without_body {
            None
        } else {
            recovery::undo_last_without_body(project, disk)?
        };
        recovery::pack_last_bodies(project, disk)?;
        project.share()?;
        project.begin_log()?;
        if options.defers_syncs {
            project.defer_syncs()?;
        }
        self.report = OpenReport { upgraded, resumed_migration, undone_revision };
        Ok(())
    }

    /// Migrates a project of an older version to this one. A project of this version or a later one
    /// stays as it is.
    pub fn migrate(&mut self, to: MajorVersion, on_progress: OnProgress<'_>) -> Result<MigrationSummary> {
        Migration::new(&mut self.project, &self.disk).run(to, on_progress)
    }

    /// What had to be put in order when the project was opened.
    pub const fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Ends the session: bodies are packed that could not be packed before, the log is merged, and
    /// the lock is given up. Dropping does the same, and says nothing.
    pub fn close(mut self) -> Result<()> {
        let packed = self.pack_waiting();
        let ended = self.project.end_log();
        packed?;
        ended.or_else(|error| if error.is_busy() { Ok(()) } else { Err(error) })?;
        if self.disk.defers_syncs() { self.disk.sync_all() } else { Ok(()) }
    }
}

impl Drop for ProjectWriter {
    fn drop(&mut self) {
        if self.disk.is_stopped() {
            self.lock.abandon();
        } else {
            let _ = self.project.end_log();
            // The next writer removes what stays.
            let _ = self.project.layout.folder().remove_tree(DRAFT_FOLDER);
        }
    }
}

impl Deref for ProjectWriter {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl OpenedProject {
    /// Opens a project to write it if it can be written, else to read it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        match ProjectWriter::open(path.as_ref()) {
            Ok(writer) => Ok(Self::Writing(Box::new(writer))),
            Err(Error::ReadOnly { .. }) => {
                Project::open(path).map(|project| Self::Reading(Box::new(project)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Deref for OpenedProject {
    type Target = Project;

    fn deref(&self) -> &Project {
        match self {
            Self::Writing(writer) => writer,
            Self::Reading(project) => project,
        }
    }
}

impl ProjectWriter {
    /// Runs a change as one transaction: wholly, or, if it fails, not at all.
    pub(crate) fn change<T>(
        &self,
        what: &'static str,
        act: impl FnOnce(&ProjectChange<'_>) -> Result<T>,
    ) -> Result<T> {
        let failed = database_at(self.path());
        let connection = &self.project.connection;
        connection.busy_timeout(WRITE_BUSY_TIMEOUT).map_err(&failed)?;
        let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
        connection.busy_timeout(BUSY_TIMEOUT).map_err(&failed)?;
        let change = ProjectChange { transaction: begun.map_err(&failed)?, writer: self };
        let value = act(&change)?;
        self.disk.before_commit(self.path(), what)?;
        change.transaction.commit().map_err(&failed)?;
        Ok(value)
    }
}

/// A transaction that is under way.
pub(crate) struct ProjectChange<'w> {
    transaction: Transaction<'w>,
    pub(crate) writer: &'w ProjectWriter,
}

impl ProjectChange<'_> {
    /// Runs one statement, and says how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.writer.project.execute(sql, params)
    }

    /// Runs one statement that must change a row of that kind.
    pub(crate) fn run_on(&self, what: &'static str, id: i64, sql: &str, params: impl Params) -> Result<()> {
        match self.run(sql, params)? {
            0 => Err(ChangeRefusal::Unknown { what, id }.into()),
            _ => Ok(()),
        }
    }

    /// Inserts a row and gives its id. A row that may not be there twice is refused as `taken`.
    pub(crate) fn insert(
        &self,
        sql: &str,
        params: impl Params,
        taken: impl FnOnce() -> String,
    ) -> Result<i64> {
        match self.run(sql, params) {
            Ok(_) => Ok(self.transaction.last_insert_rowid()),
            Err(error) if error.is_constraint() => Err(ChangeRefusal::Taken { what: taken() }.into()),
            Err(error) => Err(error),
        }
    }
}

/// An id that a row may be given: Crystal counts from 1.
pub(crate) fn fit_id(id: i64) -> Result<i64> {
    if id >= 1 { Ok(id) } else { Err(Error::Refused(ChangeRefusal::BadId { id })) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_can_be_sent_to_other_threads() {
        const fn can_be_sent<T: Send>() {}
        can_be_sent::<ProjectWriter>();
    }
}
