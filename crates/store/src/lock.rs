//! One writer at a time, across processes.
//!
//! The lock is an operating system lock on a file that names the holder. The system releases it
//! when the process ends, so no stale lock remains. Readers do not take it.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use varve_file::{Folder, FolderError};

/// The exclusive lock of an archive's writer.
#[derive(Debug)]
pub struct WriteLock {
    /// Held for its lock.
    _file: File,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process is writing.
    #[error("another process is writing to this archive: {holder}")]
    Held {
        /// The holder's description of itself.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error("cannot lock `{}`", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Maximum length of a holder's description.
const MAX_HOLDER_BYTES: u64 = 1024;

impl WriteLock {
    /// Takes the lock without waiting and writes `holder` into the file `name` below `folder`, which
    /// is created if absent and must be a regular file.
    pub fn take(folder: &Folder, name: impl AsRef<Path>, holder: &str) -> Result<Self, LockError> {
        let path = folder.path().join(name.as_ref());
        let failed = |source| LockError::Io { path: path.clone(), source };
        let mut file = folder.open_or_create(name).map_err(|error: FolderError| failed(error.into()))?;
        let mut tries = 3;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Another process may hold it for a moment in `is_held`.
                Err(TryLockError::WouldBlock) if tries > 0 => std::thread::sleep(Duration::from_millis(10)),
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { holder: read_holder(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            tries -= 1;
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(holder.as_bytes()))
            .map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Whether a process holds the write lock; false when the lock file cannot be opened.
pub fn is_held(folder: &Folder, name: impl AsRef<Path>) -> bool {
    folder
        .open_to_read(name)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(MAX_HOLDER_BYTES).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "it has not said which".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_about_the_first() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(temporary.path()).expect("opened");
        let first = WriteLock::take(&folder, "lock", "varve store, process 12").expect("free");
        match WriteLock::take(&folder, "lock", "another") {
            Err(LockError::Held { holder }) => assert_eq!(holder, "varve store, process 12"),
            other => panic!("{other:?}"),
        }
        assert!(is_held(&folder, "lock"));
        drop(first);
        assert!(!is_held(&folder, "lock"));
        WriteLock::take(&folder, "lock", "another").expect("free again");
    }

    #[test]
    fn a_link_as_lock_file_is_an_error_and_its_target_stays() {
        let temporary = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(temporary.path().join("root")).expect("made");
        std::fs::write(temporary.path().join("victim"), "precious").expect("written");
        std::os::unix::fs::symlink("../victim", temporary.path().join("root/lock")).expect("linked");
        let folder = Folder::open(&temporary.path().join("root")).expect("opened");
        assert!(matches!(WriteLock::take(&folder, "lock", "holder"), Err(LockError::Io { .. })));
        assert_eq!(std::fs::read(temporary.path().join("victim")).expect("read"), b"precious");
    }
}
