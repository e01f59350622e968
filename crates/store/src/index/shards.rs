//! The set of sorted shards, and the choice of the shard for an id.
//!
//! Another process may replace and split shards while this one opens them. No lock is needed: a
//! shard is replaced by a rename, and a split shard is removed only after its sixteen parts are in
//! place. A listing may miss part of a change, which the names reveal, or a listed file may be gone
//! because its entries moved. In both cases the folder is listed again.

use std::path::Path;
use std::sync::Arc;

use super::entry::{IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::file_names::{IndexFileName, ShardName, cover};
use super::merge::EntryStream;
use super::shard::Shard;
use crate::disk::Disk;

/// Maximum number of listings. One fails only while files are being renamed, which takes
/// microseconds.
const MAX_LISTINGS: usize = 100;

#[derive(Debug)]
pub(super) struct ShardSet {
    /// Together these contain every id.
    cover: Vec<Arc<Shard>>,
    /// The first prefix of each shard of the cover.
    firsts: Vec<IndexPrefix>,
    /// Shards that an interrupted split or rebuild left inside them. Their entries count and may be
    /// duplicates.
    inside: Vec<Arc<Shard>>,
}

impl ShardSet {
    /// Opens the shards that are in the folder now.
    pub(super) fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, IndexError> {
        let mut outcome = Self::try_open(disk, folder);
        for _ in 1..MAX_LISTINGS {
            match &outcome {
                Err(IndexError::Incomplete { .. }) => {}
                Err(IndexError::Disk(error)) if error.is_absent() => {}
                _ => break,
            }
            std::thread::yield_now();
            outcome = Self::try_open(disk, folder);
        }
        outcome
    }

    fn try_open(disk: &dyn Disk, folder: &Path) -> Result<Self, IndexError> {
        Self::open_these(disk, folder, &list(disk, folder)?)
    }

    /// Opens these shards and no others.
    pub(super) fn open_these(
        disk: &dyn Disk,
        folder: &Path,
        names: &[ShardName],
    ) -> Result<Self, IndexError> {
        let covering =
            cover(names).map_err(|first| IndexError::Incomplete { folder: folder.to_path_buf(), first })?;
        let open = |name: &ShardName| Shard::open(disk, folder, *name).map(Arc::new);
        let inside =
            names.iter().filter(|name| !covering.contains(name)).map(open).collect::<Result<_, _>>()?;
        let firsts = covering.iter().map(|name| name.range().first).collect();
        let cover = covering.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { cover, firsts, inside })
    }

    /// The shards that together contain every id.
    pub(super) fn cover(&self) -> &[Arc<Shard>] {
        &self.cover
    }

    /// The shards left inside those of the cover.
    pub(super) fn inside(&self) -> &[Arc<Shard>] {
        &self.inside
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Shard>> {
        self.cover.iter().chain(&self.inside)
    }

    /// The shard of the cover that an id belongs in.
    pub(super) fn of(&self, prefix: IndexPrefix) -> &Shard {
        match self.cover.as_slice() {
            [only] => only,
            several => &several[self.firsts.partition_point(|first| *first <= prefix) - 1],
        }
    }

    /// Calls `found` with each place of a prefix. A place may come twice.
    pub(super) fn find(
        &self,
        prefix: IndexPrefix,
        mut found: impl FnMut(SiloPlace),
    ) -> Result<(), IndexError> {
        self.of(prefix).find(prefix, &mut found)?;
        self.find_inside(prefix, found)
    }

    /// As [`Self::find`], in the shards inside those of the cover.
    pub(super) fn find_inside(
        &self,
        prefix: IndexPrefix,
        mut found: impl FnMut(SiloPlace),
    ) -> Result<(), IndexError> {
        let holding = self.inside.iter().filter(|shard| shard.name().range().contains(prefix));
        holding.into_iter().try_for_each(|shard| shard.find(prefix, &mut found))
    }

    pub(super) fn count(&self) -> u64 {
        self.all().map(|shard| shard.count()).sum()
    }

    pub(super) fn greatest_place(&self) -> Option<SiloPlace> {
        self.all().filter_map(|shard| shard.greatest_place()).max()
    }

    /// Streams that together hold all entries of a range.
    pub(super) fn streams(&self, range: PrefixRange) -> Result<Vec<EntryStream<'static>>, IndexError> {
        // The shards of the cover, one after the other, are one sorted stream.
        let touched: Vec<_> = self.cover.iter().filter(|shard| touches(shard, range)).cloned().collect();
        let covering = touched.into_iter().flat_map(move |shard| stream(&shard, range));
        let mut streams: Vec<EntryStream<'static>> = vec![Box::new(covering)];
        for shard in self.inside.iter().filter(|shard| touches(shard, range)) {
            streams.push(Box::new(shard.stream(range)?));
        }
        Ok(streams)
    }
}

fn touches(shard: &Shard, range: PrefixRange) -> bool {
    shard.name().range().intersection(range).is_some()
}

/// The stream of a shard; an error of opening it is its first item.
fn stream(shard: &Arc<Shard>, range: PrefixRange) -> EntryStream<'static> {
    match shard.stream(range) {
        Ok(stream) => Box::new(stream),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// The names of the shards in the folder.
pub(super) fn list(disk: &dyn Disk, folder: &Path) -> Result<Vec<ShardName>, IndexError> {
    let names = disk.list(folder)?;
    let sorted = names.iter().filter_map(|name| match IndexFileName::parse(name) {
        IndexFileName::Sorted(shard) => Some(shard),
        _ => None,
    });
    Ok(sorted.collect())
}
