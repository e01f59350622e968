//! WARC framing: the version line, the header, the two CRLF at the end, and finding the way again after damage.

use std::io;

use super::block::BlockState;
use super::{Reader, Stage};
use crate::member::Encoding;
use crate::record::{Version, decimal};
use crate::rule::{Finding, Rule, shown};
use crate::stray::LARGEST_KEPT;
use varve_wire::ReadAt;
use varve_wire::{FoldedLines, HeaderDefect, end_of_lines};

/// What stands between the block and the next record.
pub(super) const SEPARATOR: &[u8] = b"\r\n\r\n";
/// So much of a header is copied at first; most are smaller.
const HEADER_STEP: usize = 2048;
/// Junk is passed in stretches of this size.
const STRETCH: usize = 32 << 10;

/// `WARC/` and a digit.
pub(super) fn is_start(bytes: &[u8]) -> bool {
    bytes.len() >= 6 && bytes[..5].eq_ignore_ascii_case(b"WARC/") && bytes[5].is_ascii_digit()
}

/// At a place where a record should begin, less is enough.
pub(super) fn is_start_loosely(bytes: &[u8]) -> bool {
    bytes.len() >= 5 && bytes[..5].eq_ignore_ascii_case(b"WARC/")
}

/// How a header ended.
enum Gathered {
    Whole,
    Cut,
    TooLarge,
}

impl<S: ReadAt> Reader<S> {
    pub(super) fn next_warc(&mut self) -> io::Result<bool> {
        while self.find_start()? {
            self.record_offset = self.unpacker.position();
            if self.unpacker.encoding() != Encoding::Plain && !self.unpacker.at_member_start() {
                self.say_once(
                    Rule::RecordsShareMember,
                    self.record_offset,
                    "several records share a compressed member",
                );
            }
            match self.gather_header()? {
                Gathered::Whole => {
                    self.read_header();
                    return Ok(true);
                }
                Gathered::Cut => {
                    self.put_aside();
                    self.report(Rule::HeaderCut, "a record header is cut short");
                }
                Gathered::TooLarge => {
                    self.put_aside();
                    let message = format!("a record header is larger than {} bytes", self.limits.header);
                    self.report(Rule::HeaderTooLarge, &message);
                }
            }
        }
        Ok(false)
    }

    /// What was gathered belongs to no record.
    pub(super) fn put_aside(&mut self) {
        let length = self.scratch.len() as u64;
        self.unpacker.strays().push(self.record_offset, length, &self.scratch);
    }

    fn report(&mut self, rule: Rule, message: &str) {
        self.findings.push(Finding::new(rule, self.record_offset, message));
    }

    /// Goes to the first byte of a record, over junk if there is some. False at the end of the file.
    fn find_start(&mut self) -> io::Result<bool> {
        while self.stage != Stage::End {
            let bytes = self.unpacker.require(6)?;
            if is_start_loosely(bytes) {
                return Ok(true);
            }
            if bytes.is_empty() {
                if !self.unpacker.next_member()? {
                    self.stage = Stage::End;
                }
                continue;
            }
            let here = self.unpacker.position();
            self.pass_junk(here, None)?;
        }
        Ok(false)
    }

    /// Passes bytes that belong to no record and says so. False when no record was found within `limit` plain bytes.
    pub(super) fn pass_junk(&mut self, place: u64, limit: Option<u64>) -> io::Result<bool> {
        let mut junk = Junk::default();
        self.pass_damaged_separator(&mut junk)?;
        let found = junk.passed > 0
            || loop {
                if limit.is_some_and(|limit| junk.passed > limit) {
                    break false;
                }
                match self.scan(&mut junk)? {
                    Scan::Record => break true,
                    Scan::Passed => {}
                    Scan::End => {
                        if !self.unpacker.next_member()? {
                            self.stage = Stage::End;
                            break false;
                        }
                        if is_start(self.unpacker.require(6)?) {
                            break true;
                        }
                    }
                }
            };
        if junk.passed > 0 {
            let message = format!("{} bytes that belong to no record", junk.passed);
            self.findings.push(Finding::new(Rule::NotARecord, place, message));
            self.unpacker.strays().push(place, junk.passed, &junk.first);
        }
        Ok(found)
    }

