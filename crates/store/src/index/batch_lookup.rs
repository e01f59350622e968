//! Batched lookups.
//!
//! The cost of a lookup is that of reading a block of entries. So a batch is looked up in the order
//! of its prefixes, which is the order of the file: prefixes in one block cost one read together.
//!
//! A group is bounded, because the order and the hits of a group are in memory. It is large, because
//! the more lookups there are, the more of them share a block.

use super::entry::{IndexPrefix, SiloPlace};
use super::error::IndexError;
use super::shard::BlockReader;
use super::shards::ShardSet;

/// Lookups that run together. Their order and hits take eight MiB.
pub(super) const LOOKUPS_PER_GROUP: usize = 1 << 18;

/// The position of a prefix in its group, and one of its places.
pub(super) type GroupHit = (usize, SiloPlace);

impl ShardSet {
    /// Adds the places of a group of prefixes, in no particular order.
    pub(super) fn find_group(
        &self,
        prefixes: &[IndexPrefix],
        hits: &mut Vec<GroupHit>,
    ) -> Result<(), IndexError> {
        let mut order: Vec<(IndexPrefix, usize)> = prefixes.iter().copied().zip(0..).collect();
        order.sort_unstable();
        for members in order.chunk_by(|one, other| std::ptr::eq(self.of(one.0), self.of(other.0))) {
            let mut reader = BlockReader::new(self.of(members[0].0));
            for (prefix, member) in members {
                reader.find(*prefix, |place| hits.push((*member, place)))?;
                self.find_inside(*prefix, |place| hits.push((*member, place)))?;
            }
        }
        Ok(())
    }
}
