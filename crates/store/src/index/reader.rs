//! The index for reading.
//!
//! Opening takes no lock on the archive. Entries only move forward, from the live appendix to a
//! rotated one to the sorted shards, and each file stays until the next has its entries. So a
//! reader that opens the files in that order sees every entry that existed when it began, even
//! during housekeeping, a split or a rebuild. It may see some twice.

use std::path::Path;

use super::appendices;
use super::appendix_entries::AppendixEntries;
use super::entry::{IndexEntry, IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::file_names;
use super::places::SiloPlaces;
use super::shards::ShardSet;
use super::view::IndexView;
use crate::disk::Disk;

/// An index as it was when it was opened. Cheap to open: shards are mapped and their headers read,
/// no more.
#[derive(Clone, Debug)]
pub struct IndexReader {
    view: IndexView,
}

impl IndexReader {
    /// Opens the index in a folder.
    pub fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, IndexError> {
        // The order matters, see the module documentation.
        let live = appendices::read(disk, &folder.join(file_names::APPENDIX_FILE))?;
        let live =
            live.map_or_else(AppendixEntries::new, |(decoded, _)| AppendixEntries::from(decoded.entries));
        let rotated = appendices::read_rotated(disk, folder)?;
        let shards = ShardSet::open(disk, folder)?;
        Ok(Self { view: IndexView { shards, rotated, live } })
    }

    pub(super) fn of(view: IndexView) -> Self {
        Self { view }
    }

    /// The places of all entries with this prefix. The caller confirms the full id in the record.
    #[inline]
    pub fn find(&self, prefix: IndexPrefix) -> Result<SiloPlaces, IndexError> {
        self.view.find(prefix)
    }

    /// Looks up many prefixes, several times faster than one by one. Calls `found` with the
    /// position of the prefix in the slice and one of its places, in order.
    pub fn find_many(
        &self,
        prefixes: &[IndexPrefix],
        found: impl FnMut(usize, SiloPlace),
    ) -> Result<(), IndexError> {
        self.view.find_many(prefixes, found)
    }

    /// The entries of a range in order, each once; all of them with [`PrefixRange::ALL`]. Ends
    /// after an error.
    pub fn entries(
        &self,
        range: PrefixRange,
    ) -> Result<impl Iterator<Item = Result<IndexEntry, IndexError>> + '_, IndexError> {
        self.view.entries(range)
    }

    /// The greatest place of all entries.
    pub fn greatest_place(&self) -> Option<SiloPlace> {
        self.view.greatest_place()
    }

    /// The number of entries; after an interrupted housekeeping some are counted twice.
    pub fn entry_count(&self) -> u64 {
        self.view.count()
    }
}
