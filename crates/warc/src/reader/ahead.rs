//! A block held against what follows it, before anybody reads it.
//!
//! A length may lie. Whoever reads a block to its declared end and only then finds that no record follows has already
//! given away part of the next record as if it were this one's. So the reader looks ahead first: behind the declared end
//! there should be a record, or nothing. When there is something else, it looks for a record that begins inside the block,
//! which then ends before it. The digest that the header gives is the arbiter: when it fits the declared length, the length
//! is right whatever the block holds.
//!
//! Looking goes any distance in a plain file, and up to a bound in a compressed member, where nothing can be reached
//! without unpacking all before it. Each byte is looked at twice at the most, but for those that are hashed for the
//! arbiter, which are paid for from the budget for going back.

use std::io;

use super::{Format, Reader, arc, warc};
use crate::digest::{Digest, Hasher};
use crate::member::{Encoding, FARTHEST_LOOK};
use crate::rule::{Finding, Rule};
use varve_wire::ReadAt;

/// So many bytes are looked at together.
const STRETCH: usize = 64 << 10;
/// What may stand between two records, the usual first.
const SEPARATORS: [&[u8]; 4] = [b"\r\n\r\n", b"\n\n", b"\r\n", b"\n"];

/// Bytes behind a block that may belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) length: u64,
    /// They follow the block without a newline between, and end where a record ends: so they are part of it, unless its
    /// digest says otherwise.
    pub(crate) is_likely: bool,
}

/// So many bytes tell whether a record begins with them.
pub(super) fn enough_to_tell(format: Format) -> usize {
    match format {
        Format::Warc => 64,
        Format::Arc { .. } => arc::LONGEST_SURE_LINE,
    }
}

/// Whether a record begins here, where none need begin.
pub(super) fn is_record(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Warc => warc::is_start(bytes),
        Format::Arc { version } => arc::is_sure_line(bytes, version),
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
            .find(|at| warc::is_start(&bytes[*at..])),
        Format::Arc { .. } => memchr::memchr_iter(b'\n', bytes)
            .map(|newline| newline + 1)
            .find(|at| is_record(format, &bytes[*at..])),
    }
}

impl<S: ReadAt> Reader<S> {
    /// Ends the block early when its length lies and another record begins in it.
    pub(super) fn hold_block_against_what_follows(&mut self) -> io::Result<()> {
        let declared = self.block.declared;
        let is_packed = self.unpacker.encoding() != Encoding::Plain;
        let enough = enough_to_tell(self.format);
        if declared == 0 || is_packed && self.unpacker.is_aardwarc() {
            return Ok(());
        }
        let reach = self.unpacker.reach(declared.saturating_add(enough as u64))?;
        if is_packed && reach < declared && reach >= FARTHEST_LOOK as u64 {
            return Ok(());
        }
        if reach >= declared {
            let mut after = [0; arc::LONGEST_SURE_LINE];
            let count = self.unpacker.look(declared, &mut after[..enough])?;
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
        self.findings.push(Finding::new(Rule::BlockOverlap, self.record_offset, message));
        Ok(())
    }

    /// Where a record begins within the next `until` bytes, from here.
    fn find_ahead(&mut self, until: u64) -> io::Result<Option<u64>> {
        let mut stretch = vec![0; STRETCH];
        let mut from = 0;
        while from < until {
            let count = self.unpacker.look(from, &mut stretch)?;
            if let Some(at) = find_record(self.format, &stretch[..count], from == 0) {
                let found = from + at as u64;
                return Ok((found < until).then_some(found));
            }
            if count < stretch.len() {
                break;
            }
            // The last bytes may be the first of a record.
            from += (count - enough_to_tell(self.format)) as u64;
        }
        Ok(None)
    }

    /// How many bytes separate the record that begins `found` bytes from here from what is before it.
    fn separator_before(&mut self, found: u64) -> io::Result<u64> {
        let length = found.min(4) as usize;
        let mut before = [0; 4];
        let count = self.unpacker.look(found - length as u64, &mut before[..length])?;
        let separator = SEPARATORS.iter().find(|separator| before[..count].ends_with(separator));
        Ok(separator.map_or(0, |separator| separator.len() as u64))
    }

    /// Whether the next `length` bytes are those that the header's digest was taken of.
    fn fits_digest(&mut self, length: u64) -> io::Result<bool> {
        let Some(Ok(expected)) = self.header.block_digest().filter(|_| self.format == Format::Warc) else {
            return Ok(false);
        };
        if !self.unpacker.spend(length) {
            return Ok(false);
        }
        Ok(self.digest_ahead(expected.algorithm().hasher(), length)? == expected)
    }

    /// The digest with the next `length` bytes added to what was hashed.
    pub(crate) fn digest_ahead(&mut self, mut hasher: Hasher, length: u64) -> io::Result<Digest> {
        let mut stretch = vec![0; STRETCH];
        let mut done = 0;
        while done < length {
            let wanted = usize::try_from(length - done).unwrap_or(STRETCH).min(STRETCH);
            let count = self.unpacker.look(done, &mut stretch[..wanted])?;
            if count == 0 {
                break;
            }
            hasher.update(&stretch[..count]);
            done += count as u64;
        }
        Ok(hasher.finish())
    }

    /// What stands behind a block that was read to its declared end, when that is neither a record nor nothing.
    pub(crate) fn tail(&mut self) -> io::Result<Option<Tail>> {
        if self.block.cut || self.block.remaining > 0 {
            return Ok(None);
        }
        let is_packed = self.unpacker.encoding() != Encoding::Plain;
        let reach = self.unpacker.reach(u64::MAX)?;
        let mut after = vec![0; enough_to_tell(self.format)];
        let count = self.unpacker.look(0, &mut after)?;
        if is_end(self.format, &after[..count]) || self.unpacker.has_failed() {
            return Ok(None);
        }
        let found = self.find_ahead(reach)?;
        if is_packed && found.is_none() && reach >= FARTHEST_LOOK as u64 {
            return Ok(None);
        }
        let end = found.unwrap_or(reach);
        let separator = self.separator_before(end)?;
        // The end of a plain file may be anywhere; that of a member, and the place before a record, are chosen.
        let ends_well = is_packed || found.is_some() || separator == 4;
        let is_likely = ends_well && !matches!(after[0], b'\r' | b'\n');
        let length = end - if ends_well { separator } else { 0 };
        Ok((length > 0).then_some(Tail { length, is_likely }))
    }

    /// Takes so many bytes behind the block for the rest of it.
    pub(crate) fn extend_block(&mut self, length: u64) {
        let declared = self.block.declared;
        self.block.remaining = length;
        let message =
            format!("the header gives a length of {declared}, but the block goes on for {length} bytes");
        self.findings.push(Finding::new(Rule::BlockShort, self.record_offset, message));
    }
}
