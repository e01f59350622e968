//! One sorted shard, open for reading.
//!
//! Opening reads only the header. A lookup takes the probable block of the prefix from the bias
//! table, reads that block and searches it. The table is a hint: the search ends at a pair of
//! neighbours that enclose the prefix, so damage in the table costs time and never a wrong result.
//!
//! Every block is verified after it is read. Verifying the blocks of the enclosing pair and of the
//! hits suffices, because the file was sorted when it was written.
//!
//! A shard is read by positioned reads and is not mapped into memory. A map is faster, but reading
//! it kills the process (`SIGBUS`) if another program has truncated the file; here that is an error.
//! See decision 050 for the measurements.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{ENTRY_SIZE, IndexEntry, IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::file_names::ShardName;
use super::layout::{
    ENTRIES_PER_BLOCK, SHARD_HEADER_BYTES, ShardGeometry, ShardHeader, ShardHeaderError, bucket_of,
};
use super::shard_tables::{NumberTable, read_exactly};
use crate::disk::{Disk, DiskFile};

/// One bias in two to this power is kept in memory.
const BIAS_STRIDE_BITS: u32 = 3;
/// Bytes of the tables that are read at a time to check them.
const TABLE_PIECE_BYTES: usize = 64 << 10;

pub(super) struct Shard {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    header: ShardHeader,
    /// Positions of the first entries of buckets, eight buckets of the file taken as one.
    bias: NumberTable,
    /// The CRC of each block.
    checks: NumberTable,
}

