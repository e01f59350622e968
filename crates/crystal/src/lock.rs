//! The lock that a writer of ours holds, and what it means to Crystal: nothing.
//!
//! Crystal has no lock of its own: two of them write one project at once. So there are two guards.
//! Against another varve: `File::lock` on `varve.lock` in the project's folder. Against a running
//! Crystal: see `project::guard`, which asks SQLite.
//!
//! Why a file of our own. A lock on `database.sqlite` would break SQLite's: closing any handle on
//! that file drops the process's POSIX locks, and on Windows the lock would be mandatory. The
//! opener and the README belong to the user, who may delete them. The next writer empties `tmp`.
//! Crystal leaves files alone that it does not know. The file is removed again when the writer
//! ends, so that a project at rest holds what the seed lists; who comes between sees that the file
//! it locked is no longer the one of that name, and tries again.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, io_at};
use crate::location::ProjectLayout;

/// More than this of the holder's note is not read.
const MAX_NOTE_BYTES: u64 = 200;
/// Attempts to take a lock that other processes remove.
const MAX_LOCK_ATTEMPTS: usize = 100;

/// Held while a project is written.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
    keep: bool,
}

impl Lock {
    /// Takes the lock, or says who holds it.
    pub(crate) fn take(layout: &ProjectLayout) -> Result<Self> {
        let path = layout.lock();
        for _ in 0..MAX_LOCK_ATTEMPTS {
            let file = open(&path).map_err(io_at("open", &path))?;
            match file.try_lock() {
                Ok(()) if is_still_named(&file, &path) => return Self::sign(path, file),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked { path: layout.dir.clone(), holder: note(file) });
                }
                Err(TryLockError::Error(source)) => return Err(io_at("lock", &path)(source)),
            }
        }
        Err(Error::Locked { path: layout.dir.clone(), holder: "others, in quick turns".to_owned() })
    }

    /// Writes the holder of the lock, for the message of other writers.
    fn sign(path: PathBuf, mut file: File) -> Result<Self> {
        let mut write = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "varve, process {}", std::process::id())
        };
        write().map_err(io_at("write", &path))?;
        Ok(Self { path, file, keep: false })
    }

    /// Follows the folder to its new name.
    pub(crate) fn moved_to(&mut self, layout: &ProjectLayout) {
        self.path = layout.lock();
    }

    /// Leaves the file behind, as a killed process would.
    pub(crate) fn abandon(&mut self) {
        self.keep = true;
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is released: a process that waits on this file sees that it lost its
        // name, and tries again.
        if !self.keep {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(unix)]
fn is_still_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(held), Ok(named)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

#[cfg(not(unix))]
fn is_still_named(_: &File, path: &Path) -> bool {
    path.exists()
}

fn note(file: File) -> String {
    let mut text = String::new();
    let read = file.take(MAX_NOTE_BYTES).read_to_string(&mut text);
    match read.map(|_| text.trim()) {
        Ok(note) if !note.is_empty() && !note.contains(char::is_control) => note.to_owned(),
        _ => "another program".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_second_writer_learns_the_holder_and_closing_removes_the_lock() {
        let home = TempDir::new().unwrap();
        let layout = ProjectLayout::new(home.path().to_owned());
        let held = Lock::take(&layout).unwrap();
        let Err(Error::Locked { holder, .. }) = Lock::take(&layout) else { panic!("taken twice") };
        assert_eq!(holder, format!("varve, process {}", std::process::id()));
        drop(held);
        assert!(!layout.lock().exists());
    }

    #[test]
    fn a_lock_that_a_killed_process_left_is_taken_again() {
        let home = TempDir::new().unwrap();
        let layout = ProjectLayout::new(home.path().to_owned());
        let mut held = Lock::take(&layout).unwrap();
        held.abandon();
        drop(held);
        assert!(layout.lock().exists());
        Lock::take(&layout).unwrap();
    }
}
