//! HEAD in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_core::VersionId;
use varve_core::head_store::{HeadError, HeadStore, IntendedHead};

/// HEAD in memory. Clones are handles to the same HEAD.
#[derive(Clone, Default)]
pub struct MemoryHead {
    state: Arc<Mutex<(Option<VersionId>, Option<IntendedHead>)>>,
}

impl MemoryHead {
    fn state(&self) -> MutexGuard<'_, (Option<VersionId>, Option<IntendedHead>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadStore for MemoryHead {
    fn read(&self) -> Result<Option<VersionId>, HeadError> {
        Ok(self.state().0)
    }

    fn advance(&self, from: Option<VersionId>, to: VersionId) -> Result<(), HeadError> {
        let mut state = self.state();
        if state.0 != from {
            return Err(HeadError::Moved { expected: from, found: state.0 });
        }
        state.0 = Some(to);
        Ok(())
    }

    fn repair(&self, to: VersionId) -> Result<(), HeadError> {
        self.state().0 = Some(to);
        Ok(())
    }

    fn clear(&self) -> Result<(), HeadError> {
        self.state().0 = None;
        Ok(())
    }

    fn intended(&self) -> Result<Option<IntendedHead>, HeadError> {
        Ok(self.state().1.clone())
    }

    fn intend(&self, intended: &IntendedHead) -> Result<(), HeadError> {
        self.state().1 = Some(intended.clone());
        Ok(())
    }

    fn clear_intended(&self) -> Result<(), HeadError> {
        self.state().1 = None;
        Ok(())
    }
}
