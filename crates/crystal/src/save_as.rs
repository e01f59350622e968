//! Copies a project, so that the copy is whole or is not there.
//!
//! The copy is built as `….crystalproj-partial`, made durable, and renamed in the end. The database
//! is copied first and by SQLite, which gives one moment of it even while it is written, log and
//! all; the bodies come after, and since a body is there before its row, every row of that moment
//! finds its own. What is being worked on (`tmp`, locks, logs, what a capture has still to do) is
//! not copied; every other file is, known or not.

use rusqlite::backup::{Backup, StepResult};
use std::fs::{self, DirEntry, File, FileTimes};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::database::{self, set_journal_mode};
use crate::disk::{DiskStep, ProjectDisk, Watcher};
use crate::error::{Error, Result, database_at, io_at};
use crate::location::{PROJECT_SUFFIX, ProjectLayout, ends_with};
use crate::partial_folder::Partial;
use crate::project::Project;

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
    disk: ProjectDisk,
    source: PathBuf,
    progress: CopyProgress,
    on_progress: &'a mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
}

impl Project {
    /// Copies the project to a new folder, whose name must end with `.crystalproj`, and gives its
    /// path.
    pub fn save_as(&self, target: impl AsRef<Path>, options: SaveAsOptions<'_>) -> Result<PathBuf> {
        let target = new_path(target.as_ref(), &self.layout.dir)?;
        let disk = ProjectDisk::watched(options.watcher);
        let partial = Partial::begin(&target, &disk)?;
        let mut go_on = |_| ControlFlow::Continue(());
        let on_progress = options.on_progress.unwrap_or(&mut go_on);
        let source = self.layout.dir.clone();
        let mut copying =
            ProjectCopy { disk: disk.clone(), source, progress: CopyProgress::default(), on_progress };
        copying.database(self, &partial.layout)?;
        copying.folder(&self.layout.dir.clone(), &partial.layout.dir)?;
        disk.ensure_folder(&partial.layout.tmp())?;
        make_durable(&disk, &partial.layout.dir)?;
        let (layout, lock) = partial.finish()?;
        drop(lock);
        Ok(layout.dir)
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
        self.progress.bytes += fs::metadata(to.database()).map_or(0, |meta| meta.len());
        self.tell()
    }

    fn folder(&mut self, from: &Path, to: &Path) -> Result<()> {
        for entry in fs::read_dir(from).map_err(io_at("list", from))? {
            let entry = entry.map_err(io_at("list", from))?;
            let (path, copy) = (entry.path(), to.join(entry.file_name()));
            if self.is_left_out(&path) {
                continue;
            }
            let kind = entry.file_type().map_err(io_at("look at", &path))?;
            if kind.is_dir() {
                self.disk.create_folder(&copy)?;
                self.folder(&path, &copy)?;
                keep_times(&entry, &copy);
            } else if kind.is_file() {
                self.file(&entry, &copy)?;
            } else if kind.is_symlink() {
                copy_link(&path, &copy)?;
            }
        }
        Ok(())
    }

    /// What is not copied: the database, which is copied already, what SQLite and we keep beside
    /// it, `tmp`, and what an unfinished capture has still to do.
    fn is_left_out(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.source) else { return false };
        let layout = ProjectLayout::new(PathBuf::new());
        let beside = ["wal", "shm", "journal"].map(|kind| layout.beside_database(kind));
        beside.iter().any(|name| name == below)
            || [layout.database(), layout.lock(), layout.tmp(), layout.capture()]
                .iter()
                .any(|name| name == below)
    }

    fn file(&mut self, entry: &DirEntry, to: &Path) -> Result<()> {
        self.disk.announce(DiskStep::CreateFile(to)).map_err(io_at("create", to))?;
        let from = entry.path();
        self.progress.bytes += fs::copy(&from, to).map_err(io_at("copy", &from))?;
        self.progress.files += 1;
        keep_times(entry, to);
        if !cfg!(target_os = "linux") {
            let file = File::open(to).map_err(io_at("open", to))?;
            self.disk.sync_file(&file, to)?;
        }
        self.tell()
    }

    fn tell(&mut self) -> Result<()> {
        match (self.on_progress)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { path: self.source.clone() }),
        }
    }
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

/// Makes everything below a folder durable.
///
/// On Linux one call does that for the whole file system, and a million files need not be opened
/// again one by one.
#[cfg(target_os = "linux")]
fn make_durable(disk: &ProjectDisk, folder: &Path) -> Result<()> {
    let sync = || -> io::Result<()> {
        disk.announce(DiskStep::Sync(folder))?;
        Ok(rustix::fs::syncfs(File::open(folder)?)?)
    };
    sync().map_err(io_at("sync", folder))
}

#[cfg(not(target_os = "linux"))]
fn make_durable(disk: &ProjectDisk, folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(io_at("list", folder))? {
        let entry = entry.map_err(io_at("list", folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_durable(disk, &entry.path())?;
        }
    }
    disk.sync_folder(folder)
}

/// Gives a copy the times of its original, where the system lets it.
fn keep_times(original: &DirEntry, copy: &Path) {
    let keep = || -> io::Result<()> {
        let meta = original.metadata()?;
        let times = FileTimes::new().set_modified(meta.modified()?).set_accessed(meta.accessed()?);
        File::open(copy)?.set_times(times)
    };
    let _ = keep();
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> Result<()> {
    let copied = fs::read_link(from).and_then(|leads| std::os::unix::fs::symlink(leads, to));
    copied.map_err(io_at("copy", from))
}

#[cfg(not(unix))]
fn copy_link(_: &Path, _: &Path) -> Result<()> {
    Ok(())
}
