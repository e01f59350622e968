//! One writer at a time, across processes.
//!
//! The lock is the operating system's, on a file that also says who holds it: it goes with the process however that
//! ends, so nothing is ever left locked. Readers do not ask for it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The right to write to an archive.
#[derive(Debug)]
pub struct WriteLock {
    /// Held for its lock.
    _file: File,
}

/// Why the right was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else is writing.
    #[error("another process is writing to this archive: {holder}")]
    Held {
        /// What that process said of itself.
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

/// Longest description of a holder that is read.
const LONGEST: u64 = 1024;

impl WriteLock {
    /// Takes the lock, leaving word that `holder` has it; does not wait.
    pub fn take(path: &Path, holder: &str) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let mut tries = 3;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Somebody may only be asking whether it is held.
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

/// Whether somebody is writing. Where that cannot be found out, nobody is.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(LONGEST).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "it has not said which".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_about_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = WriteLock::take(&path, "varve store, process 12").expect("free");
        match WriteLock::take(&path, "another") {
            Err(LockError::Held { holder }) => assert_eq!(holder, "varve store, process 12"),
            other => panic!("{other:?}"),
        }
        assert!(is_held(&path));
        drop(first);
        assert!(!is_held(&path));
        WriteLock::take(&path, "another").expect("free again");
    }
}
