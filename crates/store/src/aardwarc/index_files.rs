//! The index that AardWARC keeps beside its silos: `index.sorted`, `index.appendix` and, while it
//! merges them, `index.housekeep`.
//!
//! An entry has 32 bytes, big-endian: 96 bits of an id, flags, silo number, offset, and the first 32
//! bits of the id of the next segment. Entries are hints: the index may lack records, name silos
//! that were renamed, or be damaged. The caller confirms each entry with the header of its record.
//! So nothing here is an error except a file that cannot be read, and nothing is held in memory.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use varve_file::Folder;
use varve_wire::ReadAt;

use super::AardwarcError;
use super::folder::folder_error;
use super::scan::read_all;
use crate::index::{IndexPrefix, PrefixRange};

/// Length of an entry.
const ENTRY_BYTES: usize = 32;
/// Entries that are read together.
const ENTRIES_PER_BLOCK: u64 = 128;
/// The file whose entries are sorted, below a table of buckets.
const SORTED_FILE: &str = "index.sorted";
/// The files in the order of writing.
const UNSORTED_FILES: [&str; 2] = ["index.appendix", "index.housekeep"];
/// Maximum exponent of the number of buckets: that of 2^40 entries, the most that a table can state.
const MAX_BUCKET_EXPONENT: u8 = 28;

/// Where the index says that a record begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AardwarcIndexEntry {
    pub(super) prefix: IndexPrefix,
    /// The number in the name of the silo.
    pub(super) silo: u32,
    pub(super) offset: u64,
    /// The first 32 bits of the id of the next segment; 0 if there is none.
    pub(super) next: u32,
}

/// The index files of a store.
pub(super) struct AardwarcIndex {
    sorted: Option<SortedEntries>,
    unsorted: Vec<EntryFile>,
}

/// A file of entries.
struct EntryFile {
    file: File,
    path: PathBuf,
    /// Offset of the first entry.
    start: u64,
    entries: u64,
}

struct SortedEntries(EntryFile);

impl AardwarcIndex {
    /// Opens the index files in the folder of silos. Absent files are empty.
    pub(super) fn open(folder: &Folder) -> Result<Self, AardwarcError> {
        let sorted = EntryFile::open(folder, SORTED_FILE)?;
        let sorted = sorted.map(EntryFile::below_buckets).transpose()?.map(SortedEntries);
        let mut unsorted = Vec::new();
        for name in UNSORTED_FILES {
            unsorted.extend(EntryFile::open(folder, name)?);
        }
        Ok(Self { sorted, unsorted })
    }

