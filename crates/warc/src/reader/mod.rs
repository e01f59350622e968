//! Reading records, one after another or one alone.
//!
//! The reader is lenient: it gives every record that can be found and reports in findings what it
//! had to work around. It never reads past the length of a block, never holds more than a header
//! and a few fixed buffers, and always moves forward, so no input makes it loop. It does not
//! interpret fields and blocks.
//!
//! `next_record` lends the record: its block is read in place, straight from the decompressed
//! bytes, and the rest of it is skipped when the next record is requested.

mod arc_records;
mod block;
mod lookahead;
mod random_access;
mod recognise;
mod record;
mod warc_records;

use std::io;

use crate::member::{Access, Encoding, MemberReader, ReadGate};
use crate::record::RecordHeader;
use crate::rules::{PendingFindings, Rule, WarcFinding};
use crate::stray_bytes::Stray;
use block::BlockState;
use varve_wire::ReadAt;

pub use random_access::Extent;
pub use record::{OwnedRecord, Record};

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
    /// Nothing of the file can be decompressed.
    #[error("nothing of it can be unpacked: {}", .0.message)]
    Packed(WarcFinding),
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

/// Maximum size of a record header.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// A file whose first record does not begin within this many decompressed bytes is not an archive.
const MAX_LEADING_JUNK_BYTES: u64 = 1 << 20;

/// The state of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderStage {
    /// Before a record, inside a member if there is one.
    Start,
    /// In a record's block.
    Block,
    /// At the end.
    End,
}

/// How far a file was read.
struct ReadProgress {
    /// The end of the last complete record.
    last_good: u64,
    /// The end of the last complete record before the first lost bytes.
    undamaged: u64,
    /// Records given so far.
    records: u64,
}

impl ReadProgress {
    fn at(offset: u64) -> Self {
        Self { last_good: offset, undamaged: offset, records: 0 }
    }
}

/// Reads the records of one file.
pub struct WarcReader<S> {
    members: MemberReader<S>,
    format: Format,
    stage: ReaderStage,
    header: RecordHeader,
    scratch: Vec<u8>,
    record_offset: u64,
    block: BlockState,
    /// In an ARC file: there was damage before here, so a record line is checked more strictly.
    in_doubt: bool,
    progress: ReadProgress,
    /// Rules that are reported once a file and were reported.
    said: Vec<Rule>,
    findings: PendingFindings,
}

impl<S: ReadAt> WarcReader<S> {
    /// Reads all of `source` from its beginning.
    pub fn new(source: S) -> Result<Self, Error> {
        let mut reader = Self::unstarted(source, 0, Access::Sequential)?;
        reader.recognise()?;
        Ok(reader)
    }

    /// Reads on from `offset`, where a record of that format must begin.
    pub fn resume(source: S, offset: u64, format: Format) -> Result<Self, Error> {
        let mut reader = Self::unstarted(source, offset, Access::Sequential)?;
        reader.format = format;
        reader.begin()?;
        Ok(reader)
    }

    /// Reads on from the first record that begins at or after `from`, in a file of known encoding
    /// and format. None when none begins before `until`.
    pub fn find(
        source: S,
        encoding: Encoding,
        format: Format,
        from: u64,
        until: u64,
    ) -> Result<Option<Self>, Error> {
        let located = |source| Error::Io { offset: from, source };
        let Some(members) = MemberReader::find(source, encoding, from, until).map_err(located)? else {
            return Ok(None);
        };
        let mut reader = Self::with_member_reader(members, from);
        reader.format = format;
        reader.begin()?;
        Ok(Some(reader))
    }

    /// Reads one record at `offset` and no more bytes than its header and the requested part of its
    /// block.
    pub fn at(source: S, offset: u64) -> Result<Self, Error> {
        let mut reader = Self::unstarted(source, offset, Access::Random)?;
        reader.start_single_record()?;
        Ok(reader)
    }

    /// Starts where a record of either format must begin.
    fn start_single_record(&mut self) -> Result<(), Error> {
        self.begin()?;
        self.located(|reader| reader.members.require(64).map(|_| ()))?;
        let bytes = self.members.buffered();
        let first = &bytes[..bytes.len().min(64)];
        if !crate::member::looks_like_record(first) {
            let first = first.to_vec();
            return Err(self.not_an_archive(&first));
        }
        self.format =
            if crate::member::is_warc_start(first) { Format::Warc } else { Format::Arc { version: 1 } };
        Ok(())
    }

    fn unstarted(source: S, offset: u64, access: Access) -> Result<Self, Error> {
        let members =
            MemberReader::new(source, offset, access).map_err(|source| Error::Io { offset, source })?;
        Ok(Self::with_member_reader(members, offset))
    }

