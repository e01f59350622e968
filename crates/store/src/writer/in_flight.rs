//! A large record that has its place in the silo, and whose bytes are on their way there.
//!
//! Whoever appends a large record takes its place while the state is held, and writes it while it is not: others append
//! behind it meanwhile. If the power fails then, recovery cuts the silo where that record begins. So what is behind it
//! stays in memory until it is whole, is not promised and does not go to the index; and there is one such record at a time.

use std::sync::MutexGuard;

use super::StoreWriter;
use super::append_state::State;
use crate::error::StoreError;
use crate::index::Place;

/// The record that is being written.
#[derive(Clone, Copy)]
pub(crate) struct Copying {
    /// Its ticket: neither it nor a later one can be promised yet.
    pub(crate) ticket: u64,
    /// Where it begins.
    pub(crate) place: Place,
    /// Its id.
    pub(crate) id: Option<[u8; 32]>,
}

/// A record on its way to its place. If it does not come to its end, nothing more is written.
pub(crate) struct Copy<'a>(&'a StoreWriter);

impl<'a> Copy<'a> {
    /// Its place is taken; the bytes come now.
    pub(crate) fn begin(writer: &'a StoreWriter) -> Self {
        Self(writer)
    }

    /// It is written, or could not be.
    pub(crate) fn end<T>(
        self,
        result: Result<T, StoreError>,
    ) -> Result<(T, MutexGuard<'a, State>), StoreError> {
        let mut state = self.0.lock();
        state.end_copy();
        let result = state.stop_on_error(result);
        self.0.synced.notify_all();
        std::mem::forget(self);
        Ok((result?, state))
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.end_copy();
        state.stopped = true;
        self.0.synced.notify_all();
    }
}
