//! What silos hold, whatever an index knows: for audits that find something missing and know that the index is not whole.

use std::collections::HashSet;

use varve_warc::Record;
use varve_warc::source::ReadAt;

use crate::error::StoreError;
use crate::reader::Store;
use crate::record::ids;
use crate::silo::walk;

/// Those of the ids that whole records have, or bodies in them. Every silo is read.
pub fn held_in_silos(
    store: &Store,
    wanted: &HashSet<[u8; 32]>,
    threads: usize,
) -> Result<HashSet<[u8; 32]>, StoreError> {
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

/// The ids of a record, if one of them is looked for.
fn wanted_of<S: ReadAt>(record: &mut Record<'_, S>, wanted: &HashSet<[u8; 32]>) -> Option<Vec<[u8; 32]>> {
    let (own, body) = ids(record.header());
    let found: Vec<[u8; 32]> = own.into_iter().chain(body).filter(|id| wanted.contains(id)).collect();
    Some(found).filter(|found| !found.is_empty())
}
