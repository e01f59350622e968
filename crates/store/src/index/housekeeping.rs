//! Housekeeping: the appendix becomes part of the sorted shards.
//!
//! The steps, and what a crash after each leaves behind:
//!
//! 1. The live appendix is synced and renamed to `appendix-<n>`, and later appends go to a new one.
//!    *A crash*: readers ask `appendix-<n>` like the live one, and the next housekeeping starts at step 2.
//! 2. New shards are written under temporary names and synced. *A crash*: unfinished files, which nobody reads.
//! 3. One after the other they are renamed over the old shards. *A crash*: some shards have the new entries and some do
//!    not, but all new entries are in `appendix-<n>` too. Where a shard was split, the old one is still there and holds
//!    what its sixteen heirs do; whoever finds both asks both.
//! 4. The folder is synced. Only then are split shards and `appendix-<n>` removed.
//!    *A crash*: entries in two places, which answer as one.
//!
//! At every point each entry is in at least one file, and an entry in two files is one entry. So there is no moment that
//! must not be interrupted, no journal and no repair: the next housekeeping does the same again.
//!
//! Old and new shards exist side by side while this runs, so it needs as much free space as the sorted shards take. It
//! reads in a stream and needs little memory. It never gives damaged entries a new and right checksum: it stops at the
//! first block or batch that does not match, and everything stays as it was.

use std::sync::{Arc, PoisonError};

use super::appendices::{self, Rotated};
use super::error::IndexError;
use super::memory::Memory;
use super::merge::{Merge, Stream};
use super::names::{self, ShardName};
use super::shard::Shard;
use super::shard_writer::write_shard;
use super::shards::Shards;
use super::split::Counts;
use super::writer::{IndexWriter, install, remove};

/// What housekeeping did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HousekeepingDone {
    /// Entries taken from appendices.
    pub merged: u64,
    /// Shards that were written.
    pub written: u64,
    /// Shards that were split or cleared away.
    pub removed: u64,
}

/// A shard of the cover with what lies inside it: the unit that is merged, and maybe divided.
struct Region {
    name: ShardName,
    members: Vec<Arc<Shard>>,
}

impl IndexWriter {
    /// Merges everything that was appended so far into the sorted shards. Lookups and appends go on meanwhile.
    pub fn housekeeping(&self) -> Result<HousekeepingDone, IndexError> {
        let _one_at_a_time = self.housekeeping.lock().unwrap_or_else(PoisonError::into_inner);
        self.rotate()?;
        let rotated = self.read_view().rotated.clone();
        self.refuse_damage(&rotated)?;
        // The view may be older than the files, if an earlier housekeeping failed half way.
        let before = Shards::open(&*self.disk, &self.folder)?;
        let mut done = HousekeepingDone::default();
        let mut after = Vec::new();
        for region in regions(&before) {
            self.merge(&region, &rotated, &mut done, &mut after)?;
        }
        done.merged = rotated.iter().map(|rotated| rotated.memory.len() as u64).sum();
        self.replace(&before, &after, &rotated, &mut done)?;
        Ok(done)
    }

    /// Step 1.
    fn rotate(&self) -> Result<(), IndexError> {
        let mut live = self.lock_live();
        if self.read_view().live.is_empty() {
            return Ok(());
        }
        let numbers = appendices::list_rotated(&*self.disk, &self.folder)?;
        let number = numbers.last().map_or(1, |last| last.saturating_add(1));
        live.rotate(&*self.disk, &self.folder, number)?;
        {
            let mut view = self.lock_view();
            let memory = Arc::new(std::mem::replace(&mut view.live, Memory::new()));
            view.rotated.push(Rotated { number, memory, damage: None });
        }
        // The old name must be gone for good before a new file may take it.
        self.disk.sync_folder(&self.folder)?;
        live.ensure(&*self.disk, &self.folder)?;
        Ok(())
    }

    fn refuse_damage(&self, rotated: &[Rotated]) -> Result<(), IndexError> {
        for one in rotated {
            if let Some(offset) = one.damage {
                let file = self.folder.join(names::rotated(one.number));
                return Err(IndexError::damaged(&file, offset, "the checksum of a batch does not match"));
            }
        }
        Ok(())
    }

    /// Steps 2 and 3 for one region.
    fn merge(
        &self,
        region: &Region,
        rotated: &[Rotated],
        done: &mut HousekeepingDone,
        after: &mut Vec<ShardName>,
    ) -> Result<(), IndexError> {
        let nothing_new = rotated.iter().all(|one| one.memory.range(region.name.range()).next().is_none());
        let settled = matches!(region.members.as_slice(), [only] if only.count() <= self.options.shard_limit);
        if nothing_new && settled {
            after.push(region.name);
            return Ok(());
        }
        let counts = Counts::of(region.name, region.entries(rotated)?)?;
        let shards = counts.divide(region.name, self.options.shard_limit);
        let mut entries = region.entries(rotated)?;
        for shard in &shards {
            write_shard(&*self.disk, &self.folder, *shard, &mut entries)?;
        }
        for (name, _) in &shards {
            install(&*self.disk, &self.folder, *name)?;
            after.push(*name);
        }
        done.written += shards.len() as u64;
        Ok(())
    }

    /// Step 4.
    fn replace(
        &self,
        before: &Shards,
        after: &[ShardName],
        rotated: &[Rotated],
        done: &mut HousekeepingDone,
    ) -> Result<(), IndexError> {
        self.disk.sync_folder(&self.folder)?;
        let shards = Shards::open_these(&*self.disk, &self.folder, after)?;
        self.lock_view().shards = shards;
        for shard in before.all().filter(|shard| !after.contains(&shard.name())) {
            remove(&*self.disk, shard.path())?;
            done.removed += 1;
        }
        for one in rotated {
            remove(&*self.disk, &self.folder.join(names::rotated(one.number)))?;
            // Only now, so that a removal that failed is tried again.
            self.lock_view().rotated.retain(|kept| kept.number != one.number);
        }
        Ok(self.disk.sync_folder(&self.folder)?)
    }
}

impl Region {
    fn entries<'a>(&self, rotated: &'a [Rotated]) -> Result<Merge<'a>, IndexError> {
        let range = self.name.range();
        let mut streams: Vec<Stream<'a>> = Vec::new();
        for member in &self.members {
            streams.push(Box::new(member.stream(range)?));
        }
        for one in rotated {
            streams.push(Box::new(one.memory.range(range).map(Ok)));
        }
        Ok(Merge::new(streams))
    }
}

fn regions(shards: &Shards) -> Vec<Region> {
    let region = |shard: &Arc<Shard>| {
        let name = shard.name();
        let inside = shards.inside().iter().filter(|inner| name.holds(inner.name()));
        Region { name, members: std::iter::once(shard).chain(inside).cloned().collect() }
    };
    shards.cover().iter().map(region).collect()
}
