//! The lock of a writer in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use varve_core::writer_lock::{LockError, LockGuard, WriterLock, describe_holder};

/// A lock in memory. Clones are handles to the same lock.
#[derive(Clone, Default)]
pub struct MemoryLock {
    holder: Arc<Mutex<Option<String>>>,
}

/// Frees the lock when dropped.
struct HeldMemoryLock(MemoryLock);

impl Drop for HeldMemoryLock {
    fn drop(&mut self) {
        *self.0.state() = None;
    }
}

impl MemoryLock {
    fn state(&self) -> MutexGuard<'_, Option<String>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriterLock for MemoryLock {
    fn take(&self, holder: &str) -> Result<LockGuard, LockError> {
        let mut state = self.state();
        if let Some(holder) = &*state {
            return Err(LockError::Held { holder: holder.clone() });
        }
        *state = Some(describe_holder(holder));
        Ok(LockGuard::new(HeldMemoryLock(self.clone())))
    }

    fn holder(&self) -> Result<Option<String>, LockError> {
        Ok(self.state().clone())
    }
}
