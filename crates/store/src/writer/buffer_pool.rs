//! Buffers for content that is packed in one go.
//!
//! Deflate that sees all of an object at once takes half the time of deflate that sees it stream by. So there are some
//! buffers, each for one object of middle size, and whoever gets one packs so. They are few, because they are what the
//! store's memory is bounded by: whoever finds none free does not wait but streams.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// There are no more than this, however many cores there are.
const MOST: usize = 4;

/// The buffers that are free. They grow when they are first used, and are used again.
pub(crate) struct Rooms {
    free: Mutex<Vec<Vec<u8>>>,
}

/// A buffer that was taken; it is given back when this goes.
pub(crate) struct Room<'a> {
    pub(crate) buffer: Vec<u8>,
    rooms: &'a Rooms,
}

impl Rooms {
    /// One for each core, within bounds; or none, where one go is no quicker.
    pub(crate) fn new(useful: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = if useful { cores.min(MOST) } else { 0 };
        Self { free: Mutex::new(vec![Vec::new(); count]) }
    }

    /// Takes one, if one is free.
    pub(crate) fn take(&self) -> Option<Room<'_>> {
        self.lock().pop().map(|buffer| Room { buffer, rooms: self })
    }

    /// Whether one is free now.
    pub(crate) fn is_free(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.rooms.lock().push(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_few_and_come_back() {
        let rooms = Rooms::new(true);
        let taken: Vec<Room<'_>> = std::iter::from_fn(|| rooms.take()).collect();
        assert!((1..=MOST).contains(&taken.len()));
        assert!(!rooms.is_free());
        drop(taken);
        assert!(rooms.is_free());
        assert!(Rooms::new(false).take().is_none());
    }
}
