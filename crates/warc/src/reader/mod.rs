//! Reading records, one after another or one alone.
//!
//! The reader is lenient by nature: it gives every record that can be found and says in findings what it had to work
//! around. It never reads past the length of a block, never holds more than a header and a few fixed buffers, and
//! always moves forward, so no input makes it loop. What the fields and blocks mean is not its business.
//!
//! `next_record` lends the record: its block is read in place, straight from the decompressed bytes, and whatever is left of
//! it is passed when the next record is asked for.

mod arc;
mod warc;

use std::io::{self, BufRead, Read};

use crate::member::{Access, Encoding, Unpacker, looks_like_record};
use crate::record::Header;
use crate::rule::{Finding, Pending, Rule, Severity, shown};
use crate::source::ReadAt;

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

/// The block that is being read.
#[derive(Clone, Copy, Debug, Default)]
struct BlockState {
    declared: u64,
    remaining: u64,
    /// Place of its first byte, meaningful in plain files; none, `u64::MAX`, once it was looked into.
    start: u64,
    /// It ended before its declared length.
    cut: bool,
    /// Its header gives no length.
    unknown: bool,
    /// The last good byte before it.
    good_before: u64,
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
    last_good: u64,
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
        reader.begin()?;
        let first = reader.located(|reader| Ok(reader.unpacker.require(64)?.to_vec()))?;
        if !crate::member::looks_like_record(&first) {
            return Err(Error::NotAnArchive { beginning: shown(&first) });
        }
        if !warc::is_start(&first) {
            reader.format = Format::Arc { version: 1 };
        }
        Ok(reader)
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
            last_good: offset,
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

    /// Brings to hand what `next_offset` looks at.
    fn look_ahead(&mut self) -> io::Result<()> {
        self.unpacker.require(5).map(|_| ())
    }

    /// The next record, with the reader inside it, for those who want to keep it. None at the end.
    pub fn into_record(mut self) -> Result<Option<OwnedRecord<S>>, Error> {
        let found = self.next_record()?.is_some();
        Ok(found.then_some(OwnedRecord { reader: self }))
    }

    /// Finds out what the first record is.
    fn recognise(&mut self) -> Result<(), Error> {
        self.begin()?;
        if self.stage == Stage::End {
            return Ok(());
        }
        let first = self.located(|reader| Ok(reader.unpacker.require(256)?.to_vec()))?;
        let text = first.trim_ascii_start();
        if warc::is_start_loosely(text) {
            return Ok(());
        }
        if first.starts_with(b"PK\x03\x04") {
            return Err(Error::Zip);
        }
        if looks_like_record(text) {
            self.format = Format::Arc { version: 1 };
            return Ok(());
        }
        let place = self.unpacker.position();
        if self.located(|reader| reader.pass_junk(place, Some(reader.limits.search)))? {
            return Ok(());
        }
        if self.recognise_behind_junk()? {
            return Ok(());
        }
        let is_packing_trouble = |finding: &Finding| {
            finding.rule.severity() == Severity::Error && finding.rule.code().starts_with('C')
        };
        let trouble = self.take_findings().into_iter().find(is_packing_trouble);
        match trouble {
            Some(finding) if first.is_empty() => Err(Error::Packed(finding)),
            _ => Err(Error::NotAnArchive { beginning: shown(&first) }),
        }
    }

