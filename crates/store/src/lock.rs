//! The lock of the writer as a file.
//!
//! It is an operating system lock on a file that names the holder. The system releases it when the
//! process ends, so no stale lock remains.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

use varve_file::{Folder, FolderError};

pub use varve_core::writer_lock::{LockError, LockGuard, WriterLock};

use varve_core::writer_lock::describe_holder;

/// Maximum length of a holder's description.
const MAX_HOLDER_BYTES: u64 = 1024;
/// Attempts after the first, since another process may hold the lock for a moment in `holder`.
const TAKE_RETRIES: usize = 3;
/// Delay between attempts.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// A lock on a file, which is created when it is taken. It must be a regular file: a link is never
/// followed.
#[derive(Debug)]
pub struct FileLock {
    root: PathBuf,
    name: PathBuf,
}

impl FileLock {
    /// The lock on the file `name` below the folder `root`.
    pub fn new(root: PathBuf, name: PathBuf) -> Self {
        Self { root, name }
    }

    fn failed(&self, source: io::Error) -> LockError {
        LockError::Io { path: self.root.join(&self.name), source }
    }
}

impl WriterLock for FileLock {
    fn take(&self, holder: &str) -> Result<LockGuard, LockError> {
        let opened = Folder::open(&self.root).and_then(|folder| folder.open_or_create(&self.name));
        let mut file = opened.map_err(|error: FolderError| self.failed(error.into()))?;
        let mut retries = TAKE_RETRIES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if retries > 0 => std::thread::sleep(RETRY_DELAY),
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { holder: read_holder(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(self.failed(source)),
            }
            retries -= 1;
        }
        let written = file.set_len(0).and_then(|()| file.rewind());
        written.and_then(|()| file.write_all(holder.as_bytes())).map_err(|source| self.failed(source))?;
        Ok(LockGuard::new(file))
    }

    fn holder(&self) -> Result<Option<String>, LockError> {
        let opened = Folder::open(&self.root).and_then(|folder| folder.open_to_read(&self.name));
        let mut file = match opened.map_err(io::Error::from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.failed(source)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
            Err(TryLockError::Error(source)) => Err(self.failed(source)),
        }
    }
}

/// A description that cannot be read counts as not given: the lock is what matters. A process that
/// has just taken the lock writes its description a moment later.
fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    for attempt in 0..=TAKE_RETRIES {
        text.clear();
        let read = file.rewind().and_then(|()| file.take(MAX_HOLDER_BYTES).read_to_string(&mut text));
        if read.is_err() {
            text.clear();
        }
        if !text.trim().is_empty() || attempt == TAKE_RETRIES {
            break;
        }
        std::thread::sleep(RETRY_DELAY);
    }
    describe_holder(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The holder writes its description a moment after it has taken the lock.
    #[test]
    fn a_holder_that_has_just_taken_the_lock_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        let lock = FileLock::new(root.path().to_owned(), PathBuf::from("lock"));
        let file = File::create(root.path().join("lock")).expect("created");
        file.lock().expect("locked");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(RETRY_DELAY / 2);
                (&file).write_all(b"varve store, process 12").expect("written");
            });
            assert_eq!(lock.holder().expect("asked").as_deref(), Some("varve store, process 12"));
        });
        file.set_len(0).expect("cut");
        assert_eq!(lock.holder().expect("asked").as_deref(), Some("the lock does not name the process"));
    }

    #[test]
    fn a_link_as_lock_file_is_an_error_and_its_target_stays() {
        let temporary = tempfile::tempdir().expect("a folder");
        let root = temporary.path().join("root");
        std::fs::create_dir(&root).expect("made");
        std::fs::write(temporary.path().join("victim"), "precious").expect("written");
        std::os::unix::fs::symlink("../victim", root.join("lock")).expect("linked");
        let lock = FileLock::new(root, PathBuf::from("lock"));
        assert!(matches!(lock.take("holder"), Err(LockError::Io { .. })));
        assert!(matches!(lock.holder(), Err(LockError::Io { .. })));
        assert_eq!(std::fs::read(temporary.path().join("victim")).expect("read"), b"precious");
    }
}
