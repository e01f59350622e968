//! All sorted shards together: which files are there, and which of them an id is looked up in.
//!
//! Shards are replaced and split by another process while this one opens them. That needs no lock: a shard is replaced
//! by a rename, and the shard that was split goes only after the sixteen that replace it are in place. So one of three
//! things is found: all files; a listing that saw too little of a change under way, which the names prove; or a name
//! whose file has gone, which means that its entries are elsewhere by now. In the last two cases it lists again.

use std::path::Path;
use std::sync::Arc;

use super::entry::{Place, Prefix, PrefixRange};
use super::error::IndexError;
use super::merge::Stream;
use super::names::{FileName, ShardName, cover};
use super::shard::Shard;
use crate::disk::Disk;

/// A listing can only be unlucky while files are being renamed, which takes microseconds and ends.
const TRIES: usize = 100;

#[derive(Clone, Debug)]
pub(super) struct Shards {
    /// Side by side these hold every id.
    cover: Vec<Arc<Shard>>,
    /// The first prefix of each of them.
    firsts: Vec<Prefix>,
    /// What an interrupted split or rebuild left inside them. Their entries count too, and may be double.
    inside: Vec<Arc<Shard>>,
}

impl Shards {
    /// Opens the shards that are in the folder now.
    pub(super) fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, IndexError> {
        let mut outcome = Self::try_open(disk, folder);
        for _ in 1..TRIES {
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

    /// The shards that side by side hold every id.
    pub(super) fn cover(&self) -> &[Arc<Shard>] {
        &self.cover
    }

    /// What was left inside the shards of the cover.
    pub(super) fn inside(&self) -> &[Arc<Shard>] {
        &self.inside
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Shard>> {
        self.cover.iter().chain(&self.inside)
    }

    /// The shard of the cover that an id belongs in.
    #[inline]
    pub(super) fn of(&self, prefix: Prefix) -> &Shard {
        match self.cover.as_slice() {
            [only] => only,
            several => &several[self.firsts.partition_point(|first| *first <= prefix) - 1],
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.all().map(|shard| shard.count()).sum()
    }

    pub(super) fn greatest_place(&self) -> Option<Place> {
        self.all().filter_map(|shard| shard.greatest_place()).max()
    }

    /// Streams that together hold all entries of a range.
    pub(super) fn streams(&self, range: PrefixRange) -> Result<Vec<Stream<'static>>, IndexError> {
        // The cover side by side is one sorted stream, whatever the number of shards.
        let touched: Vec<_> = self.cover.iter().filter(|shard| touches(shard, range)).cloned().collect();
        let covering = touched.into_iter().flat_map(move |shard| stream(&shard, range));
        let mut streams: Vec<Stream<'static>> = vec![Box::new(covering)];
        for shard in self.inside.iter().filter(|shard| touches(shard, range)) {
            streams.push(Box::new(shard.stream(range)?));
        }
        Ok(streams)
    }
}

fn touches(shard: &Shard, range: PrefixRange) -> bool {
    shard.name().range().intersection(range).is_some()
}

/// A stream that begins with the error if it cannot begin at all.
fn stream(shard: &Arc<Shard>, range: PrefixRange) -> Stream<'static> {
    match shard.stream(range) {
        Ok(stream) => Box::new(stream),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// The names of the shards in the folder now.
pub(super) fn list(disk: &dyn Disk, folder: &Path) -> Result<Vec<ShardName>, IndexError> {
    let names = disk.list(folder)?;
    let sorted = names.iter().filter_map(|name| match FileName::parse(name) {
        FileName::Sorted(shard) => Some(shard),
        _ => None,
    });
    Ok(sorted.collect())
}