    /// Passes the few bytes that are left of a separator, when a record begins right behind them: damage may have taken
    /// the newline by which `scan` would know it.
    fn pass_damaged_separator(&mut self, junk: &mut Junk) -> io::Result<()> {
        let bytes = self.unpacker.require(SEPARATOR.len() + 6)?;
        let length = (1..=SEPARATOR.len()).find(|at| bytes.get(*at..).is_some_and(is_start)).unwrap_or(0);
        junk.pass(&bytes[..length]);
        self.unpacker.consume(length);
        Ok(())
    }

    /// Looks for the start of a record in the next stretch of the member.
    fn scan(&mut self, junk: &mut Junk) -> io::Result<Scan> {
        let bytes = self.unpacker.require(STRETCH)?;
        if bytes.is_empty() {
            return Ok(Scan::End);
        }
        let mut starts = memchr::memmem::find_iter(bytes, b"\nWARC/").map(|newline| newline + 1);
        let found = starts.find(|at| is_start(&bytes[*at..]));
        // The last bytes may be the first of a record.
        let passed = found.unwrap_or(if bytes.len() < STRETCH { bytes.len() } else { bytes.len() - 6 });
        junk.pass(&bytes[..passed]);
        self.unpacker.consume(passed);
        Ok(if found.is_some() { Scan::Record } else { Scan::Passed })
    }

    /// Copies the header up to its empty line.
    fn gather_header(&mut self) -> io::Result<Gathered> {
        self.scratch.clear();
        let limit = self.limits.header.max(1);
        let mut line_start = 0;
        loop {
            let bytes = self.unpacker.fill()?;
            if bytes.is_empty() {
                if self.unpacker.has_failed() {
                    return Ok(Gathered::Cut);
                }
                if !self.unpacker.next_member()? {
                    self.stage = Stage::End;
                    return Ok(Gathered::Cut);
                }
                if is_start(self.unpacker.require(6)?) {
                    return Ok(Gathered::Cut);
                }
                self.say_spread();
                continue;
            }
            let held = self.scratch.len();
            let take = bytes.len().min(HEADER_STEP.max(held)).min(limit - held);
            self.scratch.extend_from_slice(&bytes[..take]);
            if let Some(end) = end_of_lines(&self.scratch, &mut line_start) {
                self.unpacker.consume(end - held);
                self.scratch.truncate(end);
                return Ok(Gathered::Whole);
            }
            self.unpacker.consume(take);
            if self.scratch.len() >= limit {
                return Ok(Gathered::TooLarge);
            }
        }
    }

    /// Makes sense of the header that was gathered.
    fn read_header(&mut self) {
        let line_end = memchr::memchr(b'\n', &self.scratch).map_or(self.scratch.len(), |at| at + 1);
        let (version_line, lines) = self.scratch.split_at(line_end);
        let mut not_fields = Oddities::default();
        let mut line_endings = Oddities::default();
        if !version_line.ends_with(b"\r\n") || version_line.ends_with(b"\r\r\n") {
            line_endings.note(0);
        }
        self.header.fields.read(lines, FoldedLines::Join, |defect, at| match defect {
            HeaderDefect::NotAField => not_fields.note(line_end + at),
            HeaderDefect::LineEnding => line_endings.note(line_end + at),
        });
        let version_text = version_line.trim_ascii_end();
        let version = Version::parse(version_text);
        self.header.version = version.unwrap_or(Version::V1_0);
        // Letters of either case will do: that is how the standard's grammar reads its quoted words.
        if !version.is_some_and(Version::is_known) {
            let message = format!("`{}` is not a version line", shown(version_text));
            self.findings.push(Finding::new(Rule::Version, self.record_offset, message));
        }
        let plain = self.unpacker.encoding() == Encoding::Plain;
        let place = |at: usize| self.record_offset + if plain { at as u64 } else { 0 };
        if let Some((at, count)) = not_fields.found {
            let message = format!("{count} header line(s) without a name and a colon");
            self.findings.push(Finding::new(Rule::FieldLine, place(at), message));
        }
        if let Some((at, count)) = line_endings.found {
            let message = format!("{count} header line(s) that do not end with CRLF");
            self.findings.push(Finding::new(Rule::LineEnding, place(at), message));
        }
        self.begin_block();
    }

