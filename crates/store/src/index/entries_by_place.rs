//! Sorts index entries by place, the order of their records in the silos.
//!
//! The index is sorted by id. The quick audit reads the silos along the index and sorts it by
//! place, in bounded memory.

use std::path::Path;

use super::entry::{IndexEntry, IndexPrefix, SiloPlace};
use super::error::IndexError;
use super::merge::{EntryStream, MergedEntries};
use super::sorted_runs::SortedRuns;
use crate::disk::Disk;

/// Sorts entries by place.
pub struct EntriesByPlace<'a> {
    /// Entries with place and prefix swapped, so that they sort by place.
    buffer: Vec<IndexEntry>,
    runs: SortedRuns<'a>,
    limit: usize,
}

impl<'a> EntriesByPlace<'a> {
    /// Sorts up to `limit` entries in memory and more in files in `folder`. The caller removes the
    /// folder.
    pub fn new(disk: &'a dyn Disk, folder: &'a Path, limit: usize) -> Self {
        Self { buffer: Vec::new(), runs: SortedRuns::new(disk, folder), limit: limit.max(1) }
    }

    /// Adds an entry. The order does not matter.
    pub fn push(&mut self, entry: IndexEntry) -> Result<(), IndexError> {
        self.buffer.push(turned(entry));
        if self.buffer.len() >= self.limit { self.runs.add(&mut self.buffer) } else { Ok(()) }
    }

    /// All entries in order of place, each once. Ends after an error.
    pub fn entries(&mut self) -> impl Iterator<Item = Result<IndexEntry, IndexError>> + '_ {
        self.buffer.sort_unstable();
        let buffered: EntryStream<'_> = Box::new(self.buffer.iter().copied().map(Ok));
        MergedEntries::new(vec![Box::new(self.runs.entries()), buffered]).map(|entry| entry.map(turned))
    }
}

/// Swaps place and prefix.
fn turned(entry: IndexEntry) -> IndexEntry {
    IndexEntry { prefix: IndexPrefix(entry.place.number()), place: SiloPlace::from_number(entry.prefix.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::LocalDisk;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_in_the_order_of_places(
            numbers in prop::collection::vec((any::<u64>(), any::<u64>()), 0..200), limit in 1_usize..50,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let disk = LocalDisk::new(folder.path());
            let mut order = EntriesByPlace::new(&disk, folder.path(), limit);
            let entry = |(prefix, place)| IndexEntry { prefix: IndexPrefix(prefix), place: SiloPlace::from_number(place) };
            let mut expected: Vec<IndexEntry> = numbers.into_iter().map(entry).collect();
            for entry in &expected {
                order.push(*entry).unwrap();
            }
            expected.sort_unstable_by_key(|entry| (entry.place, entry.prefix));
            expected.dedup();
            let found: Vec<IndexEntry> = order.entries().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}
