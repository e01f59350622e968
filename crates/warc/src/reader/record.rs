//! A record as the reader lends it: its header is parsed, its block is unread.

use std::io::{self, BufRead, Read};

use super::lookahead::BlockTail;
use super::{Format, WarcReader};
use crate::digest::{Digest, Hasher};
use crate::member::Encoding;
use crate::record::RecordHeader;
use crate::rules::WarcFinding;
use varve_wire::ReadAt;

/// The separator after every block.
const RECORD_END: &[u8] = b"\r\n\r\n";

/// One record: its header is parsed, its block is unread. Reading from the record reads its block.
pub struct Record<'a, S> {
    pub(super) reader: &'a mut WarcReader<S>,
}

impl<S: ReadAt> Record<'_, S> {
    /// Its header.
    pub fn header(&self) -> &RecordHeader {
        &self.reader.header
    }

    /// Where in the file it begins: a compressed record at the start of its member.
    pub fn offset(&self) -> u64 {
        self.reader.record_offset
    }

    /// The length of its block as the header gives it.
    pub fn declared_length(&self) -> u64 {
        self.reader.block.declared
    }

    /// Whether the block is shorter than declared, as far as it was read.
    pub fn is_cut(&self) -> bool {
        self.reader.block.cut
    }

    /// Whether it was cut because another record begins before its declared end.
    pub(crate) fn is_overlapped(&self) -> bool {
        self.reader.block.overlap.is_some()
    }

    /// Whether the compressed member that it was read from last is damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.reader.members.has_failed()
    }

    /// The bytes after a block that was read to its declared end, when they are neither a record
    /// nor nothing.
    pub(crate) fn tail(&mut self) -> io::Result<Option<BlockTail>> {
        self.reader.tail()
    }

    /// The digest of the hashed bytes and the next `length` bytes after the block.
    pub(crate) fn digest_ahead(&mut self, hasher: Hasher, length: u64) -> io::Result<Digest> {
        self.reader.digest_ahead(hasher, length)
    }

    /// Extends the block by `length` bytes after it.
    pub(crate) fn extend(&mut self, length: u64) {
        self.reader.extend_block(length);
    }

    /// Reads the rest of its block and passes it on in pieces.
    pub fn for_each_piece(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            let bytes = self.reader.fill_block()?;
            if bytes.is_empty() {
                return Ok(());
            }
            each(bytes);
            let count = bytes.len();
            self.reader.consume_block(count);
        }
    }

    /// Whether it lies in a gzip member with the header that
    /// [`GZIP_HEADER`](crate::write::GZIP_HEADER) is, which no checksum covers. Call this before
    /// the block is read: another member may begin after it.
    pub fn has_our_gzip_header(&self) -> bool {
        self.reader.members.is_ours()
    }

    /// Whether the record is complete: the rest of its block is there, and the member that it ends
    /// in holds the end of a record and nothing else, with a matching checksum. Reads to the end of
    /// that member and no further.
    pub fn is_whole(&mut self) -> io::Result<bool> {
        self.for_each_piece(|_| {})?;
        let is_plain = self.reader.encoding() == Encoding::Plain;
        let rest = self.reader.members.require(RECORD_END.len() + 1)?;
        let ends = rest.starts_with(RECORD_END) && (is_plain || rest.len() == RECORD_END.len());
        Ok(ends && !self.reader.block.cut && !self.reader.members.has_failed())
    }

    /// The line that stood before an ARC record; empty for a WARC record.
    pub fn arc_line(&self) -> &[u8] {
        match self.reader.format {
            Format::Warc => &[],
            Format::Arc { .. } => &self.reader.scratch,
        }
    }
}

impl<S: ReadAt> BufRead for Record<'_, S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_block()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume_block(count);
    }
}

impl<S: ReadAt> Read for Record<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.consume(length);
        Ok(length)
    }
}

/// A record that owns its reader. Reading from it reads the block of the record.
pub struct OwnedRecord<S> {
    pub(super) reader: WarcReader<S>,
}

impl<S: ReadAt> OwnedRecord<S> {
    /// The record as the reader lends it.
    pub fn as_record(&mut self) -> Record<'_, S> {
        Record { reader: &mut self.reader }
    }

    /// Its header.
    pub fn header(&self) -> &RecordHeader {
        &self.reader.header
    }

    /// Whether the record is complete, as [`Record::is_whole`].
    pub fn is_whole(&mut self) -> io::Result<bool> {
        self.as_record().is_whole()
    }

    /// The findings so far: damage ends a block early and is reported here.
    pub fn take_findings(&mut self) -> Vec<WarcFinding> {
        self.reader.take_findings()
    }
}

impl<S: ReadAt> Read for OwnedRecord<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_record().read(buffer)
    }
}

impl<S: ReadAt> BufRead for OwnedRecord<S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_block()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume_block(count);
    }
}
