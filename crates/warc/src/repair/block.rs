//! The block of a record, packed once it is known where it ends.
//!
//! The reader has already ended a block before a record that begins in it. Two lies are left. A block may be shorter than
//! its length says, and then what is taken for its last bytes may be the CRLF CRLF behind it. Or it may be longer, and then
//! its rest stands behind it as if it were nobody's. The digest that the header gives is the arbiter of both.

use std::io::{self, BufRead, Write};

use super::{RepairError, header};
use crate::check::Checker;
use crate::payload::PayloadKind;
use crate::reader::{Error, Record};
use crate::record::Header;
use crate::write::{BlockStream, Draft, FinishedBlock, PackError, PackedRecord, Packer};
use varve_wire::ReadAt;

/// Blocks up to this length are packed in one go.
const IN_ONE_GO: usize = 1 << 20;
/// What ends a record.
const SEPARATOR: &[u8] = b"\r\n\r\n";

/// Packs a record, with the header that `draft` and the block amount to.
pub(super) fn pack<S: ReadAt>(
    packer: &mut Packer,
    checker: &mut Checker,
    draft: Draft,
    header: &Header,
    record: &mut Record<'_, S>,
) -> Result<PackedRecord, RepairError> {
    let offset = record.offset();
    let unread = |source| RepairError::Read(Error::Io { offset, source });
    checker.begin(record, true);
    let kind = PayloadKind::of(header);
    let mut sink = Sink { checker, state: State::Small(packer, Vec::new()), kind, last: Vec::new() };
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
    let packed = sink.finish().map_err(PackError::from)?;
    let draft = header::mended(draft, header, &checker.finish(record), is_cut);
    Ok(match packed {
        Packed::Small(block) => packer.pack(&draft, kind, &block)?,
        Packed::Large(block) => block.seal(packer, &draft)?,
    })
}

/// Where the bytes of a block go. The last four wait, since they may turn out not to be part of it.
struct Sink<'a> {
    checker: &'a mut Checker,
    state: State<'a>,
    kind: PayloadKind,
    last: Vec<u8>,
}

enum State<'a> {
    Small(&'a mut Packer, Vec<u8>),
    Large(Box<BlockStream<'a>>),
    /// On the way from the one to the other.
    Moving,
}

enum Packed {
    Small(Vec<u8>),
    Large(Box<FinishedBlock>),
}

impl Sink<'_> {
    /// Takes what is left of the block.
    fn take_all<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> Result<(), RepairError> {
        let offset = record.offset();
        loop {
            let bytes = record.fill_buf().map_err(|source| Error::Io { offset, source })?;
            if bytes.is_empty() {
                return Ok(());
            }
            self.take(bytes).map_err(PackError::from)?;
            let length = bytes.len();
            record.consume(length);
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.last);
        if let Some(sure) = bytes.len().checked_sub(SEPARATOR.len()) {
            self.give(&waiting)?;
            self.give(&bytes[..sure])?;
            waiting.clear();
            waiting.extend_from_slice(&bytes[sure..]);
        } else {
            waiting.extend_from_slice(bytes);
            let surplus = waiting.len().saturating_sub(SEPARATOR.len());
            self.give(&waiting[..surplus])?;
            waiting.drain(..surplus);
        }
        self.last = waiting;
        Ok(())
    }

    fn give(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checker.push(bytes);
        if let State::Small(_, block) = &self.state
            && block.len() + bytes.len() > IN_ONE_GO
            && let State::Small(packer, block) = std::mem::replace(&mut self.state, State::Moving)
        {
            let mut stream = packer.stream(self.kind);
            stream.write_all(&block)?;
            self.state = State::Large(Box::new(stream));
        }
        match &mut self.state {
            State::Small(_, block) => block.extend_from_slice(bytes),
            State::Large(stream) => stream.write_all(bytes)?,
            State::Moving => {}
        }
        Ok(())
    }

    /// Whether the last bytes of a block that is shorter than its length says are what ends the record.
    fn ends_with_separator(&self, is_damaged: bool) -> bool {
        if self.last != SEPARATOR {
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

    /// How many bytes behind a block belong to it.
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

    fn finish(mut self) -> io::Result<Packed> {
        let last = std::mem::take(&mut self.last);
        self.give(&last)?;
        match self.state {
            State::Small(_, block) => Ok(Packed::Small(block)),
            State::Large(stream) => Ok(Packed::Large(Box::new(stream.finish()?))),
            State::Moving => Err(io::Error::other("a block was lost on its way")),
        }
    }
}
