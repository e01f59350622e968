//! Where a record ends, as far as can be told without unpacking its block.
//!
//! A gzip member says its plain length in its last four bytes, a zstd frame says it at its beginning and the packed length
//! of each of its blocks. So whoever believes to know where a record ends can have that confirmed, nearly for certain,
//! for the price of a few bytes. What speaks against it is not said: who wants to know unpacks the record.

use std::io;

use super::{Encoding, Unpacker, gzip, zstd};
use varve_wire::ReadAt;

/// Packed records up to this size are looked through for another member: to read them costs no more than to pass them.
const LOOKED_THROUGH: u64 = 1 << 20;
/// The least that a gzip member takes: header, an empty block, trailer.
const SMALLEST_MEMBER: u64 = 20;

/// What it costs to look at a block of a damaged frame, which may be a read of its own: a hostile file has millions, in frames inside frames.
const BLOCK_PRICE: u64 = 512;

/// A zstd frame by its own account.
pub(super) struct Frame {
    pub(super) end: u64,
    /// Plain bytes in it.
    content: Option<u64>,
}

impl<S: ReadAt> Unpacker<S> {
    /// Whether nothing speaks against a record of `length` plain bytes, which begins where the current member does, ending
    /// at `end` of the file, with no other record between.
    pub(crate) fn may_end_at(&mut self, length: u64, end: u64) -> io::Result<bool> {
        match self.encoding {
            Encoding::Plain => Ok(self.member_offset.checked_add(length) == Some(end)),
            Encoding::Gzip => self.gzip_may_end_at(length, end),
            Encoding::Zstd => self.frames_end_at(length, end),
        }
    }

    fn gzip_may_end_at(&mut self, length: u64, end: u64) -> io::Result<bool> {
        let packed = end.saturating_sub(self.member_offset);
        let mut trailer = [0; 4];
        if packed < SMALLEST_MEMBER || self.window.peek(end - 4, &mut trailer)? < trailer.len() {
            return Ok(false);
        }
        // The trailer counts modulo 2^32.
        if u32::from_le_bytes(trailer) != length as u32 {
            return Ok(false);
        }
        // The last of several members may be as long as the first.
        Ok(packed > LOOKED_THROUGH || !self.holds_another(packed as usize)?)
    }

    /// Whether a gzip member may begin inside the current one, which has `packed` bytes.
    fn holds_another(&mut self, packed: usize) -> io::Result<bool> {
        let mut looked_at = std::mem::take(&mut self.beginning);
        looked_at.resize(packed, 0);
        let count = self.window.peek(self.member_offset, &mut looked_at);
        let is_there = memchr::memmem::find(&looked_at[1..], &gzip::MAGIC).is_some();
        self.beginning = looked_at;
        Ok(count? < packed || is_there)
    }

    /// Whether the frames from here on hold `length` plain bytes and end at `end`.
    fn frames_end_at(&mut self, length: u64, end: u64) -> io::Result<bool> {
        let (mut place, mut held) = (self.member_offset, 0_u64);
        while place < end {
            let Ok(Frame { end: behind, content: Some(content) }) = self.frame(place, 0)? else {
                return Ok(false);
            };
            place = behind;
            held = held.saturating_add(content);
        }
        Ok(place == end && held == length)
    }

    /// Where the frame ends that begins at `place`, as it says itself, when another or the end of the file follows there.
    pub(super) fn end_by_account(&mut self, place: u64) -> io::Result<Option<u64>> {
        let Ok(Frame { end, .. }) = self.frame(place, BLOCK_PRICE)? else { return Ok(None) };
        let mut next = [0; 8];
        let count = self.window.peek(end, &mut next)?;
        let next = &next[..count];
        let follows = next.is_empty() || next.starts_with(&zstd::MAGIC) || zstd::skippable(next).is_some();
        Ok(follows.then_some(end))
    }

    /// The frame that begins at `place`; where its way was lost, when it is cut or damaged. Each block is paid for with `price` from the
    /// budget for going back, and where that is used up the way is lost.
    pub(super) fn frame(&mut self, place: u64, price: u64) -> io::Result<Result<Frame, u64>> {
        let mut header = [0; zstd::LONGEST_HEADER];
        let count = self.window.peek(place, &mut header)?;
        let header = &header[..count];
        let length = if header.starts_with(&zstd::MAGIC) { zstd::header_length(header) } else { None };
        let Some((length, has_checksum)) = length else { return Ok(Err(place)) };
        let mut end = place + length as u64;
        loop {
            let mut bytes = [0; 3];
            let is_there = self.window.peek(end, &mut bytes)? == bytes.len();
            let Some(block) = zstd::block(bytes).filter(|_| is_there && self.spend(price)) else {
                return Ok(Err(end));
            };
            end = end.saturating_add(3 + block.length);
            if block.is_last {
                break;
            }
        }
        let behind = end.saturating_add(if has_checksum { 4 } else { 0 });
        if self.window.peek(behind - 1, &mut [0])? == 0 {
            return Ok(Err(end));
        }
        Ok(Ok(Frame { end: behind, content: zstd::content_size(header) }))
    }
}
