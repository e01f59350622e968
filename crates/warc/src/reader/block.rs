//! The block of a record, lent in pieces, across members when a record has several.

use std::io;

use super::{Format, ReaderStage, WarcReader, lookahead};
use crate::member::Encoding;
use crate::rules::{Rule, WarcFinding};
use varve_wire::ReadAt;

/// The block that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockState {
    pub(super) declared: u64,
    pub(super) remaining: u64,
    /// It was compared with the bytes that follow it.
    pub(super) looked_at: bool,
    /// It ended before its declared length.
    pub(super) cut: bool,
    /// Another record begins before its declared end; the number of bytes that separate the two.
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

impl<S: ReadAt> WarcReader<S> {
    pub(super) fn finish_block(&mut self) -> io::Result<()> {
        loop {
            let count = self.fill_block()?.len();
            if count == 0 {
                break;
            }
            self.consume_block(count);
        }
        self.stage = ReaderStage::Start;
        match self.format {
            Format::Warc => self.pass_warc_separator()?,
            Format::Arc { .. } => self.pass_arc_separator()?,
        }
        self.look_ahead()
    }

    pub(super) fn fill_block(&mut self) -> io::Result<&[u8]> {
        if !self.block.looked_at {
            self.block.looked_at = true;
            self.check_declared_length()?;
        }
        while self.block.remaining > 0 && self.members.fill()?.is_empty() {
            if !self.cross_member()? {
                self.cut_block();
            }
        }
        let bytes = self.members.buffered();
        let length = usize::try_from(self.block.remaining).unwrap_or(usize::MAX).min(bytes.len());
        Ok(&bytes[..length])
    }

    pub(super) fn consume_block(&mut self, count: usize) {
        self.members.consume(count);
        self.block.remaining -= count as u64;
    }

    /// Continues a record in the next member. Returns false when the record ends here instead.
    fn cross_member(&mut self) -> io::Result<bool> {
        let split_on_purpose = self.members.is_aardwarc() && self.block.remaining == self.block.declared;
        if self.members.has_failed() {
            return Ok(false);
        }
        if !self.members.next_member()? {
            self.stage = ReaderStage::End;
            return Ok(false);
        }
        let wanted = lookahead::record_start_bytes(self.format);
        if !split_on_purpose && lookahead::is_record(self.format, self.members.require(wanted)?) {
            return Ok(false);
        }
        self.report_spread_record();
        Ok(true)
    }

    /// Reports that a record continues in another member. The draft for zstd allows that; annex D,
    /// for gzip, does not.
    pub(super) fn report_spread_record(&mut self) {
        if self.members.encoding() != Encoding::Zstd {
            let message = "a record is spread over several compressed members";
            self.report_once(Rule::RecordSpansMembers, self.record_offset, message);
        }
    }

    /// The block ends before its declared length.
    fn cut_block(&mut self) {
        let declared = self.block.declared;
        let held = declared.saturating_sub(self.block.remaining);
        self.block.remaining = 0;
        self.block.cut = true;
        let message = format!("the header gives a length of {declared}, but the block has {held} bytes");
        self.findings.push(WarcFinding::new(Rule::BlockShort, self.record_offset, message));
    }
}
