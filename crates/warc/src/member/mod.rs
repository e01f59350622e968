//! From packed bytes to plain ones, member by member.
//!
//! A *member* here is a gzip member or a zstd frame; a plain file is one member. This module owns decompression, the
//! boundaries of members and what happens when one is damaged: what came before the damage is given, a finding says
//! where, and reading goes on at the next member that begins a record. It knows nothing of records beyond how their
//! first bytes look, which is what tells a member from chance bytes.
//!
//! Looking again after damage costs time, and a hostile file could ask for it at every byte. So going back is paid
//! from a budget in proportion to the file; when it is used up, the search goes on from where decompression stopped.

pub(crate) mod gzip;
mod search;
mod window;
pub(crate) mod zstd;

use std::io;

use crate::rule::{Finding, Pending, Rule};
use crate::source::ReadAt;
use gzip::{Inflater, Inflating, NotWhole, State};
use window::Window;
use zstd::Unframing;

pub(crate) use search::looks_like_record;

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
}

/// So much is brought into view before a member is decompressed whole.
const FIRST_VIEW: usize = 256 << 10;
/// Content larger than this is streamed: somewhat more than what is packed in one go.
const LARGEST_WHOLE: usize = 33 << 20;
/// Streaming gives so much at a time.
const CHUNK: usize = 64 << 10;
/// What going back may cost beyond the size of the file.
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
    output: Vec<u8>,
    start: usize,
    end: usize,
    member_offset: u64,
    /// Plain bytes of this member that were consumed.
    consumed: u64,
    /// Plain bytes of this member that were given out or are in the buffer.
    given: u64,
    aardwarc: bool,
    failed: bool,
    plain_begun: bool,
    frame_promised: bool,
    has_dictionary: bool,
    dictionary_missed: bool,
    /// A damaged zstd frame is read again with care; so much of it was given before.
    careful: bool,
    given_before: u64,
    rewind_budget: u64,
    findings: Pending,
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
                let passed = self.window.position();
                self.report(
                    Rule::JunkBetweenMembers,
                    0,
                    format!("{passed} bytes that are no compressed member"),
                );
                self.inside = Inside::Outside;
                return Ok(true);
            }
        }
        self.encoding = Encoding::Plain;
        Ok(false)
    }

    fn unplaced(source: S, offset: u64, access: Access) -> io::Result<Self> {
        let first_step = match access {
            Access::Sequential => FIRST_VIEW,
            Access::Random => 8 << 10,
        };
        let rewind_budget = source.size()?.saturating_mul(2).saturating_add(FREE_REWIND);
        let mut unpacker = Self {
            window: Window::new(source, 0, first_step)?,
            encoding: Encoding::Plain,
            inside: Inside::Outside,
            inflater: if access == Access::Sequential { Inflater::new() } else { None },
            inflating: None,
            promised: Promised::default(),
            beginning: Vec::new(),
            expects_large: false,
            unframing: None,
            output: Vec::new(),
            start: 0,
            end: 0,
            member_offset: offset,
            consumed: 0,
            given: 0,
            aardwarc: false,
            failed: false,
            plain_begun: false,
            frame_promised: true,
            has_dictionary: false,
            dictionary_missed: false,
            careful: false,
            given_before: 0,
            rewind_budget,
            findings: Pending::default(),
        };
        unpacker.window.seek(offset);
        Ok(unpacker)
    }

    fn prepare(&mut self) -> io::Result<()> {
        if self.encoding == Encoding::Zstd {
            let dictionary = self.read_dictionary()?;
            self.has_dictionary = dictionary.is_some();
            let unframing = Unframing::new(dictionary.as_deref()).or_else(|_| Unframing::new(None))?;
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

    /// Whether nothing of the member was consumed yet.
    pub(crate) fn at_member_start(&self) -> bool {
        self.consumed == 0
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

    /// Only a plain file can be read again from any byte; false when the budget for that is used up.
    pub(crate) fn rewind_plain(&mut self, offset: u64) -> bool {
        let cost = self.window.position().saturating_sub(offset);
        if self.encoding != Encoding::Plain || cost > self.rewind_budget {
            return false;
        }
        self.rewind_budget -= cost;
        self.window.seek(offset);
        self.inside = Inside::Plain;
        true
    }

    pub(crate) fn report(&mut self, rule: Rule, offset: u64, message: impl Into<String>) {
        self.findings.push(Finding::new(rule, offset, message));
    }

    pub(crate) fn findings(&mut self) -> &mut Pending {
        &mut self.findings
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
        loop {
            self.skip_member()?;
            self.start = 0;
            self.end = 0;
            self.consumed = 0;
            self.given = 0;
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

    // --- gzip

    fn begin_gzip(&mut self) -> io::Result<bool> {
        let Some(header) = self.find_gzip_header()? else { return Ok(false) };
        self.member_offset = self.window.position();
        self.aardwarc = header.aardwarc;
        let is_large = self.expects_large && self.promise(header.length, FIRST_VIEW * 4)?;
        self.expects_large = is_large;
        if !is_large && !self.inflate_small()? && !self.promise(header.length, 0)? {
            self.window.consume(header.length);
            self.inflating.get_or_insert_with(|| Box::new(Inflating::new())).reset();
            self.inside = Inside::Gzip;
        }
        Ok(true)
    }

    /// The header at this place or, past junk, at the next place that looks like one.
    fn find_gzip_header(&mut self) -> io::Result<Option<gzip::Header>> {
        let view = self.window.fill(64)?;
        if view.is_empty() {
            return Ok(None);
        }
        if view.starts_with(&gzip::MAGIC) {
            let found = match gzip::header(view) {
                Some(header) => Some(header),
                None => gzip::header(self.window.fill(gzip::LONGEST_HEADER)?),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        let from = self.window.position();
        let found = self.search(from, u64::MAX)?;
        let until = self.window.position();
        self.report(
            Rule::JunkBetweenMembers,
            from,
            format!("{} bytes that are no gzip member", until.saturating_sub(from)),
        );
        if !found {
            return Ok(None);
        }
        Ok(gzip::header(self.window.fill(gzip::LONGEST_HEADER)?))
    }

    /// Decompresses the member in one go when it is small. False when it is not, or is damaged.
    fn inflate_small(&mut self) -> io::Result<bool> {
        if self.inflater.is_none() {
            return Ok(false);
        }
        let packed = self.window.fill(FIRST_VIEW)?;
        if self.output.is_empty() {
            // Text packs to a fifth or so; a small file needs no large buffer.
            self.output = vec![0; (packed.len() * 8).clamp(4 << 10, FIRST_VIEW)];
        }
        loop {
            match self.inflate_view() {
                Ok(()) => return Ok(true),
                Err(NotWhole::Larger) if self.output.len() < FIRST_VIEW * 4 => {
                    self.enlarge_output(self.output.len() * 2);
                }
                Err(_) => return Ok(false),
            }
        }
    }

    /// Decompresses the beginning of a large member whose record says how long it is: at least `least`, and not too
    /// long for one go. The rest may never be wanted: who shares a file with others looks where the next record begins.
    fn promise(&mut self, header: usize, least: usize) -> io::Result<bool> {
        if self.inflater.is_none() {
            return Ok(false);
        }
        let packed = self.window.fill(FIRST_VIEW)?;
        let inflating = self.inflating.get_or_insert_with(|| Box::new(Inflating::new()));
        self.beginning.resize(CHUNK, 0);
        let (taken, given) = inflating.beginning(packed, &mut self.beginning);
        self.beginning.truncate(given);
        let length = search::promised_length(&self.beginning).and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| (least..=LARGEST_WHOLE).contains(length)) else {
            return Ok(false);
        };
        self.promised = Promised { length, taken: header + taken };
        self.give_beginning();
        self.inside = Inside::Promised;
        self.expects_large = true;
        Ok(true)
    }

    fn give_beginning(&mut self) {
        let given = self.beginning.len();
        if self.output.len() < given {
            self.enlarge_output(given);
        }
        self.output[..given].copy_from_slice(&self.beginning);
        self.end = given;
        self.given = given as u64;
    }

    /// Decompresses all of a large member, in one go if it is what it says, else from its beginning on.
    fn keep_promise(&mut self) -> io::Result<()> {
        let Promised { length, taken } = self.promised;
        if self.output.len() < length {
            self.enlarge_output(length);
        }
        // By how well its beginning packs, and then by how badly it could.
        let likely = length / self.beginning.len().max(1) * taken + length / 8;
        for view in [likely, length + length / 64] {
            let all_in_view = self.window.fill(view)?.len() < view;
            match self.inflate_view() {
                Ok(()) => return Ok(()),
                Err(NotWhole::Unreadable) if !all_in_view => {}
                Err(_) => break,
            }
        }
        self.give_beginning();
        self.window.consume(taken);
        self.inside = Inside::Gzip;
        Ok(())
    }

    /// Decompresses the member, if all of it is in view.
    fn inflate_view(&mut self) -> Result<(), NotWhole> {
        let Some(inflater) = &mut self.inflater else { return Err(NotWhole::Unreadable) };
        let (taken, given) = inflater.member(self.window.bytes(), &mut self.output)?;
        self.window.consume(taken);
        self.end = given;
        self.given = given as u64;
        self.inside = Inside::Whole;
        Ok(())
    }

    /// Nothing in the old one is wanted any more.
    fn enlarge_output(&mut self, size: usize) {
        self.output = Vec::new();
        self.output = vec![0; size];
    }

    fn inflate_more(&mut self) -> io::Result<bool> {
        self.make_room();
        let packed = self.window.fill(1)?;
        if packed.is_empty() {
            self.cut_member()?;
            return Ok(false);
        }
        let Some(inflating) = &mut self.inflating else { return Ok(false) };
        let step = inflating.step(packed, &mut self.output[self.end..]);
        self.window.consume(step.taken);
        self.end += step.given;
        self.given += step.given as u64;
        match step.state {
            State::Going if step.taken == 0 && step.given == 0 => {
                self.fail_gzip("the deflate data is damaged")?
            }
            State::Going => return Ok(true),
            State::Ended => self.end_gzip()?,
            State::Damaged => self.fail_gzip("the deflate data is damaged")?,
        }
        Ok(step.given > 0)
    }

    fn end_gzip(&mut self) -> io::Result<()> {
        let Some(trailer) = self.window.fill(8)?.first_chunk::<8>().copied() else {
            return self.cut_member();
        };
        let agrees = self.inflating.as_ref().is_some_and(|inflating| inflating.agrees(trailer));
        if agrees {
            self.window.consume(8);
            self.inside = Inside::Outside;
            return Ok(());
        }
        // When another member follows, only the content is wrong; otherwise the end was found at a wrong place.
        let after = self.window.fill(16)?;
        if after.len() == 8 || after[8..].starts_with(&gzip::MAGIC) {
            self.window.consume(8);
            self.failed = true;
            self.inside = Inside::Outside;
            self.report(
                Rule::MemberDamaged,
                self.member_offset,
                "checksum or length of a gzip member is wrong",
            );
            return Ok(());
        }
        self.fail_gzip("checksum or length of a gzip member is wrong")
    }

    fn fail_gzip(&mut self, what: &str) -> io::Result<()> {
        self.fail(&format!("{what}, {} bytes of it could be read", self.given))
    }

    // --- zstd

    /// The dictionary at the start of the file, wherever reading starts.
    fn read_dictionary(&mut self) -> io::Result<Option<Vec<u8>>> {
        let here = self.window.position();
        self.window.seek(0);
        let view = self.window.fill(8)?;
        let length = if view.starts_with(&zstd::DICTIONARY_MAGIC) { zstd::skippable(view) } else { None };
        let mut dictionary = None;
        if let Some(length) = length {
            if length > (zstd::LARGEST_DICTIONARY + 8) as u64 {
                self.report(Rule::DictionaryUnusable, 0, "the zstd dictionary is larger than 8 MiB");
            } else {
                let frame = self.window.fill(length as usize)?;
                let content = frame.get(8..length as usize);
                match content.map(zstd::dictionary) {
                    Some(Ok(content)) => dictionary = Some(content),
                    Some(Err(error)) => {
                        self.report(
                            Rule::DictionaryUnusable,
                            0,
                            format!("the zstd dictionary cannot be read: {error}"),
                        );
                    }
                    None => self.report(Rule::DictionaryUnusable, 0, "the zstd dictionary is cut short"),
                }
            }
        }
        self.window.seek(here);
        Ok(dictionary)
    }

    fn begin_zstd(&mut self) -> io::Result<bool> {
        if !self.find_frame()? {
            return Ok(false);
        }
        self.member_offset = self.window.position();
        if self.frame_promised && !zstd::is_checked(self.window.bytes()) {
            self.frame_promised = false;
            self.report(
                Rule::FrameUnchecked,
                self.member_offset,
                "a zstd frame gives no content size or no checksum (said once for this file)",
            );
        }
        self.check_dictionary();
        if let Some(unframing) = &mut self.unframing {
            unframing.reset()?;
        }
        self.careful = false;
        self.given_before = 0;
        self.inside = Inside::Zstd;
        Ok(true)
    }

    /// Says, once, that frames need a dictionary that the file does not hold.
    fn check_dictionary(&mut self) {
        if self.has_dictionary || self.dictionary_missed {
            return;
        }
        if let Some(number) = zstd::wanted_dictionary(self.window.bytes()) {
            self.dictionary_missed = true;
            let message = format!("frames need the zstd dictionary {number}, which the file does not hold");
            self.report(Rule::DictionaryMissing, self.member_offset, message);
        }
    }

    /// Passes skippable frames and junk.
    fn find_frame(&mut self) -> io::Result<bool> {
        loop {
            let from = self.window.position();
            let view = self.window.fill(zstd::LONGEST_HEADER)?;
            if view.is_empty() {
                return Ok(false);
            }
            if view.starts_with(&zstd::MAGIC) {
                return Ok(true);
            }
            if let Some(length) = zstd::skippable(view) {
                if from > 0 && view.starts_with(&zstd::DICTIONARY_MAGIC) {
                    self.report(
                        Rule::DictionaryUnusable,
                        from,
                        "a zstd dictionary that is not at the start of the file",
                    );
                }
                self.window.seek(from.saturating_add(length));
                continue;
            }
            let found = self.search(from, u64::MAX)?;
            let skipped = self.window.position().saturating_sub(from);
            self.report(Rule::JunkBetweenMembers, from, format!("{skipped} bytes that are no zstd frame"));
            return Ok(found);
        }
    }

    fn unframe_more(&mut self) -> io::Result<bool> {
        self.make_room();
        let packed = self.window.fill(1)?;
        let at_end = packed.is_empty();
        let Some(unframing) = &mut self.unframing else { return Ok(false) };
        let packed = if self.careful { &packed[..packed.len().min(1)] } else { packed };
        match unframing.step(packed, &mut self.output[self.end..self.end + CHUNK]) {
            Ok((taken, given, ended)) => {
                self.window.consume(taken);
                self.accept(given);
                if ended {
                    self.inside = Inside::Outside;
                } else if at_end && given == 0 {
                    self.cut_member()?;
                }
                Ok(given > 0 || (!ended && !at_end))
            }
            Err(_) if !self.careful => {
                self.read_frame_again()?;
                Ok(true)
            }
            Err(error) => {
                // What else the decoder says of damage depends on the frames it had before.
                let is_complete = error.to_string().contains("checksum");
                let what = if is_complete {
                    "the checksum of a zstd frame is wrong"
                } else {
                    "a zstd frame is damaged"
                };
                self.fail(&format!("{what}, {} bytes of it could be read", self.given))?;
                Ok(false)
            }
        }
    }

    /// Takes so many bytes behind the buffered ones, but for those that were given before.
    fn accept(&mut self, given: usize) {
        let known = usize::try_from(self.given_before).unwrap_or(usize::MAX).min(given);
        self.output.copy_within(self.end + known..self.end + given, self.end);
        self.given_before -= known as u64;
        self.end += given - known;
        self.given += (given - known) as u64;
    }

    /// A step that fails gives nothing, however much it had unpacked: reads the frame again, so little at a time that a
    /// step never unpacks both what is sound and what is not.
    fn read_frame_again(&mut self) -> io::Result<()> {
        self.careful = true;
        self.given_before = self.given;
        self.window.seek(self.member_offset);
        match &mut self.unframing {
            Some(unframing) => unframing.reset(),
            None => Ok(()),
        }
    }

    // --- damage

    /// Makes room for one more chunk behind the bytes at hand.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.output.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.output.len() < self.end + CHUNK {
            let held = std::mem::replace(&mut self.output, vec![0; self.end + CHUNK]);
            self.output[..self.end].copy_from_slice(&held[..self.end]);
        }
    }

    /// The packed bytes ran out inside the member: the file was cut here, or damage made this member swallow others.
    fn cut_member(&mut self) -> io::Result<()> {
        self.leave_failed();
        let read = self.given;
        let at = self.findings.len();
        if self.search_again()? {
            let message = format!("a compressed member has no end, {read} bytes of it could be read");
            self.findings.insert(at, Finding::new(Rule::MemberDamaged, self.member_offset, message));
        } else {
            let message =
                format!("the file ends inside a compressed member, {read} bytes of it could be read");
            self.findings.insert(at, Finding::new(Rule::MemberCut, self.member_offset, message));
        }
        Ok(())
    }

    /// The member cannot be read on: says so and looks for the next.
    fn fail(&mut self, message: &str) -> io::Result<()> {
        self.leave_failed();
        self.report(Rule::MemberDamaged, self.member_offset, message);
        self.search_again()?;
        Ok(())
    }

    fn leave_failed(&mut self) {
        self.failed = true;
        self.inside = Inside::Outside;
    }

    /// Looks for the next member right behind the start of the failed one, as far as the budget allows.
    fn search_again(&mut self) -> io::Result<bool> {
        let stopped = self.window.position();
        let cost = stopped.saturating_sub(self.member_offset);
        let from = if cost <= self.rewind_budget {
            self.rewind_budget -= cost;
            self.member_offset + 1
        } else {
            stopped
        };
        self.search(from, u64::MAX)
    }
}
