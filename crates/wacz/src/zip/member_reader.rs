//! The content of a member as a stream.

use std::io::{self, BufReader, Read};

use flate2::read::DeflateDecoder;
use varve_wire::{ReadAt, ReadAtCursor};

use super::{ZipCompression, ZipMember};
use crate::source_range::SourceRange;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

type PackedBytes<'a, S> = BufReader<ReadAtCursor<SourceRange<&'a S>>>;

enum Unpacking<'a, S> {
    Stored(PackedBytes<'a, S>),
    Deflated(Box<DeflateDecoder<PackedBytes<'a, S>>>),
}

/// Reads a member. It never gives more than the size that the member declares, and fails at the end
/// when size or checksum differ.
pub struct ZipMemberReader<'a, S> {
    unpacking: Unpacking<'a, S>,
    hasher: crc32fast::Hasher,
    expected: Option<(u64, u32)>,
    left: u64,
}

impl<'a, S: ReadAt> ZipMemberReader<'a, S> {
    /// `None` when the member cannot be read.
    pub(super) fn new(packed: SourceRange<&'a S>, member: &ZipMember) -> Option<Self> {
        if member.is_encrypted {
            return None;
        }
        let is_stored = member.method == ZipCompression::Stored;
        if is_stored && !member.is_unmeasured && member.packed_size != member.size {
            return None;
        }
        // Deflate expands at most 1032 times, so this bounds members of unknown size too.
        let most = packed.length().saturating_mul(MAX_DEFLATE_RATIO).saturating_add(64);
        let bytes = BufReader::with_capacity(READ_BYTES, ReadAtCursor::new(packed, 0));
        let unpacking = match member.method {
            ZipCompression::Stored => Unpacking::Stored(bytes),
            ZipCompression::Deflated => Unpacking::Deflated(Box::new(DeflateDecoder::new(bytes))),
            ZipCompression::Other(_) => return None,
        };
        let expected = (!member.is_unmeasured).then_some((member.size, member.crc32));
        let left = expected.map_or(most, |(size, _)| size);
        Some(Self { unpacking, hasher: crc32fast::Hasher::new(), expected, left })
    }

    fn read_packed(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.unpacking {
            Unpacking::Stored(bytes) => bytes.read(buffer),
            Unpacking::Deflated(bytes) => bytes.read(buffer),
        }
    }

    fn verify_end(&mut self) -> io::Result<()> {
        let Some((size, crc32)) = self.expected.take() else { return Ok(()) };
        let invalid = |message: String| Err(io::Error::new(io::ErrorKind::InvalidData, message));
        if self.left > 0 {
            let held = size - self.left;
            return invalid(format!("the member has {held} bytes, and {size} are declared"));
        }
        if self.read_packed(&mut [0])? > 0 {
            return invalid(format!("the member has more than the {size} bytes that it declares"));
        }
        let actual = self.hasher.clone().finalize();
        if actual != crc32 {
            return invalid(format!("the checksum is {actual:08x}, and {crc32:08x} is declared"));
        }
        Ok(())
    }
}

/// No deflate stream expands more than this.
const MAX_DEFLATE_RATIO: u64 = 1032;

impl<S: ReadAt> Read for ZipMemberReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let length = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = if length == 0 { 0 } else { self.read_packed(&mut buffer[..length])? };
        if count == 0 {
            self.verify_end()?;
            return Ok(0);
        }
        self.hasher.update(&buffer[..count]);
        self.left -= count as u64;
        Ok(count)
    }
}
