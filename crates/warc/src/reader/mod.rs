//! Reading records, one after another or one alone.
//!
//! The reader is lenient by nature: it gives every record that can be found and says in findings what it had to work
//! around. It never reads past the length of a block, never holds more than a header and a few fixed buffers, and
//! always moves forward, so no input makes it loop. What the fields and blocks mean is not its business.
//!
//! `next_record` lends the record: its block is read in place, straight from the decompressed bytes, and whatever is left of
//! it is passed when the next record is asked for.

mod ahead;
mod arc;
mod block;
mod record;
mod start;
mod visit;
mod warc;

use std::io;

use crate::member::{Access, Encoding, Gate, Unpacker};
use crate::record::Header;
use crate::rule::{Finding, Pending, Rule};
use crate::stray::Stray;
use block::BlockState;
use varve_wire::ReadAt;

pub use record::{OwnedRecord, Record};
pub use visit::Extent;

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed.
    #[error("cannot read at byte {offset}")]
    Io {
        /// Where in the file.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// Neither WARC nor ARC, packed or not.
    #[error("not a WARC or ARC file: it begins with `{beginning}`")]
    NotAnArchive {
        /// Its first bytes, made printable.
        beginning: String,
    },
    /// A zip archive, as WACZ files are.
    #[error("a zip archive, perhaps a WACZ: the WARC files are inside it")]
    Zip,
    /// Packed so that nothing of it can be unpacked.
    #[error("nothing of it can be unpacked: {}", .0.message)]
    Packed(Finding),
}

impl Error {
    /// Whether the file is a zip archive, with archives inside it perhaps.
    pub fn is_zip(&self) -> bool {
        matches!(self, Self::Zip)
    }
}

/// The format of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// WARC of any version.
    Warc,
    /// ARC with the columns of that version: 1 or 2.
    Arc {
        /// 1 or 2.
        version: u8,
    },
}

/// Bounds on what one record may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a record header.
    pub header: usize,
    /// A file whose first record does not begin within so many plain bytes is not an archive.
    pub search: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { header: 1 << 20, search: 1 << 20 }
    }
}

/// Where the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before a record, inside a member if there is one.
    Start,
    /// In a record's block.
    Block,
    /// At the end.
    End,
}

/// Reads the records of one file.
pub struct Reader<S> {
    unpacker: Unpacker<S>,
    format: Format,
    limits: Limits,
    stage: Stage,
    header: Header,
    scratch: Vec<u8>,
    record_offset: u64,
    block: BlockState,
    /// In an ARC file: something was wrong before here, so what looks like a record must look much like one.
    in_doubt: bool,
    last_good: u64,
    undamaged: u64,
    records: u64,
    /// Rules that are said once a file.
    said: Vec<Rule>,
    findings: Pending,
}

impl<S: ReadAt> Reader<S> {
    /// Reads all of `source` from its beginning.
    pub fn new(source: S) -> Result<Self, Error> {
        Self::with_limits(source, Limits::default())
    }

    /// As `new`, with other limits.
    pub fn with_limits(source: S, limits: Limits) -> Result<Self, Error> {
        let mut reader = Self::unstarted(source, 0, Access::Sequential, limits)?;
        reader.recognise()?;
        Ok(reader)
    }

    /// Reads on from `offset`, where a record of that format must begin.
    pub fn resume(source: S, offset: u64, format: Format) -> Result<Self, Error> {
        let mut reader = Self::unstarted(source, offset, Access::Sequential, Limits::default())?;
        reader.format = format;
        reader.begin()?;
        Ok(reader)
    }

    /// Reads on from the first record that begins at or after `from`, in a file of known encoding and format. None
    /// when none begins before `until`.
    pub fn find(
        source: S,
        encoding: Encoding,
        format: Format,
        from: u64,
        until: u64,
    ) -> Result<Option<Self>, Error> {
        let located = |source| Error::Io { offset: from, source };
        let Some(unpacker) = Unpacker::find(source, encoding, from, until).map_err(located)? else {
            return Ok(None);
        };
        let mut reader = Self::with_unpacker(unpacker, from, Limits::default());
        reader.format = format;
        reader.begin()?;
        Ok(Some(reader))
    }

