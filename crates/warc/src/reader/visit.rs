//! One record here and one there, with one reader.

use super::block::BlockState;
use super::warc::SEPARATOR;
use super::{Error, Limits, Reader, Stage};
use crate::member::Access;
use crate::rule::Pending;
use varve_wire::ReadAt;

/// How much of a record is going to be read. It changes no answer, only what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Its header, and no more mostly.
    Header,
    /// All of it.
    Record,
}

impl<S: ReadAt> Reader<S> {
    /// A reader that is nowhere yet, for who goes to records with [`Reader::visit`].
    pub fn visiting(source: S) -> Result<Self, Error> {
        Self::unstarted(source, 0, Access::Random, Limits::default())
    }

    /// Goes to the record that begins at `offset`, as [`Reader::at`] does, with the buffers that are there: many records
    /// are so read several times faster than each by a reader of its own, most of all in the order in which they lie.
    /// After an error the reader can go elsewhere.
    pub fn visit(&mut self, offset: u64, extent: Extent) -> Result<(), Error> {
        let access = match extent {
            Extent::Header => Access::Random,
            Extent::Record => Access::Whole,
        };
        self.begin_anew(offset);
        self.located(|reader| reader.unpacker.go_to(offset, access))?;
        self.begin_record()
    }

    /// Goes to the first record that begins at or after `from`, as [`Reader::find`] does, with the buffers that are there.
    /// False when none begins before `until`.
    pub(crate) fn find_again(&mut self, from: u64, until: u64) -> Result<bool, Error> {
        self.begin_anew(from);
        let found = self.located(|reader| reader.unpacker.find_again(from, until))?;
        if found {
            self.begin()?;
        }
        Ok(found)
    }

    fn begin_anew(&mut self, offset: u64) {
        self.stage = Stage::Start;
        self.record_offset = offset;
        self.block = BlockState::default();
        self.in_doubt = false;
        (self.last_good, self.undamaged, self.records) = (offset, offset, 0);
        self.said.clear();
        self.findings = Pending::default();
    }

    /// Forgets what was read ahead, so that the next visit sees the file as it is then.
    pub fn forget(&mut self) {
        self.unpacker.forget();
    }

    /// Whether nothing speaks against the visited record ending at byte `end` of the file, with no other record before
    /// that. Its block is not unpacked: what its member says of its length is held against what its header says, and
    /// where that takes little reading, no other member may begin before `end`.
    pub fn may_end_at(&mut self, end: u64) -> Result<bool, Error> {
        let parts = [self.scratch.len() as u64, self.block.declared, SEPARATOR.len() as u64];
        let length = parts.into_iter().fold(0, u64::saturating_add);
        self.located(|reader| reader.unpacker.may_end_at(length, end))
    }
}
