//! Divides a set of entries into shards.
//!
//! A shard of more than `limit` entries is replaced by the sixteen shards of its next hexadecimal
//! digit, empty ones included, recursively up to four digits. The division depends only on the set
//! and the limit, so a rebuild divides as years of housekeeping did. Entries are never removed, so
//! a split is never undone.

use super::entry::{IndexEntry, IndexPrefix};
use super::error::IndexError;
use super::file_names::ShardName;

/// The number of entries of a shard for each value of the first sixteen bits.
pub(super) struct PrefixCounts {
    /// The first value that the shard can hold.
    first: usize,
    counts: Vec<u64>,
}

impl PrefixCounts {
    /// Counts the entries of the shard `name`.
    pub(super) fn of(
        name: ShardName,
        entries: impl Iterator<Item = Result<IndexEntry, IndexError>>,
    ) -> Result<Self, IndexError> {
        let first = sixteen(name.range().first);
        let mut counts = vec![0; sixteen(name.range().last) - first + 1];
        for entry in entries {
            counts[sixteen(entry?.prefix) - first] += 1;
        }
        Ok(Self { first, counts })
    }

    /// The number of entries in a shard inside the counted one.
    pub(super) fn within(&self, name: ShardName) -> u64 {
        let range = name.range();
        self.counts[sixteen(range.first) - self.first..=sixteen(range.last) - self.first].iter().sum()
    }

    /// The shards that replace `name`, with their counts, in order.
    pub(super) fn divide(&self, name: ShardName, limit: u64) -> Vec<(ShardName, u64)> {
        let mut shards = Vec::new();
        self.divide_into(name, limit, &mut shards);
        shards
    }

    fn divide_into(&self, name: ShardName, limit: u64, shards: &mut Vec<(ShardName, u64)>) {
        let count = self.within(name);
        match name.children() {
            Some(children) if count > limit => {
                children.for_each(|child| self.divide_into(child, limit, shards))
            }
            _ => shards.push((name, count)),
        }
    }
}

fn sixteen(prefix: IndexPrefix) -> usize {
    (prefix.0 >> 48) as usize
}

#[cfg(test)]
mod tests {
    use super::super::entry::SiloPlace;
    use super::super::file_names::cover;
    use super::*;

    fn counts(prefixes: &[u64]) -> PrefixCounts {
        let entry =
            |prefix: &u64| Ok(IndexEntry { prefix: IndexPrefix(*prefix), place: SiloPlace::from_number(0) });
        PrefixCounts::of(ShardName::ROOT, prefixes.iter().map(entry)).unwrap()
    }

    #[test]
    fn few_entries_stay_together() {
        assert_eq!(counts(&[1, 2]).divide(ShardName::ROOT, 2), [(ShardName::ROOT, 2)]);
        assert_eq!(counts(&[]).divide(ShardName::ROOT, 0), [(ShardName::ROOT, 0)]);
    }

    #[test]
    fn a_split_covers_everything_and_loses_nothing() {
        let divided = counts(&[0, 1 << 48, 0xf << 60, 0xff << 56, u64::MAX]).divide(ShardName::ROOT, 2);
        let names: Vec<_> = divided.iter().map(|(name, _)| *name).collect();
        assert_eq!(cover(&names).unwrap(), names);
        assert_eq!(divided.iter().map(|(_, count)| count).sum::<u64>(), 5);
        assert!(divided.iter().all(|(_, count)| *count <= 2));
        assert_eq!(names.len(), 31, "sixteen, and sixteen in place of `sorted-f`");
    }

    #[test]
    fn ids_that_agree_in_sixteen_bits_are_divided_no_further() {
        let divided = counts(&[7, 7, 8, 9]).divide(ShardName::ROOT, 1);
        assert_eq!(divided[0], (ShardName::new(4, 0).unwrap(), 4));
        assert_eq!(divided.len(), 4 * 15 + 1);
    }
}