    /// Reads one record at `offset`, touching no more bytes than its header and as much of its block as is asked for.
    pub fn at(source: S, offset: u64) -> Result<Self, Error> {
        let mut reader = Self::unstarted(source, offset, Access::Random, Limits::default())?;
        reader.begin_record()?;
        Ok(reader)
    }

    /// Begins where a record must begin, of whatever format it is.
    fn begin_record(&mut self) -> Result<(), Error> {
        self.begin()?;
        self.located(|reader| reader.unpacker.require(64).map(|_| ()))?;
        let bytes = self.unpacker.buffered();
        let first = &bytes[..bytes.len().min(64)];
        if !crate::member::looks_like_record(first) {
            let first = first.to_vec();
            return Err(self.not_an_archive(&first));
        }
        self.format = if warc::is_start(first) { Format::Warc } else { Format::Arc { version: 1 } };
        Ok(())
    }

    fn unstarted(source: S, offset: u64, access: Access, limits: Limits) -> Result<Self, Error> {
        let unpacker =
            Unpacker::new(source, offset, access).map_err(|source| Error::Io { offset, source })?;
        Ok(Self::with_unpacker(unpacker, offset, limits))
    }

    fn with_unpacker(unpacker: Unpacker<S>, offset: u64, limits: Limits) -> Self {
        Self {
            unpacker,
            format: Format::Warc,
            limits,
            stage: Stage::Start,
            header: Header::default(),
            scratch: Vec::new(),
            record_offset: offset,
            block: BlockState::default(),
            in_doubt: false,
            last_good: offset,
            undamaged: offset,
            records: 0,
            said: Vec::new(),
            findings: Pending::default(),
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        if !self.located(|reader| reader.unpacker.next_member())? {
            self.stage = Stage::End;
        }
        self.located(Self::look_ahead)
    }

    /// So many of the next bytes, fewer only at the end of the member, whatever else is at hand.
    fn first_bytes(&mut self, count: usize) -> Result<Vec<u8>, Error> {
        self.located(|reader| Ok(reader.unpacker.require(count)?.iter().copied().take(count).collect()))
    }

    /// Brings to hand what `next_offset` looks at.
    fn look_ahead(&mut self) -> io::Result<()> {
        self.unpacker.require(5).map(|_| ())
    }

    /// The next record, with the reader inside it, for those who want to keep it. None at the end.
    pub fn into_record(mut self) -> Result<Option<OwnedRecord<S>>, Error> {
        let found = self.next_record()?.is_some();
        Ok(found.then_some(OwnedRecord { reader: self }))
    }

    /// Runs an operation that can only fail by reading, and says where.
    fn located<T>(&mut self, run: impl FnOnce(&mut Self) -> io::Result<T>) -> Result<T, Error> {
        run(self).map_err(|source| Error::Io { offset: self.unpacker.packed_position(), source })
    }

    /// Goes to the next record. What is left of the one before is passed.
    pub fn next_record(&mut self) -> Result<Option<Record<'_, S>>, Error> {
        let found = self.located(Self::advance)?;
        self.findings.append(self.unpacker.findings());
        if !found {
            return Ok(None);
        }
        self.records += 1;
        Ok(Some(Record { reader: self }))
    }

    fn advance(&mut self) -> io::Result<bool> {
        if self.stage == Stage::Block {
            self.finish_block()?;
        }
        match self.format {
            Format::Warc => self.next_warc(),
            Format::Arc { .. } => self.next_arc(),
        }
    }

    /// Reports a rule the first time it is broken in this file.
    fn say_once(&mut self, rule: Rule, offset: u64, message: &str) {
        if !self.said.contains(&rule) {
            self.said.push(rule);
            self.findings.push(Finding::new(rule, offset, format!("{message} (said once for this file)")));
        }
    }

