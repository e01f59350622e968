//! From packed bytes to plain ones, member by member.
//!
//! A *member* here is a gzip member or a zstd frame; a plain file is one member. This module owns decompression, the
//! boundaries of members and what happens when one is damaged: what came before the damage is given, a finding says
//! where, and reading goes on at the next member that begins a record. It knows nothing of records beyond how their
//! first bytes look, which is what tells a member from chance bytes.
//!
//! Looking again after damage costs time, and a hostile file could ask for it at every byte. So going back is paid
//! from a budget in proportion to the file, by what was unpacked in vain as well as by what is read again; when it is used
//! up, the search goes on from where decompression stopped.

mod again;
mod damage;
mod decoder_pool;
mod dictionary;
mod extent;
pub(crate) mod gzip;
mod inflate;
mod search;
mod unframe;
mod window;
pub(crate) mod zstd;

use std::io;

use crate::rule::{Finding, Pending, Rule};
use crate::stray::{LARGEST_KEPT, Strays};
use gzip::{Inflater, Inflating};
use varve_wire::ReadAt;
use window::Window;
use zstd::Unframing;

pub use decoder_pool::{DecoderPool, FileDecoders};
pub use dictionary::Dictionary;
pub(crate) use search::looks_like_record;
pub(crate) use window::{Gate, GivenUp};

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
    /// Tells by the first bytes, never by a name.
    pub fn of(first: &[u8]) -> Self {
        if first.starts_with(&gzip::MAGIC[..2]) {
            Self::Gzip
        } else if first.starts_with(&zstd::MAGIC) || zstd::skippable(first).is_some() {
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
    /// So many packed bytes are read at first.
    fn first_step(self) -> usize {
        match self {
            Self::Sequential => FIRST_VIEW,
            Self::Random => 8 << 10,
            Self::Whole => SMALL_VIEW,
        }
    }

    /// So many plain bytes are made at first of what is streamed.
    fn first_chunk(self) -> usize {
        match self {
            Self::Random => FIRST_CHUNK,
            Self::Sequential | Self::Whole => CHUNK,
        }
    }
}

/// So much is brought into view before a member is decompressed whole.
const FIRST_VIEW: usize = 256 << 10;
/// And so much first by who wants one record alone: most are smaller.
const SMALL_VIEW: usize = 16 << 10;
/// Content larger than this is streamed: somewhat more than what is packed in one go.
const LARGEST_WHOLE: usize = 33 << 20;
/// Streaming gives so much at a time.
const CHUNK: usize = 64 << 10;
/// And so much at first to who reads one record: more than a header mostly is.
const FIRST_CHUNK: usize = 1 << 10;
/// Of a packed member so much can be looked at before it is consumed.
pub(crate) const FARTHEST_LOOK: usize = 1 << 20;
/// What looking at bytes again may cost beyond the size of the file.
const FREE_REWIND: u64 = 64 << 20;

enum Inside {
    /// Between members.
    Outside,
    /// All is in the buffer.
    Whole,
    /// The beginning is in the buffer, and how much there is to come is known.
    Promised,
    Plain,
    Gzip,
    Zstd,
}

/// The dictionary that a zstd file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// There is none.
    Nothing,
    /// There is one, and it cannot be used.
    Unusable,
    /// There is one with this number; nought where it has none.
    Numbered(u32),
}

/// What is known of a large member of which only the beginning was decompressed.
#[derive(Default)]
struct Promised {
    /// Plain bytes, by its own account.
    length: usize,
    /// Packed bytes of the beginning.
    taken: usize,
}

