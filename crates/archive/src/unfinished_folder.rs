//! The folder in which an export is written before it gets its name.
//!
//! It holds a lock for as long as the export runs. A process that is killed leaves its folder, and
//! the next export into the same place removes every such folder whose lock nobody holds.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use varve_file::{EntryKind, Folder, FolderError};

/// The beginning of the names of such folders.
const FOLDER_PREFIX: &str = ".varve-export-";
/// The file in the folder that is locked.
const LOCK_FILE: &str = "lock";

/// A folder of one export, removed in the end.
pub(crate) struct UnfinishedFolder {
    parent: Folder,
    name: String,
    _lock: File,
}

impl UnfinishedFolder {
    /// Makes a folder in `parent`, and removes those that killed exports left there.
    pub(crate) fn begin(parent: &Path) -> Result<Self, FolderError> {
        let parent = Folder::open(parent)?;
        remove_abandoned(&parent)?;
        for number in 0_u64.. {
            let name = format!("{FOLDER_PREFIX}{}-{number}", std::process::id());
            match parent.create_folder(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            }
            let lock = parent.create_new(Path::new(&name).join(LOCK_FILE))?;
            if lock.try_lock().is_ok() {
                return Ok(Self { parent, name, _lock: lock });
            }
        }
        unreachable!("a name is free before the numbers end")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.parent.path().join(&self.name)
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        // The next export removes what is left.
        let _ = self.parent.remove_tree(&self.name);
    }
}

fn remove_abandoned(parent: &Folder) -> Result<(), FolderError> {
    for entry in parent.list("")? {
        let is_ours = entry.name.to_string_lossy().starts_with(FOLDER_PREFIX);
        if is_ours && entry.kind == EntryKind::Folder && is_abandoned(parent, Path::new(&entry.name))? {
            parent.remove_tree(&entry.name)?;
        }
    }
    Ok(())
}

/// Whether nobody holds the lock of a folder. A folder without a lock is being made or was left just
/// then: it is removed if it is empty.
fn is_abandoned(parent: &Folder, name: &Path) -> Result<bool, FolderError> {
    match parent.open_to_write(name.join(LOCK_FILE)) {
        Ok(lock) => Ok(!matches!(lock.try_lock(), Err(TryLockError::WouldBlock))),
        Err(error) if error.is_absent() => Ok(parent.list(name)?.is_empty()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn folders_of_killed_exports_are_removed_and_those_in_use_are_not() {
        let home = tempfile::tempdir().unwrap();
        let left = home.path().join(".varve-export-1-0");
        fs::create_dir_all(left.join("export.crystalproj/revisions")).unwrap();
        fs::write(left.join(LOCK_FILE), "").unwrap();
        let running = UnfinishedFolder::begin(home.path()).unwrap();
        assert!(!left.exists());
        let other = UnfinishedFolder::begin(home.path()).unwrap();
        assert!(running.path().is_dir() && other.path().is_dir() && running.path() != other.path());
        drop((running, other));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