    /// Marks that all is well up to here.
    fn note_good(&mut self) {
        if !self.block.cut && !self.block.unknown && !self.unpacker.has_failed() {
            self.last_good = self.unpacker.packed_position();
            if !self.has_loss() {
                self.undamaged = self.last_good;
            }
        }
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How the file is packed.
    pub fn encoding(&self) -> Encoding {
        self.unpacker.encoding()
    }

    /// Records given so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The end of the last record so far that was whole, also behind damage.
    pub fn last_good_offset(&self) -> u64 {
        self.last_good
    }

    /// The end of the last whole record before the first bytes that were lost, or the end of the file once all was read and
    /// nothing was lost: cut here, the file would hold whole records only.
    pub fn undamaged_until(&self) -> u64 {
        if self.stage == Stage::End && !self.has_loss() {
            return self.unpacker.packed_position();
        }
        self.undamaged
    }

    /// Whether bytes were lost so far: they belong to no record, or to one that is not whole.
    pub fn has_loss(&self) -> bool {
        self.findings.has_loss() || self.unpacker.has_loss()
    }

    /// Leaves to others what lies before: whoever came here from there has said what is to be said about coming here, and
    /// knows whether it is good up to here.
    pub(crate) fn forget_the_way(&mut self) {
        self.findings = Pending::default();
        self.unpacker.forget_findings();
        self.last_good = 0;
        self.undamaged = 0;
    }

    /// Asks `gate` before anything from `offset` of the file on is read.
    pub(crate) fn set_gate(&mut self, offset: u64, gate: Box<dyn Gate>) {
        self.unpacker.set_gate(offset, gate);
    }

    /// Puts bytes aside that belong to no record.
    pub(crate) fn keep_strays(&mut self) {
        self.unpacker.strays().want();
    }

    /// The bytes put aside since they were last taken.
    pub(crate) fn take_strays(&mut self) -> Vec<Stray> {
        self.unpacker.strays().take()
    }

    /// Whether there are no more records.
    pub(crate) fn is_at_end(&self) -> bool {
        self.stage == Stage::End
    }

    /// Where in the file reading has come to.
    pub fn position(&self) -> u64 {
        self.unpacker.packed_position()
    }

    /// Where the next record begins, once the last one was passed: the place to `resume` at. None inside a member, and
    /// where no record begins: what to make of such bytes depends on the record before them.
    pub fn next_offset(&self) -> Option<u64> {
        let nothing_odd = self.format != Format::Warc
            || warc::is_start_loosely(self.unpacker.buffered()) && !self.unpacker.has_failed();
        match self.stage {
            Stage::Start if !nothing_odd => None,
            Stage::End => Some(self.unpacker.packed_position()),
            Stage::Start if self.unpacker.at_member_start() => Some(self.unpacker.member_offset()),
            Stage::Start if self.unpacker.encoding() == Encoding::Plain => Some(self.unpacker.position()),
            _ => None,
        }
    }

    /// Where the bytes of the last record end, once it was passed. What was found from there on is not about it.
    pub(crate) fn record_end(&self) -> u64 {
        let is_packed = self.unpacker.encoding() != Encoding::Plain;
        if is_packed && self.unpacker.at_member_start() {
            return self.unpacker.left_at();
        }
        self.next_offset().unwrap_or_else(|| self.position())
    }

    /// Passes what is left of the record, so that `next_offset` and the findings about its end are known.
    pub fn finish_record(&mut self) -> Result<(), Error> {
        if self.stage == Stage::Block {
            self.located(Self::finish_block)?;
        }
        self.findings.append(self.unpacker.findings());
        Ok(())
    }

    /// The header of the record that was given last, until the next one is asked for.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The findings since they were last taken.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.findings.append(self.unpacker.findings());
        self.findings.take()
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &S {
        self.unpacker.source()
    }
}
