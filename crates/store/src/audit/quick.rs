//! The quick look: every entry of the index against the header it leads to, and the end of every silo.
//!
//! No block is read but that of the last record of each silo, behind which the file must end.
//!
//! Entries come in the order of their ids, which is no order on a disk; so they are taken in batches and each batch is
//! sorted by place before the headers are read.

use std::collections::BTreeMap;

use super::{AuditFinding, AuditKind, Run, index};
use crate::error::StoreError;
use crate::index::{Entry, Place, PrefixRange};
use crate::silo::{SiloError, SiloFile, walk_from};

/// So many entries are sorted at a time: 16 MB.
const BATCH: usize = 1 << 20;

/// Checks all entries that lead to chosen silos.
pub(super) fn entries(run: &mut Run<'_>, silos: &[SiloFile]) -> Result<(), StoreError> {
    let left_out: Vec<u32> =
        silos.iter().filter(|silo| !(run.options.chosen)(silo)).map(|silo| silo.number).collect();
    let store = run.store;
    let mut batch: Vec<Entry> = Vec::new();
    let mut last: BTreeMap<u32, Place> = BTreeMap::new();
    for entry in store.index().entries(PrefixRange::ALL)? {
        let entry = entry?;
        if left_out.binary_search(&entry.place.silo()).is_ok() {
            continue;
        }
        let greatest = last.entry(entry.place.silo()).or_insert(entry.place);
        *greatest = entry.place.max(*greatest);
        batch.push(entry);
        if batch.len() == BATCH {
            check(run, &mut batch)?;
        }
    }
    check(run, &mut batch)?;
    for place in last.into_values() {
        end_of_silo(run, silos, place)?;
    }
    Ok(())
}

/// Behind the last record that the index knows a sealed silo must end.
fn end_of_silo(run: &mut Run<'_>, silos: &[SiloFile], place: Place) -> Result<(), StoreError> {
    let number = place.silo();
    let Some(silo) = silos.iter().find(|silo| silo.number == number) else { return Ok(()) };
    let source = match run.store.silo(number) {
        Ok(source) => source,
        // Reported as missing already.
        Err(SiloError::Missing { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let walked =
        walk_from(&source, place.offset(), |_, _| {}).map_err(|error| StoreError::read(number, error))?;
    let ends_well = walked.good == silo.length || (!silo.read_only && walked.good > place.offset());
    if !ends_well {
        let message = format!("whole records end at byte {} of {}", walked.good, silo.length);
        run.report(AuditFinding::new(AuditKind::Damaged, message).at(number, walked.good));
    }
    Ok(())
}

fn check(run: &mut Run<'_>, batch: &mut Vec<Entry>) -> Result<(), StoreError> {
    batch.sort_unstable_by_key(|entry| entry.place);
    for entry in batch.drain(..) {
        index::check_entry(run, entry)?;
        run.done.records += 1;
    }
    Ok(())
}