    /// A packed file whose first bytes are damaged is known by a sound member behind them.
    fn recognise_behind_junk(&mut self) -> Result<bool, Error> {
        let limit = self.limits.search;
        if self.unpacker.encoding() != Encoding::Plain
            || !self.located(|reader| reader.unpacker.unpack_behind_junk(limit))?
        {
            return Ok(false);
        }
        self.stage = Stage::Start;
        self.begin()?;
        if self.stage == Stage::End || self.unpacker.has_failed() {
            return Ok(false);
        }
        if !warc::is_start_loosely(self.unpacker.buffered()) {
            self.format = Format::Arc { version: 1 };
        }
        // What was said about the file as a plain one does not hold.
        self.findings = Pending::default();
        Ok(true)
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

    fn finish_block(&mut self) -> io::Result<()> {
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

    fn fill_block(&mut self) -> io::Result<&[u8]> {
        while self.block.remaining > 0 && self.unpacker.fill()?.is_empty() {
            if !self.cross_member()? {
                self.cut_block()?;
            }
        }
        let bytes = self.unpacker.buffered();
        let length = usize::try_from(self.block.remaining).unwrap_or(usize::MAX).min(bytes.len());
        Ok(&bytes[..length])
    }

    fn consume_block(&mut self, count: usize) {
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
        if !split_on_purpose && warc::is_start(self.unpacker.require(6)?) {
            return Ok(false);
        }
        self.say_spread();
        Ok(true)
    }

    /// A record goes on in another member. The draft for zstd allows that; annex D, for gzip, does not.
    fn say_spread(&mut self) {
        if self.unpacker.encoding() != Encoding::Zstd {
            let message = "a record is spread over several compressed members";
            self.say_once(Rule::RecordSpansMembers, self.record_offset, message);
        }
    }

    /// The block ends before its declared length.
    fn cut_block(&mut self) -> io::Result<()> {
        let declared = self.block.declared;
        let held = declared - self.block.remaining;
        self.block.remaining = 0;
        self.block.cut = true;
        if self.unpacker.encoding() == Encoding::Plain && self.look_back()? {
            return Ok(());
        }
        let message = format!("the header gives a length of {declared}, but the block has {held} bytes");
        self.findings.push(Finding::new(Rule::BlockShort, self.record_offset, message));
        Ok(())
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

    /// The end of the last record that was whole: cut here, the file would still be right.
    pub fn last_good_offset(&self) -> u64 {
        self.last_good
    }

    /// Leaves to others what lies before: whoever came here from there has said what is to be said about coming here, and
    /// knows whether it is good up to here.
    pub(crate) fn forget_the_way(&mut self) {
        self.take_findings();
        self.last_good = 0;
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

    /// Passes what is left of the record, so that `next_offset` and the findings about its end are known.
    pub fn finish_record(&mut self) -> Result<(), Error> {
        if self.stage == Stage::Block {
            self.located(Self::finish_block)?;
        }
        self.findings.append(self.unpacker.findings());
        Ok(())
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

/// One record: its header is read, its block is waiting. Reading from the record reads its block.
pub struct Record<'a, S> {
    reader: &'a mut Reader<S>,
}

impl<S: ReadAt> Record<'_, S> {
    /// Its header.
    pub fn header(&self) -> &Header {
        &self.reader.header
    }

    /// Where in the file it begins: a compressed record at the start of its member.
    pub fn offset(&self) -> u64 {
        self.reader.record_offset
    }

    /// The length of its block as the header gives it.
    pub fn declared_length(&self) -> u64 {
        self.reader.block.declared
    }

    /// Whether the block turned out shorter than declared, as far as it was read.
    pub fn is_cut(&self) -> bool {
        self.reader.block.cut
    }

    /// The line that stood before an ARC record; empty for a WARC record.
    pub fn arc_line(&self) -> &[u8] {
        match self.reader.format {
            Format::Warc => &[],
            Format::Arc { .. } => &self.reader.scratch,
        }
    }
}

impl<S: ReadAt> BufRead for Record<'_, S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_block()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume_block(count);
    }
}

impl<S: ReadAt> Read for Record<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.consume(length);
        Ok(length)
    }
}

/// A record that has its reader for itself. Reading from it reads the record's block.
pub struct OwnedRecord<S> {
    reader: Reader<S>,
}

impl<S: ReadAt> OwnedRecord<S> {
    /// The record as readers lend it.
    pub fn as_record(&mut self) -> Record<'_, S> {
        Record { reader: &mut self.reader }
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.reader.header
    }

    /// What was found so far: damage ends a block early and is said here.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.reader.take_findings()
    }
}

impl<S: ReadAt> Read for OwnedRecord<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_record().read(buffer)
    }
}

impl<S: ReadAt> BufRead for OwnedRecord<S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_block()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume_block(count);
    }
}
