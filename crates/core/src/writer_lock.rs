//! Who may write: one process at a time, on any machine that reaches the archive.
//!
//! Owns the contract of the lock. It does not know how the lock is kept: on a file, or in a
//! database. Readers never take it. One suite in `testkit` tests every implementation.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The lock of an archive's writer.
///
/// Guarantees: at most one [`LockGuard`] exists at a time, in all processes, and the lock is free
/// again when its holder has ended, for any reason.
pub trait WriterLock: Send + Sync {
    /// Takes the lock without waiting. `holder` describes the caller to others. Fails with
    /// [`LockError::Held`] if there is another holder.
    fn take(&self, holder: &str) -> Result<LockGuard, LockError>;

    /// The description of the present holder, which is never empty. `None` if the lock is free.
    fn holder(&self) -> Result<Option<String>, LockError>;
}

/// The lock, held until this is dropped.
pub struct LockGuard {
    _held: Box<dyn Send + Sync>,
}

impl LockGuard {
    /// Holds the lock as long as `held` exists.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LockGuard")
    }
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
    /// The lock cannot be used.
    #[error("cannot lock `{}`", path.display())]
    Io {
        /// Its place.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// What is known of a holder that gave no description.
pub const UNNAMED_HOLDER: &str = "the lock does not name the process";

/// The description of a holder as others see it, also of one that gave none.
pub fn describe_holder(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { UNNAMED_HOLDER.to_owned() } else { text.to_owned() }
}
