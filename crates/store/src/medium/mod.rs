//! Where sealed silos lie: a folder, memory, later a bucket.
//!
//! A sealed silo is never written again, so all a medium must do is take a whole object once, give
//! any range of it and list what it has. Nothing here appends, renames or deletes: those belong to
//! [`crate::disk`], where silos grow. The trait has no async in it; a bucket's implementation waits
//! inside its calls.

mod local_medium;
mod memory_medium;

use std::io::{self, Read};
use std::sync::Arc;

use varve_wire::ReadAt;

pub use local_medium::LocalMedium;
pub use memory_medium::MemoryMedium;

/// What holds sealed silos, by names with `/` between their parts.
///
/// Guarantees: an object is there whole or not at all, is never replaced, and survives a power cut
/// once `put` has returned.
pub trait Medium: Send + Sync {
    /// Keeps all of `content` under `name`. Fails with [`MediumError::Taken`] when the name is
    /// taken.
    fn put(&self, name: &str, content: &mut dyn Read) -> Result<(), MediumError>;

    /// Opens an object for reading at any offset.
    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError>;

    /// Every object whose name begins with `prefix`, in order of names.
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, MediumError>;
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
}

/// Why a medium did not do it.
#[derive(Debug, thiserror::Error)]
pub enum MediumError {
    /// There is an object of that name.
    #[error("`{name}` is there already")]
    Taken {
        /// The name.
        name: String,
    },
    /// There is none.
    #[error("there is no `{name}`")]
    Absent {
        /// The name.
        name: String,
    },
    /// A name that could lead elsewhere.
    #[error("`{name}` is no name for an object")]
    Name {
        /// The name.
        name: String,
    },
    /// Reading or writing failed.
    #[error("cannot reach `{name}`")]
    Io {
        /// The object.
        name: String,
        /// The cause.
        source: io::Error,
    },
}

/// Refuses names that climb, are absolute or empty, or hold what some system reads otherwise.
fn checked(name: &str) -> Result<&str, MediumError> {
    let is_part = |part: &str| {
        !part.is_empty()
            && !matches!(part, "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    if name.split('/').all(is_part) { Ok(name) } else { Err(MediumError::Name { name: name.to_owned() }) }
}
