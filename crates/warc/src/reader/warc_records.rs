//! WARC framing: the version line, the header, the two CRLF at the end, and resynchronising after
//! damage.

use std::io;

use super::block::BlockState;
use super::{MAX_HEADER_BYTES, ReaderStage, WarcReader};
use crate::member::{Encoding, is_warc_start};
use crate::record::{WarcVersion, decimal};
use crate::rules::{Rule, WarcFinding, shown};
use crate::stray_bytes::MAX_STRAY_BYTES;
use varve_wire::ReadAt;
use varve_wire::{HeaderDefect, end_of_lines};

/// The separator between the block and the next record.
pub(super) const RECORD_SEPARATOR: &[u8] = b"\r\n\r\n";
/// This much of a header is copied first; most are smaller.
const HEADER_STEP_BYTES: usize = 2048;
/// Junk is skipped in steps of this size.
const SCAN_STEP_BYTES: usize = 32 << 10;

/// The looser test for a place where a record should begin.
pub(super) fn is_start_loosely(bytes: &[u8]) -> bool {
    bytes.len() >= 5 && bytes[..5].eq_ignore_ascii_case(b"WARC/")
}

/// How a header ended.
enum HeaderEnd {
    Whole,
    Cut,
    TooLarge,
}

impl<S: ReadAt> WarcReader<S> {
    pub(super) fn next_warc(&mut self) -> io::Result<bool> {
        while self.find_start()? {
            self.record_offset = self.members.position();
            if self.members.encoding() != Encoding::Plain && !self.members.at_member_start() {
                self.report_once(
                    Rule::RecordsShareMember,
                    self.record_offset,
                    "several records share a compressed member",
                );
            }
            match self.gather_header()? {
                HeaderEnd::Whole => {
                    self.read_header();
                    return Ok(true);
                }
                HeaderEnd::Cut => {
                    self.put_aside();
                    self.report(Rule::HeaderCut, "a record header is cut short");
                }
                HeaderEnd::TooLarge => {
                    self.put_aside();
                    let message = format!("a record header is larger than {MAX_HEADER_BYTES} bytes");
                    self.report(Rule::HeaderTooLarge, &message);
                }
            }
        }
        Ok(false)
    }

    /// Keeps the collected bytes, which belong to no record.
    pub(super) fn put_aside(&mut self) {
        let length = self.scratch.len() as u64;
        self.members.strays().push(self.record_offset, length, &self.scratch);
    }

    fn report(&mut self, rule: Rule, message: &str) {
        self.findings.push(WarcFinding::new(rule, self.record_offset, message));
    }

    /// Moves to the first byte of a record and skips junk. Returns false at the end of the file.
    fn find_start(&mut self) -> io::Result<bool> {
        while self.stage != ReaderStage::End {
            let bytes = self.members.require(6)?;
            if is_start_loosely(bytes) {
                return Ok(true);
            }
            if bytes.is_empty() {
                if !self.members.next_member()? {
                    self.stage = ReaderStage::End;
                }
                continue;
            }
            let here = self.members.position();
            self.pass_junk(here, None)?;
        }
        Ok(false)
    }

    /// Skips bytes that belong to no record and reports them. Returns false when no record begins
    /// within `limit` bytes.
    pub(super) fn pass_junk(&mut self, place: u64, limit: Option<u64>) -> io::Result<bool> {
        let mut junk = Junk::default();
        self.pass_damaged_separator(&mut junk)?;
        let found = junk.passed > 0
            || loop {
                if limit.is_some_and(|limit| junk.passed > limit) {
                    break false;
                }
                match self.scan(&mut junk)? {
                    JunkScan::Record => break true,
                    JunkScan::Passed => {}
                    JunkScan::End => {
                        if !self.members.next_member()? {
                            self.stage = ReaderStage::End;
                            break false;
                        }
                        if is_warc_start(self.members.require(6)?) {
                            break true;
                        }
                    }
                }
            };
        if junk.passed > 0 {
            let message = format!("{} bytes that belong to no record", junk.passed);
            self.findings.push(WarcFinding::new(Rule::NotARecord, place, message));
            self.members.strays().push(place, junk.passed, &junk.first);
        }
        Ok(found)
    }