    fn begin_block(&mut self) {
        let first = self.header.fields.get("Content-Length");
        let length = first.and_then(decimal);
        let disagreement = self.header.fields.get_all("Content-Length").any(|other| Some(other) != first);
        let problem = match (first, length) {
            (None, _) => Some("there is no Content-Length: the block is taken to be empty".to_owned()),
            (Some(text), None) => {
                Some(format!("Content-Length `{}` is no number: the block is taken to be empty", shown(text)))
            }
            (Some(text), Some(_)) if disagreement => {
                Some(format!("several Content-Length fields: the first, {}, counts", shown(text)))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            self.report(Rule::ContentLength, &problem);
        }
        if length.is_none() {
            self.findings.note_loss();
        }
        self.block = BlockState::new(length);
        self.stage = Stage::Block;
    }

    /// Passes the two CRLF, or what stands in their place.
    pub(super) fn pass_warc_separator(&mut self) -> io::Result<()> {
        if let Some(separator) = self.block.overlap {
            self.unpacker.require(separator as usize)?;
            self.unpacker.consume(separator as usize);
            return Ok(());
        }
        if self.block.cut {
            return Ok(());
        }
        let mut seen = Vec::new();
        loop {
            let bytes = self.unpacker.require(SEPARATOR.len())?;
            if bytes.is_empty() {
                let is_plain = self.unpacker.encoding() == Encoding::Plain;
                if !is_plain {
                    self.note_good();
                }
                if self.unpacker.has_failed() || !self.cross_to_newline()? {
                    break;
                }
                continue;
            }
            let run = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            seen.extend_from_slice(&bytes[..run.min(16_usize.saturating_sub(seen.len()))]);
            let ended = run < bytes.len();
            self.unpacker.consume(run);
            if ended {
                break;
            }
        }
        // A member has its own end; a plain file may have been cut anywhere.
        let is_plain = self.unpacker.encoding() == Encoding::Plain;
        let at_end = is_plain && self.stage == Stage::End;
        let is_cut = at_end && seen.len() < SEPARATOR.len() && SEPARATOR.starts_with(&seen);
        let next = self.unpacker.require(5)?;
        let runs_on = seen.is_empty() && !next.is_empty() && !is_start_loosely(next);
        if is_cut || runs_on {
            self.findings.note_loss();
        }
        if is_plain && !is_cut {
            self.note_good();
        }
        if seen != SEPARATOR && !self.unpacker.has_failed() && !self.block.unknown {
            let message = match seen.as_slice() {
                b"" => "nothing stands between the block and what follows".to_owned(),
                other => format!("`{}` stands after the block instead of CRLF CRLF", shown(other)),
            };
            self.report(Rule::Separator, &message);
        }
        Ok(())
    }

    /// Goes to the next member. True when it begins with the newlines that belong to the record before.
    fn cross_to_newline(&mut self) -> io::Result<bool> {
        if !self.unpacker.next_member()? {
            self.stage = Stage::End;
            return Ok(false);
        }
        let belongs = matches!(self.unpacker.fill()?.first(), Some(b'\r' | b'\n'));
        if belongs {
            self.say_spread();
        }
        Ok(belongs)
    }
}

/// What a stretch of bytes held.
enum Scan {
    /// A record begins behind what was passed.
    Record,
    /// None begins; there may be more bytes.
    Passed,
    /// There are no more.
    End,
}

/// Bytes that belong to no record: how many, and the first of them.
#[derive(Default)]
struct Junk {
    passed: u64,
    first: Vec<u8>,
}

impl Junk {
    fn pass(&mut self, bytes: &[u8]) {
        let room = LARGEST_KEPT.saturating_sub(self.first.len());
        self.first.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.passed += bytes.len() as u64;
    }
}

/// Lines that were odd: the place of the first, and how many.
#[derive(Default)]
struct Oddities {
    found: Option<(usize, usize)>,
}

impl Oddities {
    fn note(&mut self, at: usize) {
        self.found.get_or_insert((at, 0)).1 += 1;
    }
}
