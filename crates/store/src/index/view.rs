//! The searchable whole of an index: sorted shards, rotated appendices, live appendix.
//!
//! Reader and writer share it, so there is one lookup. It does not know how its parts are made.

use super::appendices::RotatedAppendix;
use super::appendix_entries::AppendixEntries;
use super::entry::{IndexEntry, IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::merge::{EntryStream, MergedEntries};
use super::places::SiloPlaces;
use super::shards::ShardSet;

#[derive(Clone, Debug)]
pub(super) struct IndexView {
    pub(super) shards: ShardSet,
    pub(super) rotated: Vec<RotatedAppendix>,
    pub(super) live: AppendixEntries,
}

impl IndexView {
    /// All places of a prefix.
    #[inline]
    pub(super) fn find(&self, prefix: IndexPrefix) -> Result<SiloPlaces, IndexError> {
        let mut places = SiloPlaces::default();
        for entry in self.shards.of(prefix).find(prefix)? {
            places.push(IndexEntry::from_bytes(entry).place);
        }
        if self.may_hold_elsewhere(prefix) {
            self.find_elsewhere(prefix, &mut places)?;
        }
        Ok(places)
    }

    /// Whether there is anything to search besides the cover.
    pub(super) fn has_more_than_cover(&self) -> bool {
        !self.live.is_empty() || !self.rotated.is_empty() || !self.shards.inside().is_empty()
    }

    /// Whether a prefix may be in an appendix or in a leftover shard.
    #[inline]
    pub(super) fn may_hold_elsewhere(&self, prefix: IndexPrefix) -> bool {
        self.live.may_hold(prefix)
            || self.rotated.iter().any(|rotated| rotated.memory.may_hold(prefix))
            || !self.shards.inside().is_empty()
    }

    /// Adds the places that are not in the cover.
    #[cold]
    pub(super) fn find_elsewhere(
        &self,
        prefix: IndexPrefix,
        places: &mut SiloPlaces,
    ) -> Result<(), IndexError> {
        self.live.find(prefix).for_each(|place| places.push(place));
        for rotated in &self.rotated {
            rotated.memory.find(prefix).for_each(|place| places.push(place));
        }
        for shard in self.shards.inside().iter().filter(|shard| shard.name().range().contains(prefix)) {
            shard.find(prefix)?.iter().for_each(|entry| places.push(IndexEntry::from_bytes(entry).place));
        }
        Ok(())
    }

    /// All entries of a range, in order, each once. Copies those of the appendices, so that the
    /// view may change meanwhile.
    pub(super) fn entries(&self, range: PrefixRange) -> Result<MergedEntries<'static>, IndexError> {
        if range.first > range.last {
            return Ok(MergedEntries::new(Vec::new()));
        }
        let mut streams: Vec<EntryStream<'static>> = self.shards.streams(range)?;
        for appendix in self.rotated.iter().map(|rotated| &*rotated.memory).chain([&self.live]) {
            let entries: Vec<IndexEntry> = appendix.range(range).collect();
            streams.push(Box::new(entries.into_iter().map(Ok)));
        }
        Ok(MergedEntries::new(streams))
    }

    pub(super) fn count(&self) -> u64 {
        self.shards.count() + self.appended()
    }

    /// The number of entries that are not merged yet.
    pub(super) fn appended(&self) -> u64 {
        let rotated: usize = self.rotated.iter().map(|rotated| rotated.memory.len()).sum();
        (rotated + self.live.len()) as u64
    }

    pub(super) fn greatest_place(&self) -> Option<SiloPlace> {
        let rotated = self.rotated.iter().filter_map(|rotated| rotated.memory.greatest_place());
        rotated.chain(self.shards.greatest_place()).chain(self.live.greatest_place()).max()
    }
}
