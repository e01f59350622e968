//! Compares the declared length of a block with the bytes that follow it, before the block is read.
//!
//! A declared length may be wrong. A reader that notices this at the declared end has already given
//! out part of the next record. So the reader looks ahead first: after the declared end there
//! should be a record, or nothing. Otherwise it searches the block for the start of another record,
//! and the block ends before that. The digest in the header decides: when it matches the declared
//! length, the length is right.
//!
//! Lookahead has no limit in a plain file. In a compressed member it has one, because all bytes
//! before must be decompressed. Each byte is looked at twice at most, except those hashed for the
//! digest, which are paid for from the rewind budget.

use std::io;

use super::{Format, WarcReader, arc_records};
use crate::digest::{Digest, Hasher};
use crate::member::{Encoding, MAX_LOOKAHEAD_BYTES};
use crate::rules::{Rule, WarcFinding};
use varve_wire::ReadAt;

/// Bytes are searched in steps of this size.
const LOOKAHEAD_STEP_BYTES: usize = 64 << 10;
/// The bytes that may separate two records, the usual ones first.
const POSSIBLE_SEPARATORS: [&[u8]; 4] = [b"\r\n\r\n", b"\n\n", b"\r\n", b"\n"];

/// Bytes after a block that may belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockTail {
    pub(crate) length: u64,
    /// They follow the block without a newline between and end where a record ends. So they are
    /// part of it, unless its digest shows otherwise.
    pub(crate) is_likely: bool,
}

/// The number of bytes that tell whether a record begins with them.
pub(super) fn record_start_bytes(format: Format) -> usize {
    match format {
        Format::Warc => 64,
        Format::Arc { .. } => arc_records::MAX_SURE_LINE_BYTES,
    }
}

/// Whether a record begins here, where none need begin.
pub(super) fn is_record(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Warc => crate::member::is_warc_start(bytes),
        Format::Arc { version } => arc_records::is_sure_line(bytes, version),
    }
}

/// Whether a block may end before these bytes: a record follows, or nothing.
fn is_end(format: Format, after: &[u8]) -> bool {
    let newlines = after.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let rest = &after[newlines..];
    match format {
        Format::Warc => {
            let length = rest.len().min(5);
            rest[..length].eq_ignore_ascii_case(&b"WARC/"[..length])
        }
        Format::Arc { .. } => rest.is_empty() || is_record(format, rest),
    }
}

/// Where the first record begins in `bytes`, which begin a line when `at_line_start`.
fn find_record(format: Format, bytes: &[u8], at_line_start: bool) -> Option<usize> {
    if at_line_start && is_record(format, bytes) {
        return Some(0);
    }
    match format {
        Format::Warc => memchr::memmem::find_iter(bytes, b"\nWARC/")
            .map(|newline| newline + 1)
            .find(|at| crate::member::is_warc_start(&bytes[*at..])),
        Format::Arc { .. } => memchr::memchr_iter(b'\n', bytes)
            .map(|newline| newline + 1)
            .find(|at| is_record(format, &bytes[*at..])),
    }
}

impl<S: ReadAt> WarcReader<S> {
    /// Ends the block early when its length is wrong and another record begins in it.
    pub(super) fn check_declared_length(&mut self) -> io::Result<()> {
        let declared = self.block.declared;
        let is_packed = self.members.encoding() != Encoding::Plain;
        let enough = record_start_bytes(self.format);
        if declared == 0 || is_packed && self.members.is_aardwarc() {
            return Ok(());
        }
        let reach = self.members.reach(declared.saturating_add(enough as u64))?;
        if is_packed && reach < declared && reach >= MAX_LOOKAHEAD_BYTES as u64 {
            return Ok(());
        }
        if reach >= declared {
            let mut after = [0; arc_records::MAX_SURE_LINE_BYTES];
            let count = self.members.peek(declared, &mut after[..enough])?;
            if is_end(self.format, &after[..count]) {
                return Ok(());
            }
        }
        let Some(found) = self.find_ahead(declared.min(reach))? else { return Ok(()) };
        if reach >= declared && self.fits_digest(declared)? {
            return Ok(());
        }
        let separator = self.separator_before(found)?;
        self.block.remaining = found - separator;
        self.block.cut = true;
        self.block.overlap = Some(separator);
        let message =
            format!("the header gives a length of {declared}, but another record begins after {found} bytes");
        self.findings.push(WarcFinding::new(Rule::BlockOverlap, self.record_offset, message));
        Ok(())
    }

