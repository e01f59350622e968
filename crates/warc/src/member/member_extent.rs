//! Where a member ends, as far as its headers show without decompressing it.
//!
//! The last four bytes of a gzip member are its decompressed length. A zstd frame has that length
//! at its start, and the packed length of each of its blocks. So a caller that expects a record to
//! end at some offset can have that confirmed for the price of a few bytes. The answer does not say
//! what contradicts the expectation; for that, read the record.

use std::io;

use super::salvage::SalvageReader;
use super::{Encoding, MemberReader, gzip, zstd};
use varve_wire::ReadAt;

/// Packed records up to this size are searched for another member: reading them costs no more than
/// skipping them.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;
/// The minimum size of a gzip member: header, an empty block, trailer.
const MIN_MEMBER_BYTES: u64 = 20;
/// The cost of looking at one block of a damaged frame, which may be one read. A hostile file has
/// millions of blocks.
const BLOCK_COST: u64 = 512;

/// A zstd frame as its headers describe it.
pub(super) struct FrameExtent {
    pub(super) end: u64,
    /// The decompressed length.
    content: Option<u64>,
}

impl<S: ReadAt> MemberReader<S> {
    /// Whether nothing contradicts that a record of `length` decompressed bytes, which begins with
    /// the current member, ends at `end` of the file with no other record between.
    pub(crate) fn may_end_at(&mut self, length: u64, end: u64) -> io::Result<bool> {
        let offset = self.member.offset;
        match self.salvage.encoding {
            Encoding::Plain => Ok(offset.checked_add(length) == Some(end)),
            Encoding::Gzip => self.gzip_may_end_at(length, end),
            Encoding::Zstd => self.salvage.frames_end_at(offset, length, end),
        }
    }

    fn gzip_may_end_at(&mut self, length: u64, end: u64) -> io::Result<bool> {
        let packed = end.saturating_sub(self.member.offset);
        let mut trailer = [0; 4];
        if packed < MIN_MEMBER_BYTES || self.salvage.window.peek(end - 4, &mut trailer)? < trailer.len() {
            return Ok(false);
        }
        // The trailer counts modulo 2^32.
        if u32::from_le_bytes(trailer) != length as u32 {
            return Ok(false);
        }
        // The last of several members may be as long as the first.
        Ok(packed > MAX_SEARCHED_BYTES || !self.holds_another_member(packed as usize)?)
    }

    /// Whether a gzip member may begin inside the current one, which has `packed` bytes.
    fn holds_another_member(&mut self, packed: usize) -> io::Result<bool> {
        let mut searched = std::mem::take(&mut self.gzip.prefix);
        searched.resize(packed, 0);
        let count = self.salvage.window.peek(self.member.offset, &mut searched);
        let is_there = memchr::memmem::find(&searched[1..], &gzip::GZIP_MAGIC).is_some();
        self.gzip.prefix = searched;
        Ok(count? < packed || is_there)
    }
}

impl<S: ReadAt> SalvageReader<S> {
    /// Whether the frames from `offset` on hold `length` decompressed bytes and end at `end`.
    fn frames_end_at(&mut self, mut offset: u64, length: u64, end: u64) -> io::Result<bool> {
        let mut held = 0_u64;
        while offset < end {
            let Ok(FrameExtent { end: next, content: Some(content) }) = self.frame_extent(offset, 0)? else {
                return Ok(false);
            };
            offset = next;
            held = held.saturating_add(content);
        }
        Ok(offset == end && held == length)
    }

    /// Where the frame at `offset` ends by its headers, when another frame or the end of the file
    /// follows there.
    pub(super) fn frame_end_by_headers(&mut self, offset: u64) -> io::Result<Option<u64>> {
        let Ok(FrameExtent { end, .. }) = self.frame_extent(offset, BLOCK_COST)? else { return Ok(None) };
        let mut next = [0; 8];
        let count = self.window.peek(end, &mut next)?;
        let next = &next[..count];
        let follows =
            next.is_empty() || next.starts_with(&zstd::FRAME_MAGIC) || zstd::skippable_length(next).is_some();
        Ok(follows.then_some(end))
    }

    /// The frame at `offset`. When it is cut or damaged, the offset up to which its headers could
    /// be followed. Each block costs `price` of the rewind budget; when that is used up, the frame
    /// counts as damaged.
    pub(super) fn frame_extent(&mut self, offset: u64, price: u64) -> io::Result<Result<FrameExtent, u64>> {
        let mut header = [0; zstd::MAX_FRAME_HEADER_BYTES];
        let count = self.window.peek(offset, &mut header)?;
        let header = &header[..count];
        let length = if header.starts_with(&zstd::FRAME_MAGIC) { zstd::header_length(header) } else { None };
        let Some((length, has_checksum)) = length else { return Ok(Err(offset)) };
        let mut end = offset + length as u64;
        loop {
            let mut bytes = [0; 3];
            let is_there = self.window.peek(end, &mut bytes)? == bytes.len();
            let Some(block) = zstd::parse_block(bytes).filter(|_| is_there && self.spend(price)) else {
                return Ok(Err(end));
            };
            end = end.saturating_add(3 + block.length);
            if block.is_last {
                break;
            }
        }
        let frame_end = end.saturating_add(if has_checksum { 4 } else { 0 });
        if self.window.peek(frame_end - 1, &mut [0])? == 0 {
            return Ok(Err(end));
        }
        Ok(Ok(FrameExtent { end: frame_end, content: zstd::content_size(header) }))
    }
}
