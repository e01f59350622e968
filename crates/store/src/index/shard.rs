//! One sorted shard, open for reading.
//!
//! Opening reads only the header. A lookup takes the range of the prefix's bucket from the bias
//! table, interpolates inside it and walks from there. The table is a hint: the walk ends at a pair
//! of neighbours that enclose the prefix, so damage in the table costs time and never a wrong
//! result.
//!
//! A block of entries is verified on first use, and one bit records the result; a warm lookup only
//! tests that bit. Verifying the blocks of the enclosing pair and of the hits suffices, because the
//! file was sorted when it was written.

use std::cmp::Ordering;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use super::entry::{ENTRY_SIZE, IndexEntry, IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::file_names::ShardName;
use super::layout::{
    ENTRIES_PER_BLOCK, SHARD_HEADER_BYTES, ShardGeometry, ShardHeader, ShardHeaderError, u32_at,
};
use crate::disk::{Disk, DiskError, MappedFile, Operation};

/// Entries that the walk compares one by one before it gallops.
const LINEAR_SEARCH_ENTRIES: usize = 8;

#[derive(Debug)]
pub(super) struct Shard {
    path: PathBuf,
    bytes: MappedFile,
    header: ShardHeader,
    /// The offset of the first entry, computed once from the header.
    start: usize,
    /// One bit per block: its checksum was verified.
    checked: Box<[AtomicU64]>,
}

impl Shard {
    /// Opens the shard of that name.
    pub(super) fn open(disk: &dyn Disk, folder: &Path, name: ShardName) -> Result<Self, IndexError> {
        let path = folder.join(name.to_string());
        let bytes = disk.map(&path)?;
        let header = read_header(&path, &bytes)?;
        if header.name != name {
            return Err(IndexError::damaged(&path, 12, "it is the shard of other ids"));
        }
        let checked = (0..header.geometry.blocks().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { path, bytes, header, start: header.geometry.entries_start(), checked })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn header(&self) -> &ShardHeader {
        &self.header
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn name(&self) -> ShardName {
        self.header.name
    }

    pub(super) fn count(&self) -> u64 {
        self.header.geometry.count
    }

    pub(super) fn greatest_place(&self) -> Option<SiloPlace> {
        (self.count() > 0).then_some(self.header.greatest)
    }

    #[inline]
    pub(super) fn entries(&self) -> &[[u8; ENTRY_SIZE]] {
        self.bytes[self.start..].as_chunks().0
    }

    /// The entries and tables that a search needs.
    #[inline]
    pub(super) fn sorted(&self) -> SortedEntries<'_> {
        let geometry = self.header.geometry;
        let bias = self.bytes[SHARD_HEADER_BYTES..geometry.checks_start()].as_chunks().0;
        SortedEntries { entries: self.entries(), bias, name: self.name(), geometry }
    }

    /// All entries with this prefix.
    #[inline]
    pub(super) fn find(&self, prefix: IndexPrefix) -> Result<&[[u8; ENTRY_SIZE]], IndexError> {
        Ok(&self.entries()[self.positions(prefix)?])
    }

    /// The positions of all entries with this prefix.
    #[inline]
    fn positions(&self, prefix: IndexPrefix) -> Result<Range<usize>, IndexError> {
        self.check_length()?;
        let sorted = self.sorted();
        match sorted.entries {
            [] => Ok(0..0),
            entries => self.positions_near(entries, prefix, sorted.guess(prefix)),
        }
    }

    /// The positions of all entries with this prefix, found by walking from a guess.
    #[inline]
    pub(super) fn positions_near(
        &self,
        entries: &[[u8; ENTRY_SIZE]],
        prefix: IndexPrefix,
        guess: usize,
    ) -> Result<Range<usize>, IndexError> {
        let start = lower_bound(entries, prefix, guess);
        let end = end_of(entries, prefix, start);
        self.check(start.saturating_sub(1)..(end + 1).min(entries.len()))?;
        Ok(start..end)
    }

    /// The entries of a range, in order. Each block is verified first.
    pub(super) fn stream(self: &Arc<Self>, range: PrefixRange) -> Result<ShardStream, IndexError> {
        let range = PrefixRange { first: range.first.max(self.name().range().first), last: range.last };
        let start = self.positions(range.first)?.start;
        Ok(ShardStream { shard: Arc::clone(self), next: start, range, before: None, block: Vec::new() })
    }

    /// Fails if another program truncated the file, which then must not be read.
    pub(super) fn check_length(&self) -> Result<(), IndexError> {
        self.bytes.check_length().map_err(|source| DiskError::new(Operation::Map, &self.path, source).into())
    }

    /// Verifies the blocks of these positions, which must not be empty.
    #[inline]
    pub(super) fn check(&self, positions: Range<usize>) -> Result<(), IndexError> {
        let (first, last) = (positions.start / ENTRIES_PER_BLOCK, (positions.end - 1) / ENTRIES_PER_BLOCK);
        // Nearly always one block that was verified before.
        if first == last && self.is_checked(first) {
            return Ok(());
        }
        (first..=last).try_for_each(|block| self.check_block(block))
    }

    #[inline]
    fn is_checked(&self, block: usize) -> bool {
        self.checked[block / 64].load(Memory::Relaxed) >> (block % 64) & 1 == 1
    }

    #[cold]
    fn check_block(&self, block: usize) -> Result<(), IndexError> {
        if self.is_checked(block) {
            return Ok(());
        }
        if !self.block_is_right(block) {
            let offset = self.start + block * ENTRIES_PER_BLOCK * ENTRY_SIZE;
            let what = "the checksum of a block of entries does not match";
            return Err(IndexError::damaged(&self.path, offset as u64, what));
        }
        self.checked[block / 64].fetch_or(1 << (block % 64), Memory::Relaxed);
        Ok(())
    }

    /// Whether a block matches its checksum.
    pub(super) fn block_is_right(&self, block: usize) -> bool {
        let entries = self.entries();
        let bytes = entries[block * ENTRIES_PER_BLOCK..entries.len().min((block + 1) * ENTRIES_PER_BLOCK)]
            .as_flattened();
        let check = self.header.geometry.checks_start() + 4 * block;
        crc32fast::hash(bytes) == u32_at(&self.bytes, check)
    }
}

/// The entries and the bias table of a shard.
#[derive(Clone, Copy)]
pub(super) struct SortedEntries<'a> {
    pub(super) entries: &'a [[u8; ENTRY_SIZE]],
    bias: &'a [[u8; 4]],
    name: ShardName,
    geometry: ShardGeometry,
}

impl SortedEntries<'_> {
    /// The probable position of a prefix, which is a valid position unless there are no entries.
    #[inline]
    pub(super) fn guess(self, prefix: IndexPrefix) -> usize {
        let (bucket, fraction) = self.geometry.bucket(self.name, prefix);
        let [start, end] = [self.bias[bucket], self.bias[bucket + 1]].map(u32::from_be_bytes);
        let step = (u128::from(end.saturating_sub(start)) * u128::from(fraction)) >> 64;
        (start as usize + step as usize).min(self.entries.len().saturating_sub(1))
    }
}

