//! From packed bytes to decompressed ones, member by member.
//!
//! A *member* here is a gzip member or a zstd frame; a plain file is one member. [`MemberReader`]
//! reads members in order. When one is damaged it gives the bytes before the damage, and
//! [`salvage::SalvageReader`] finds the next member that begins a record. This module knows nothing
//! of records beyond how their first bytes look.

mod decoder_pool;
mod dictionary;
pub(crate) mod gzip;
mod gzip_member;
mod member_extent;
mod output_buffer;
mod record_start;
mod salvage;
mod window;
pub(crate) mod zstd;
mod zstd_member;

use std::io;

use crate::rules::{PendingFindings, Rule};
use crate::stray_bytes::Strays;
use gzip_member::GzipState;
use output_buffer::OutputBuffer;
use salvage::{FailedMember, SalvageReader};
use varve_wire::ReadAt;
use zstd_member::ZstdState;

pub use decoder_pool::{DecoderPool, FileDecoders};
pub use dictionary::Dictionary;
pub(crate) use record_start::{is_warc_start, looks_like_record};
pub(crate) use window::{ReadCancelled, ReadGate};

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Not at all.
    Plain,
    /// Gzip members.
    Gzip,
    /// Zstandard frames.
    Zstd,
}

impl Encoding {
    /// The encoding by the first bytes of a file, never by its name.
    pub fn of(first: &[u8]) -> Self {
        if first.starts_with(&gzip::GZIP_MAGIC[..2]) {
            Self::Gzip
        } else if first.starts_with(&zstd::FRAME_MAGIC) || zstd::skippable_length(first).is_some() {
            Self::Zstd
        } else {
            Self::Plain
        }
    }
}

/// How a reader is going to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// From here to the end.
    Sequential,
    /// One record, perhaps only its header.
    Random,
    /// One record, all of it.
    Whole,
}

impl Access {
    /// The number of packed bytes that are read first.
    fn first_step(self) -> usize {
        match self {
            Self::Sequential => FIRST_VIEW_BYTES,
            Self::Random => RANDOM_VIEW_BYTES,
            Self::Whole => RECORD_VIEW_BYTES,
        }
    }

    /// The number of bytes that a stream decompresses first.
    fn first_chunk(self) -> usize {
        match self {
            Self::Random => FIRST_CHUNK_BYTES,
            Self::Sequential | Self::Whole => STREAM_CHUNK_BYTES,
        }
    }
}

/// Packed bytes that are brought into view before a member is decompressed whole.
const FIRST_VIEW_BYTES: usize = 256 << 10;
/// The same for a caller that wants one record: most are smaller.
const RECORD_VIEW_BYTES: usize = 16 << 10;
/// The same for a caller that may want a header only.
const RANDOM_VIEW_BYTES: usize = 8 << 10;
/// Larger content is streamed. The limit is somewhat above what the packer compresses in one pass.
const MAX_WHOLE_BYTES: usize = 33 << 20;
/// A stream decompresses this much at a time.
const STREAM_CHUNK_BYTES: usize = 64 << 10;
/// A stream decompresses this much first for a caller that may want a header only: most headers are
/// smaller.
const FIRST_CHUNK_BYTES: usize = 1 << 10;
/// This much of a packed member can be looked at before it is consumed.
pub(crate) const MAX_LOOKAHEAD_BYTES: usize = 1 << 20;

/// Where the bytes of the current member come from.
enum MemberStage {
    /// Between members.
    Outside,
    /// All is in the output buffer.
    Whole,
    /// The prefix of a large gzip member is in the output buffer, and its declared length is known.
    Prefix,
    /// The packed bytes themselves are the content.
    Plain,
    /// A gzip member is streamed.
    Gzip,
    /// A zstd frame is streamed.
    Zstd,
}