    /// Where a record begins within the next `until` bytes, from here.
    fn find_ahead(&mut self, until: u64) -> io::Result<Option<u64>> {
        let mut stretch = vec![0; LOOKAHEAD_STEP_BYTES];
        let mut from = 0;
        while from < until {
            let count = self.members.peek(from, &mut stretch)?;
            if let Some(at) = find_record(self.format, &stretch[..count], from == 0) {
                let found = from + at as u64;
                return Ok((found < until).then_some(found));
            }
            if count < stretch.len() {
                break;
            }
            // The last bytes may be the first of a record.
            from += (count - record_start_bytes(self.format)) as u64;
        }
        Ok(None)
    }

    /// The number of separator bytes before the record that begins `found` bytes from here.
    fn separator_before(&mut self, found: u64) -> io::Result<u64> {
        let length = found.min(4) as usize;
        let mut before = [0; 4];
        let count = self.members.peek(found - length as u64, &mut before[..length])?;
        let separator = POSSIBLE_SEPARATORS.iter().find(|separator| before[..count].ends_with(separator));
        Ok(separator.map_or(0, |separator| separator.len() as u64))
    }

    /// Whether the next `length` bytes match the digest in the header.
    fn fits_digest(&mut self, length: u64) -> io::Result<bool> {
        let Some(Ok(expected)) = self.header.block_digest().filter(|_| self.format == Format::Warc) else {
            return Ok(false);
        };
        if !self.members.spend(length) {
            return Ok(false);
        }
        Ok(self.digest_ahead(expected.algorithm().hasher(), length)? == expected)
    }

    /// The digest of the hashed bytes and the next `length` bytes.
    pub(crate) fn digest_ahead(&mut self, mut hasher: Hasher, length: u64) -> io::Result<Digest> {
        let mut stretch = vec![0; LOOKAHEAD_STEP_BYTES];
        let mut done = 0;
        while done < length {
            let wanted =
                usize::try_from(length - done).unwrap_or(LOOKAHEAD_STEP_BYTES).min(LOOKAHEAD_STEP_BYTES);
            let count = self.members.peek(done, &mut stretch[..wanted])?;
            if count == 0 {
                break;
            }
            hasher.update(&stretch[..count]);
            done += count as u64;
        }
        Ok(hasher.finish())
    }

    /// The bytes after a block that was read to its declared end, when they are neither a record
    /// nor nothing.
    pub(crate) fn tail(&mut self) -> io::Result<Option<BlockTail>> {
        if self.block.cut || self.block.remaining > 0 {
            return Ok(None);
        }
        let is_packed = self.members.encoding() != Encoding::Plain;
        let reach = self.members.reach(u64::MAX)?;
        let mut after = vec![0; record_start_bytes(self.format)];
        let count = self.members.peek(0, &mut after)?;
        if is_end(self.format, &after[..count]) || self.members.has_failed() {
            return Ok(None);
        }
        let found = self.find_ahead(reach)?;
        if is_packed && found.is_none() && reach >= MAX_LOOKAHEAD_BYTES as u64 {
            return Ok(None);
        }
        let end = found.unwrap_or(reach);
        let separator = self.separator_before(end)?;
        // A plain file may end anywhere; the end of a member, and the place before a record, are
        // intended.
        let ends_well = is_packed || found.is_some() || separator == 4;
        let is_likely = ends_well && !matches!(after[0], b'\r' | b'\n');
        let length = end - if ends_well { separator } else { 0 };
        Ok((length > 0).then_some(BlockTail { length, is_likely }))
    }

    /// Extends the block by `length` bytes after it.
    pub(crate) fn extend_block(&mut self, length: u64) {
        let declared = self.block.declared;
        self.block.remaining = length;
        let message =
            format!("the header gives a length of {declared}, but the block goes on for {length} bytes");
        self.findings.push(WarcFinding::new(Rule::BlockShort, self.record_offset, message));
    }
}