    /// Skips the rest of a damaged separator when a record begins right after it: damage may have
    /// hit the newline by which `scan` would recognise it.
    fn pass_damaged_separator(&mut self, junk: &mut Junk) -> io::Result<()> {
        let bytes = self.members.require(RECORD_SEPARATOR.len() + 6)?;
        let length =
            (1..=RECORD_SEPARATOR.len()).find(|at| bytes.get(*at..).is_some_and(is_warc_start)).unwrap_or(0);
        junk.pass(&bytes[..length]);
        self.members.consume(length);
        Ok(())
    }

    /// Searches the next bytes of the member for the start of a record.
    fn scan(&mut self, junk: &mut Junk) -> io::Result<JunkScan> {
        let bytes = self.members.require(SCAN_STEP_BYTES)?;
        if bytes.is_empty() {
            return Ok(JunkScan::End);
        }
        let mut starts = memchr::memmem::find_iter(bytes, b"\nWARC/").map(|newline| newline + 1);
        let found = starts.find(|at| is_warc_start(&bytes[*at..]));
        // The last bytes may be the first of a record.
        let passed =
            found.unwrap_or(if bytes.len() < SCAN_STEP_BYTES { bytes.len() } else { bytes.len() - 6 });
        junk.pass(&bytes[..passed]);
        self.members.consume(passed);
        Ok(if found.is_some() { JunkScan::Record } else { JunkScan::Passed })
    }

    /// Copies the header up to its empty line.
    fn gather_header(&mut self) -> io::Result<HeaderEnd> {
        self.scratch.clear();
        let limit = MAX_HEADER_BYTES;
        let mut line_start = 0;
        loop {
            let bytes = self.members.fill()?;
            if bytes.is_empty() {
                if self.members.has_failed() {
                    return Ok(HeaderEnd::Cut);
                }
                if !self.members.next_member()? {
                    self.stage = ReaderStage::End;
                    return Ok(HeaderEnd::Cut);
                }
                if is_warc_start(self.members.require(6)?) {
                    return Ok(HeaderEnd::Cut);
                }
                self.report_spread_record();
                continue;
            }
            let held = self.scratch.len();
            let take = bytes.len().min(HEADER_STEP_BYTES.max(held)).min(limit - held);
            self.scratch.extend_from_slice(&bytes[..take]);
            if let Some(end) = end_of_lines(&self.scratch, &mut line_start) {
                self.members.consume(end - held);
                self.scratch.truncate(end);
                return Ok(HeaderEnd::Whole);
            }
            self.members.consume(take);
            if self.scratch.len() >= limit {
                return Ok(HeaderEnd::TooLarge);
            }
        }
    }