/// The member that is being read.
#[derive(Default)]
struct MemberState {
    offset: u64,
    /// Where the member before this one was left.
    previous_end: u64,
    /// Decompressed bytes that were consumed.
    consumed: u64,
    /// Decompressed bytes that were consumed or are in the output buffer.
    given: u64,
    /// Where the packed bytes end that the last of them came from, while the member is streamed.
    given_until: u64,
    aardwarc: bool,
    ours: bool,
    failed: bool,
}

impl MemberState {
    fn at(offset: u64) -> Self {
        Self { offset, previous_end: offset, ..Self::default() }
    }

    fn failure(&self) -> FailedMember {
        FailedMember { offset: self.offset, given: self.given, given_until: self.given_until }
    }
}

/// Reads the members of a file in order.
pub(crate) struct MemberReader<S> {
    salvage: SalvageReader<S>,
    access: Access,
    stage: MemberStage,
    member: MemberState,
    output: OutputBuffer,
    gzip: GzipState,
    zstd: ZstdState,
    /// The only member of a plain file was begun.
    plain_begun: bool,
}

impl<S: ReadAt> MemberReader<S> {
    /// Reads `source` from `offset`, which must be the start of a member.
    pub(crate) fn new(source: S, offset: u64, access: Access) -> io::Result<Self> {
        let mut reader = Self::unprepared(source, offset, access)?;
        reader.salvage.encoding = Encoding::of(reader.salvage.window.fill(8)?);
        reader.prepare()?;
        Ok(reader)
    }

    /// Reads `source`, of a known encoding, from the first member at or after `offset` that begins
    /// a record. None when there is none before `until`.
    pub(crate) fn find(source: S, encoding: Encoding, offset: u64, until: u64) -> io::Result<Option<Self>> {
        let mut reader = Self::unprepared(source, offset, Access::Sequential)?;
        reader.salvage.encoding = encoding;
        reader.prepare()?;
        reader.drop_findings();
        let found = reader.salvage.search(offset, until)?;
        Ok(found.then_some(reader))
    }

    fn unprepared(source: S, offset: u64, access: Access) -> io::Result<Self> {
        Ok(Self {
            salvage: SalvageReader::new(source, offset, access)?,
            access,
            stage: MemberStage::Outside,
            member: MemberState::at(offset),
            output: OutputBuffer::new(access.first_chunk()),
            gzip: GzipState::default(),
            zstd: ZstdState::default(),
            plain_begun: false,
        })
    }

    fn prepare(&mut self) -> io::Result<()> {
        if self.salvage.encoding == Encoding::Zstd { self.prepare_zstd() } else { Ok(()) }
    }

