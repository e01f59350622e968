//! Visiting records: one here and one there, thousands of them, each looked at for a moment.
//!
//! A reader costs more to make than a header to read. So readers are made once and used again, by one visitor at a time;
//! when a visitor goes, its reader waits for the next. What it had read ahead is forgotten then: whoever comes later sees
//! the silo as it is then.

use std::sync::{Arc, Mutex, PoisonError};

use varve_warc::source::ReadAt;
use varve_warc::{Error, Extent, Reader, Record};

use super::OpenSilos;
use crate::error::StoreError;
use crate::index::Place;
use crate::silo::SiloError;

/// So many readers wait; beyond that, the one that has waited longest goes.
const MOST_IDLE: usize = 8;

type SiloReader = Reader<Arc<dyn ReadAt>>;

/// Readers that wait for a visitor, each with the number of its silo.
#[derive(Default)]
pub(crate) struct IdleReaders(Mutex<Vec<(u32, SiloReader)>>);

impl IdleReaders {
    fn take(&self, silo: u32) -> Option<(u32, SiloReader)> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|(number, _)| *number == silo)?;
        Some(idle.remove(at))
    }

    fn give(&self, (silo, mut reader): (u32, SiloReader)) {
        reader.forget();
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MOST_IDLE {
            idle.remove(0);
        }
        idle.push((silo, reader));
    }
}

/// Visits records. Quickest in the order in which they lie.
pub(crate) struct Visitor<'a> {
    pub(crate) silos: &'a OpenSilos,
    reader: Option<(u32, SiloReader)>,
}

impl OpenSilos {
    /// One who visits records.
    pub(crate) fn visitor(&self) -> Visitor<'_> {
        Visitor { silos: self, reader: None }
    }
}

impl Visitor<'_> {
    /// The record at a place; none when no record begins there, or the silo is gone.
    pub(crate) fn record(
        &mut self,
        place: Place,
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

    /// Whether nothing speaks against the record that was just visited ending there.
    pub(crate) fn may_end_at(&mut self, end: u64) -> Result<bool, StoreError> {
        match &mut self.reader {
            Some((silo, reader)) => reader.may_end_at(end).map_err(|error| StoreError::read(*silo, error)),
            None => Ok(false),
        }
    }

    /// A reader of a silo; none when the silo is gone.
    fn reader_of(&mut self, silo: u32) -> Result<Option<&mut SiloReader>, StoreError> {
        if self.reader.as_ref().is_none_or(|(number, _)| *number != silo) {
            self.leave();
            let taken = match self.silos.idle.take(silo) {
                Some(taken) => taken,
                None => match self.silos.silo(silo) {
                    Ok(source) => {
                        let reader = Reader::visiting(source).map_err(|error| StoreError::read(silo, error));
                        (silo, reader?)
                    }
                    Err(SiloError::Missing { .. }) => return Ok(None),
                    Err(error) => return Err(error.into()),
                },
            };
            self.reader = Some(taken);
        }
        Ok(self.reader.as_mut().map(|(_, reader)| reader))
    }

    fn leave(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.silos.idle.give(reader);
        }
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
