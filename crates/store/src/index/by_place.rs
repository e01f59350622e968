//! Entries in the order of their places: as their records lie in the silos.
//!
//! An index is in the order of ids, which is none on a disk. Whoever goes through the silos along the index sorts it
//! anew, in bounded memory however large it is.

use std::path::Path;

use super::entry::{Entry, Place, Prefix};
use super::error::IndexError;
use super::merge::{Merge, Stream};
use super::runs::Runs;
use crate::disk::Disk;

/// Sorts entries by their places.
pub struct ByPlace<'a> {
    /// Turned entries: what is sorted first stands first.
    buffer: Vec<Entry>,
    runs: Runs<'a>,
    limit: usize,
}

impl<'a> ByPlace<'a> {
    /// Sorts so many entries in memory, and more in files in `folder`, which are left to whoever removes the folder.
    pub fn new(disk: &'a dyn Disk, folder: &'a Path, limit: usize) -> Self {
        Self { buffer: Vec::new(), runs: Runs::new(disk, folder), limit: limit.max(1) }
    }

    /// Adds an entry. The order does not matter.
    pub fn push(&mut self, entry: Entry) -> Result<(), IndexError> {
        self.buffer.push(turned(entry));
        if self.buffer.len() >= self.limit { self.runs.add(&mut self.buffer) } else { Ok(()) }
    }

    /// All entries in the order of their places, each once. An error ends it.
    pub fn entries(&mut self) -> impl Iterator<Item = Result<Entry, IndexError>> + '_ {
        self.buffer.sort_unstable();
        let buffered: Stream<'_> = Box::new(self.buffer.iter().copied().map(Ok));
        Merge::new(vec![Box::new(self.runs.entries()), buffered]).map(|entry| entry.map(turned))
    }
}

/// Place and prefix, exchanged; turned twice, an entry is what it was.
fn turned(entry: Entry) -> Entry {
    Entry { prefix: Prefix(entry.place.bits()), place: Place::from_bits(entry.prefix.0) }
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
            let mut order = ByPlace::new(&LocalDisk, folder.path(), limit);
            let entry = |(prefix, place)| Entry { prefix: Prefix(prefix), place: Place::from_bits(place) };
            let mut expected: Vec<Entry> = numbers.into_iter().map(entry).collect();
            for entry in &expected {
                order.push(*entry).unwrap();
            }
            expected.sort_unstable_by_key(|entry| (entry.place, entry.prefix));
            expected.dedup();
            let found: Vec<Entry> = order.entries().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}
