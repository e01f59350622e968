//! The parts of an index put together for asking: sorted shards, appendices being merged, the live appendix.
//!
//! Reader and writer ask the same view, so there is one lookup. The view does not know how its parts came to be.

use super::appendices::Rotated;
use super::entry::{Entry, Place, Prefix, PrefixRange};
use super::error::IndexError;
use super::memory::Memory;
use super::merge::{Merge, Stream};
use super::places::Places;
use super::shards::Shards;

#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) shards: Shards,
    pub(super) rotated: Vec<Rotated>,
    pub(super) live: Memory,
}

impl View {
    /// All places of a prefix.
    #[inline]
    pub(super) fn find(&self, prefix: Prefix) -> Result<Places, IndexError> {
        let mut places = Places::default();
        for entry in self.shards.of(prefix).find(prefix)? {
            places.push(Entry::from_bytes(entry).place);
        }
        if self.may_hold_elsewhere(prefix) {
            self.find_elsewhere(prefix, &mut places)?;
        }
        Ok(places)
    }

    /// Whether there is anything to ask besides the cover.
    pub(super) fn has_more_than_cover(&self) -> bool {
        !self.live.is_empty() || !self.rotated.is_empty() || !self.shards.inside().is_empty()
    }

    /// Whether a prefix may be in an appendix or, rarely, in a leftover.
    #[inline]
    pub(super) fn may_hold_elsewhere(&self, prefix: Prefix) -> bool {
        self.live.may_hold(prefix)
            || self.rotated.iter().any(|rotated| rotated.memory.may_hold(prefix))
            || !self.shards.inside().is_empty()
    }

    /// Adds what is not in the cover.
    #[cold]
    pub(super) fn find_elsewhere(&self, prefix: Prefix, places: &mut Places) -> Result<(), IndexError> {
        self.live.find(prefix).for_each(|place| places.push(place));
        for rotated in &self.rotated {
            rotated.memory.find(prefix).for_each(|place| places.push(place));
        }
        for shard in self.shards.inside().iter().filter(|shard| shard.name().range().contains(prefix)) {
            shard.find(prefix)?.iter().for_each(|entry| places.push(Entry::from_bytes(entry).place));
        }
        Ok(())
    }

    /// All entries of a range, in order, each once.
    pub(super) fn entries(&self, range: PrefixRange) -> Result<Merge<'_>, IndexError> {
        if range.first > range.last {
            return Ok(Merge::new(Vec::new()));
        }
        let mut streams: Vec<Stream<'_>> = self.shards.streams(range)?;
        streams.push(Box::new(self.live.range(range).map(Ok)));
        for rotated in &self.rotated {
            streams.push(Box::new(rotated.memory.range(range).map(Ok)));
        }
        Ok(Merge::new(streams))
    }

    pub(super) fn count(&self) -> u64 {
        self.shards.count() + self.appended()
    }

    /// Entries that are not merged yet.
    pub(super) fn appended(&self) -> u64 {
        let rotated: usize = self.rotated.iter().map(|rotated| rotated.memory.len()).sum();
        (rotated + self.live.len()) as u64
    }

    pub(super) fn greatest_place(&self) -> Option<Place> {
        let rotated = self.rotated.iter().filter_map(|rotated| rotated.memory.greatest_place());
        rotated.chain(self.shards.greatest_place()).chain(self.live.greatest_place()).max()
    }
}
