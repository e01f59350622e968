//! Makes the whole index anew from entries in any order, in bounded memory.
//!
//! Nothing of the old index is asked, so it does not matter what state it is in. The new shards replace the old in the
//! order of housekeeping: all are renamed into place, the folder is synced, and only then do old shards of other names
//! and all appendices go. Interrupted, it leaves an index that answers at least as much as before, and is run again.
//!
//! The result is, byte for byte, what housekeeping makes of the same entries.

use std::path::Path;

use super::appendices;
use super::entry::Entry;
use super::error::IndexError;
use super::merge::{Merge, Stream};
use super::names::{self, ShardName};
use super::runs::Runs;
use super::shard_writer::write_shard;
use super::shards;
use super::split::Counts;
use super::writer::{IndexOptions, install, remove, sweep};
use crate::disk::Disk;

/// A new index in the making. The caller holds the archive's lock, and no [`super::IndexWriter`] is open on the folder.
pub struct Rebuild<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    options: IndexOptions,
    buffer: Vec<Entry>,
    runs: Runs<'a>,
}

/// What a rebuild made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Entries in the new index, equal ones counted once.
    pub entries: u64,
    /// Sorted shards.
    pub shards: u64,
}

impl<'a> Rebuild<'a> {
    /// Begins. The old index stays as it is until [`Rebuild::finish`].
    pub fn begin(disk: &'a dyn Disk, folder: &'a Path, options: IndexOptions) -> Result<Self, IndexError> {
        disk.make_folders(folder)?;
        sweep(disk, folder)?;
        Ok(Self { disk, folder, options, buffer: Vec::new(), runs: Runs::new(disk, folder) })
    }

    /// Adds an entry. The order does not matter, nor does adding one twice.
    #[inline]
    pub fn push(&mut self, entry: Entry) -> Result<(), IndexError> {
        self.buffer.push(entry);
        if self.buffer.len() >= self.options.sort_limit {
            self.runs.add(&mut self.buffer)?;
        }
        Ok(())
    }

    /// Writes the new index and puts it in the place of the old.
    pub fn finish(mut self) -> Result<Rebuilt, IndexError> {
        self.buffer.sort_unstable();
        let counts = Counts::of(ShardName::ROOT, self.entries())?;
        let shards = counts.divide(ShardName::ROOT, self.options.shard_limit);
        let mut entries = self.entries();
        for shard in &shards {
            write_shard(self.disk, self.folder, *shard, &mut entries)?;
        }
        drop(entries);
        let names: Vec<_> = shards.iter().map(|(name, _)| *name).collect();
        self.replace(&names)?;
        self.runs.clear()?;
        Ok(Rebuilt { entries: counts.within(ShardName::ROOT), shards: shards.len() as u64 })
    }

    /// All entries, in order, each once.
    fn entries(&self) -> Merge<'_> {
        let buffered: Stream<'_> = Box::new(self.buffer.iter().copied().map(Ok));
        Merge::new(vec![Box::new(self.runs.entries()), buffered])
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
        let live = self.folder.join(names::APPENDIX);
        remove(self.disk, &live)?;
        for number in appendices::list_rotated(self.disk, self.folder)? {
            remove(self.disk, &self.folder.join(names::rotated(number)))?;
        }
        self.disk.create_new(&live)?;
        Ok(self.disk.sync_folder(self.folder)?)
    }
}