    fn with_member_reader(members: MemberReader<S>, offset: u64) -> Self {
        Self {
            members,
            format: Format::Warc,
            stage: ReaderStage::Start,
            header: RecordHeader::default(),
            scratch: Vec::new(),
            record_offset: offset,
            block: BlockState::default(),
            in_doubt: false,
            progress: ReadProgress::at(offset),
            said: Vec::new(),
            findings: PendingFindings::default(),
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        if !self.located(|reader| reader.members.next_member())? {
            self.stage = ReaderStage::End;
        }
        self.located(Self::look_ahead)
    }

    /// The next `count` bytes, fewer only at the end of the member.
    fn first_bytes(&mut self, count: usize) -> Result<Vec<u8>, Error> {
        self.located(|reader| Ok(reader.members.require(count)?.iter().copied().take(count).collect()))
    }

    /// Brings the bytes that `next_offset` looks at into memory.
    fn look_ahead(&mut self) -> io::Result<()> {
        self.members.require(5).map(|_| ())
    }

    /// The next record as an owned value that contains the reader. None at the end.
    pub fn into_record(mut self) -> Result<Option<OwnedRecord<S>>, Error> {
        let found = self.next_record()?.is_some();
        Ok(found.then_some(OwnedRecord { reader: self }))
    }

    /// Runs an operation that can only fail by reading, and adds the offset to its error.
    fn located<T>(&mut self, run: impl FnOnce(&mut Self) -> io::Result<T>) -> Result<T, Error> {
        run(self).map_err(|source| Error::Io { offset: self.members.packed_position(), source })
    }

    /// Moves to the next record. The rest of the one before is skipped.
    pub fn next_record(&mut self) -> Result<Option<Record<'_, S>>, Error> {
        let found = self.located(Self::advance)?;
        self.findings.append(self.members.findings());
        if !found {
            return Ok(None);
        }
        self.progress.records += 1;
        Ok(Some(Record { reader: self }))
    }

    fn advance(&mut self) -> io::Result<bool> {
        if self.stage == ReaderStage::Block {
            self.finish_block()?;
        }
        match self.format {
            Format::Warc => self.next_warc(),
            Format::Arc { .. } => self.next_arc(),
        }
    }

    /// Reports a rule the first time it is broken in this file.
    fn report_once(&mut self, rule: Rule, offset: u64, message: &str) {
        if !self.said.contains(&rule) {
            self.said.push(rule);
            self.findings.push(WarcFinding::new(
                rule,
                offset,
                format!("{message} (said once for this file)"),
            ));
        }
    }

    /// Marks the file as good up to here.
    fn note_good(&mut self) {
        if !self.block.cut && !self.block.unknown && !self.members.has_failed() {
            self.progress.last_good = self.members.packed_position();
            if !self.has_loss() {
                self.progress.undamaged = self.progress.last_good;
            }
        }
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How the file is packed.
    pub fn encoding(&self) -> Encoding {
        self.members.encoding()
    }

    /// Records given so far.
    pub fn records(&self) -> u64 {
        self.progress.records
    }

    /// The end of the last complete record so far, even after damage.
    pub fn last_good_offset(&self) -> u64 {
        self.progress.last_good
    }

    /// The end of the last complete record before the first lost bytes, or the end of the file once
    /// all was read and nothing was lost. Truncated here, the file would hold complete records
    /// only.
    pub fn undamaged_until(&self) -> u64 {
        if self.stage == ReaderStage::End && !self.has_loss() {
            return self.members.packed_position();
        }
        self.progress.undamaged
    }

    /// Whether bytes were lost so far: they belong to no record, or to an incomplete one.
    pub fn has_loss(&self) -> bool {
        self.findings.has_loss() || self.members.has_loss()
    }

    /// Drops the findings so far. The caller has already read the preceding bytes and reported what
    /// it found there.
    pub(crate) fn drop_findings_so_far(&mut self) {
        self.findings = PendingFindings::default();
        self.members.drop_findings();
        self.progress.last_good = 0;
        self.progress.undamaged = 0;
    }

    /// Asks `gate` before anything from `offset` of the file on is read.
    pub(crate) fn set_gate(&mut self, offset: u64, gate: Box<dyn ReadGate>) {
        self.members.set_gate(offset, gate);
    }

    /// Keeps bytes that belong to no record.
    pub(crate) fn keep_strays(&mut self) {
        self.members.strays().want();
    }

    /// The kept bytes since they were last taken.
    pub(crate) fn take_strays(&mut self) -> Vec<Stray> {
        self.members.strays().take()
    }

    /// Whether there are no more records.
    pub(crate) fn is_at_end(&self) -> bool {
        self.stage == ReaderStage::End
    }

    /// The current offset in the file.
    pub fn position(&self) -> u64 {
        self.members.packed_position()
    }

    /// Where the next record begins, once the last one was finished: the offset for `resume`. None
    /// inside a member, and where no record begins, because the meaning of such bytes depends on
    /// the record before them.
    pub fn next_offset(&self) -> Option<u64> {
        let nothing_odd = self.format != Format::Warc
            || warc_records::is_start_loosely(self.members.buffered()) && !self.members.has_failed();
        match self.stage {
            ReaderStage::Start if !nothing_odd => None,
            ReaderStage::End => Some(self.members.packed_position()),
            ReaderStage::Start if self.members.at_member_start() => Some(self.members.member_offset()),
            ReaderStage::Start if self.members.encoding() == Encoding::Plain => Some(self.members.position()),
            _ => None,
        }
    }

    /// Where the bytes of the last record end, once it was finished. Findings from there on are not
    /// about it.
    pub fn record_end(&self) -> u64 {
        let is_packed = self.members.encoding() != Encoding::Plain;
        if is_packed && self.members.at_member_start() {
            return self.members.previous_member_end();
        }
        self.next_offset().unwrap_or_else(|| self.position())
    }

    /// Skips the rest of the record, so that `next_offset` and the findings about its end are
    /// known.
    pub fn finish_record(&mut self) -> Result<(), Error> {
        if self.stage == ReaderStage::Block {
            self.located(Self::finish_block)?;
        }
        self.findings.append(self.members.findings());
        Ok(())
    }

    /// The header of the last record, until the next one is requested.
    pub fn header(&self) -> &RecordHeader {
        &self.header
    }

    /// The findings since they were last taken.
    pub fn take_findings(&mut self) -> Vec<WarcFinding> {
        self.findings.append(self.members.findings());
        self.findings.take()
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &S {
        self.members.source()
    }
}
