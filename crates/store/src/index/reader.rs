//! The index for reading: a snapshot that stays as it was opened.
//!
//! A reader takes no lock and never waits. Entries only ever move forward, from the live appendix to a rotated one to
//! the sorted shards, and each file stays until the next has its entries; so a reader that opens them in that order
//! sees every entry that was there when it began, though housekeeping, splits or a rebuild go on meanwhile. Some it may
//! see twice. It needs no list of files to agree with, and none exists.

use std::path::Path;

use super::appendices;
use super::entry::{Entry, Place, Prefix, PrefixRange};
use super::error::IndexError;
use super::memory::Memory;
use super::names;
use super::places::Places;
use super::shards::Shards;
use super::view::View;
use crate::disk::Disk;

/// An index as it was when it was opened. Cheap to open: shards are mapped and their headers read, no more.
#[derive(Clone, Debug)]
pub struct Index {
    view: View,
}

impl Index {
    /// Opens the index in a folder.
    pub fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, IndexError> {
        // The order is what makes this right: see above.
        let live = appendices::read(disk, &folder.join(names::APPENDIX))?;
        let live = live.map_or_else(Memory::new, |(decoded, _)| Memory::from(decoded.entries));
        let rotated = appendices::read_rotated(disk, folder)?;
        let shards = Shards::open(disk, folder)?;
        Ok(Self { view: View { shards, rotated, live } })
    }

    pub(super) fn of(view: View) -> Self {
        Self { view }
    }

    /// The places of all entries with this prefix. Which of them is the id in question, if any, the records tell.
    #[inline]
    pub fn find(&self, prefix: Prefix) -> Result<Places, IndexError> {
        self.view.find(prefix)
    }

    /// Looks many prefixes up at once, several times faster than one by one: `found` hears the number of the prefix in
    /// the slice and one of its places, prefix by prefix, places in order.
    pub fn find_many(&self, prefixes: &[Prefix], found: impl FnMut(usize, Place)) -> Result<(), IndexError> {
        self.view.find_many(prefixes, found)
    }

    /// The entries of a range in order, each once; all of them with [`PrefixRange::ALL`]. An error ends it.
    pub fn entries(
        &self,
        range: PrefixRange,
    ) -> Result<impl Iterator<Item = Result<Entry, IndexError>> + '_, IndexError> {
        self.view.entries(range)
    }

    /// The greatest place that any entry holds.
    pub fn greatest_place(&self) -> Option<Place> {
        self.view.greatest_place()
    }

    /// How many entries the files hold; after an interrupted housekeeping some may be counted twice.
    pub fn entry_count(&self) -> u64 {
        self.view.count()
    }
}
