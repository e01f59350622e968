//! Where silos are read from: a folder now, a bucket later.
//!
//! A sealed silo never changes, so a medium only stores a whole object once, reads any range of it,
//! deletes it and lists what it has. Appending and renaming belong to `disk`, where the open silo
//! is. The trait is blocking; an implementation over a network waits inside its calls.
//!
//! The caller of `SiloFiles::new` chooses the medium that sealed silos move to. The
//! silos in the archive's own folder are read through a [`LocalMedium`].

mod local_medium;

use std::io::{self, Read};
use std::sync::Arc;

pub use varve_warc::digest::{Algorithm, Digest};
pub use varve_wire::ReadAt;

use crate::disk::DiskError;

pub use local_medium::LocalMedium;

/// Stores objects by names with `/` between their parts.
///
/// Guarantees: an object exists completely or not at all, is never replaced, and survives a power
/// cut between `put` and `delete`.
pub trait Medium: Send + Sync {
    /// Stores all of `content` under `name`. Fails with [`MediumError::Taken`] when the name
    /// exists, and with [`MediumError::Checksum`] when the content does not have the SHA-256
    /// `checksum`.
    fn put(&self, name: &str, content: &mut dyn Read, checksum: &Digest) -> Result<(), MediumError>;

    /// Opens an object for reads at any offset.
    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError>;

    /// Deletes an object, durably. Fails with [`MediumError::Absent`] when there is none. Readers
    /// that opened it before may read on or fail.
    fn delete(&self, name: &str) -> Result<(), MediumError>;

    /// Every object whose name begins with `prefix`, in order of names.
    fn list(&self, prefix: &str) -> Result<Vec<MediumObject>, MediumError>;
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediumObject {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// Whether it never changes again. False only for the open silo in the archive's own folder.
    pub read_only: bool,
}

/// An error of a medium.
#[derive(Debug, thiserror::Error)]
pub enum MediumError {
    /// An object with that name exists.
    #[error("`{name}` exists already")]
    Taken {
        /// The name.
        name: String,
    },
    /// No object has that name.
    #[error("there is no `{name}`")]
    Absent {
        /// The name.
        name: String,
    },
    /// The name is not allowed, because it could refer to a file outside the medium.
    #[error("`{name}` is not a valid object name")]
    Name {
        /// The name.
        name: String,
    },
    /// The content does not have the expected checksum.
    #[error("the content of `{name}` has the digest {found}, not {expected}")]
    Checksum {
        /// The name.
        name: String,
        /// The digest that the caller stated.
        expected: Box<Digest>,
        /// The digest of the bytes.
        found: Box<Digest>,
    },
    /// The local disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Reading or writing failed.
    #[error("cannot read or write `{name}`")]
    Io {
        /// The object.
        name: String,
        /// The cause.
        source: io::Error,
    },
}

/// Fails for names that are empty, absolute, climb, or contain characters that a system treats
/// specially.
pub fn check_name(name: &str) -> Result<&str, MediumError> {
    let is_part = |part: &str| {
        !part.is_empty()
            && !matches!(part, "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    if name.split('/').all(is_part) { Ok(name) } else { Err(MediumError::Name { name: name.to_owned() }) }
}
