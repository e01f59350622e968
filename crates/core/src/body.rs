//! Bodies: the seam between those who keep them and those who want them.
//!
//! A body is the entity bytes of a capture, codings removed; its id is its SHA-256. Silos, loose files and Crystal
//! projects all keep bodies, each in its way. A caller that needs only the bytes uses this trait.

use std::io::Read;

use crate::id::BodyId;

/// Why a body could not be had or kept. Rooms have their own errors; this carries them.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BodyError(Box<dyn std::error::Error + Send + Sync>);

impl BodyError {
    /// Carries a room's error.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The error that is carried.
    pub fn carried(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// What became of a body that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBody {
    /// Its id.
    pub id: BodyId,
    /// Its length in bytes.
    pub length: u64,
    /// Whether it was new; otherwise it was there already.
    pub new: bool,
}

/// Gives bodies by id.
pub trait BodySource: Send + Sync {
    /// Opens a body; none when it is not here. Reading to the end checks that the bytes are those of the id: damage is
    /// an error of the reader, never a short or wrong body.
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError>;

    /// Which of many bodies are here, in their order.
    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError>;
}

/// Keeps bodies, too. Many threads may keep at once.
pub trait BodyStore: BodySource {
    /// Keeps all that can be read, in memory of fixed size. Keeping what is here changes nothing and gives the same id.
    /// Nothing is promised before [`BodyStore::sync_bodies`] has returned.
    fn keep_body(&self, content: &mut dyn Read) -> Result<StoredBody, BodyError>;

    /// Waits until every body kept so far is safe from a power cut and found by its id.
    fn sync_bodies(&self) -> Result<(), BodyError>;
}
