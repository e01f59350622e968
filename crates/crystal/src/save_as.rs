//! Copies a project, so that the copy is whole or is not there.
//!
//! The copy is built as `….crystalproj-partial`, made durable, and renamed in the end. The database
//! is copied first and by SQLite, which gives one moment of it even while it is written, log and
//! all; the bodies come after, and since a body is there before its row, every row of that moment
//! finds its own. What is being worked on (`tmp`, drafts, locks, logs, what a capture has still to do) is
//! not copied; every other file is, known or not.

use rusqlite::backup::{Backup, StepResult};
use std::fs::{self, File, FileTimes};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use varve_file::{EntryKind, Folder};

use crate::database::{self, set_journal_mode};
use crate::disk::{DiskStep, ProjectDisk, Watcher};
use crate::error::{Error, Result, database_at, io_at};
use crate::location::{
    CAPTURE_FOLDER, DATABASE_FILE, DRAFT_FOLDER, LOCK_FILE, PROJECT_SUFFIX, ProjectLayout, SIDE_FILES,
    TMP_FOLDER, ends_with,
};
use crate::partial_folder::Partial;
use crate::project::Project;
use crate::sparse_copy::copy_sparse;
use crate::writer::{OpenOptions, ProjectWriter};

/// Database pages that are copied between two calls of the progress callback.
const PAGES_AT_ONCE: i32 = 4096;

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyProgress {
    /// Files copied.
    pub files: u64,
    /// Bytes copied.
    pub bytes: u64,
}

/// How to copy a project.
#[derive(Default)]
pub struct SaveAsOptions<'a> {
    /// Receives the progress, and returns whether to continue. If not, the copy is removed.
    pub on_progress: Option<&'a mut dyn FnMut(CopyProgress) -> ControlFlow<()>>,
    /// Sees each change to a file before it is made.
    pub watcher: Option<Watcher>,
}

struct ProjectCopy<'a> {
    /// The disk below the folder of the copy.
    disk: ProjectDisk,
    source: &'a Folder,
    target: &'a Folder,
    progress: CopyProgress,
    on_progress: &'a mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
}

impl Project {
    /// Copies the project to a new folder, whose name must end with `.crystalproj`, and gives its
    /// path.
    pub fn save_as(&self, target: impl AsRef<Path>, options: SaveAsOptions<'_>) -> Result<PathBuf> {
        let target = new_path(target.as_ref(), &self.layout.dir)?;
        let partial = Partial::begin(&target, options.watcher)?;
        let mut go_on = |_| ControlFlow::Continue(());
        let mut copying = ProjectCopy {
            disk: partial.disk.clone(),
            source: self.layout.folder(),
            target: partial.layout.folder(),
            progress: CopyProgress::default(),
            on_progress: options.on_progress.unwrap_or(&mut go_on),
        };
        copying.database(self, &partial.layout)?;
        copying.folder(Path::new(""))?;
        let is_torn = self.is_torn()?;
        if is_torn {
            // Bodies that no other place has. A whole project has nothing there.
            copying.discarded(&partial.layout)?;
        }
        partial.disk.ensure_folder(&partial.layout.tmp())?;
        partial.disk.sync_all()?;
        let (layout, lock) = partial.finish()?;
        let path = layout.dir.clone();
        if is_torn {
            let options = OpenOptions { keep_last_without_body: true, ..OpenOptions::default() };
            ProjectWriter::open_locked(layout, lock, options)?.close()?;
        }
        Ok(path)
    }

    /// Whether a migration stopped where Crystal neither opens the project nor finds all bodies. The
    /// copy is then put in order as a writer does.
    fn is_torn(&self) -> Result<bool> {
        let discarded = self.layout.discarded();
        let has_discarded = self.layout.has_folder(&discarded)?
            && self.layout.folder().entries(self.layout.name(&discarded))?.next().is_some();
        Ok(has_discarded || !self.layout.has_folder(&self.layout.revisions())?)
    }
}

