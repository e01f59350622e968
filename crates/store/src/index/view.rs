//! The searchable whole of an index: sorted shards, rotated appendices, live appendix.
//!
//! Reader and writer share it, so there is one lookup. It does not know how its parts are made.
//!
//! A lookup takes the places in the appendices and the set of shards from one view, and searches the
//! shards afterwards. So a view that is behind a lock is locked only while memory is read.

use std::sync::Arc;

use super::appendices::RotatedAppendix;
use super::appendix_entries::AppendixEntries;
use super::batch_lookup::GroupHit;
use super::entry::{IndexEntry, IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::merge::{EntryStream, MergedEntries};
use super::places::SiloPlaces;
use super::shards::ShardSet;

#[derive(Clone, Debug)]
pub(super) struct IndexView {
    pub(super) shards: Arc<ShardSet>,
    pub(super) rotated: Vec<RotatedAppendix>,
    pub(super) live: AppendixEntries,
}

impl IndexView {
    /// The places of a prefix in the appendices.
    pub(super) fn recent_places(&self, prefix: IndexPrefix) -> SiloPlaces {
        self.appendices()
            .filter(|appendix| appendix.may_hold(prefix))
            .flat_map(|appendix| appendix.find(prefix))
            .collect()
    }

    /// The places of a group of prefixes in the appendices.
    pub(super) fn recent_hits(&self, prefixes: &[IndexPrefix]) -> Vec<GroupHit> {
        let mut hits = Vec::new();
        for appendix in self.appendices().filter(|appendix| !appendix.is_empty()) {
            for (member, prefix) in prefixes.iter().enumerate().filter(|(_, it)| appendix.may_hold(**it)) {
                hits.extend(appendix.find(*prefix).map(|place| (member, place)));
            }
        }
        hits
    }

    fn appendices(&self) -> impl Iterator<Item = &AppendixEntries> {
        self.rotated.iter().map(|rotated| &*rotated.memory).chain([&self.live])
    }

    /// All entries of a range, in order, each once. Copies those of the appendices, so that the
    /// view may change meanwhile.
    pub(super) fn entries(&self, range: PrefixRange) -> Result<MergedEntries<'static>, IndexError> {
        if range.first > range.last {
            return Ok(MergedEntries::new(Vec::new()));
        }
        let mut streams: Vec<EntryStream<'static>> = self.shards.streams(range)?;
        for appendix in self.appendices() {
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
