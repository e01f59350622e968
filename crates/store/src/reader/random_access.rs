//! Random access to records.
//!
//! Creating a WARC reader costs more than reading a header, so idle readers are pooled per silo. A
//! reader drops its read-ahead when it returns to the pool, so the next user sees the current silo.

use std::sync::{Arc, Mutex, PoisonError};

use varve_warc::{Error, Extent, Record, WarcReader};
use varve_wire::ReadAt;

use super::OpenSilos;
use crate::error::StoreError;
use crate::index::SiloPlace;

/// Maximum number of idle readers. The oldest is dropped first.
const MAX_IDLE_READERS: usize = 8;

type SiloReader = WarcReader<Arc<dyn ReadAt>>;

/// Idle readers, each with its silo number.
#[derive(Default)]
pub(crate) struct IdleSiloReaders(Mutex<Vec<(u32, SiloReader)>>);

impl IdleSiloReaders {
    fn take(&self, silo: u32) -> Option<(u32, SiloReader)> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|(number, _)| *number == silo)?;
        Some(idle.remove(at))
    }

    fn give(&self, (silo, mut reader): (u32, SiloReader)) {
        reader.drop_read_ahead();
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE_READERS {
            idle.remove(0);
        }
        idle.push((silo, reader));
    }
}

/// Reads single records. Fastest in the order of their places.
pub(crate) struct RandomAccessReader<'a> {
    pub(crate) silos: &'a OpenSilos,
    reader: Option<(u32, SiloReader)>,
}

impl OpenSilos {
    /// A random access reader over these silos.
    pub(crate) fn random_access(&self) -> RandomAccessReader<'_> {
        RandomAccessReader { silos: self, reader: None }
    }
}

impl RandomAccessReader<'_> {
    /// The record at a place; `None` when no record begins there or the silo is missing.
    pub(crate) fn record(
        &mut self,
        place: SiloPlace,
        extent: Extent,
    ) -> Result<Option<Record<'_, Arc<dyn ReadAt>>>, StoreError> {
        let failed = |error| StoreError::read(place.silo(), error);
        let Some(reader) = self.reader_of(place.silo())? else { return Ok(None) };
        match reader.visit(place.offset(), extent) {
            Ok(()) => reader.next_record().map_err(failed),
            Err(error @ Error::Io { .. }) => Err(failed(error)),
            Err(_) => Ok(None),
        }
    }

    /// Whether the record that was read last can end at `end`.
    pub(crate) fn may_end_at(&mut self, end: u64) -> Result<bool, StoreError> {
        match &mut self.reader {
            Some((silo, reader)) => reader.may_end_at(end).map_err(|error| StoreError::read(*silo, error)),
            None => Ok(false),
        }
    }

    /// A reader of a silo; `None` when the silo is missing.
    fn reader_of(&mut self, silo: u32) -> Result<Option<&mut SiloReader>, StoreError> {
        if self.reader.as_ref().is_none_or(|(number, _)| *number != silo) {
            self.release();
            let reader = match self.silos.idle.take(silo) {
                Some((_, reader)) => reader,
                None => {
                    let Some(source) = self.silos.present_silo(silo)? else { return Ok(None) };
                    WarcReader::visiting(source).map_err(|error| StoreError::read(silo, error))?
                }
            };
            self.reader = Some((silo, reader));
        }
        Ok(self.reader.as_mut().map(|(_, reader)| reader))
    }

    fn release(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.silos.idle.give(reader);
        }
    }
}

impl Drop for RandomAccessReader<'_> {
    fn drop(&mut self) {
        self.release();
    }
}
