//! A pool of buffers for content that is packed in one call.
//!
//! Deflating a whole object in one call takes half the time of deflating a stream. So a few buffers
//! exist, each for one object of medium size. Their number bounds the memory of the store. A thread
//! that finds none free does not wait but streams.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of buffers, on any number of cores.
const MAX_BUFFERS: usize = 4;

/// The free buffers. They grow on first use and are reused.
pub(crate) struct BufferPool {
    free: Mutex<Vec<Vec<u8>>>,
}

/// A borrowed buffer, returned to the pool on drop.
pub(crate) struct PooledBuffer<'a> {
    pub(crate) buffer: Vec<u8>,
    pool: &'a BufferPool,
}

impl BufferPool {
    /// One buffer for each core, within bounds; none if one call is not faster.
    pub(crate) fn new(useful: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = if useful { cores.min(MAX_BUFFERS) } else { 0 };
        Self { free: Mutex::new(vec![Vec::new(); count]) }
    }

    /// Takes a buffer, if one is free.
    pub(crate) fn take(&self) -> Option<PooledBuffer<'_>> {
        self.lock().pop().map(|buffer| PooledBuffer { buffer, pool: self })
    }

    /// Whether a buffer is free now.
    pub(crate) fn is_free(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PooledBuffer<'_> {
    fn drop(&mut self) {
        self.pool.lock().push(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_few_and_come_back() {
        let rooms = BufferPool::new(true);
        let taken: Vec<PooledBuffer<'_>> = std::iter::from_fn(|| rooms.take()).collect();
        assert!((1..=MAX_BUFFERS).contains(&taken.len()));
        assert!(!rooms.is_free());
        drop(taken);
        assert!(rooms.is_free());
        assert!(BufferPool::new(false).take().is_none());
    }
}