/// The plain bytes of a file, with the members they came in.
pub(crate) struct Unpacker<S> {
    window: Window<S>,
    access: Access,
    encoding: Encoding,
    inside: Inside,
    inflater: Option<Inflater>,
    inflating: Option<Box<Inflating>>,
    promised: Promised,
    /// The plain bytes of the beginning of a large member.
    beginning: Vec<u8>,
    /// The member before was large: this one may be.
    expects_large: bool,
    unframing: Option<Unframing>,
    /// Where it goes when this is done with it.
    home: Option<FileDecoders>,
    output: Vec<u8>,
    start: usize,
    end: usize,
    member_offset: u64,
    /// Where the member before this one was left.
    left_at: u64,
    /// Plain bytes of this member that were consumed.
    consumed: u64,
    /// Plain bytes of this member that were given out or are in the buffer.
    given: u64,
    /// Where the packed bytes ended that the last of them came from, while it is streamed.
    given_until: u64,
    aardwarc: bool,
    ours: bool,
    failed: bool,
    plain_begun: bool,
    frame_promised: bool,
    held: Held,
    dictionary_missed: bool,
    /// A damaged zstd frame is read again with care; so much of it was given before.
    careful: bool,
    given_before: u64,
    rewind_budget: u64,
    /// How much room is made next.
    chunk: usize,
    findings: Pending,
    strays: Strays,
}

impl<S> Drop for Unpacker<S> {
    fn drop(&mut self) {
        if let (Some(home), Some(unframing)) = (self.home.take(), self.unframing.take()) {
            home.give_back(unframing);
        }
    }
}

impl<S: ReadAt> Unpacker<S> {
    /// Unpacks `source` from `offset`, which must be where a member starts.
    pub(crate) fn new(source: S, offset: u64, access: Access) -> io::Result<Self> {
        let mut unpacker = Self::unplaced(source, offset, access)?;
        unpacker.encoding = Encoding::of(unpacker.window.fill(8)?);
        unpacker.prepare()?;
        Ok(unpacker)
    }

    /// Unpacks `source`, of a known encoding, from the first member at or after `offset` that begins a record.
    /// None when there is none before `until`.
    pub(crate) fn find(source: S, encoding: Encoding, offset: u64, until: u64) -> io::Result<Option<Self>> {
        let mut unpacker = Self::unplaced(source, offset, Access::Sequential)?;
        unpacker.encoding = encoding;
        unpacker.prepare()?;
        unpacker.findings = Pending::default();
        let found = unpacker.search(offset, until)?;
        Ok(found.then_some(unpacker))
    }

