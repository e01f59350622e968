//! Every change to the files of a project, in one place, so that a test can stop the world before
//! any of them.
//!
//! Every path is below one folder, the project's or the one that a new project is made in, and no
//! link below it is followed: see [`Folder`].
//!
//! Owns nothing but the order in which it is asked: create, rename, sync, remove. A [`Watcher`]
//! sees each step before it happens and may refuse it; once one is refused, nothing more happens,
//! as if the machine had stopped there. Reading does not pass here. Nor does SQLite's own writing,
//! but each commit that matters is announced.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_file::{EntryKind, Folder, FolderError};

use crate::error::{Result, io_at};

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
    /// A file gets a second name.
    Link {
        /// The name it has.
        from: &'a Path,
        /// The name it gets too.
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

/// The one way to change files below a folder.
#[derive(Clone)]
pub(crate) struct ProjectDisk {
    folder: Folder,
    watcher: Option<Watcher>,
    stopped: Arc<AtomicBool>,
    /// Whether nothing is made durable before [`ProjectDisk::sync_all`].
    defers_syncs: bool,
}

impl ProjectDisk {
    pub(crate) fn watched(folder: &Folder, watcher: Option<Watcher>) -> Self {
        Self { folder: folder.clone(), watcher, stopped: Arc::default(), defers_syncs: false }
    }

    /// Leaves it to [`ProjectDisk::sync_all`] to make changes durable.
    pub(crate) fn defer_syncs(&mut self) {
        self.defers_syncs = true;
    }

    pub(crate) const fn defers_syncs(&self) -> bool {
        self.defers_syncs
    }

    /// Makes everything in the folder durable.
    ///
    /// On Linux one call does that for the whole file system, and a million files need not be
    /// opened again one by one.
    pub(crate) fn sync_all(&self) -> Result<()> {
        let path = self.folder.path();
        self.announce(DiskStep::Sync(path)).map_err(io_at("sync", path))?;
        sync_tree(&self.folder)
    }

    /// The same disk below another folder.
    pub(crate) fn below(&self, folder: &Folder) -> Self {
        Self { folder: folder.clone(), ..self.clone() }
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

    /// A path as a name below the folder.
    fn name<'p>(&self, path: &'p Path) -> Result<&'p Path, FolderError> {
        path.strip_prefix(self.folder.path()).map_err(|_| FolderError::OutsideName {
            folder: self.folder.path().to_owned(),
            name: path.to_owned(),
        })
    }

    /// The kind of what a path names; none if it names nothing.
    pub(crate) fn kind(&self, path: &Path) -> Result<Option<EntryKind>> {
        Ok(self.folder.entry(self.name(path)?)?.map(|found| found.kind))
    }

    fn is_folder(&self, path: &Path) -> Result<bool> {
        Ok(self.kind(path)? == Some(EntryKind::Folder))
    }

    pub(crate) fn create_folder(&self, path: &Path) -> Result<()> {
        self.announce(DiskStep::CreateFolder(path)).map_err(io_at("create", path))?;
        Ok(self.folder.create_folder(self.name(path)?)?)
    }

    /// Creates the folder unless it exists.
    pub(crate) fn ensure_folder(&self, path: &Path) -> Result<()> {
        if self.is_folder(path)? { Ok(()) } else { self.create_folder(path) }
    }

    /// Creates the folder and those above it, as far as they are missing below `stop`, and makes
    /// each durable.
    pub(crate) fn ensure_folders_below(&self, stop: &Path, path: &Path) -> Result<()> {
        if path == stop || self.is_folder(path)? {
            return Ok(());
        }
        let Some(parent) = path.parent() else { return Ok(()) };
        self.ensure_folders_below(stop, parent)?;
        self.create_folder(path)?;
        self.sync_folder(parent)
    }

    /// Creates a file unless it exists. An existing file is not changed.
    pub(crate) fn create_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.announce(DiskStep::CreateFile(path)).map_err(io_at("create", path))?;
        let mut file = match self.folder.create_new(self.name(path)?) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            created => created?,
        };
        file.write_all(content).and_then(|()| file.sync_all()).map_err(io_at("write", path))
    }

    /// Renames, replacing a file or an empty folder that has the new name.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.announce(DiskStep::Rename { from, to }).map_err(io_at("rename", from))?;
        Ok(self.folder.rename(self.name(from)?, self.name(to)?)?)
    }

    /// Gives a file a second name, and says whether it did: some file systems have no such names.
    pub(crate) fn link(&self, from: &Path, to: &Path) -> Result<bool> {
        self.announce(DiskStep::Link { from, to }).map_err(io_at("link", from))?;
        match self.folder.hard_link(self.name(from)?, self.name(to)?) {
            Err(error) if error.is_absent() => Err(error.into()),
            linked => Ok(linked.is_ok()),
        }
    }

    /// Renames, and says whether it did: not if something has the new name already.
    pub(crate) fn rename_new(&self, from: &Path, to: &Path) -> Result<bool> {
        self.announce(DiskStep::Rename { from, to }).map_err(io_at("rename", from))?;
        unless_taken(self.folder.rename_new(self.name(from)?, self.name(to)?))
    }

    /// Renames from one open folder into another, and says whether it did: not if something has the
    /// new name already.
    pub(crate) fn rename_between(
        &self,
        (from, name): (&Folder, &str),
        (to, new_name): (&Folder, &str),
    ) -> Result<bool> {
        if self.watcher.is_some() {
            let (from, to) = (from.path().join(name), to.path().join(new_name));
            self.announce(DiskStep::Rename { from: &from, to: &to }).map_err(io_at("rename", &from))?;
        }
        unless_taken(from.rename_new_into(name, to, new_name))
    }

    /// Opens a folder.
    pub(crate) fn open_folder(&self, path: &Path) -> Result<Folder> {
        Ok(self.folder.subfolder(self.name(path)?)?)
    }

    /// Creates the folder and those above it, and opens it. The caller makes them durable.
    pub(crate) fn make_folders(&self, path: &Path) -> Result<Folder> {
        self.announce(DiskStep::CreateFolder(path)).map_err(io_at("create", path))?;
        Ok(self.folder.make_folders(self.name(path)?)?)
    }

    /// Removes a folder that must be empty.
    pub(crate) fn remove_empty_folder(&self, path: &Path) -> Result<()> {
        self.announce(DiskStep::Remove(path)).map_err(io_at("remove", path))?;
        Ok(self.folder.remove_folder(self.name(path)?)?)
    }

    /// Whether a step was refused, after which nothing may change any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn sync_file(&self, file: &File, path: &Path) -> Result<()> {
        if self.defers_syncs {
            return Ok(());
        }
        let sync = || {
            self.announce(DiskStep::Sync(path))?;
            file.sync_all()
        };
        sync().map_err(io_at("sync", path))
    }

    /// Makes the names in a folder durable.
    pub(crate) fn sync_folder(&self, path: &Path) -> Result<()> {
        if self.defers_syncs {
            return Ok(());
        }
        self.announce(DiskStep::Sync(path)).map_err(io_at("sync", path))?;
        Ok(self.folder.sync(self.name(path)?)?)
    }

    pub(crate) fn remove_file(&self, path: &Path) -> Result<()> {
        self.announce(DiskStep::Remove(path)).map_err(io_at("remove", path))?;
        Ok(self.folder.remove(self.name(path)?)?)
    }

    /// Removes a folder with all that is in it, following no link.
    pub(crate) fn remove_all(&self, path: &Path) -> Result<()> {
        self.announce(DiskStep::Remove(path)).map_err(io_at("remove", path))?;
        Ok(self.folder.remove_tree(self.name(path)?)?)
    }
}

#[cfg(target_os = "linux")]
fn sync_tree(folder: &Folder) -> Result<()> {
    rustix::fs::syncfs(folder).map_err(|error| io_at("sync", folder.path())(error.into()))
}

#[cfg(not(target_os = "linux"))]
fn sync_tree(folder: &Folder) -> Result<()> {
    for entry in folder.list("")? {
        match entry.kind {
            EntryKind::Folder => sync_tree(&folder.subfolder(&entry.name)?)?,
            EntryKind::File => {
                let path = folder.path().join(&entry.name);
                folder.open_to_read(&entry.name)?.sync_all().map_err(io_at("sync", &path))?;
            }
            _ => {}
        }
    }
    Ok(folder.sync("")?)
}

/// Whether a rename was made; false if the new name was taken.
fn unless_taken(renamed: Result<(), FolderError>) -> Result<bool> {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    match renamed {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), AlreadyExists | DirectoryNotEmpty) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
