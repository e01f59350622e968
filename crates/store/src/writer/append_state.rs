//! What was appended, and how far it is safe: what all writers of a store share, and hold for moments only.

use std::collections::HashMap;

use varve_warc::record::Header;
use varve_warc::write::PackedRecord;

use super::in_flight::Copying;
use crate::error::StoreError;
use crate::index::{Entry, Place};
use crate::record::entries;
use crate::silo::{OpenSilo, Reserved};

/// The silo that grows, and what is in it that the index does not know yet.
pub(crate) struct State {
    pub(crate) silo: Option<OpenSilo>,
    pub(crate) next_number: u32,
    /// Entries of records that are in the silo but not in the index.
    pub(crate) pending: Vec<Entry>,
    /// The ids of those records.
    pub(crate) recent: HashMap<[u8; 32], Place>,
    /// The ids of records whose entries are on their way into the index.
    pub(crate) in_flight: HashMap<[u8; 32], Place>,
    /// The record, or the segments, that have their place and are being written there.
    pub(crate) copying: Option<Copying>,
    pub(crate) appended: u64,
    pub(crate) durable: u64,
    pub(crate) syncing: bool,
    /// Segments are being put in their places: there is no silo to append to.
    pub(crate) placing: bool,
    pub(crate) stopped: bool,
}

impl State {
    /// Writing goes on in a silo, or begins one of that number.
    pub(crate) fn new(silo: Option<OpenSilo>, next_number: u32) -> Self {
        Self {
            silo,
            next_number,
            pending: Vec::new(),
            recent: HashMap::new(),
            in_flight: HashMap::new(),
            copying: None,
            appended: 0,
            durable: 0,
            syncing: false,
            placing: false,
            stopped: false,
        }
    }

    /// Takes the place of a record that is written later: its ticket, where it is, and what writes it.
    pub(crate) fn reserve(
        &mut self,
        length: u64,
        own: Option<[u8; 32]>,
    ) -> Result<(u64, Place, Reserved), StoreError> {
        let Some(silo) = &mut self.silo else { return Err(StoreError::Stopped) };
        Place::new(silo.number, silo.length().saturating_add(length))?;
        let reserved = silo.reserve(length)?;
        silo.has_records = true;
        let place = Place::new(silo.number, reserved.offset)?;
        self.appended += 1;
        self.copying = Some(Copying { ticket: self.appended, place, id: own });
        Ok((self.appended, place, reserved))
    }

    /// Appends a record, and gives its ticket.
    pub(crate) fn append(
        &mut self,
        record: PackedRecord,
        header: &Header,
        own: Option<[u8; 32]>,
    ) -> Result<u64, StoreError> {
        let Some(silo) = &mut self.silo else { return Err(StoreError::Stopped) };
        let place = Place::new(silo.number, silo.length())?;
        silo.append(record)?;
        silo.has_records = true;
        self.pending.extend(entries(header, place));
        if let Some(id) = own {
            self.recent.insert(id, place);
        }
        self.appended += 1;
        Ok(self.appended)
    }

    /// Whether a record of that id was appended that the index does not know yet.
    pub(crate) fn has_unindexed(&self, id: &[u8; 32]) -> bool {
        self.recent.contains_key(id)
            || self.in_flight.contains_key(id)
            || self.copying.is_some_and(|copying| copying.id.as_ref() == Some(id))
    }

    /// Whether a ticket has to wait for what is being written.
    pub(crate) fn is_held_up(&self, ticket: u64) -> bool {
        self.copying.is_some_and(|copying| copying.ticket <= ticket)
    }

    /// What is being written is there, or never will be.
    pub(crate) fn end_copy(&mut self) {
        self.copying = None;
        self.placing = false;
        if let Some(silo) = &mut self.silo {
            silo.release();
        }
    }

    /// Takes what can be promised once the silo is synced: up to which ticket, and the entries, in order of their places.
    /// What lies behind a record that is still being written stays.
    pub(crate) fn take_whole(&mut self) -> (u64, Vec<Entry>) {
        let Some(Copying { ticket, place: barrier, .. }) = self.copying else {
            self.in_flight = std::mem::take(&mut self.recent);
            let mut entries = std::mem::take(&mut self.pending);
            entries.sort_by_key(|entry| entry.place);
            return (self.appended, entries);
        };
        self.in_flight = self.recent.extract_if(|_, place| *place < barrier).collect();
        let mut entries: Vec<Entry> = self.pending.extract_if(.., |entry| entry.place < barrier).collect();
        entries.sort_by_key(|entry| entry.place);
        (ticket - 1, entries)
    }

    /// The end of what is in the file of the open silo and whole.
    pub(crate) fn readable(&self, silo: &OpenSilo) -> u64 {
        match self.copying {
            Some(Copying { place, .. }) if place.silo() == silo.number => place.offset(),
            _ => silo.written(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.stopped { Err(StoreError::Stopped) } else { Ok(()) }
    }

    /// After a failed write nobody knows what is on the disk: nothing more is written until the archive is reopened.
    pub(crate) fn stop_on_error<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if result.is_err() {
            self.stopped = true;
        }
        result
    }
}
