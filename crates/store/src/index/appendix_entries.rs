//! The entries of an appendix in memory.
//!
//! A tree keeps the entries sorted for lookups, ranges and merges. Most lookups are for absent ids,
//! and a tree lookup would cost as much as the one in the sorted file. So a bitmap over the leading
//! bits of the prefixes, sixteen bits per entry, rejects most of them first. A hash table was
//! declined: an attacker who chooses contents can choose their leading bits, which does not slow a
//! tree.

use std::collections::BTreeSet;

use super::entry::{IndexEntry, IndexPrefix, PrefixRange, SiloPlace};

const MIN_FILTER_BITS: u32 = 10;

/// A sorted set of entries with a filter.
#[derive(Clone, Debug)]
pub(super) struct AppendixEntries {
    entries: BTreeSet<IndexEntry>,
    filter: Vec<u64>,
    /// The filter has two to this power bits.
    filter_bits: u32,
}

impl AppendixEntries {
    pub(super) fn new() -> Self {
        Self::from_set(BTreeSet::new())
    }

    fn from_set(entries: BTreeSet<IndexEntry>) -> Self {
        let wanted = entries.len().saturating_mul(16).max(1 << MIN_FILTER_BITS);
        let filter_bits = wanted.next_power_of_two().trailing_zeros();
        let mut memory = Self { entries, filter: vec![0; 1 << (filter_bits - 6)], filter_bits };
        for entry in &memory.entries {
            let bit = (entry.prefix.0 >> (64 - filter_bits)) as usize;
            memory.filter[bit / 64] |= 1 << (bit % 64);
        }
        memory
    }

    pub(super) fn insert(&mut self, entries: &[IndexEntry]) {
        for entry in entries {
            let bit = self.bit(entry.prefix);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
        self.entries.extend(entries);
        if self.entries.len() * 8 > 1 << self.filter_bits {
            *self = Self::from_set(std::mem::take(&mut self.entries));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the set may contain this prefix.
    #[inline]
    pub(super) fn may_hold(&self, prefix: IndexPrefix) -> bool {
        let bit = self.bit(prefix);
        self.filter[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The places of a prefix, in order.
    pub(super) fn find(&self, prefix: IndexPrefix) -> impl Iterator<Item = SiloPlace> + '_ {
        self.range(PrefixRange { first: prefix, last: prefix }).map(|entry| entry.place)
    }

    /// The entries of a range, in order.
    pub(super) fn range(&self, range: PrefixRange) -> impl Iterator<Item = IndexEntry> + '_ {
        self.entries.range(IndexEntry::first_of(range.first)..=IndexEntry::last_of(range.last)).copied()
    }

    pub(super) fn greatest_place(&self) -> Option<SiloPlace> {
        self.entries.iter().map(|entry| entry.place).max()
    }

    #[inline]
    fn bit(&self, prefix: IndexPrefix) -> usize {
        (prefix.0 >> (64 - self.filter_bits)) as usize
    }
}

impl From<Vec<IndexEntry>> for AppendixEntries {
    fn from(mut entries: Vec<IndexEntry>) -> Self {
        entries.sort_unstable();
        Self::from_set(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(prefix: u64, place: u64) -> IndexEntry {
        IndexEntry { prefix: IndexPrefix(prefix), place: SiloPlace::from_number(place) }
    }

    #[test]
    fn equal_entries_are_one_and_equal_prefixes_are_two() {
        let mut memory = AppendixEntries::new();
        memory.insert(&[entry(5, 1), entry(5, 1), entry(5, 0), entry(6, 9)]);
        assert_eq!(memory.len(), 3);
        assert_eq!(memory.find(IndexPrefix(5)).map(SiloPlace::number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(memory.greatest_place(), Some(SiloPlace::from_number(9)));
    }

    #[test]
    fn the_filter_grows_and_mostly_says_no() {
        let mut memory = AppendixEntries::new();
        let spread = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in 0..10_000 {
            memory.insert(&[entry(spread(n), n)]);
        }
        assert!((0..10_000).all(|n| memory.may_hold(IndexPrefix(spread(n)))));
        let wrong = (10_000..20_000).filter(|n| memory.may_hold(IndexPrefix(spread(*n)))).count();
        assert!(wrong < 2_000, "{wrong}");
    }

    proptest! {
        #[test]
        fn written_batches_are_always_read_back(all: Vec<(u64, u64)>) {
            let entries: Vec<_> = all.iter().map(|(prefix, place)| entry(*prefix, *place)).collect();
            let memory = AppendixEntries::from(entries.clone());
            for one in &entries {
                prop_assert!(memory.may_hold(one.prefix));
                prop_assert!(memory.find(one.prefix).any(|place| place == one.place));
            }
        }
    }
}
