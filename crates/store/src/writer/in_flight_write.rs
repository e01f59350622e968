//! A large record that has reserved space in the silo and is being written.
//!
//! The thread that appends a large record reserves its space under the lock and writes it without
//! the lock, while others append behind it. After a power cut, recovery cuts the silo where that
//! record begins. So later records stay in memory until it is complete, are not acknowledged and
//! not indexed. There is one such record at a time.

use std::sync::MutexGuard;

use varve_core::RecordId;

use super::StoreWriter;
use super::append_state::AppendState;
use crate::error::StoreError;
use crate::index::SiloPlace;

/// The record that is being written.
#[derive(Clone, Copy)]
pub(crate) struct InFlightRecord {
    /// Its ticket: neither it nor a later one can be acknowledged yet.
    pub(crate) ticket: u64,
    /// Its start.
    pub(crate) place: SiloPlace,
    /// Its id.
    pub(crate) id: Option<RecordId>,
}

/// Guards the write of one record. Dropping it unfinished stops the writer.
pub(crate) struct InFlightWrite<'a>(&'a StoreWriter);

impl<'a> InFlightWrite<'a> {
    /// Begins the write of a record whose space is reserved.
    pub(crate) fn begin(writer: &'a StoreWriter) -> Self {
        Self(writer)
    }

    /// Ends the write with its result, and locks the state.
    pub(crate) fn end<T>(
        self,
        result: Result<T, StoreError>,
    ) -> Result<(T, MutexGuard<'a, AppendState>), StoreError> {
        let mut state = self.0.lock();
        state.end_in_flight();
        let result = state.stop_on_error(result);
        self.0.synced.notify_all();
        std::mem::forget(self);
        Ok((result?, state))
    }
}

impl Drop for InFlightWrite<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.end_in_flight();
        state.stop();
        self.0.synced.notify_all();
    }
}
