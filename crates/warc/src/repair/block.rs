//! The block of a record, packed once it is known where it ends.
//!
//! The reader has already ended a block before a record that begins in it. Two wrong lengths
//! remain. A block may be shorter than declared, and then its last bytes may be the CRLF CRLF after
//! it. Or it may be longer, and then its rest stands after it as bytes of no record. The digest in
//! the header decides both.

use std::io::{self, BufRead, Write};

use super::{RepairError, header};
use crate::payload::PayloadKind;
use crate::reader::{Error, Record};
use crate::record::RecordHeader;
use crate::validate_record::RecordChecker;
use crate::write::{BlockStream, Draft, FinishedBlock, PackedRecord, Packer, RecordPackError};
use varve_wire::ReadAt;

/// Blocks up to this length are packed in one go.
const MAX_BUFFERED_BLOCK_BYTES: usize = 1 << 20;
/// What ends a record.
const BLOCK_SEPARATOR: &[u8] = b"\r\n\r\n";

/// Packs a record, with the header that `draft` and the block give.
pub(super) fn pack<S: ReadAt>(
    packer: &mut Packer,
    checker: &mut RecordChecker,
    draft: Draft,
    header: &RecordHeader,
    record: &mut Record<'_, S>,
) -> Result<PackedRecord, RepairError> {
    let offset = record.offset();
    let unread = |source| RepairError::Read(Error::Io { offset, source });
    checker.begin(record, true);
    let kind = PayloadKind::of(header);
    let mut sink =
        BlockSink { checker, state: BlockSinkState::Small(packer, Vec::new()), kind, last: Vec::new() };
    sink.take_all(record)?;
    let mut is_cut = record.is_cut() && !record.is_overlapped();
    if is_cut && sink.ends_with_separator(record.is_damaged()) {
        sink.last.clear();
        is_cut = false;
    }
    if let Some(length) = sink.rest_of_block(record).map_err(unread)? {
        record.extend(length);
        sink.take_all(record)?;
    }
    let packed = sink.finish().map_err(RecordPackError::from)?;
    let draft = header::mended(draft, header, &checker.finish(record), is_cut);
    Ok(match packed {
        PackedBlock::Small(block) => packer.pack(&draft, kind, &block)?,
        PackedBlock::Large(block) => block.seal(packer, &draft)?,
    })
}

/// The destination of the bytes of a block. The last four are held back, since they may not be part
/// of it.
struct BlockSink<'a> {
    checker: &'a mut RecordChecker,
    state: BlockSinkState<'a>,
    kind: PayloadKind,
    last: Vec<u8>,
}

enum BlockSinkState<'a> {
    Small(&'a mut Packer, Vec<u8>),
    Large(Box<BlockStream<'a>>),
    /// While it changes from one to the other.
    Moving,
}

enum PackedBlock {
    Small(Vec<u8>),
    Large(Box<FinishedBlock>),
}

impl BlockSink<'_> {
    /// Takes the rest of the block.
    fn take_all<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> Result<(), RepairError> {
        let offset = record.offset();
        loop {
            let bytes = record.fill_buf().map_err(|source| Error::Io { offset, source })?;
            if bytes.is_empty() {
                return Ok(());
            }
            self.take(bytes).map_err(RecordPackError::from)?;
            let length = bytes.len();
            record.consume(length);
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.last);
        if let Some(sure) = bytes.len().checked_sub(BLOCK_SEPARATOR.len()) {
            self.give(&waiting)?;
            self.give(&bytes[..sure])?;
            waiting.clear();
            waiting.extend_from_slice(&bytes[sure..]);
        } else {
            waiting.extend_from_slice(bytes);
            let surplus = waiting.len().saturating_sub(BLOCK_SEPARATOR.len());
            self.give(&waiting[..surplus])?;
            waiting.drain(..surplus);
        }
        self.last = waiting;
        Ok(())
    }

    fn give(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checker.push(bytes);
        if let BlockSinkState::Small(_, block) = &self.state
            && block.len() + bytes.len() > MAX_BUFFERED_BLOCK_BYTES
            && let BlockSinkState::Small(packer, block) =
                std::mem::replace(&mut self.state, BlockSinkState::Moving)
        {
            let mut stream = packer.stream(self.kind);
            stream.write_all(&block)?;
            self.state = BlockSinkState::Large(Box::new(stream));
        }
        match &mut self.state {
            BlockSinkState::Small(_, block) => block.extend_from_slice(bytes),
            BlockSinkState::Large(stream) => stream.write_all(bytes)?,
            BlockSinkState::Moving => {}
        }
        Ok(())
    }

    /// Whether the last bytes of a block that is shorter than declared are the end of the record.
    fn ends_with_separator(&self, is_damaged: bool) -> bool {
        if self.last != BLOCK_SEPARATOR {
            return false;
        }
        // They may also be the end of an HTTP head, where a file was cut.
        let is_likely = !is_damaged && self.checker.is_past_head();
        match self.checker.block_hasher() {
            Some((hasher, expected)) => {
                let mut whole = hasher.clone();
                whole.update(&self.last);
                hasher.finish() == expected || is_likely && whole.finish() != expected
            }
            None => is_likely,
        }
    }

    /// The number of bytes after a block that belong to it.
    fn rest_of_block<S: ReadAt>(&self, record: &mut Record<'_, S>) -> io::Result<Option<u64>> {
        let Some(tail) = record.tail()? else { return Ok(None) };
        let belongs = match self.checker.block_hasher() {
            Some((mut hasher, expected)) => {
                hasher.update(&self.last);
                hasher.clone().finish() != expected
                    && (tail.is_likely || record.digest_ahead(hasher, tail.length)? == expected)
            }
            None => tail.is_likely,
        };
        Ok(belongs.then_some(tail.length))
    }

    fn finish(mut self) -> io::Result<PackedBlock> {
        let last = std::mem::take(&mut self.last);
        self.give(&last)?;
        match self.state {
            BlockSinkState::Small(_, block) => Ok(PackedBlock::Small(block)),
            BlockSinkState::Large(stream) => Ok(PackedBlock::Large(Box::new(stream.finish()?))),
            BlockSinkState::Moving => Err(io::Error::other("a block was lost on its way")),
        }
    }
}
