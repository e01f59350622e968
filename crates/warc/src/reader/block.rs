//! The block of a record, lent piece by piece, over the boundaries of members where a record has several.

use std::io;

use super::{Format, Reader, Stage, ahead};
use crate::member::Encoding;
use crate::rule::{Finding, Rule};
use varve_wire::ReadAt;

/// The block that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockState {
    pub(super) declared: u64,
    pub(super) remaining: u64,
    /// It was held against what follows it.
    pub(super) looked_at: bool,
    /// It ended before its declared length.
    pub(super) cut: bool,
    /// Another record begins before its declared end; so many bytes separate the two.
    pub(super) overlap: Option<u64>,
    /// Its header gives no length.
    pub(super) unknown: bool,
}

impl BlockState {
    pub(super) fn new(length: Option<u64>) -> Self {
        let declared = length.unwrap_or(0);
        Self { declared, remaining: declared, unknown: length.is_none(), ..Self::default() }
    }
}

impl<S: ReadAt> Reader<S> {
    pub(super) fn finish_block(&mut self) -> io::Result<()> {
        loop {
            let count = self.fill_block()?.len();
            if count == 0 {
                break;
            }
            self.consume_block(count);
        }
        self.stage = Stage::Start;
        match self.format {
            Format::Warc => self.pass_warc_separator()?,
            Format::Arc { .. } => self.pass_arc_separator()?,
        }
        self.look_ahead()
    }

    pub(super) fn fill_block(&mut self) -> io::Result<&[u8]> {
        if !self.block.looked_at {
            self.block.looked_at = true;
            self.hold_block_against_what_follows()?;
        }
        while self.block.remaining > 0 && self.unpacker.fill()?.is_empty() {
            if !self.cross_member()? {
                self.cut_block();
            }
        }
        let bytes = self.unpacker.buffered();
        let length = usize::try_from(self.block.remaining).unwrap_or(usize::MAX).min(bytes.len());
        Ok(&bytes[..length])
    }

    pub(super) fn consume_block(&mut self, count: usize) {
        self.unpacker.consume(count);
        self.block.remaining -= count as u64;
    }

    /// Goes on with a record in the next member. False when the record ends here instead.
    fn cross_member(&mut self) -> io::Result<bool> {
        let split_on_purpose = self.unpacker.is_aardwarc() && self.block.remaining == self.block.declared;
        if self.unpacker.has_failed() {
            return Ok(false);
        }
        if !self.unpacker.next_member()? {
            self.stage = Stage::End;
            return Ok(false);
        }
        let wanted = ahead::enough_to_tell(self.format);
        if !split_on_purpose && ahead::is_record(self.format, self.unpacker.require(wanted)?) {
            return Ok(false);
        }
        self.say_spread();
        Ok(true)
    }

    /// A record goes on in another member. The draft for zstd allows that; annex D, for gzip, does not.
    pub(super) fn say_spread(&mut self) {
        if self.unpacker.encoding() != Encoding::Zstd {
            let message = "a record is spread over several compressed members";
            self.say_once(Rule::RecordSpansMembers, self.record_offset, message);
        }
    }

    /// The block ends before its declared length.
    fn cut_block(&mut self) {
        let declared = self.block.declared;
        let held = declared.saturating_sub(self.block.remaining);
        self.block.remaining = 0;
        self.block.cut = true;
        let message = format!("the header gives a length of {declared}, but the block has {held} bytes");
        self.findings.push(Finding::new(Rule::BlockShort, self.record_offset, message));
    }
}
