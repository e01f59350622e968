//! A project that is being made: under a name that nobody opens, until it is whole.
//!
//! `x.crystalproj` is built as `x.crystalproj-partial` and renamed in the end, so that a crash
//! leaves no half project under the final name. While it is built it holds our lock, which also
//! marks it as ours: a partial folder with the lock's file and nobody holding it was left by a
//! crash and is removed; one without may be Crystal's, perhaps at work this moment, and is left
//! alone.

use std::fs;
use std::path::{Path, PathBuf};
use varve_file::{EntryKind, Folder};

use crate::disk::{ProjectDisk, Watcher};
use crate::error::{Error, Result, io_at};
use crate::location::{LOCK_FILE, PROJECT_SUFFIX, ProjectLayout, ends_with};
use crate::lock::Lock;

/// A project under its temporary name. Unless it is finished, it is removed again.
pub(crate) struct Partial {
    pub(crate) layout: ProjectLayout,
    /// The disk below the project's temporary folder.
    pub(crate) disk: ProjectDisk,
    target: PathBuf,
    /// The disk below the folder that the project is made in.
    outer_disk: ProjectDisk,
    lock: Option<Lock>,
}

impl Partial {
    /// Makes the folder in which the project `target` is to be built.
    pub(crate) fn begin(target: &Path, watcher: Option<Watcher>) -> Result<Self> {
        if !ends_with(target, PROJECT_SUFFIX) {
            return Err(Error::NotNamedSo { path: target.to_owned() });
        }
        let parent = parent_of(target);
        // Without links: SQLite refuses a path that has one.
        let parent = fs::canonicalize(parent).map_err(io_at("find", parent))?;
        let target = parent.join(target.file_name().unwrap_or_default());
        let outer_disk = ProjectDisk::watched(&Folder::open(&parent)?, watcher);
        if outer_disk.kind(&target)?.is_some() {
            return Err(Error::Exists { path: target });
        }
        let dir = partial_name(&target);
        if outer_disk.kind(&dir)?.is_some() {
            remove_leftover(&outer_disk, &dir)?;
        }
        outer_disk.create_folder(&dir)?;
        let layout = ProjectLayout::open(dir)?;
        let lock = Some(Lock::take(&layout)?);
        let disk = outer_disk.below(layout.folder());
        Ok(Self { layout, disk, target, outer_disk, lock })
    }

    /// Gives the project its name. What is in it must be durable already; then so is the whole.
    pub(crate) fn finish(mut self) -> Result<(ProjectLayout, Lock)> {
        self.disk.sync_folder(&self.layout.dir)?;
        if !self.outer_disk.rename_new(&self.layout.dir, &self.target)? {
            return Err(Error::Exists { path: self.target.clone() });
        }
        let lock = self.lock.take().expect("the lock is held until here");
        self.outer_disk.sync_folder(parent_of(&self.target))?;
        Ok((ProjectLayout::open(self.target.clone())?, lock))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let Some(mut lock) = self.lock.take() else { return };
        if self.disk.is_stopped() {
            lock.abandon();
        } else {
            let _ = self.outer_disk.remove_all(&self.layout.dir);
        }
    }
}

fn parent_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn partial_name(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push("-partial");
    name.into()
}

/// Removes what a crash of ours left, or refuses.
fn remove_leftover(outer_disk: &ProjectDisk, dir: &Path) -> Result<()> {
    let refused = || Error::Exists { path: dir.to_owned() };
    if outer_disk.kind(dir)? != Some(EntryKind::Folder) {
        return Err(refused());
    }
    let layout = ProjectLayout::open(dir.to_owned())?;
    if layout.folder().entry(LOCK_FILE)?.is_none_or(|found| found.kind != EntryKind::File) {
        return Err(refused());
    }
    let _held = Lock::take(&layout)?;
    outer_disk.remove_all(dir)
}
