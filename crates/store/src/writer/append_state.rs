//! The state that all threads of a store writer share: the open silo, the appended
//! records and how far they are durable. Its lock is held for moments only.

use std::collections::HashMap;
use std::error::Error;
use std::io;

use varve_core::RecordId;
use varve_warc::record::RecordHeader;
use varve_warc::write::PackedRecord;

use super::in_flight_write::InFlightRecord;
use crate::error::{StoreError, error_text};
use crate::index::{IndexEntry, SiloPlace};
use crate::record::index_entries;
use crate::silo::{OpenSilo, ReservedSpace};

/// The open silo and the records in it that the index does not have yet.
pub(crate) struct AppendState {
    pub(crate) silo: Option<OpenSilo>,
    pub(crate) next_number: u32,
    /// Index entries of records that are in the silo but not in the index.
    pub(crate) pending: Vec<IndexEntry>,
    /// The ids of those records, with their places.
    pub(crate) recent: HashMap<RecordId, SiloPlace>,
    /// The ids of records whose entries are being added to the index.
    pub(crate) in_flight: HashMap<RecordId, SiloPlace>,
    /// The record, or the segments, with reserved space that are being written.
    pub(crate) in_flight_record: Option<InFlightRecord>,
    pub(crate) appended: u64,
    pub(crate) durable: u64,
    pub(crate) syncing: bool,
    /// Segments are being renamed into place: no silo is open.
    pub(crate) placing: bool,
    /// The failed write after which nothing more is written.
    failure: Option<EarlierFailure>,
}

impl AppendState {
    /// Appends to `silo`, or begins a silo with this number.
    pub(crate) fn new(silo: Option<OpenSilo>, next_number: u32) -> Self {
        Self {
            silo,
            next_number,
            pending: Vec::new(),
            recent: HashMap::new(),
            in_flight: HashMap::new(),
            in_flight_record: None,
            appended: 0,
            durable: 0,
            syncing: false,
            placing: false,
            failure: None,
        }
    }

    /// Reserves space for a record that is written later. Returns its ticket, its place and the
    /// space.
    pub(crate) fn reserve(
        &mut self,
        length: u64,
        own: Option<RecordId>,
    ) -> Result<(u64, SiloPlace, ReservedSpace), StoreError> {
        let Some(silo) = &mut self.silo else { return Err(self.stopped_error()) };
        SiloPlace::new(silo.number, silo.length().saturating_add(length))?;
        let reserved = silo.reserve(length)?;
        silo.has_records = true;
        let place = SiloPlace::new(silo.number, reserved.offset)?;
        self.appended += 1;
        self.in_flight_record = Some(InFlightRecord { ticket: self.appended, place, id: own });
        Ok((self.appended, place, reserved))
    }

    /// Appends a record and returns its ticket.
    pub(crate) fn append(
        &mut self,
        record: PackedRecord,
        header: &RecordHeader,
        own: Option<RecordId>,
    ) -> Result<u64, StoreError> {
        let Some(silo) = &mut self.silo else { return Err(self.stopped_error()) };
        let place = SiloPlace::new(silo.number, silo.length())?;
        silo.append(record)?;
        silo.has_records = true;
        self.pending.extend(index_entries(header, place));
        if let Some(id) = own {
            self.recent.insert(id, place);
        }
        self.appended += 1;
        Ok(self.appended)
    }

    /// Whether a record with this id was appended and is not in the index yet.
    pub(crate) fn has_unindexed(&self, id: &RecordId) -> bool {
        self.recent.contains_key(id)
            || self.in_flight.contains_key(id)
            || self.in_flight_record.is_some_and(|copying| copying.id.as_ref() == Some(id))
    }

    /// Whether a ticket must wait for the record that is being written.
    pub(crate) fn must_wait(&self, ticket: u64) -> bool {
        self.in_flight_record.is_some_and(|copying| copying.ticket <= ticket)
    }

    /// Ends the write in flight, successful or not.
    pub(crate) fn end_in_flight(&mut self) {
        self.in_flight_record = None;
        self.placing = false;
        if let Some(silo) = &mut self.silo {
            silo.release();
        }
    }

    /// Takes the records that can be acknowledged once the silo is synced: the last ticket and the
    /// entries in order of places. Records behind a write in flight stay.
    pub(crate) fn take_confirmable(&mut self) -> (u64, Vec<IndexEntry>) {
        let Some(InFlightRecord { ticket, place: barrier, .. }) = self.in_flight_record else {
            self.in_flight = std::mem::take(&mut self.recent);
            let mut entries = std::mem::take(&mut self.pending);
            entries.sort_by_key(|entry| entry.place);
            return (self.appended, entries);
        };
        self.in_flight = self.recent.extract_if(|_, place| *place < barrier).collect();
        let mut entries: Vec<IndexEntry> =
            self.pending.extract_if(.., |entry| entry.place < barrier).collect();
        entries.sort_by_key(|entry| entry.place);
        (ticket - 1, entries)
    }

    /// The end of the complete records in the file of the open silo.
    pub(crate) fn readable_end(&self, silo: &OpenSilo) -> u64 {
        match self.in_flight_record {
            Some(InFlightRecord { place, .. }) if place.silo() == silo.number => place.offset(),
            _ => silo.written(),
        }
    }

    /// Whether a write failed, so that nothing more is written.
    pub(crate) fn is_stopped(&self) -> bool {
        self.failure.is_some()
    }

    /// Stops after a write that ended without a result.
    pub(crate) fn stop(&mut self) {
        let text = "a write was abandoned".to_owned();
        self.failure.get_or_insert(EarlierFailure { kind: io::ErrorKind::Other, text });
    }

    pub(crate) fn check_not_stopped(&self) -> Result<(), StoreError> {
        if self.is_stopped() { Err(self.stopped_error()) } else { Ok(()) }
    }

    /// The error of a call after a failed write. It has the cause of that failure, because a thread
    /// other than the one that met it may be the first to report.
    fn stopped_error(&self) -> StoreError {
        let failure = self.failure.as_ref();
        let (kind, text) = failure.map_or((io::ErrorKind::Other, "no silo is open"), |failure| {
            (failure.kind, failure.text.as_str())
        });
        StoreError::Stopped(io::Error::new(kind, text))
    }

    /// After a failed write the state of the disk is unknown, so nothing more is written until the
    /// archive is reopened.
    pub(crate) fn stop_on_error<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.failure.get_or_insert_with(|| EarlierFailure::of(error));
        }
        result
    }
}

/// Why the first failed write failed.
struct EarlierFailure {
    kind: io::ErrorKind,
    text: String,
}

impl EarlierFailure {
    fn of(error: &StoreError) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        let mut kind = None;
        while let (Some(error), None) = (cause, kind) {
            kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
            cause = error.source();
        }
        Self { kind: kind.unwrap_or(io::ErrorKind::Other), text: error_text(error) }
    }
}
