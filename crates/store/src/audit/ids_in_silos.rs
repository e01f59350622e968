//! Finds ids in the silos without the index, for audits that miss something while the index is
//! incomplete.

use std::collections::HashSet;

use varve_core::RecordId;
use varve_warc::Record;
use varve_wire::ReadAt;

use crate::error::StoreError;
use crate::reader::StoreReader;
use crate::record::record_and_body_ids;
use crate::silo::walk;

/// The ids in `wanted` that complete records or their bodies have. Reads every silo.
pub fn find_ids_in_silos(
    store: &StoreReader,
    wanted: &HashSet<RecordId>,
    threads: usize,
) -> Result<HashSet<RecordId>, StoreError> {
    let mut held = HashSet::new();
    for number in store.files().list()?.into_keys() {
        let source = store.silo(number)?;
        let mut seen = Vec::new();
        let walked =
            walk(&*source, number, threads, &|_| {}, &|record| wanted_of(record, wanted), &mut |part| {
                seen.extend(part.seen);
            })
            .map_err(|error| StoreError::walk(number, error))?;
        let whole = seen.into_iter().filter(|(offset, _)| *offset < walked.good);
        held.extend(whole.flat_map(|(_, ids)| ids));
    }
    Ok(held)
}

/// The ids of a record that are in `wanted`, if any.
fn wanted_of<S: ReadAt>(record: &mut Record<'_, S>, wanted: &HashSet<RecordId>) -> Option<Vec<RecordId>> {
    let (own, body) = record_and_body_ids(record.header());
    let found: Vec<RecordId> =
        own.into_iter().chain(body.map(RecordId::of_body)).filter(|id| wanted.contains(id)).collect();
    Some(found).filter(|found| !found.is_empty())
}
