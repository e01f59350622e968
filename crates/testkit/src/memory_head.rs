//! HEAD in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_core::VersionId;
use varve_core::head_store::{HeadError, HeadStore};

/// HEAD in memory. Clones are handles to the same HEAD.
#[derive(Clone, Default)]
pub struct MemoryHead {
    state: Arc<Mutex<Option<VersionId>>>,
}

impl MemoryHead {
    fn state(&self) -> MutexGuard<'_, Option<VersionId>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadStore for MemoryHead {
    fn read(&self) -> Result<Option<VersionId>, HeadError> {
        Ok(*self.state())
    }

    fn advance(&self, from: Option<VersionId>, to: VersionId) -> Result<(), HeadError> {
        let mut state = self.state();
        if *state != from {
            return Err(HeadError::Moved { expected: from, found: *state });
        }
        *state = Some(to);
        Ok(())
    }

    fn repair(&self, to: VersionId) -> Result<(), HeadError> {
        *self.state() = Some(to);
        Ok(())
    }

    fn clear(&self) -> Result<(), HeadError> {
        *self.state() = None;
        Ok(())
    }
}