    /// Takes a file that begins with junk for a packed one, when a member within the first `limit` bytes begins a record:
    /// damage may have hit the very bytes by which packing is known.
    pub(crate) fn unpack_behind_junk(&mut self, limit: u64) -> io::Result<bool> {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            self.encoding = encoding;
            self.prepare()?;
            if self.search(0, limit)? {
                self.report_junk(0, "compressed member")?;
                self.inside = Inside::Outside;
                return Ok(true);
            }
        }
        self.encoding = Encoding::Plain;
        Ok(false)
    }

    fn unplaced(source: S, offset: u64, access: Access) -> io::Result<Self> {
        let window = Window::new(source, 0, access.first_step())?;
        let rewind_budget = window.size().saturating_mul(2).saturating_add(FREE_REWIND);
        let mut unpacker = Self {
            window,
            access,
            encoding: Encoding::Plain,
            inside: Inside::Outside,
            inflater: None,
            inflating: None,
            promised: Promised::default(),
            beginning: Vec::new(),
            expects_large: false,
            unframing: None,
            home: None,
            output: Vec::new(),
            start: 0,
            end: 0,
            member_offset: offset,
            left_at: offset,
            consumed: 0,
            given: 0,
            given_until: 0,
            aardwarc: false,
            ours: false,
            failed: false,
            plain_begun: false,
            frame_promised: true,
            held: Held::Nothing,
            dictionary_missed: false,
            careful: false,
            given_before: 0,
            rewind_budget,
            chunk: access.first_chunk(),
            findings: Pending::default(),
            strays: Strays::default(),
        };
        unpacker.window.seek(offset);
        Ok(unpacker)
    }

    fn prepare(&mut self) -> io::Result<()> {
        if self.encoding == Encoding::Zstd {
            self.chunk = CHUNK;
            let home = FileDecoders::of(self.window.source());
            if let Some(ready) = home.as_ref().and_then(FileDecoders::take) {
                self.held = ready.number().map_or(Held::Nothing, Held::Numbered);
                (self.unframing, self.home) = (Some(ready), home);
                return Ok(());
            }
            let dictionary = match home.as_ref().and_then(FileDecoders::dictionary) {
                Some(known) if known.number().is_ok() => Some(known),
                _ => self.read_dictionary(home.as_ref())?,
            };
            self.home = home.filter(|_| dictionary.is_some());
            let unframing = Unframing::new(dictionary)?;
            if let Some(number) = unframing.number() {
                self.held = Held::Numbered(number);
            }
            self.unframing = Some(unframing);
        }
        Ok(())
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(crate) fn source(&self) -> &S {
        self.window.source()
    }

    /// Where the member starts that is being read.
    pub(crate) fn member_offset(&self) -> u64 {
        self.member_offset
    }

    /// Where the member before the one that is being read was left.
    pub(crate) fn left_at(&self) -> u64 {
        self.left_at
    }

    /// Whether nothing of the member was consumed yet.
    pub(crate) fn at_member_start(&self) -> bool {
        self.consumed == 0
    }

    /// Whether the header of the gzip member is what the writer of this crate begins every member with.
    pub(crate) fn is_ours(&self) -> bool {
        self.ours
    }

    /// Whether the member was written by AardWARC, with head, block and end of a record in three members.
    pub(crate) fn is_aardwarc(&self) -> bool {
        self.aardwarc
    }

    /// Whether the member is damaged: its bytes end too early.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// The place in the file that best says where the next byte comes from.
    pub(crate) fn position(&self) -> u64 {
        match self.encoding {
            Encoding::Plain => self.window.position(),
            Encoding::Gzip | Encoding::Zstd => self.member_offset,
        }
    }

    /// Where the packed bytes go on after what was read so far.
    pub(crate) fn packed_position(&self) -> u64 {
        self.window.position()
    }

    /// Pays for looking again at so many plain or packed bytes, whichever are more; false when the budget is used up.
    pub(crate) fn spend(&mut self, cost: u64) -> bool {
        let is_enough = cost <= self.rewind_budget;
        if is_enough {
            self.rewind_budget -= cost;
        }
        is_enough
    }

    /// Asks `gate` before anything from `offset` of the file on is read.
    pub(crate) fn set_gate(&mut self, offset: u64, gate: Box<dyn Gate>) {
        self.window.set_gate(offset, gate);
    }

    /// How many of the next `wanted` bytes of the member can be looked at: all that there are in a plain file, up to
    /// `FARTHEST_LOOK` in a packed one.
    pub(crate) fn reach(&mut self, wanted: u64) -> io::Result<u64> {
        if let Inside::Plain = self.inside {
            return self.window.left(wanted);
        }
        let near = usize::try_from(wanted).unwrap_or(FARTHEST_LOOK).min(FARTHEST_LOOK);
        Ok(self.require(near)?.len().min(near) as u64)
    }

    /// Copies bytes that begin `ahead` bytes from here, as far as they can be reached, and consumes nothing.
    pub(crate) fn look(&mut self, ahead: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if let Inside::Plain = self.inside {
            let offset = self.window.position().saturating_add(ahead);
            return self.window.peek(offset, buffer);
        }
        let until = ahead.saturating_add(buffer.len() as u64);
        let reach = self.reach(until)?;
        let range = ahead.min(reach) as usize..reach as usize;
        let bytes = &self.output[self.start..self.end][range];
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    pub(crate) fn report(&mut self, rule: Rule, offset: u64, message: impl Into<String>) {
        self.findings.push(Finding::new(rule, offset, message));
    }

    pub(crate) fn findings(&mut self) -> &mut Pending {
        &mut self.findings
    }

    /// Whether what was found here means that bytes are lost.
    pub(crate) fn has_loss(&self) -> bool {
        self.findings.has_loss()
    }

    /// Forgets what was found.
    pub(crate) fn forget_findings(&mut self) {
        self.findings = Pending::default();
    }

    /// Bytes that belong to no record.
    pub(crate) fn strays(&mut self) -> &mut Strays {
        &mut self.strays
    }

    /// Says that the packed bytes from `from` to here are no member.
    fn report_junk(&mut self, from: u64, what: &str) -> io::Result<()> {
        let length = self.window.position().saturating_sub(from);
        self.report(Rule::JunkBetweenMembers, from, format!("{length} bytes that are no {what}"));
        self.put_aside(from)
    }

    /// Puts the packed bytes from `from` to here aside, for who wants to keep what belongs to no record.
    fn put_aside(&mut self, from: u64) -> io::Result<()> {
        let length = self.window.position().saturating_sub(from);
        if self.strays.are_wanted() && length > 0 {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(LARGEST_KEPT)];
            let count = self.window.peek(from, &mut bytes)?;
            self.strays.push(from, length, &bytes[..count]);
        }
        Ok(())
    }

    /// Plain bytes of the current member that are at hand.
    pub(crate) fn buffered(&self) -> &[u8] {
        match self.inside {
            Inside::Plain => self.window.bytes(),
            _ => &self.output[self.start..self.end],
        }
    }

    /// Brings some bytes of the current member to hand; none at its end.
    pub(crate) fn fill(&mut self) -> io::Result<&[u8]> {
        self.require(1)
    }

    /// Brings so many bytes of the current member to hand, fewer only at its end.
    pub(crate) fn require(&mut self, wanted: usize) -> io::Result<&[u8]> {
        if let Inside::Plain = self.inside {
            return self.window.fill(wanted);
        }
        while self.end - self.start < wanted {
            let more = match self.inside {
                Inside::Promised => self.keep_promise().map(|()| true)?,
                Inside::Gzip => self.inflate_more()?,
                Inside::Zstd => self.unframe_more()?,
                Inside::Outside | Inside::Whole | Inside::Plain => false,
            };
            if !more {
                break;
            }
        }
        Ok(&self.output[self.start..self.end])
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.consumed += count as u64;
        match self.inside {
            Inside::Plain => self.window.consume(count),
            _ => self.start += count,
        }
    }

    /// Goes to the next member that holds something, leaving the rest of the current one. False at the end of the file.
    pub(crate) fn next_member(&mut self) -> io::Result<bool> {
        self.skip_member()?;
        self.left_at = self.window.position();
        loop {
            self.start = 0;
            self.end = 0;
            self.consumed = 0;
            (self.given, self.given_until) = (0, 0);
            self.aardwarc = false;
            self.failed = false;
            let found = match self.encoding {
                Encoding::Plain => self.begin_plain()?,
                Encoding::Gzip => self.begin_gzip()?,
                Encoding::Zstd => self.begin_zstd()?,
            };
            if !found || !self.require(1)?.is_empty() || self.failed {
                return Ok(found);
            }
            self.report(Rule::EmptyMember, self.member_offset, "an empty compressed member");
            self.skip_member()?;
        }
    }

    /// Runs to the end of the member without keeping anything.
    fn skip_member(&mut self) -> io::Result<()> {
        while matches!(self.inside, Inside::Promised | Inside::Gzip | Inside::Zstd) {
            self.start = self.end;
            if self.require(1)?.is_empty() {
                break;
            }
        }
        self.inside = Inside::Outside;
        Ok(())
    }

    fn begin_plain(&mut self) -> io::Result<bool> {
        if self.plain_begun {
            return Ok(false);
        }
        self.plain_begun = true;
        self.member_offset = self.window.position();
        self.inside = Inside::Plain;
        Ok(!self.window.fill(1)?.is_empty())
    }

    /// Makes room for one more chunk behind the bytes at hand: for who may want a header alone, a small one first. Where
    /// that room ends.
    fn make_room(&mut self) -> usize {
        if self.start > 0 {
            self.output.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let chunk = self.chunk;
        self.chunk = (chunk * 4).min(CHUNK);
        if self.output.len() < self.end + chunk {
            let room = (self.end + chunk).max(self.output.len() + self.output.len() / 2);
            let held = std::mem::replace(&mut self.output, vec![0; room]);
            self.output[..self.end].copy_from_slice(&held[..self.end]);
        }
        self.end + chunk
    }
}
