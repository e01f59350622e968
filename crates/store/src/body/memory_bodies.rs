//! Bodies in memory, for tests.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_core::BodyId;
use varve_core::body::{BodyError, BodySource, BodyStore, KeptBody};
use varve_warc::digest::Algorithm;

/// Bodies in memory.
#[derive(Default)]
pub struct MemoryBodies {
    bodies: Mutex<HashMap<BodyId, Arc<[u8]>>>,
}

impl MemoryBodies {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn bodies(&self) -> MutexGuard<'_, HashMap<BodyId, Arc<[u8]>>> {
        // Bodies are inserted whole, so the map stays valid after a panic.
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodySource for MemoryBodies {
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        let body = self.bodies().get(id).cloned();
        Ok(body.map(|body| Box::new(Cursor::new(body)) as Box<dyn Read + Send>))
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        let bodies = self.bodies();
        Ok(ids.iter().map(|id| bodies.contains_key(id)).collect())
    }
}

impl BodyStore for MemoryBodies {
    fn keep_body(&self, content: &mut dyn Read) -> Result<KeptBody, BodyError> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(BodyError::new)?;
        let id = super::loose_bodies::body_id(Algorithm::Sha256.digest(&bytes));
        let length = bytes.len() as u64;
        let new = self.bodies().insert(id, bytes.into()).is_none();
        Ok(KeptBody { id, length, new })
    }

    fn sync_bodies(&self) -> Result<(), BodyError> {
        Ok(())
    }
}
