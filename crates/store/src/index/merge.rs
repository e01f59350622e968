//! Merges sorted streams of entries into one without duplicates.
//!
//! All writers of sorted shards read from it, so memory does not grow with the number of entries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::entry::IndexEntry;
use super::error::IndexError;

/// A sorted stream of entries that ends after an error.
pub(super) type EntryStream<'a> = Box<dyn Iterator<Item = Result<IndexEntry, IndexError>> + 'a>;

/// The union of sorted streams, in order.
pub(super) struct MergedEntries<'a> {
    streams: Vec<EntryStream<'a>>,
    heads: BinaryHeap<Reverse<(IndexEntry, usize)>>,
    failed: Option<IndexError>,
    last: Option<IndexEntry>,
}

impl<'a> MergedEntries<'a> {
    pub(super) fn new(streams: Vec<EntryStream<'a>>) -> Self {
        let heads = BinaryHeap::with_capacity(streams.len());
        let mut merge = Self { streams, heads, failed: None, last: None };
        for number in 0..merge.streams.len() {
            if let Some(entry) = merge.pull(number) {
                merge.heads.push(Reverse((entry, number)));
            }
        }
        merge
    }

    /// The next entry of one stream. The first error ends the merged stream.
    fn pull(&mut self, number: usize) -> Option<IndexEntry> {
        match self.streams[number].next()? {
            Ok(entry) => Some(entry),
            Err(error) => {
                self.failed.get_or_insert(error);
                None
            }
        }
    }

    /// Takes the smallest head and advances its stream.
    fn pop(&mut self) -> Option<IndexEntry> {
        let Reverse((entry, number)) = *self.heads.peek()?;
        let following = self.pull(number);
        let top = self.heads.peek_mut()?;
        match following {
            Some(next) => replace(top, next, number),
            None => drop(PeekMut::pop(top)),
        }
        Some(entry)
    }
}

fn replace(mut top: PeekMut<'_, Reverse<(IndexEntry, usize)>>, entry: IndexEntry, number: usize) {
    *top = Reverse((entry, number));
}

impl Iterator for MergedEntries<'_> {
    type Item = Result<IndexEntry, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.failed.take() {
                self.heads.clear();
                return Some(Err(error));
            }
            let entry = self.pop()?;
            if self.last != Some(entry) {
                self.last = Some(entry);
                return Some(Ok(entry));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::entry::{IndexPrefix, SiloPlace};
    use super::*;
    use proptest::prelude::*;

    fn entry(prefix: u64) -> IndexEntry {
        IndexEntry { prefix: IndexPrefix(prefix), place: SiloPlace::from_number(0) }
    }

    proptest! {
        #[test]
        fn the_union_is_sorted_and_has_each_entry_once(sets in prop::collection::vec(prop::collection::btree_set(0_u64..50, 0..20), 0..6)) {
            let streams = sets.iter().map(|set| -> EntryStream { Box::new(set.iter().map(|n| Ok(entry(*n)))) }).collect();
            let merged: Vec<_> = MergedEntries::new(streams).map(|one| one.unwrap().prefix.0).collect();
            let union: BTreeSet<_> = sets.iter().flatten().copied().collect();
            prop_assert_eq!(merged, union.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_in_any_stream_ends_the_whole() {
        let broken = IndexError::damaged(Path::new("x"), 0, "for the test");
        let streams: Vec<EntryStream> = vec![
            Box::new([Ok(entry(1)), Err(broken)].into_iter()),
            Box::new([Ok(entry(2)), Ok(entry(3))].into_iter()),
        ];
        let merged: Vec<_> = MergedEntries::new(streams).collect();
        assert_eq!(merged.iter().filter(|one| one.is_err()).count(), 1);
        assert!(merged.last().unwrap().is_err());
    }
}
