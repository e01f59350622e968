//! The lock of the writer as a file.
//!
//! It is an operating system lock on a file that names the holder. The system releases it when the
//! process ends, so no stale lock remains.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

pub use varve_core::writer_lock::{LockError, LockGuard, WriterLock};

use varve_core::writer_lock::describe_holder;

/// Maximum length of a holder's description.
const MAX_HOLDER_BYTES: u64 = 1024;
/// Attempts after the first, since another process may hold the lock for a moment in `holder`.
const TAKE_RETRIES: usize = 3;
/// Delay between attempts.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// A lock on a file, which is created when it is taken.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
}

impl FileLock {
    /// The lock on the file at `path`.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn failed(&self, source: io::Error) -> LockError {
        LockError::Io { path: self.path.clone(), source }
    }
}

impl WriterLock for FileLock {
    fn take(&self, holder: &str) -> Result<LockGuard, LockError> {
        let mut options = OpenOptions::new();
        options.create(true).read(true).write(true).truncate(false);
        let mut file = options.open(&self.path).map_err(|source| self.failed(source))?;
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
        let mut file = match File::open(&self.path) {
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

/// A description that cannot be read counts as not given: the lock is what matters.
fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(MAX_HOLDER_BYTES).read_to_string(&mut text);
    describe_holder(if read.is_ok() { &text } else { "" })
}