impl ProjectCopy<'_> {
    fn database(&mut self, project: &Project, to: &ProjectLayout) -> Result<()> {
        let failed = database_at(&to.dir);
        self.disk.announce(DiskStep::CreateFile(&to.database())).map_err(io_at("create", &to.database()))?;
        let mut copy = database::create(&to.dir, &to.database())?;
        {
            let backup = Backup::new(&project.connection, &mut copy).map_err(&failed)?;
            loop {
                match backup.step(PAGES_AT_ONCE).map_err(database_at(&project.layout.dir))? {
                    StepResult::Done => break,
                    StepResult::More => self.tell()?,
                    _ => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        }
        // The copy says that it has a log if the original had one.
        set_journal_mode(&copy, "delete").map_err(&failed)?;
        copy.close().map_err(|(_, error)| failed(error))?;
        self.progress.files += 1;
        self.progress.bytes += to.folder().entry(DATABASE_FILE)?.map_or(0, |found| found.length);
        self.tell()
    }

    /// Copies the bodies that a migration left in `tmp`.
    fn discarded(&mut self, to: &ProjectLayout) -> Result<()> {
        self.disk.ensure_folder(&to.tmp())?;
        let discarded = to.discarded();
        if self.source.entry(to.name(&discarded))?.is_none_or(|found| found.kind != EntryKind::Folder) {
            return Ok(());
        }
        self.disk.create_folder(&discarded)?;
        self.folder(to.name(&discarded))
    }

    /// Copies what is in a folder. Pipes, sockets and devices hold nothing to copy.
    fn folder(&mut self, name: &Path) -> Result<()> {
        for entry in self.source.entries(name)? {
            let entry = entry?;
            let name = name.join(&entry.name);
            if is_left_out(&name) {
                continue;
            }
            let copy = self.target.path().join(&name);
            match entry.kind {
                EntryKind::Folder => {
                    self.disk.create_folder(&copy)?;
                    self.folder(&name)?;
                    keep_folder_times(&self.source.subfolder(&name)?, &self.target.subfolder(&name)?);
                }
                EntryKind::File => self.file(&name, &copy)?,
                EntryKind::SymbolicLink => self.target.create_link(&name, &self.source.read_link(&name)?)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &Path, copy: &Path) -> Result<()> {
        self.disk.announce(DiskStep::CreateFile(copy)).map_err(io_at("create", copy))?;
        let (from, to) = (self.source.open_to_read(name)?, self.target.create_new(name)?);
        self.progress.bytes +=
            copy_sparse(&from, &to).map_err(io_at("copy", &self.source.path().join(name)))?;
        self.progress.files += 1;
        keep_attributes(&from, &to);
        self.tell()
    }

    fn tell(&mut self) -> Result<()> {
        match (self.on_progress)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { path: self.source.path().to_owned() }),
        }
    }
}

/// What is not copied: the database, which is copied already, what SQLite and we keep beside it,
/// what is being worked on, and what an unfinished capture has still to do.
fn is_left_out(name: &Path) -> bool {
    let left_out = [DATABASE_FILE, LOCK_FILE, TMP_FOLDER, DRAFT_FOLDER, CAPTURE_FOLDER];
    left_out.iter().chain(&SIDE_FILES).any(|other| name == Path::new(other))
}

/// The absolute path of a project that is not there yet, and not inside the one that is copied.
fn new_path(target: &Path, source: &Path) -> Result<PathBuf> {
    if !ends_with(target, PROJECT_SUFFIX) {
        return Err(Error::NotNamedSo { path: target.to_owned() });
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent).map_err(io_at("find", parent))?;
    if parent.starts_with(source) {
        return Err(Error::Inside { path: target.to_owned() });
    }
    Ok(parent.join(target.file_name().unwrap_or_default()))
}

/// Gives a copy the times and permissions of its original, where the system lets it.
fn keep_attributes(original: &File, copy: &File) {
    let keep = || -> io::Result<()> {
        let meta = original.metadata()?;
        copy.set_permissions(meta.permissions())?;
        copy.set_times(FileTimes::new().set_modified(meta.modified()?).set_accessed(meta.accessed()?))
    };
    let _ = keep();
}

/// Gives a copied folder the times of its original, where the system lets it.
fn keep_folder_times(original: &Folder, copy: &Folder) {
    use rustix::fs::{Timespec, Timestamps, fstat, futimens};
    let Ok(stat) = fstat(original) else { return };
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    };
    let _ = futimens(copy, &times);
}
