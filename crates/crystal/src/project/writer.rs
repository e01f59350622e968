//! Opening a project to write it: everything is put in order first, and the lock is held until the end.
//!
//! The order is Crystal's where Crystal has one: the version is read before anything is touched, then come the
//! schema, the files around it, an unfinished migration, `tmp`, and the last revision. All of it happens while
//! nobody else can use the database.

use std::ops::{ControlFlow, Deref};
use std::path::Path;

use super::open::layout_at;
use super::{OpenOptions, Project};
use crate::database::mode::{self, Medium, Reading, can_be_written};
use crate::database::schema::{self, Upgraded};
use crate::database::{How, connect};
use crate::disk::Disk;
use crate::error::{Error, Result, database_at};
use crate::files::ensure_files;
use crate::ids::RevisionId;
use crate::location::Layout;
use crate::lock::Lock;

/// An open project, to read and write. It derefs to [`Project`] for reading.
pub struct ProjectWriter {
    pub(crate) project: Project,
    pub(crate) disk: Disk,
    lock: Lock,
    report: OpenReport,
}

/// What had to be put in order when a project was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// What the schema lacked.
    pub upgraded: Upgraded,
    /// How many bodies were moved to finish a migration that had been begun, if one had.
    pub resumed_migration: Option<u64>,
    /// The newest revision, if it was deleted because its body never arrived.
    pub undone_revision: Option<RevisionId>,
}

/// A project opened as well as its place allows.
pub enum Opened {
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
        if options.medium == Medium::ReadOnly || !can_be_written(&layout) {
            return Err(Error::ReadOnly { path: layout.dir });
        }
        let lock = Lock::take(&layout)?;
        Self::open_locked(layout, lock, options)
    }

    pub(super) fn open_locked(layout: Layout, lock: Lock, options: OpenOptions<'_>) -> Result<Self> {
        let disk = Disk::watched(options.watcher.clone());
        let connection = connect(&layout.dir, &layout.database(), How::ReadWrite)?;
        let opened = mode::Opened { connection, reading: Reading::Live, copy: None, frozen: None };
        let project = Project::from_opened(layout, opened)?;
        let version = project.version;
        if !version.is_written() {
            return Err(Error::NotWritten { path: project.layout.dir, version: version.number() });
        }
        let mut writer = Self { project, disk, lock, report: OpenReport::default() };
        writer.put_in_order(options)?;
        Ok(writer)
    }

    fn put_in_order(&mut self, options: OpenOptions<'_>) -> Result<()> {
        let Self { project, disk, .. } = self;
        project.take_alone()?;
        project.try_writing()?;
        let upgraded = project.upgrade_schema(disk)?;
        ensure_files(disk, &project.layout)?;
        let mut go_on = |_| ControlFlow::Continue(());
        let resumed_migration = project.recover(disk, options.on_progress.unwrap_or(&mut go_on))?;
        project.clear_tmp(disk)?;
        let undone_revision =
            if options.keep_last_without_body { None } else { project.undo_last_without_body(disk)? };
        project.share()?;
        project.begin_log()?;
        self.report = OpenReport { upgraded, resumed_migration, undone_revision };
        Ok(())
    }

    /// What had to be put in order when the project was opened.
    pub const fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Ends the session: the log is merged, and the lock is given up. Dropping does the same, and says nothing.
    pub fn close(self) -> Result<()> {
        self.project.end_log().or_else(|error| if error.is_busy() { Ok(()) } else { Err(error) })
    }
}

impl Drop for ProjectWriter {
    fn drop(&mut self) {
        if self.disk.is_stopped() {
            self.lock.abandon();
        } else {
            let _ = self.project.end_log();
        }
    }
}

impl Deref for ProjectWriter {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl Opened {
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

impl Deref for Opened {
    type Target = Project;

    fn deref(&self) -> &Project {
        match self {
            Self::Writing(writer) => writer,
            Self::Reading(project) => project,
        }
    }
}

impl Project {
    /// Writes something that changes nothing: some file systems let a file be opened and then refuse every write.
    fn try_writing(&self) -> Result<()> {
        let tried = self
            .connection
            .pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))
            .and_then(|version| self.connection.pragma_update(None, "user_version", version))
            .map_err(database_at(&self.layout.dir));
        tried.map_err(|error| match error.is_read_only() {
            true => Error::ReadOnly { path: self.layout.dir.clone() },
            false => error,
        })
    }

    fn upgrade_schema(&mut self, disk: &Disk) -> Result<Upgraded> {
        let upgraded = self.commit_upgrade(disk)?;
        self.refresh()?;
        Ok(upgraded)
    }

    /// Adds what newer projects have and this one has not, as far as its rows let it.
    pub(crate) fn commit_upgrade(&self, disk: &Disk) -> Result<Upgraded> {
        let failed = database_at(&self.layout.dir);
        let transaction = self.connection.unchecked_transaction().map_err(&failed)?;
        let upgraded = schema::upgrade(&transaction).map_err(&failed)?;
        if !upgraded.added.is_empty() {
            disk.before_commit(&self.layout.dir, "schema")?;
            transaction.commit().map_err(&failed)?;
        }
        Ok(upgraded)
    }
}
