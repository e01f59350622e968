//! Finds the tombstone of a capture that was purged.

use std::io::Read;

use varve_catalog::Removal;
use varve_core::RecordId;
use varve_core::history::Capture;

use super::HistoryReader;
use crate::error::RepositoryError;

/// The removal of a capture from its version, or of its body from the silos. `None` if the body is
/// present, or was lost in another way.
pub fn removal_of(history: &HistoryReader, capture: &Capture) -> Result<Option<Removal>, RepositoryError> {
    if let Some(removal) = history.catalog().removal_of_page(capture)? {
        return Ok(Some(removal));
    }
    let body = RecordId::of_body(capture.body);
    let mut records = vec![body];
    records.extend(capture.record.filter(|record| *record != body));
    for record in records {
        let mut removals = history.catalog().removals_of(&record)?.into_iter();
        let takes_record =
            |removal: &Removal| removal.tombstone.is_of_record() && removal.tombstone.replaced_by.is_none();
        let Some(removal) = removals.find(takes_record) else {
            continue;
        };
        // The same content may have been stored again.
        return match history.open_body(capture) {
            Err(RepositoryError::Absent { .. }) => Ok(Some(removal)),
            opened => opened.map(|_| None),
        };
    }
    Ok(None)
}

/// Opens the body of a capture. If it was removed, the error states the removal.
pub fn open_body_or_removal(
    history: &HistoryReader,
    capture: &Capture,
) -> Result<Box<dyn Read + Send>, RepositoryError> {
    match history.open_body(capture) {
        Err(absent @ RepositoryError::Absent { .. }) => Err(match removal_of(history, capture)? {
            Some(removal) => {
                RepositoryError::Removed { url: capture.url.clone(), removal: Box::new(removal) }
            }
            None => absent,
        }),
        opened => opened,
    }
}
