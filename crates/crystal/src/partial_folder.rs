//! A project that is being made: under a name that nobody opens, until it is whole.
//!
//! `x.crystalproj` is built as `x.crystalproj-partial` and renamed in the end, so that a crash
//! leaves no half project under the final name. While it is built it holds our lock, which also
//! marks it as ours: a partial folder with the lock's file and nobody holding it was left by a
//! crash and is removed; one without may be Crystal's, perhaps at work this moment, and is left
//! alone.

use std::path::{Path, PathBuf};

use crate::disk::{ProjectDisk, refuse_existing};
use crate::error::{Error, Result, io_at};
use crate::location::{PROJECT_SUFFIX, ProjectLayout, ends_with};
use crate::lock::Lock;

/// A project under its temporary name. Unless it is finished, it is removed again.
pub(crate) struct Partial {
    pub(crate) layout: ProjectLayout,
    target: PathBuf,
    disk: ProjectDisk,
    lock: Option<Lock>,
}

impl Partial {
    /// Makes the folder in which the project `target` is to be built.
    pub(crate) fn begin(target: &Path, disk: &ProjectDisk) -> Result<Self> {
        if !ends_with(target, PROJECT_SUFFIX) {
            return Err(Error::NotNamedSo { path: target.to_owned() });
        }
        refuse_existing(target)?;
        let layout = ProjectLayout::new(partial_name(target));
        if layout.dir.symlink_metadata().is_ok() {
            remove_leftover(disk, &layout)?;
        }
        disk.create_folder(&layout.dir)?;
        let lock = Some(Lock::take(&layout)?);
        Ok(Self { layout, target: target.to_owned(), disk: disk.clone(), lock })
    }

    /// Gives the project its name. What is in it must be durable already; then so is the whole.
    pub(crate) fn finish(mut self) -> Result<(ProjectLayout, Lock)> {
        self.disk.sync_folder(&self.layout.dir)?;
        let renamed = self.disk.rename_new(&self.layout.dir, &self.target);
        renamed.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Exists { path: self.target.clone() },
            _ => io_at("rename", &self.layout.dir)(error),
        })?;
        let mut lock = self.lock.take().expect("the lock is held until here");
        let layout = ProjectLayout::new(self.target.clone());
        lock.moved_to(&layout);
        if let Some(parent) = self.target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.disk.sync_folder(parent)?;
        }
        Ok((layout, lock))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let Some(mut lock) = self.lock.take() else { return };
        if self.disk.is_stopped() {
            lock.abandon();
        } else {
            let _ = self.disk.remove_all(&self.layout.dir);
        }
    }
}

fn partial_name(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push("-partial");
    name.into()
}

/// Removes what a crash of ours left, or refuses.
fn remove_leftover(disk: &ProjectDisk, layout: &ProjectLayout) -> Result<()> {
    let is_ours = layout.dir.is_dir() && !layout.dir.is_symlink() && layout.lock().is_file();
    if !is_ours {
        return Err(Error::Exists { path: layout.dir.clone() });
    }
    let _held = Lock::take(layout)?;
    disk.remove_all(&layout.dir)
}
