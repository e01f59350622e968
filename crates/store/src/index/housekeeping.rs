//! Housekeeping: merges the appendix into the sorted shards.
//!
//! The steps, and what a crash after each leaves behind:
//!
//! 1. The live appendix is synced and renamed to `appendix-<n>`, and later appends go to a new one.
//!    *A crash*: readers also search `appendix-<n>`, and the next housekeeping starts at step 2.
//! 2. New shards are written under temporary names and synced. *A crash*: unfinished files that no
//!    reader opens.
//! 3. They are renamed over the old shards one by one. *A crash*: only some shards have the new
//!    entries, but `appendix-<n>` has all of them. Where a shard was split, the old one still
//!    exists with the entries of its sixteen parts; readers search both.
//! 4. The folder is synced. Only then are split shards and `appendix-<n>` removed. *A crash*:
//!    entries in two files, which count once.
//!
//! At every point each entry is in at least one file, and an entry in two files counts once. So
//! housekeeping may be interrupted anywhere and needs no journal and no repair: the next one
//! repeats the work.
//!
//! Old and new shards coexist while this runs, so it needs as much free space as the sorted shards
//! occupy. It streams and needs little memory. It never writes damaged entries with a new checksum:
//! it stops at the first block or batch with a wrong checksum, and the old files remain.

use std::sync::{Arc, PoisonError};

use super::appendices::{self, RotatedAppendix};
use super::appendix_entries::AppendixEntries;
use super::error::IndexError;
use super::file_names::{self, ShardName};
use super::merge::{EntryStream, MergedEntries};
use super::shard::Shard;
use super::shard_division::PrefixCounts;
use super::shard_writer::write_shard;
use super::shards::ShardSet;
use super::writer::{IndexWriter, install, remove};

/// The result of housekeeping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct HousekeepingDone {
    /// Entries merged from appendices.
    pub merged: u64,
    /// Shards written.
    pub written: u64,
    /// Shards removed after a split or an interrupted run.
    pub removed: u64,
}

/// A shard of the cover with the shards inside it: the unit of merging and splitting.
struct MergeRegion {
    name: ShardName,
    members: Vec<Arc<Shard>>,
}

impl IndexWriter {
    /// Merges everything appended so far into the sorted shards. Lookups and appends continue
    /// meanwhile.
    pub fn housekeeping(&self) -> Result<HousekeepingDone, IndexError> {
        let _one_at_a_time = self.housekeeping.lock().unwrap_or_else(PoisonError::into_inner);
        self.rotate()?;
        let rotated = self.read_view().rotated.clone();
        self.refuse_damage(&rotated)?;
        // The view may be older than the files if an earlier housekeeping failed.
        let before = ShardSet::open(&*self.disk, &self.folder)?;
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
            let memory = Arc::new(std::mem::replace(&mut view.live, AppendixEntries::new()));
            view.rotated.push(RotatedAppendix { number, memory, damage: None });
        }
        // The rename must be durable before a new file takes the old name.
        self.disk.sync_folder(&self.folder)?;
        live.ensure(&*self.disk, &self.folder)?;
        Ok(())
    }

    fn refuse_damage(&self, rotated: &[RotatedAppendix]) -> Result<(), IndexError> {
        for one in rotated {
            if let Some(offset) = one.damage {
                let file = self.folder.join(file_names::rotated(one.number));
                return Err(IndexError::damaged(&file, offset, "the checksum of a batch does not match"));
            }
        }
        Ok(())
    }

    /// Steps 2 and 3 for one region.
    fn merge(
        &self,
        region: &MergeRegion,
        rotated: &[RotatedAppendix],
        done: &mut HousekeepingDone,
        after: &mut Vec<ShardName>,
    ) -> Result<(), IndexError> {
        let nothing_new = rotated.iter().all(|one| one.memory.range(region.name.range()).next().is_none());
        let settled = matches!(region.members.as_slice(), [only] if only.count() <= self.options.shard_limit);
        if nothing_new && settled {
            after.push(region.name);
            return Ok(());
        }
        let counts = PrefixCounts::of(region.name, region.entries(rotated)?)?;
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
        before: &ShardSet,
        after: &[ShardName],
        rotated: &[RotatedAppendix],
        done: &mut HousekeepingDone,
    ) -> Result<(), IndexError> {
        self.disk.sync_folder(&self.folder)?;
        let shards = ShardSet::open_these(&*self.disk, &self.folder, after)?;
        self.lock_view().shards = Arc::new(shards);
        for shard in before.all().filter(|shard| !after.contains(&shard.name())) {
            remove(&*self.disk, shard.path())?;
            done.removed += 1;
        }
        for one in rotated {
            remove(&*self.disk, &self.folder.join(file_names::rotated(one.number)))?;
            // Removed from the view last, so that a failed removal is retried.
            self.lock_view().rotated.retain(|kept| kept.number != one.number);
        }
        Ok(self.disk.sync_folder(&self.folder)?)
    }
}

impl MergeRegion {
    fn entries<'a>(&self, rotated: &'a [RotatedAppendix]) -> Result<MergedEntries<'a>, IndexError> {
        let range = self.name.range();
        let mut streams: Vec<EntryStream<'a>> = Vec::new();
        for member in &self.members {
            streams.push(Box::new(member.stream(range)?));
        }
        for one in rotated {
            streams.push(Box::new(one.memory.range(range).map(Ok)));
        }
        Ok(MergedEntries::new(streams))
    }
}

fn regions(shards: &ShardSet) -> Vec<MergeRegion> {
    let region = |shard: &Arc<Shard>| {
        let name = shard.name();
        let inside = shards.inside().iter().filter(|inner| name.holds(inner.name()));
        MergeRegion { name, members: std::iter::once(shard).chain(inside).cloned().collect() }
    };
    shards.cover().iter().map(region).collect()
}
