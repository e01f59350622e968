//! Random access: single records at given offsets, with one reader.

use super::block::BlockState;
use super::warc_records::RECORD_SEPARATOR;
use super::{Error, ReadProgress, ReaderStage, WarcReader};
use crate::member::Access;
use crate::rules::PendingFindings;
use varve_wire::ReadAt;

/// How much of a record the caller is going to read. It changes the cost, not the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Mostly its header only.
    Header,
    /// All of it.
    Record,
}

impl<S: ReadAt> WarcReader<S> {
    /// A reader without a position, for [`WarcReader::visit`].
    pub fn visiting(source: S) -> Result<Self, Error> {
        Self::unstarted(source, 0, Access::Random)
    }

    /// Moves to the record at `offset`, as [`WarcReader::at`] does, with the existing buffers. That
    /// is several times faster than a new reader for each record, most of all in file order. After
    /// an error the reader can visit another record.
    pub fn visit(&mut self, offset: u64, extent: Extent) -> Result<(), Error> {
        let access = match extent {
            Extent::Header => Access::Random,
            Extent::Record => Access::Whole,
        };
        self.restart_at(offset);
        self.located(|reader| reader.members.reset(offset, access))?;
        self.start_single_record()
    }

    /// Moves to the first record at or after `from`, as [`WarcReader::find`] does, with the
    /// existing buffers. Returns false when none begins before `until`.
    pub(crate) fn reset_to_next(&mut self, from: u64, until: u64) -> Result<bool, Error> {
        self.restart_at(from);
        let found = self.located(|reader| reader.members.reset_to_next(from, until))?;
        if found {
            self.begin()?;
        }
        Ok(found)
    }

    fn restart_at(&mut self, offset: u64) {
        self.stage = ReaderStage::Start;
        self.record_offset = offset;
        self.block = BlockState::default();
        self.in_doubt = false;
        self.progress = ReadProgress::at(offset);
        self.said.clear();
        self.findings = PendingFindings::default();
    }

    /// Drops the bytes that were read ahead, so that the next visit sees the file as it is then.
    pub fn drop_read_ahead(&mut self) {
        self.members.drop_read_ahead();
    }

    /// Whether nothing contradicts that the visited record ends at byte `end` of the file, with no
    /// other record before that. Its block is not decompressed: the length that its member declares
    /// is compared with its header and, where that takes little reading, no other member may begin
    /// before `end`.
    pub fn may_end_at(&mut self, end: u64) -> Result<bool, Error> {
        let parts = [self.scratch.len() as u64, self.block.declared, RECORD_SEPARATOR.len() as u64];
        let length = parts.into_iter().fold(0, u64::saturating_add);
        self.located(|reader| reader.members.may_end_at(length, end))
    }
}
