//! The traits to read and store bodies.
//!
//! A body is the entity bytes of a capture, codings removed; its id is its SHA-256. Silos, loose
//! files and Crystal projects all keep bodies, each in its way. A caller that needs only the bytes
//! uses this trait.

use std::io::Read;

use crate::id::BodyId;

/// Why a body could not be read or stored. It wraps the error of the crate that implements the
/// trait.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BodyError(Box<dyn std::error::Error + Send + Sync>);

impl BodyError {
    /// Wraps an error of an implementation.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The wrapped error.
    pub fn carried(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// The result of storing a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBody {
    /// Its id.
    pub id: BodyId,
    /// Its length in bytes.
    pub length: u64,
    /// Whether the body was new; otherwise it was stored already.
    pub new: bool,
}

/// Reads bodies by id.
pub trait BodySource: Send + Sync {
    /// Opens a body; `None` if it is not stored here. Reading to the end verifies that the bytes
    /// match the id. Damage is an error of the reader, never a short or wrong body.
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError>;

    /// For each of the ids, in their order, whether the body is stored here.
    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError>;
}

/// Stores bodies. Many threads may store bodies at once.
pub trait BodyStore: BodySource {
    /// Stores everything that `content` yields, in memory of fixed size. Storing a body that exists
    /// changes nothing and returns the same id. A body is durable only after
    /// [`BodyStore::sync_bodies`] has returned.
    fn keep_body(&self, content: &mut dyn Read) -> Result<StoredBody, BodyError>;

    /// Waits until every body stored so far survives a power cut and is found by its id.
    fn sync_bodies(&self) -> Result<(), BodyError>;
}