/// Reads the header and checks the length of the file against it.
fn read_header(path: &Path, bytes: &[u8]) -> Result<ShardHeader, IndexError> {
    let length = bytes.len() as u64;
    let Some((first, _)) = bytes.split_first_chunk() else {
        return Err(IndexError::damaged(path, length, "it ends inside the header"));
    };
    let header = ShardHeader::from_bytes(first).map_err(|fault| match fault {
        ShardHeaderError::Damaged { offset, what } => IndexError::damaged(path, offset, what),
        ShardHeaderError::Unsupported(format) => IndexError::Unsupported { file: path.to_path_buf(), format },
    })?;
    match length.cmp(&header.geometry.length()) {
        Ordering::Equal => Ok(header),
        Ordering::Less => Err(IndexError::damaged(path, length, "it ends too early")),
        Ordering::Greater => {
            Err(IndexError::damaged(path, header.geometry.length(), "it goes on after its last entry"))
        }
    }
}

#[inline]
fn prefix_of(entry: &[u8; ENTRY_SIZE]) -> IndexPrefix {
    IndexEntry::from_bytes(entry).prefix
}

/// The first position whose prefix is not smaller, found by walking from a guess.
#[inline]
fn lower_bound(entries: &[[u8; ENTRY_SIZE]], prefix: IndexPrefix, guess: usize) -> usize {
    if prefix_of(&entries[guess]) < prefix {
        upwards(entries, prefix, guess + 1)
    } else {
        downwards(entries, prefix, guess)
    }
}

