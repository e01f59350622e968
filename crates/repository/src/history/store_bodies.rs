//! Reads the data of a capture from a store: its body, its response head, the location of its
//! record.
//!
//! The caller first checks whether the page may be shown at all.

use std::io::Read;

use varve_core::body::BodySource;
use varve_core::history::Capture;
use varve_core::receipt::Renderings;
use varve_core::{BodyId, RecordId};
use varve_store::StoreReader;

use super::{RecordPlace, read_whole_body};
use crate::error::RepositoryError;

/// Maximum size of a record that is read only to measure its length.
const MAX_MEASURED_BYTES: u64 = 1 << 20;

/// Opens the body by its id. The body of a truncated response is found only through its record.
pub(super) fn open_body(
    store: &StoreReader,
    capture: &Capture,
) -> Result<Box<dyn Read + Send>, RepositoryError> {
    if let Some(body) = store.open_body(&capture.body)? {
        return Ok(body);
    }
    let record = capture.record.unwrap_or(RecordId::of_body(capture.body));
    match store.response_body(&record)? {
        Some(body) => Ok(Box::new(body)),
        None => Err(RepositoryError::Absent { id: capture.body.to_string() }),
    }
}

pub(super) fn read_body(
    store: &StoreReader,
    capture: &Capture,
    most: u64,
    into: &mut Vec<u8>,
) -> Result<bool, RepositoryError> {
    if store.read_body(&capture.body, most, into)? {
        return Ok(true);
    }
    read_whole_body(open_body(store, capture)?, capture, most, into)
}

pub(super) fn order_of(store: &StoreReader, captures: &[&Capture]) -> Result<Vec<u64>, RepositoryError> {
    let bodies: Vec<BodyId> = captures.iter().map(|capture| capture.body).collect();
    Ok(store.order_of(&bodies)?)
}

pub(super) fn wire_head(store: &StoreReader, capture: &Capture) -> Result<Option<Vec<u8>>, RepositoryError> {
    match capture.record {
        Some(record) => Ok(store.response_head(&record)?),
        None => Ok(None),
    }
}

pub(super) fn open_payload(
    store: &StoreReader,
    capture: &Capture,
) -> Result<Option<Box<dyn Read + Send>>, RepositoryError> {
    let Some(record) = capture.record else { return Ok(None) };
    let payload = store.response_payload(&record)?;
    Ok(payload.map(|payload| Box::new(payload) as Box<dyn Read + Send>))
}

pub(super) fn place(store: &StoreReader, capture: &Capture) -> Result<RecordPlace, RepositoryError> {
    let record = capture.record.unwrap_or(RecordId::of_body(capture.body));
    let absent = || RepositoryError::Absent { id: record.to_string() };
    let located = store.find(&record)?.ok_or_else(absent)?;
    let is_long = located.header.content_length().unwrap_or(0) > MAX_MEASURED_BYTES;
    let length = if is_long { None } else { store.packed_length(located.place)? };
    let file = store.silo_name(located.place.silo())?.ok_or_else(absent)?;
    Ok(RecordPlace { file, offset: located.place.offset(), length })
}

pub(super) fn renderings(store: &StoreReader, capture: &Capture) -> Result<Renderings, RepositoryError> {
    let Some(record) = capture.record else { return Ok(Renderings::default()) };
    let located = store.find(&record)?;
    Ok(located.map(|located| varve_store::exchange::renderings_of(&located.header)).unwrap_or_default())
}