    /// Takes a file that begins with junk for a packed one, when a member within the first `limit`
    /// bytes begins a record. Damage may have hit the bytes by which the encoding is recognised.
    pub(crate) fn skip_leading_junk(&mut self, limit: u64) -> io::Result<bool> {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            self.salvage.encoding = encoding;
            self.prepare()?;
            if self.salvage.search(0, limit)? {
                self.salvage.report_junk(0, "compressed member")?;
                self.stage = MemberStage::Outside;
                return Ok(true);
            }
        }
        self.salvage.encoding = Encoding::Plain;
        Ok(false)
    }

    /// Moves to the member at `offset`, as a new reader would be there, with the existing buffers
    /// and decoders. A caller that reads thousands of single records would otherwise spend most of
    /// its time on making decoders.
    pub(crate) fn reset(&mut self, offset: u64, access: Access) -> io::Result<()> {
        self.restart_at(offset, access);
        let encoding = Encoding::of(self.salvage.window.fill(8)?);
        if encoding != self.salvage.encoding {
            self.salvage.encoding = encoding;
            self.prepare()?;
        }
        let is_zstd = encoding == Encoding::Zstd;
        self.output.set_next_chunk(if is_zstd { STREAM_CHUNK_BYTES } else { access.first_chunk() });
        Ok(())
    }

    /// Moves to the first member at or after `offset` that begins a record, with the existing
    /// buffers and the known encoding. Returns false when there is none before `until`.
    pub(crate) fn reset_to_next(&mut self, offset: u64, until: u64) -> io::Result<bool> {
        self.restart_at(offset, Access::Sequential);
        self.output.set_next_chunk(STREAM_CHUNK_BYTES);
        self.salvage.search(offset, until)
    }

    fn restart_at(&mut self, offset: u64, access: Access) {
        self.access = access;
        self.salvage.restart_at(offset, access);
        self.stage = MemberStage::Outside;
        self.member = MemberState::at(offset);
        self.output.clear();
        self.gzip.expects_large = false;
        self.zstd.restart();
        self.plain_begun = false;
    }

    /// Drops the bytes that were read ahead, so that the next reset sees the file as it is then.
    pub(crate) fn drop_read_ahead(&mut self) {
        self.salvage.window.drop_view();
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.salvage.encoding
    }

    pub(crate) fn source(&self) -> &S {
        self.salvage.window.source()
    }

    /// Where the current member starts.
    pub(crate) fn member_offset(&self) -> u64 {
        self.member.offset
    }

    /// Where the member before the current one was left.
    pub(crate) fn previous_member_end(&self) -> u64 {
        self.member.previous_end
    }

    /// Whether nothing of the member was consumed yet.
    pub(crate) fn at_member_start(&self) -> bool {
        self.member.consumed == 0
    }

    /// Whether the gzip member has the header that the writer of this crate gives every member.
    pub(crate) fn is_ours(&self) -> bool {
        self.member.ours
    }

    /// Whether AardWARC wrote the member, with header, block and end of a record in three members.
    pub(crate) fn is_aardwarc(&self) -> bool {
        self.member.aardwarc
    }

    /// Whether the member is damaged: its bytes end too early.
    pub(crate) fn has_failed(&self) -> bool {
        self.member.failed
    }

    /// The offset in the file that best describes where the next byte comes from.
    pub(crate) fn position(&self) -> u64 {
        match self.salvage.encoding {
            Encoding::Plain => self.salvage.window.position(),
            Encoding::Gzip | Encoding::Zstd => self.member.offset,
        }
    }

    /// The offset of the next packed byte.
    pub(crate) fn packed_position(&self) -> u64 {
        self.salvage.window.position()
    }

    /// Pays for reading `cost` bytes again. Returns false when the budget is used up.
    pub(crate) fn spend(&mut self, cost: u64) -> bool {
        self.salvage.spend(cost)
    }

    /// Asks `gate` before anything from `offset` of the file on is read.
    pub(crate) fn set_gate(&mut self, offset: u64, gate: Box<dyn ReadGate>) {
        self.salvage.window.set_gate(offset, gate);
    }

    /// How many of the next `wanted` bytes of the member can be looked at: all in a plain file, up
    /// to `MAX_LOOKAHEAD_BYTES` in a packed one.
    pub(crate) fn reach(&mut self, wanted: u64) -> io::Result<u64> {
        if let MemberStage::Plain = self.stage {
            return self.salvage.window.left(wanted);
        }
        let near = usize::try_from(wanted).unwrap_or(MAX_LOOKAHEAD_BYTES).min(MAX_LOOKAHEAD_BYTES);
        Ok(self.require(near)?.len().min(near) as u64)
    }

    /// Copies bytes that begin `ahead` bytes from here, as far as they can be reached, and consumes
    /// nothing.
    pub(crate) fn peek(&mut self, ahead: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if let MemberStage::Plain = self.stage {
            let offset = self.salvage.window.position().saturating_add(ahead);
            return self.salvage.window.peek(offset, buffer);
        }
        let until = ahead.saturating_add(buffer.len() as u64);
        let reach = self.reach(until)?;
        let range = ahead.min(reach) as usize..reach as usize;
        let bytes = &self.output.unconsumed()[range];
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    pub(crate) fn findings(&mut self) -> &mut PendingFindings {
        &mut self.salvage.findings
    }

    /// Whether a finding means that bytes are lost.
    pub(crate) fn has_loss(&self) -> bool {
        self.salvage.findings.has_loss()
    }

    pub(crate) fn drop_findings(&mut self) {
        self.salvage.findings = PendingFindings::default();
    }

    /// Bytes that belong to no record.
    pub(crate) fn strays(&mut self) -> &mut Strays {
        &mut self.salvage.strays
    }

    /// Decompressed bytes of the current member that are in memory.
    pub(crate) fn buffered(&self) -> &[u8] {
        match self.stage {
            MemberStage::Plain => self.salvage.window.bytes(),
            _ => self.output.unconsumed(),
        }
    }

    /// Brings some bytes of the current member into memory; none at its end.
    pub(crate) fn fill(&mut self) -> io::Result<&[u8]> {
        self.require(1)
    }

    /// Brings `wanted` bytes of the current member into memory, fewer only at its end.
    pub(crate) fn require(&mut self, wanted: usize) -> io::Result<&[u8]> {
        if let MemberStage::Plain = self.stage {
            return self.salvage.window.fill(wanted);
        }
        while self.output.end - self.output.start < wanted {
            let more = match self.stage {
                MemberStage::Prefix => self.inflate_whole().map(|()| true)?,
                MemberStage::Gzip => self.inflate_more()?,
                MemberStage::Zstd => self.decode_more()?,
                MemberStage::Outside | MemberStage::Whole | MemberStage::Plain => false,
            };
            if !more {
                break;
            }
        }
        Ok(self.output.unconsumed())
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.member.consumed += count as u64;
        match self.stage {
            MemberStage::Plain => self.salvage.window.consume(count),
            _ => self.output.start += count,
        }
    }

    /// Moves to the next member with content and skips the rest of the current one. Returns false
    /// at the end of the file.
    pub(crate) fn next_member(&mut self) -> io::Result<bool> {
        self.skip_member()?;
        self.member.previous_end = self.salvage.window.position();
        loop {
            self.output.clear();
            let (offset, previous_end) = (self.member.offset, self.member.previous_end);
            let ours = self.member.ours;
            self.member = MemberState { offset, previous_end, ours, ..MemberState::default() };
            let found = match self.salvage.encoding {
                Encoding::Plain => self.begin_plain()?,
                Encoding::Gzip => self.begin_gzip()?,
                Encoding::Zstd => self.begin_zstd()?,
            };
            if !found || !self.require(1)?.is_empty() || self.member.failed {
                return Ok(found);
            }
            self.salvage.report(Rule::EmptyMember, self.member.offset, "an empty compressed member");
            self.skip_member()?;
        }
    }

    /// Runs to the end of the member and drops its content.
    fn skip_member(&mut self) -> io::Result<()> {
        while matches!(self.stage, MemberStage::Prefix | MemberStage::Gzip | MemberStage::Zstd) {
            self.output.start = self.output.end;
            if self.require(1)?.is_empty() {
                break;
            }
        }
        self.stage = MemberStage::Outside;
        Ok(())
    }

    fn begin_plain(&mut self) -> io::Result<bool> {
        if self.plain_begun {
            return Ok(false);
        }
        self.plain_begun = true;
        self.member.offset = self.salvage.window.position();
        self.stage = MemberStage::Plain;
        Ok(!self.salvage.window.fill(1)?.is_empty())
    }

    /// The packed bytes ran out inside the member.
    fn cut_member(&mut self) -> io::Result<()> {
        self.leave_failed();
        self.salvage.recover_from_cut(self.member.failure())
    }

    /// The member cannot be read further.
    fn fail_member(&mut self, rule: Rule, message: &str) -> io::Result<()> {
        self.leave_failed();
        self.salvage.recover_from_damage(self.member.failure(), rule, message)
    }

    fn leave_failed(&mut self) {
        self.member.failed = true;
        self.stage = MemberStage::Outside;
    }
}
