//! Rebuilds the whole index from entries in any order, in bounded memory.
//!
//! The old index is not read, so its state does not matter. New shards replace the old as in
//! housekeeping: all are renamed into place, the folder is synced, and only then old shards with
//! other names and all appendices are removed. An interrupted rebuild leaves an index that finds at
//! least as much as before.
//!
//! The result equals what housekeeping makes of the same entries, byte for byte.

use std::path::Path;

use super::appendices;
use super::entry::IndexEntry;
use super::error::IndexError;
use super::file_names::{self, ShardName};
use super::merge::{EntryStream, MergedEntries};
use super::shard_division::PrefixCounts;
use super::shard_writer::write_shard;
use super::shards;
use super::sorted_runs::SortedRuns;
use super::writer::{IndexOptions, install, remove, sweep};
use crate::disk::Disk;

/// A rebuild in progress. The caller holds the archive's lock, and no [`super::IndexWriter`] is
/// open on the folder.
pub struct IndexRebuild<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    options: IndexOptions,
    buffer: Vec<IndexEntry>,
    runs: SortedRuns<'a>,
}

/// The result of an index rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRebuildDone {
    /// Entries in the new index, without duplicates.
    pub entries: u64,
    /// Sorted shards.
    pub shards: u64,
}

impl<'a> IndexRebuild<'a> {
    /// Begins a rebuild. The old index stays unchanged until [`IndexRebuild::finish`].
    pub fn begin(disk: &'a dyn Disk, folder: &'a Path, options: IndexOptions) -> Result<Self, IndexError> {
        disk.make_folders(folder)?;
        sweep(disk, folder)?;
        Ok(Self { disk, folder, options, buffer: Vec::new(), runs: SortedRuns::new(disk, folder) })
    }

    /// Adds an entry. Order and duplicates do not matter.
    #[inline]
    pub fn push(&mut self, entry: IndexEntry) -> Result<(), IndexError> {
        self.buffer.push(entry);
        if self.buffer.len() >= self.options.sort_limit {
            self.runs.add(&mut self.buffer)?;
        }
        Ok(())
    }

    /// Writes the new index and replaces the old one.
    pub fn finish(mut self) -> Result<IndexRebuildDone, IndexError> {
        self.buffer.sort_unstable();
        let counts = PrefixCounts::of(ShardName::ROOT, self.entries())?;
        let shards = counts.divide(ShardName::ROOT, self.options.shard_limit);
        let mut entries = self.entries();
        for shard in &shards {
            write_shard(self.disk, self.folder, *shard, &mut entries)?;
        }
        drop(entries);
        let names: Vec<_> = shards.iter().map(|(name, _)| *name).collect();
        self.replace(&names)?;
        self.runs.clear()?;
        Ok(IndexRebuildDone { entries: counts.within(ShardName::ROOT), shards: shards.len() as u64 })
    }

    /// All entries, in order, each once.
    fn entries(&self) -> MergedEntries<'_> {
        let buffered: EntryStream<'_> = Box::new(self.buffer.iter().copied().map(Ok));
        MergedEntries::new(vec![Box::new(self.runs.entries()), buffered])
    }

    fn replace(&self, shards: &[ShardName]) -> Result<(), IndexError> {
        for name in shards {
            install(self.disk, self.folder, *name)?;
        }
        self.disk.sync_folder(self.folder)?;
        for name in shards::list(self.disk, self.folder)? {
            if !shards.contains(&name) {
                remove(self.disk, &self.folder.join(name.to_string()))?;
            }
        }
        let live = self.folder.join(file_names::APPENDIX_FILE);
        remove(self.disk, &live)?;
        for number in appendices::list_rotated(self.disk, self.folder)? {
            remove(self.disk, &self.folder.join(file_names::rotated(number)))?;
        }
        self.disk.create_new(&live)?;
        Ok(self.disk.sync_folder(self.folder)?)
    }
}