    /// Parses the collected header.
    fn read_header(&mut self) {
        let line_end = memchr::memchr(b'\n', &self.scratch).map_or(self.scratch.len(), |at| at + 1);
        let (version_line, lines) = self.scratch.split_at(line_end);
        let mut not_fields = LineDefects::default();
        let mut line_endings = LineDefects::default();
        if !version_line.ends_with(b"\r\n") || version_line.ends_with(b"\r\r\n") {
            line_endings.note(0);
        }
        self.header.fields.read(lines, |defect, at| match defect {
            HeaderDefect::NotAField => not_fields.note(line_end + at),
            HeaderDefect::LineEnding => line_endings.note(line_end + at),
        });
        let version_text = version_line.trim_ascii_end();
        let version = WarcVersion::parse(version_text);
        self.header.version = version.unwrap_or(WarcVersion::V1_0);
        // Both cases are valid: the standard's grammar compares quoted words without regard to
        // case.
        if !version.is_some_and(WarcVersion::is_known) {
            let message = format!("`{}` is not a version line", shown(version_text));
            self.findings.push(WarcFinding::new(Rule::Version, self.record_offset, message));
        }
        let plain = self.members.encoding() == Encoding::Plain;
        let place = |at: usize| self.record_offset + if plain { at as u64 } else { 0 };
        if let Some((at, count)) = not_fields.found {
            let message = format!("{count} header line(s) without a name and a colon");
            self.findings.push(WarcFinding::new(Rule::FieldLine, place(at), message));
        }
        if let Some((at, count)) = line_endings.found {
            let message = format!("{count} header line(s) that do not end with CRLF");
            self.findings.push(WarcFinding::new(Rule::LineEnding, place(at), message));
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
        self.stage = ReaderStage::Block;
    }

    /// Skips the two CRLF, or the bytes in their place.
    pub(super) fn pass_warc_separator(&mut self) -> io::Result<()> {
        if let Some(separator) = self.block.overlap {
            self.members.require(separator as usize)?;
            self.members.consume(separator as usize);
            return Ok(());
        }
        if self.block.cut {
            return Ok(());
        }
        let mut seen = Vec::new();
        loop {
            let bytes = self.members.require(RECORD_SEPARATOR.len())?;
            if bytes.is_empty() {
                let is_plain = self.members.encoding() == Encoding::Plain;
                if !is_plain {
                    self.note_good();
                }
                if self.members.has_failed() || !self.cross_to_newline()? {
                    break;
                }
                continue;
            }
            let run = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            seen.extend_from_slice(&bytes[..run.min(16_usize.saturating_sub(seen.len()))]);
            let ended = run < bytes.len();
            self.members.consume(run);
            if ended {
                break;
            }
        }
        // A member has its own end; a plain file may have been cut anywhere.
        let is_plain = self.members.encoding() == Encoding::Plain;
        let at_end = is_plain && self.stage == ReaderStage::End;
        let is_cut = at_end && seen.len() < RECORD_SEPARATOR.len() && RECORD_SEPARATOR.starts_with(&seen);
        let next = self.members.require(5)?;
        let runs_on = seen.is_empty() && !next.is_empty() && !is_start_loosely(next);
        if is_cut || runs_on {
            self.findings.note_loss();
        }
        if is_plain && !is_cut {
            self.note_good();
        }
        if seen != RECORD_SEPARATOR && !self.members.has_failed() && !self.block.unknown {
            let message = match seen.as_slice() {
                b"" => "nothing stands between the block and what follows".to_owned(),
                other => format!("`{}` stands after the block instead of CRLF CRLF", shown(other)),
            };
            self.report(Rule::Separator, &message);
        }
        Ok(())
    }

    /// Moves to the next member. Returns true when it begins with the newlines that belong to the
    /// record before.
    fn cross_to_newline(&mut self) -> io::Result<bool> {
        if !self.members.next_member()? {
            self.stage = ReaderStage::End;
            return Ok(false);
        }
        let belongs = matches!(self.members.fill()?.first(), Some(b'\r' | b'\n'));
        if belongs {
            self.report_spread_record();
        }
        Ok(belongs)
    }
}

/// The result of searching some bytes.
enum JunkScan {
    /// A record begins after the skipped bytes.
    Record,
    /// No record begins; there may be more bytes.
    Passed,
    /// There are no more.
    End,
}

/// Bytes that belong to no record: their number, and the first of them.
#[derive(Default)]
struct Junk {
    passed: u64,
    first: Vec<u8>,
}

impl Junk {
    fn pass(&mut self, bytes: &[u8]) {
        let room = MAX_STRAY_BYTES.saturating_sub(self.first.len());
        self.first.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.passed += bytes.len() as u64;
    }
}

/// Defective lines: the offset of the first, and their number.
#[derive(Default)]
struct LineDefects {
    found: Option<(usize, usize)>,
}

impl LineDefects {
    fn note(&mut self, at: usize) {
        self.found.get_or_insert((at, 0)).1 += 1;
    }
}