    /// Passes every entry in one of the ranges to `found`, with the number of the range. The ranges
    /// are sorted and do not overlap. Stops when `found` returns false.
    pub(super) fn find(
        &self,
        ranges: &[PrefixRange],
        found: &mut dyn FnMut(usize, AardwarcIndexEntry) -> bool,
    ) -> Result<(), AardwarcError> {
        if let Some(sorted) = &self.sorted {
            for (number, range) in ranges.iter().enumerate() {
                if !sorted.find(*range, &mut |entry| found(number, entry))? {
                    return Ok(());
                }
            }
        }
        for file in &self.unsorted {
            let is_done = !file.each_from(0, &mut |entry| {
                let number = ranges.partition_point(|range| range.last < entry.prefix);
                match ranges.get(number) {
                    Some(range) if range.contains(entry.prefix) => found(number, entry),
                    _ => true,
                }
            })?;
            if is_done {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl EntryFile {
    fn open(folder: &Folder, name: &str) -> Result<Option<Self>, AardwarcError> {
        let file = match folder.open_to_read(name) {
            Err(error) if error.is_absent() => return Ok(None),
            file => file.map_err(folder_error)?,
        };
        let path = folder.path().join(name);
        let size = file.size().map_err(|source| AardwarcError::Io { path: path.clone(), source })?;
        Ok(Some(Self { file, path, start: 0, entries: size / ENTRY_BYTES as u64 }))
    }

    /// Skips the table of buckets. A file without one has no entries.
    fn below_buckets(mut self) -> Result<Self, AardwarcError> {
        let mut word = [0; 8];
        let length = read_all(&self.file, 0, &mut word).map_err(|source| self.unread(source))?;
        let exponent = word[2];
        if length < word.len() || !word.starts_with(b"Aa") || !(2..=MAX_BUCKET_EXPONENT).contains(&exponent) {
            self.entries = 0;
            return Ok(self);
        }
        self.start = 8_u64 << exponent;
        self.entries = self.entries.saturating_sub(self.start / ENTRY_BYTES as u64);
        Ok(self)
    }

    /// Passes the entries from number `first` on to `seen` until it returns false. Returns whether
    /// it never did.
    fn each_from(
        &self,
        first: u64,
        seen: &mut dyn FnMut(AardwarcIndexEntry) -> bool,
    ) -> Result<bool, AardwarcError> {
        let mut buffer = vec![0; ENTRIES_PER_BLOCK as usize * ENTRY_BYTES];
        let mut number = first;
        while number < self.entries {
            let count = self.read_block(number, &mut buffer)?;
            if count == 0 {
                break;
            }
            for bytes in buffer.chunks_exact(ENTRY_BYTES).take(count) {
                if !seen(AardwarcIndexEntry::parse(bytes)) {
                    return Ok(false);
                }
            }
            number += count as u64;
        }
        Ok(true)
    }

    /// Reads entries from number `first` on into `buffer`. Returns how many.
    fn read_block(&self, first: u64, buffer: &mut [u8]) -> Result<usize, AardwarcError> {
        let offset = self.start + first * ENTRY_BYTES as u64;
        let length = read_all(&self.file, offset, buffer).map_err(|source| self.unread(source))?;
        Ok((length / ENTRY_BYTES).min(usize::try_from(self.entries - first).unwrap_or(usize::MAX)))
    }

    fn unread(&self, source: io::Error) -> AardwarcError {
        AardwarcError::Io { path: self.path.clone(), source }
    }
}

impl SortedEntries {
    /// Passes the entries in a range to `found`. Returns false when `found` did.
    fn find(
        &self,
        range: PrefixRange,
        found: &mut dyn FnMut(AardwarcIndexEntry) -> bool,
    ) -> Result<bool, AardwarcError> {
        let mut is_wanted = true;
        self.0.each_from(self.first_in(range)?, &mut |entry| {
            if range.contains(entry.prefix) {
                is_wanted = found(entry);
            }
            is_wanted && entry.prefix <= range.last
        })?;
        Ok(is_wanted)
    }

    /// The number of the first entry of the block in which a range begins, by binary search.
    fn first_in(&self, range: PrefixRange) -> Result<u64, AardwarcError> {
        let mut buffer = [0; ENTRY_BYTES];
        let (mut low, mut high) = (0, self.0.entries.div_ceil(ENTRIES_PER_BLOCK));
        // Block `low` begins below the range, or is the first; block `high` begins in or above it.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let is_below = self.0.read_block(middle * ENTRIES_PER_BLOCK, &mut buffer)? > 0
                && AardwarcIndexEntry::parse(&buffer).prefix < range.first;
            if is_below { low = middle } else { high = middle }
        }
        Ok(low * ENTRIES_PER_BLOCK)
    }
}

impl AardwarcIndexEntry {
    /// Reads an entry of [`ENTRY_BYTES`] bytes.
    fn parse(bytes: &[u8]) -> Self {
        let number = |from: usize, until: usize| {
            bytes.get(from..until).unwrap_or_default().iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        Self {
            prefix: IndexPrefix(number(0, 8)),
            silo: number(16, 20) as u32,
            offset: number(20, 28),
            next: number(28, 32) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An index with these prefixes in the sorted file, and the rest in the appendix.
    fn made(sorted: &[u64], appended: &[u64]) -> (tempfile::TempDir, AardwarcIndex) {
        let folder = tempfile::tempdir().expect("a folder");
        let entries = |prefixes: &[u64]| -> Vec<u8> {
            let entry = |prefix: &u64| [prefix.to_be_bytes().as_slice(), &[0; 24]].concat();
            prefixes.iter().flat_map(entry).collect()
        };
        let table = [b"Aa\x02\0\0\0\0\0".as_slice(), &[0x41; 24]].concat();
        std::fs::write(folder.path().join(SORTED_FILE), [table, entries(sorted)].concat()).expect("written");
        std::fs::write(folder.path().join(UNSORTED_FILES[0]), entries(appended)).expect("written");
        let index = AardwarcIndex::open(&Folder::open(folder.path()).expect("a folder")).expect("open");
        (folder, index)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_range_finds_what_reading_all_entries_finds(
            mut sorted in prop::collection::vec(any::<u16>(), 0..600),
            appended in prop::collection::vec(any::<u16>(), 0..50),
            value: u16,
            bits in 4_u32..=16,
        ) {
            sorted.sort_unstable();
            let wide = |few: &[u16]| few.iter().map(|value| u64::from(*value) << 48).collect::<Vec<u64>>();
            let (sorted, appended) = (wide(&sorted), wide(&appended));
            let (_folder, index) = made(&sorted, &appended);
            let range = PrefixRange::leading(u64::from(value) << 48, bits);
            let mut found = Vec::new();
            index.find(&[range], &mut |_, entry| { found.push(entry.prefix.0); true }).expect("read");
            let all = sorted.iter().chain(&appended).copied();
            let expected: Vec<u64> = all.filter(|value| range.contains(IndexPrefix(*value))).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_table_of_buckets_is_no_entry_and_a_file_without_one_has_none() {
        let (folder, index) = made(&[1 << 60, 0x41 << 56], &[]);
        let mut found = Vec::new();
        let mut all = |index: &AardwarcIndex| {
            index
                .find(&[PrefixRange::ALL], &mut |_, entry| {
                    found.push(entry.prefix.0);
                    true
                })
                .expect("read");
            std::mem::take(&mut found)
        };
        assert_eq!(all(&index), [1 << 60, 0x41 << 56]);
        for bytes in [&b"Aa"[..], &[0xff; 4096], b"Aa\xff\0\0\0\0\0", b""] {
            std::fs::write(folder.path().join(SORTED_FILE), bytes).expect("written");
            let index = AardwarcIndex::open(&Folder::open(folder.path()).expect("a folder")).expect("open");
            assert!(all(&index).is_empty(), "{bytes:?}");
        }
    }
}
