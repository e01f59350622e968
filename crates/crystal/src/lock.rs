//! The writer lock of a project: only one varve process writes a project at a time.
//!
//! The lock is `File::lock` on the file `varve.lock` in the project's folder. It does not stop
//! Crystal, which takes no lock and ignores this one: `project::guard` detects a running Crystal by
//! asking SQLite.
//!
//! The lock needs a file of its own. A lock on `database.sqlite` would break SQLite's: closing any
//! handle on that file drops the process's POSIX locks, and on Windows the lock would be mandatory.
//! The opener and the README belong to the user, who may delete them. The next writer empties
//! `tmp`. Crystal ignores files that it does not know.
//!
//! The writer removes the file when it ends, so that a closed project has only the files that the
//! format lists. A process that locked the file before its removal notices that the name now leads
//! to another file or none, and tries again.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use varve_file::Folder;

use crate::error::{Error, Result, io_at};
use crate::location::{LOCK_FILE, ProjectLayout};

/// More than this of the holder's note is not read.
const MAX_NOTE_BYTES: u64 = 200;
/// Attempts to take a lock that other processes remove.
const MAX_LOCK_ATTEMPTS: usize = 100;

/// Held while a project is written.
#[derive(Debug)]
pub(crate) struct Lock {
    /// The project's folder. It stays the same when the folder is renamed.
    folder: Folder,
    file: File,
    keep: bool,
}

impl Lock {
    /// Takes the lock, or says who holds it.
    pub(crate) fn take(layout: &ProjectLayout) -> Result<Self> {
        let folder = layout.folder();
        for _ in 0..MAX_LOCK_ATTEMPTS {
            let file = folder.open_or_create(LOCK_FILE)?;
            match file.try_lock() {
                Ok(()) if is_still_named(&file, folder) => return Self::sign(folder, file),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked { path: layout.dir.clone(), holder: note(file) });
                }
                Err(TryLockError::Error(source)) => return Err(io_at("lock", &layout.lock())(source)),
            }
        }
        Err(Error::Locked { path: layout.dir.clone(), holder: "others, in quick turns".to_owned() })
    }

    /// Writes the holder of the lock, for the message of other writers.
    fn sign(folder: &Folder, mut file: File) -> Result<Self> {
        let mut write = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "varve, process {}", std::process::id())
        };
        write().map_err(io_at("write", &folder.path().join(LOCK_FILE)))?;
        Ok(Self { folder: folder.clone(), file, keep: false })
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
            let _ = self.folder.remove(LOCK_FILE);
        }
        let _ = self.file.unlock();
    }
}

/// Whether the file of that name is still the one that was opened.
fn is_still_named(file: &File, folder: &Folder) -> bool {
    let named = folder.open_to_read(LOCK_FILE).ok().and_then(|named| named.metadata().ok());
    let (Ok(held), Some(named)) = (file.metadata(), named) else { return false };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
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
        let layout = ProjectLayout::open(home.path().to_owned()).unwrap();
        let held = Lock::take(&layout).unwrap();
        let Err(Error::Locked { holder, .. }) = Lock::take(&layout) else { panic!("taken twice") };
        assert_eq!(holder, format!("varve, process {}", std::process::id()));
        drop(held);
        assert!(!layout.lock().exists());
    }

    #[test]
    fn a_lock_that_a_killed_process_left_is_taken_again() {
        let home = TempDir::new().unwrap();
        let layout = ProjectLayout::open(home.path().to_owned()).unwrap();
        let mut held = Lock::take(&layout).unwrap();
        held.abandon();
        drop(held);
        assert!(layout.lock().exists());
        Lock::take(&layout).unwrap();
    }
}
