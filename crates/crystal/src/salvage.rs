//! `salvage`: where bytes go that no row claims, and texts that were replaced, instead of being
//! deleted.
//!
//! Crystal leaves folders alone that it does not know. What is in here belongs to nobody, and its
//! owner may delete it; nothing in this crate ever does.

use std::path::{Path, PathBuf};

use crate::disk::ProjectDisk;
use crate::error::{Result, io_at};

/// Moves a file or folder into `folder`, under this name or the next that is free, and says where
/// it is.
pub(crate) fn salvage(disk: &ProjectDisk, folder: &Path, from: &Path, name: &str) -> Result<PathBuf> {
    disk.ensure_folder(folder)?;
    let to = free_name(folder, name);
    disk.rename(from, &to).map_err(io_at("salvage", from))?;
    disk.sync_folder(folder)?;
    Ok(to)
}

/// Keeps a text in `folder`, under this name or the next that is free, and says where it is.
pub(crate) fn salvage_text(disk: &ProjectDisk, folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    disk.ensure_folder(folder)?;
    let to = free_name(folder, name);
    disk.create_file(&to, text.as_bytes())?;
    disk.sync_folder(folder)?;
    Ok(to)
}

fn free_name(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.join(name);
    let mut copies = 0_u64;
    while path.symlink_metadata().is_ok() {
        copies += 1;
        path = folder.join(format!("{name}.{copies}"));
    }
    path
}
