//! Rolling and sealing: a record that does not fit the open silo goes to the next one, and the full
//! silo is synced, made read-only and never written again.
//!
//! The description of a silo states the digest of the one before it, so a silo is hashed while it
//! grows. What is left to hash when it is sealed is read without the lock.

use std::sync::{MutexGuard, PoisonError};

use varve_warc::digest::Digest;
use varve_warc::write::PackedRecord;

use super::StoreWriter;
use super::append_state::AppendState;
use super::description::describe;
use crate::error::StoreError;
use crate::index::SiloPlace;
use crate::record::record_and_body_ids;
use crate::silo::{OpenSilo, create};

/// When a silo is sealed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SealCondition {
    /// Only if it has records besides its description.
    Filled,
    /// In any case.
    Always,
}

impl StoreWriter {
    /// Seals the open silo as if it were full.
    pub fn seal_now(&self) -> Result<(), StoreError> {
        loop {
            let state = self.lock();
            state.check_not_stopped()?;
            if self.seal_quickly(state, SealCondition::Filled)?.is_some() {
                return Ok(());
            }
        }
    }

    /// Ensures an open silo with room for a record. Returns `None` after it released the lock; the
    /// caller then starts over.
    pub(super) fn make_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, AppendState>,
        length: u64,
    ) -> Result<Option<MutexGuard<'a, AppendState>>, StoreError> {
        let is_held = state.silo.as_ref().is_some_and(|silo| !silo.can_append(length));
        // Segments are being renamed, or a large record is being written.
        if state.placing || is_held {
            drop(self.synced.wait(state).unwrap_or_else(PoisonError::into_inner));
            return Ok(None);
        }
        let is_full = state.silo.as_ref().is_some_and(|silo| {
            silo.has_records && silo.length().saturating_add(length) > self.settings.silo_size
        });
        if is_full {
            let Some(sealed) = self.seal_quickly(state, SealCondition::Filled)? else { return Ok(None) };
            state = sealed;
        }
        if state.silo.is_none() {
            let result = self.begin_silo(&mut state);
            state.stop_on_error(result)?;
        }
        Ok(Some(state))
    }

    /// Seals the open silo if no thread works on it and most of it is hashed. Otherwise waits or
    /// hashes without the lock and returns `None`.
    pub(super) fn seal_quickly<'a>(
        &'a self,
        state: MutexGuard<'a, AppendState>,
        which: SealCondition,
    ) -> Result<Option<MutexGuard<'a, AppendState>>, StoreError> {
        if state.syncing || state.in_flight_record.is_some() {
            drop(self.synced.wait(state).unwrap_or_else(PoisonError::into_inner));
            return Ok(None);
        }
        let is_wanted = |silo: &&OpenSilo| silo.has_records || which == SealCondition::Always;
        let Some(silo) = state.silo.as_ref().filter(is_wanted) else { return Ok(Some(state)) };
        let (number, until) = (silo.number, state.readable_end(silo));
        if !self.silo_hasher.is_far_behind(number, until) {
            return self.seal(state).map(Some);
        }
        drop(state);
        self.silo_hasher.advance(&self.files, number, until, u64::MAX);
        let state = self.lock();
        state.check_not_stopped()?;
        if self.silo_hasher.is_far_behind(number, until) {
            // Reading failed, or another thread is hashing. Sealing reports the error or waits for
            // that thread.
            let is_same = state.silo.as_ref().is_some_and(|silo| silo.number == number);
            if is_same && !state.syncing && state.in_flight_record.is_none() {
                return self.seal(state).map(Some);
            }
        }
        Ok(None)
    }

    fn begin_silo(&self, state: &mut AppendState) -> Result<(), StoreError> {
        let number = state.next_number;
        SiloPlace::new(number, 0)?;
        let ending = self.settings.ending();
        let file = create(&*self.files.disk, &self.files.folder, number, ending)?;
        let description = self.describe(number)?;
        let mut silo = OpenSilo::resume(number, file, 0, false);
        let preamble = self.settings.packing.preamble();
        if !preamble.is_empty() {
            silo.append_raw(&preamble)?;
        }
        state.next_number = number + 1;
        state.silo = Some(silo);
        let header = description.header();
        let own = record_and_body_ids(&header).0;
        state.append(description, &header, own)?;
        if let Some(silo) = &mut state.silo {
            silo.has_records = false;
        }
        Ok(())
    }

    /// The description of a silo.
    fn describe(&self, number: u32) -> Result<PackedRecord, StoreError> {
        let previous = self.digest_before(number)?;
        describe(&mut self.packer()?, &self.settings, number, previous)
    }

    /// The digest of the sealed silo before `number`; `None` when there is none.
    pub(super) fn digest_before(&self, number: u32) -> Result<Option<Digest>, StoreError> {
        let Some(before) = number.checked_sub(1) else { return Ok(None) };
        self.silo_hasher.finish(&self.files, before)
    }

    /// Syncs and closes the open silo. No other thread works on it.
    fn seal<'a>(
        &'a self,
        mut state: MutexGuard<'a, AppendState>,
    ) -> Result<MutexGuard<'a, AppendState>, StoreError> {
        let Some(mut silo) = state.silo.take() else { return Ok(state) };
        let (_, entries) = state.take_confirmable();
        let result = self.seal_file(&mut silo).and_then(|()| self.publish(&entries));
        state.stop_on_error(result)?;
        state.in_flight.clear();
        state.durable = state.appended;
        self.synced.notify_all();
        Ok(state)
    }

    fn seal_file(&self, silo: &mut OpenSilo) -> Result<(), StoreError> {
        silo.flush()?;
        self.sync_silo(&*silo.file(), silo.number)?;
        let path = self.files.path(silo.number, self.settings.ending());
        self.files.disk.set_read_only(&path)?;
        // Also syncs the changed permission.
        silo.file().sync()?;
        if self.files.moves_sealed() {
            // Hashed while it is local, for the checksum and for the description of the next silo.
            let checksum = self.silo_hasher.finish(&self.files, silo.number)?;
            self.files.move_sealed(silo.number, self.settings.ending(), checksum)?;
        }
        Ok(())
    }
}
