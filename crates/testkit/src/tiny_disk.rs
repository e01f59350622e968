//! A small real file system that is soon full, for effects that a wrapper cannot simulate.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::{Requirement, skip};

/// A small file system mounted on a folder; unmounted on drop.
pub struct TinyDisk {
    folder: PathBuf,
}

impl TinyDisk {
    /// Mounts a file system of `kib` KiB. Only root may mount: for others the test is skipped.
    pub fn mount(folder: &Path, kib: u32) -> Option<Self> {
        fs::create_dir_all(folder).ok()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"])
            .arg(folder)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder: folder.to_owned() });
        }
        skip(Requirement::Mount, "only root can mount a file system");
        None
    }

    /// The folder it is mounted on.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Fills the file system except for `but_kib` KiB.
    pub fn fill(&self, but_kib: u64) -> io::Result<()> {
        let mut file = File::create(self.filling())?;
        let mut length: u64 = 0;
        while let Ok(written) = file.write(&[0; 4096]) {
            length += written as u64;
        }
        file.set_len(length.saturating_sub(but_kib * 1024))
    }

    /// Frees the filled space.
    pub fn free(&self) -> io::Result<()> {
        fs::remove_file(self.filling())
    }

    fn filling(&self) -> PathBuf {
        self.folder.join("filling")
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}
