//! `salvage`: where bytes go that no row claims, and texts that were replaced, instead of being
//! deleted.
//!
//! Crystal leaves folders alone that it does not know. What is in here belongs to nobody, and its
//! owner may delete it; nothing in this crate ever does.

use std::path::{Path, PathBuf};

use crate::disk::ProjectDisk;
use crate::error::Result;

/// Moves a file or folder into `folder`, under this name or the next that is free, and says where
/// it is.
pub(crate) fn salvage(disk: &ProjectDisk, folder: &Path, from: &Path, name: &str) -> Result<PathBuf> {
    disk.ensure_folder(folder)?;
    loop {
        let to = free_name(disk, folder, name)?;
        if disk.rename_new(from, &to)? {
            disk.sync_folder(folder)?;
            return Ok(to);
        }
    }
}

/// Keeps a text in `folder`, under this name or the next that is free, and says where it is.
pub(crate) fn salvage_text(disk: &ProjectDisk, folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    disk.ensure_folder(folder)?;
    let to = free_name(disk, folder, name)?;
    disk.create_file(&to, text.as_bytes())?;
    disk.sync_folder(folder)?;
    Ok(to)
}

fn free_name(disk: &ProjectDisk, folder: &Path, name: &str) -> Result<PathBuf> {
    let mut path = folder.join(name);
    let mut copies = 0_u64;
    while disk.kind(&path)?.is_some() {
        copies += 1;
        path = folder.join(format!("{name}.{copies}"));
    }
    Ok(path)
}