impl Shard {
    /// Opens the shard of that name.
    pub(super) fn open(disk: &dyn Disk, folder: &Path, name: ShardName) -> Result<Self, IndexError> {
        let path = folder.join(name.to_string());
        let file = disk.open(&path)?;
        let header = read_header(&path, &*file)?;
        if header.name != name {
            return Err(IndexError::damaged(&path, 12, "it is the shard of other ids"));
        }
        let geometry = header.geometry;
        let stride = 1 << (geometry.bucket_bits - kept_bias_bits(geometry));
        let bias = NumberTable::new(SHARD_HEADER_BYTES as u64, geometry.buckets() + 1, stride);
        let checks = NumberTable::new(geometry.checks_start() as u64, geometry.blocks(), 1);
        Ok(Self { path, file, header, bias, checks })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn header(&self) -> &ShardHeader {
        &self.header
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

    /// Calls `found` with the place of each entry with this prefix, in order.
    pub(super) fn find(&self, prefix: IndexPrefix, found: impl FnMut(SiloPlace)) -> Result<(), IndexError> {
        BlockReader::new(self).find(prefix, found)
    }

    /// The entries of a range, in order.
    pub(super) fn stream(self: &Arc<Self>, range: PrefixRange) -> Result<ShardStream, IndexError> {
        let range = PrefixRange { first: range.first.max(self.name().range().first), last: range.last };
        let next = BlockReader::new(self).lower_bound(range.first)?;
        Ok(ShardStream { shard: Arc::clone(self), next, range, before: None, block: Vec::new() })
    }

    /// The bytes of a block in the file.
    pub(super) fn block_extent(&self, block: usize) -> Range<u64> {
        let geometry = self.header.geometry;
        let start = geometry.entries_start() as u64 + (block * ENTRIES_PER_BLOCK * ENTRY_SIZE) as u64;
        start..(start + (ENTRIES_PER_BLOCK * ENTRY_SIZE) as u64).min(geometry.length())
    }

    /// Reads a block without verifying it.
    pub(super) fn read_unverified(
        &self,
        block: usize,
        entries: &mut Vec<[u8; ENTRY_SIZE]>,
    ) -> Result<(), IndexError> {
        let extent = self.block_extent(block);
        entries.resize((extent.end - extent.start) as usize / ENTRY_SIZE, [0; ENTRY_SIZE]);
        Ok(read_exactly(&*self.file, &self.path, entries.as_flattened_mut(), extent.start)?)
    }

    /// Whether the entries of a block match its checksum.
    pub(super) fn matches_check(
        &self,
        block: usize,
        entries: &[[u8; ENTRY_SIZE]],
    ) -> Result<bool, IndexError> {
        let check = self.checks.get(&*self.file, &self.path, block)?;
        Ok(crc32fast::hash(entries.as_flattened()) == check)
    }

    /// Reads and verifies a block.
    fn read_block(&self, block: usize, entries: &mut Vec<[u8; ENTRY_SIZE]>) -> Result<(), IndexError> {
        self.read_unverified(block, entries)?;
        if self.matches_check(block, entries)? {
            return Ok(());
        }
        let what = "the checksum of a block of entries does not match";
        Err(IndexError::damaged(&self.path, self.block_extent(block).start, what))
    }

    /// Whether the bytes between header and entries match their checksum.
    pub(super) fn tables_match_check(&self) -> Result<bool, IndexError> {
        let end = self.header.geometry.entries_start();
        let (mut hasher, mut piece) = (crc32fast::Hasher::new(), vec![0; TABLE_PIECE_BYTES]);
        for start in (SHARD_HEADER_BYTES..end).step_by(TABLE_PIECE_BYTES) {
            let piece = &mut piece[..TABLE_PIECE_BYTES.min(end - start)];
            read_exactly(&*self.file, &self.path, piece, start as u64)?;
            hasher.update(piece);
        }
        Ok(hasher.finalize() == self.header.tables_check)
    }

    /// A page of the bias table, complete as it is in the file.
    pub(super) fn read_bias_page(&self, page: usize) -> Result<Vec<u32>, IndexError> {
        Ok(self.bias.read_page(&*self.file, &self.path, page)?)
    }

    /// The block in which a prefix probably is. There must be entries.
    fn probable_block(&self, prefix: IndexPrefix) -> Result<usize, IndexError> {
        let geometry = self.header.geometry;
        let (bucket, fraction) = bucket_of(self.name(), prefix, kept_bias_bits(geometry));
        let start = self.bias.get(&*self.file, &self.path, bucket)?;
        let end = self.bias.get(&*self.file, &self.path, bucket + 1)?;
        let step = (u128::from(end.saturating_sub(start)) * u128::from(fraction)) >> 64;
        Ok(((start as usize + step as usize) / ENTRIES_PER_BLOCK).min(geometry.blocks() - 1))
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Shard({}, {} entries)", self.path.display(), self.count())
    }
}

/// The number of bits of a prefix that choose a bias in memory.
fn kept_bias_bits(geometry: ShardGeometry) -> u32 {
    geometry.bucket_bits.saturating_sub(BIAS_STRIDE_BITS)
}

/// Searches a shard. Keeps the block that was read last, so that lookups in the order of prefixes
/// read each block once.
pub(super) struct BlockReader<'a> {
    shard: &'a Shard,
    /// The number of the block in `entries`.
    block: Option<usize>,
    entries: Vec<[u8; ENTRY_SIZE]>,
    /// The number and the last prefix of the block that was read before.
    before: Option<(usize, IndexPrefix)>,
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(shard: &'a Shard) -> Self {
        Self { shard, block: None, entries: Vec::new(), before: None }
    }

    /// Calls `found` with the place of each entry with this prefix, in order.
    pub(super) fn find(
        &mut self,
        prefix: IndexPrefix,
        mut found: impl FnMut(SiloPlace),
    ) -> Result<(), IndexError> {
        let mut position = self.lower_bound(prefix)?;
        while (position as u64) < self.shard.count() {
            let block = position / ENTRIES_PER_BLOCK;
            for entry in &self.load(block)?[position % ENTRIES_PER_BLOCK..] {
                let entry = IndexEntry::from_bytes(entry);
                if entry.prefix != prefix {
                    return Ok(());
                }
                found(entry.place);
            }
            position = (block + 1) * ENTRIES_PER_BLOCK;
        }
        Ok(())
    }

    /// The position of the first entry whose prefix is not smaller.
    fn lower_bound(&mut self, prefix: IndexPrefix) -> Result<usize, IndexError> {
        // Entries before the block `low` are smaller, those from the block `high` on are not.
        let (mut low, mut high, mut leap) = (0, self.shard.header.geometry.blocks(), 1);
        if high == 0 {
            return Ok(0);
        }
        let mut block = match self.block {
            Some(block) if self.encloses(prefix) => block,
            _ => self.shard.probable_block(prefix)?,
        };
        while low < high {
            let entries = self.load(block)?;
            let smaller = entries.partition_point(|entry| IndexEntry::from_bytes(entry).prefix < prefix);
            let next = if smaller == self.entries.len() {
                low = block + 1;
                block.checked_add(leap)
            } else if smaller == 0 && block > low && !self.follows_block_before(block, prefix) {
                high = block;
                block.checked_sub(leap)
            } else {
                return Ok(block * ENTRIES_PER_BLOCK + smaller);
            };
            block = next.filter(|next| (low..high).contains(next)).unwrap_or(low + (high - low) / 2);
            leap *= 2;
        }
        Ok((low * ENTRIES_PER_BLOCK).min(self.shard.count() as usize))
    }

    /// Whether the first position for the prefix is in the block that was read last, after its
    /// first entry.
    fn encloses(&self, prefix: IndexPrefix) -> bool {
        let [first, .., last] = self.entries.as_slice() else { return false };
        IndexEntry::from_bytes(first).prefix < prefix && prefix <= IndexEntry::from_bytes(last).prefix
    }

    /// Whether the block that was read before is the one before `block`, and all of it is smaller.
    fn follows_block_before(&self, block: usize, prefix: IndexPrefix) -> bool {
        self.before.is_some_and(|(before, last)| before + 1 == block && last < prefix)
    }

    /// The verified entries of a block.
    fn load(&mut self, block: usize) -> Result<&[[u8; ENTRY_SIZE]], IndexError> {
        if self.block != Some(block) {
            let last = self.entries.last().map(|entry| IndexEntry::from_bytes(entry).prefix);
            self.before = self.block.take().zip(last);
            self.shard.read_block(block, &mut self.entries)?;
            self.block = Some(block);
        }
        Ok(&self.entries)
    }
}

/// Reads the header and checks the length of the file against it.
fn read_header(path: &Path, file: &dyn DiskFile) -> Result<ShardHeader, IndexError> {
    let length = file.length()?;
    let mut first = [0; SHARD_HEADER_BYTES];
    if file.read_at(&mut first, 0)? < first.len() {
        return Err(IndexError::damaged(path, length, "it ends inside the header"));
    }
    let header = ShardHeader::from_bytes(&first).map_err(|fault| match fault {
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

/// The entries of a range of a shard, in order.
#[derive(Debug)]
pub(super) struct ShardStream {
    shard: Arc<Shard>,
    next: usize,
    range: PrefixRange,
    before: Option<IndexEntry>,
    /// The block of `next`; empty before the first entry.
    block: Vec<[u8; ENTRY_SIZE]>,
}

impl ShardStream {
    fn advance(&mut self) -> Result<Option<IndexEntry>, IndexError> {
        if self.next as u64 >= self.shard.count() {
            return Ok(None);
        }
        let (block, within) = (self.next / ENTRIES_PER_BLOCK, self.next % ENTRIES_PER_BLOCK);
        if self.block.is_empty() || within == 0 {
            self.shard.read_block(block, &mut self.block)?;
        }
        let entry = IndexEntry::from_bytes(&self.block[within]);
        if self.before.is_some_and(|before| before >= entry) || entry.prefix < self.range.first {
            let offset = self.shard.block_extent(block).start + (within * ENTRY_SIZE) as u64;
            return Err(IndexError::damaged(&self.shard.path, offset, "the entries are not in order"));
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
