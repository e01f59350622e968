//! Every change to the files of a project, in one place, so that a test can stop the world before
//! any of them.
//!
//! Owns nothing but the order in which it is asked: create, rename, sync, remove. A [`Watcher`]
//! sees each step before it happens and may refuse it; once one is refused, nothing more happens,
//! as if the machine had stopped there. Reading does not pass here. Nor does SQLite's own writing,
//! but each commit that matters is announced.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result, io_at};

/// A change that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskStep<'a> {
    /// A folder is created.
    CreateFolder(&'a Path),
    /// A file is created with its content.
    CreateFile(&'a Path),
    /// A file or folder gets another name.
    Rename {
        /// The name it has.
        from: &'a Path,
        /// The name it gets.
        to: &'a Path,
    },
    /// A file or a folder's names are made durable.
    Sync(&'a Path),
    /// A file, or a folder with all that is in it, is removed.
    Remove(&'a Path),
    /// A transaction of the database is committed.
    Commit(&'static str),
}

/// Sees each change before it is made; an error stops that change and every later one.
pub type Watcher = Arc<dyn Fn(DiskStep<'_>) -> io::Result<()> + Send + Sync>;

/// The one way to change files.
#[derive(Clone, Default)]
pub(crate) struct ProjectDisk {
    watcher: Option<Watcher>,
    stopped: Arc<AtomicBool>,
}

impl ProjectDisk {
    pub(crate) fn watched(watcher: Option<Watcher>) -> Self {
        Self { watcher, stopped: Arc::default() }
    }

    /// Announces a step, and refuses it when the watcher does.
    pub(crate) fn announce(&self, step: DiskStep<'_>) -> io::Result<()> {
        let Some(watcher) = &self.watcher else { return Ok(()) };
        if self.stopped.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk was stopped"));
        }
        watcher(step).inspect_err(|_| self.stopped.store(true, Ordering::SeqCst))
    }

    /// Announces a commit of the database at `project`.
    pub(crate) fn before_commit(&self, project: &Path, what: &'static str) -> Result<()> {
        self.announce(DiskStep::Commit(what)).map_err(io_at("commit to the database of", project))
    }

    pub(crate) fn create_folder(&self, path: &Path) -> Result<()> {
        let create = || {
            self.announce(DiskStep::CreateFolder(path))?;
            fs::create_dir(path)
        };
        create().map_err(io_at("create", path))
    }

    /// Creates the folder unless it exists.
    pub(crate) fn ensure_folder(&self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.create_folder(path)
    }

    /// Creates the folder and those above it, as far as they are missing below `stop`, and makes
    /// each durable.
    pub(crate) fn ensure_folders_below(&self, stop: &Path, path: &Path) -> Result<()> {
        if path == stop || path.is_dir() {
            return Ok(());
        }
        let Some(parent) = path.parent() else { return Ok(()) };
        self.ensure_folders_below(stop, parent)?;
        self.create_folder(path)?;
        self.sync_folder(parent)
    }

    /// Creates a file unless it exists. An existing file is not changed.
    pub(crate) fn create_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        use io::Write;
        let create = || {
            self.announce(DiskStep::CreateFile(path))?;
            let mut file = File::create_new(path)?;
            file.write_all(content)?;
            file.sync_all()
        };
        match create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done.map_err(io_at("create", path)),
        }
    }

    /// Renames, replacing a file or an empty folder that has the new name.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.announce(DiskStep::Rename { from, to })?;
        fs::rename(from, to)
    }

    /// Renames, unless something has the new name already.
    pub(crate) fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.announce(DiskStep::Rename { from, to })?;
        rename_new(from, to)
    }

    /// Renames from one open folder into another, unless something has the new name already.
    pub(crate) fn rename_between(
        &self,
        (from, name): (&OpenFolder, &str),
        (to, new_name): (&OpenFolder, &str),
    ) -> io::Result<()> {
        if self.watcher.is_some() {
            let (from, to) = (from.path.join(name), to.path.join(new_name));
            self.announce(DiskStep::Rename { from: &from, to: &to })?;
        }
        from.rename_new(name, to, new_name)
    }

    /// Creates the folder and those above it. The caller makes them durable.
    pub(crate) fn ensure_all_folders(&self, path: &Path) -> io::Result<()> {
        self.announce(DiskStep::CreateFolder(path))?;
        fs::create_dir_all(path)
    }

    /// Removes a folder that must be empty.
    pub(crate) fn remove_empty_folder(&self, path: &Path) -> Result<()> {
        let remove = || {
            self.announce(DiskStep::Remove(path))?;
            fs::remove_dir(path)
        };
        remove().map_err(io_at("remove", path))
    }

    /// Whether a step was refused, after which nothing may change any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn sync_file(&self, file: &File, path: &Path) -> Result<()> {
        let sync = || {
            self.announce(DiskStep::Sync(path))?;
            file.sync_all()
        };
        sync().map_err(io_at("sync", path))
    }

    /// Makes the names in a folder durable, where the system knows how.
    pub(crate) fn sync_folder(&self, path: &Path) -> Result<()> {
        let sync = || {
            self.announce(DiskStep::Sync(path))?;
            sync_folder(path)
        };
        sync().map_err(io_at("sync", path))
    }

    pub(crate) fn remove_file(&self, path: &Path) -> Result<()> {
        let remove = || {
            self.announce(DiskStep::Remove(path))?;
            fs::remove_file(path)
        };
        remove().map_err(io_at("remove", path))
    }

    /// Removes a folder with all that is in it, following no link.
    pub(crate) fn remove_all(&self, path: &Path) -> Result<()> {
        let remove = || {
            self.announce(DiskStep::Remove(path))?;
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
        };
        remove().map_err(io_at("remove", path))
    }
}

/// A folder held open, so that the system need not walk the way to it again for each of a million
/// names in it. No link stands in its place.
pub(crate) struct OpenFolder {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    folder: std::os::fd::OwnedFd,
}

impl OpenFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { path: path.to_owned(), folder: rustix::fs::open(path, flags, Mode::empty())? })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match path.symlink_metadata()?.is_dir() {
            true => Ok(Self { path: path.to_owned() }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    #[cfg(target_os = "linux")]
    fn rename_new(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(&self.folder, name, &to.folder, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {
                rename_unless_taken(&self.path.join(name), &to.path.join(new_name))
            }
            done => done.map_err(io::Error::from),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn rename_new(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        rename_unless_taken(&self.path.join(name), &to.path.join(new_name))
    }
}

/// Linux can rename without replacing. Where it cannot, or the file system does not know how, the
/// name is looked at first: the lock keeps every other program of ours away, so that nothing comes
/// between.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => rename_unless_taken(from, to),
        done => done.map_err(io::Error::from),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    rename_unless_taken(from, to)
}

fn rename_unless_taken(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Refuses to write where a name is taken.
pub(crate) fn refuse_existing(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::Exists { path: path.to_owned() }),
        Err(_) => Ok(()),
    }
}