/// The first position from `start` on with another prefix.
#[inline]
pub(super) fn end_of(entries: &[[u8; ENTRY_SIZE]], prefix: IndexPrefix, start: usize) -> usize {
    let mut end = start;
    while end < entries.len() && prefix_of(&entries[end]) == prefix {
        end += 1;
    }
    end
}

/// Everything before `from` is smaller.
#[inline]
fn upwards(entries: &[[u8; ENTRY_SIZE]], prefix: IndexPrefix, from: usize) -> usize {
    let near = entries.len().min(from + LINEAR_SEARCH_ENTRIES);
    let mut position = from;
    while position < near {
        if prefix_of(&entries[position]) >= prefix {
            return position;
        }
        position += 1;
    }
    leap_upwards(entries, prefix, near)
}

/// Everything before `from` is smaller.
#[cold]
fn leap_upwards(entries: &[[u8; ENTRY_SIZE]], prefix: IndexPrefix, from: usize) -> usize {
    let (mut low, mut leap) = (from, 2 * LINEAR_SEARCH_ENTRIES);
    loop {
        let high = entries.len().min(low + leap);
        if high == entries.len() || prefix_of(&entries[high]) >= prefix {
            return low + entries[low..high].partition_point(|entry| prefix_of(entry) < prefix);
        }
        (low, leap) = (high, leap * 2);
    }
}

/// `entries[from]` is not smaller.
#[inline]
fn downwards(entries: &[[u8; ENTRY_SIZE]], prefix: IndexPrefix, from: usize) -> usize {
    let near = from.saturating_sub(LINEAR_SEARCH_ENTRIES);
    let mut position = from;
    while position > near {
        if prefix_of(&entries[position - 1]) < prefix {
            return position;
        }
        position -= 1;
    }
    leap_downwards(entries, prefix, near)
}

/// `entries[from]` is not smaller.
#[cold]
fn leap_downwards(entries: &[[u8; ENTRY_SIZE]], prefix: IndexPrefix, from: usize) -> usize {
    let (mut high, mut leap) = (from, 2 * LINEAR_SEARCH_ENTRIES);
    loop {
        let low = high.saturating_sub(leap);
        if low == 0 || prefix_of(&entries[low]) < prefix {
            return low + entries[low..high].partition_point(|entry| prefix_of(entry) < prefix);
        }
        (high, leap) = (low, leap * 2);
    }
}

/// The entries of a range of a shard, in order.
#[derive(Debug)]
pub(super) struct ShardStream {
    shard: Arc<Shard>,
    next: usize,
    range: PrefixRange,
    before: Option<IndexEntry>,
    /// A copy of the block of `next`, since the file may be truncated while the caller uses the
    /// stream; empty before the first entry.
    block: Vec<[u8; ENTRY_SIZE]>,
}

impl ShardStream {
    /// Verifies and copies the block of `next`.
    fn load_block(&mut self) -> Result<(), IndexError> {
        self.shard.check_length()?;
        self.shard.check(self.next..self.next + 1)?;
        let entries = self.shard.entries();
        let start = self.next - self.next % ENTRIES_PER_BLOCK;
        self.block.clear();
        self.block.extend_from_slice(&entries[start..entries.len().min(start + ENTRIES_PER_BLOCK)]);
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<IndexEntry>, IndexError> {
        if self.next >= self.shard.entries().len() {
            return Ok(None);
        }
        if self.block.is_empty() || self.next.is_multiple_of(ENTRIES_PER_BLOCK) {
            self.load_block()?;
        }
        let entry = IndexEntry::from_bytes(&self.block[self.next % ENTRIES_PER_BLOCK]);
        if self.before.is_some_and(|before| before >= entry) || entry.prefix < self.range.first {
            let offset = self.shard.start + self.next * ENTRY_SIZE;
            return Err(IndexError::damaged(&self.shard.path, offset as u64, "the entries are not in order"));
        }
        self.next += 1;
        self.before = Some(entry);
        Ok((entry.prefix <= self.range.last).then_some(entry))
    }
}

impl Iterator for ShardStream {
    type Item = Result<IndexEntry, IndexError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let advanced = self.advance();
        if advanced.is_err() {
            // An error ends the stream, so that a caller that skips errors does not loop.
            self.next = usize::MAX;
        }
        advanced.transpose()
    }
}
