//! Removes a folder and everything in it, without entering a link.
//!
//! A hostile tree may be deeper than a process may open folders, or than a stack has frames. So the
//! tree is flattened: a folder two levels down is renamed into the top one and emptied in turn.
//! Three handles and no recursion suffice for any depth.

use std::ffi::{OsStr, OsString};

use rustix::fs::{AtFlags, renameat, unlinkat};
use rustix::io::Errno;

use super::{EntryKind, Folder, FolderError, folder_error};

/// The name prefix of folders that were moved up.
const MOVED_PREFIX: &str = ".varve-removed-";

/// Removes everything in a folder, but not the folder itself.
pub(super) fn empty(top: &Folder) -> Result<(), FolderError> {
    let mut moved = 0;
    loop {
        let entries = top.list("")?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in entries {
            if entry.kind != EntryKind::Folder {
                unlink(top, &entry.name, AtFlags::empty())?;
            } else if !remove_if_empty(top, &entry.name)? {
                flatten(top, &entry.name, &mut moved)?;
            }
        }
    }
}

/// Empties the folder `name` in `top`, moves its folders into `top`, and removes it.
fn flatten(top: &Folder, name: &OsStr, moved: &mut u64) -> Result<(), FolderError> {
    let folder = top.subfolder(name)?;
    for entry in folder.list("")? {
        if entry.kind != EntryKind::Folder {
            unlink(&folder, &entry.name, AtFlags::empty())?;
        } else if !remove_if_empty(&folder, &entry.name)? {
            move_up(top, &folder, &entry.name, moved)?;
        }
    }
    // Not empty if another process adds files: then the next listing finds it again.
    remove_if_empty(top, name).map(drop)
}

fn move_up(top: &Folder, from: &Folder, name: &OsStr, moved: &mut u64) -> Result<(), FolderError> {
    loop {
        let target = OsString::from(format!("{MOVED_PREFIX}{moved}"));
        *moved += 1;
        match renameat(from.handle(), name, top.handle(), &target) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(Errno::NOENT) => return Ok(()),
            renamed => {
                return renamed.map_err(|error| folder_error("remove", &from.path().join(name), error));
            }
        }
    }
}

/// Removes an empty folder; false if it is not empty.
fn remove_if_empty(folder: &Folder, name: &OsStr) -> Result<bool, FolderError> {
    match unlinkat(folder.handle(), name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(error) => Err(folder_error("remove", &folder.path().join(name), error)),
    }
}

/// Removes an entry that is not a folder. Succeeds when it is gone.
fn unlink(folder: &Folder, name: &OsStr, flags: AtFlags) -> Result<(), FolderError> {
    match unlinkat(folder.handle(), name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(folder_error("remove", &folder.path().join(name), error)),
    }
}
