//! ARC framing: a line of columns, then the block.
//!
//! The line is turned into the WARC fields that it amounts to, so that everything above reads one kind of record. The
//! line itself stays at hand for those who convert. Columns are counted from the right, because the URL on the left
//! may hold spaces.

use std::io;
use std::net::IpAddr;

use super::block::BlockState;
use super::{Format, Reader, Stage};
use crate::date::Date;
use crate::member::Encoding;
use crate::record::{Version, decimal};
use crate::rule::{Finding, Rule, shown};
use crate::validate;
use varve_wire::ReadAt;

/// Longest record line.
const LONGEST_LINE: usize = 64 << 10;

/// The columns that varve uses.
struct Columns<'a> {
    url: &'a [u8],
    address: &'a [u8],
    date: &'a [u8],
    mime: &'a [u8],
    length: &'a [u8],
}

fn columns(line: &[u8], version: u8) -> Option<Columns<'_>> {
    let after_url = if version == 2 { 9 } else { 4 };
    let mut from_right = line.rsplitn(after_url + 1, |byte| *byte == b' ');
    let mut right: Vec<&[u8]> = from_right.by_ref().take(after_url).collect();
    let url = from_right.next().filter(|url| !url.is_empty())?;
    if right.len() < after_url {
        return None;
    }
    right.reverse();
    Some(Columns { url, address: right[0], date: right[1], mime: right[2], length: right[after_url - 1] })
}

/// A line that is to be taken for a record where none need begin is not longer than this.
pub(super) const LONGEST_SURE_LINE: usize = 4 << 10;

/// Whether these bytes begin with a line that can hardly be anything but that of a record: a scheme, an address, a date of
/// 12 to 14 digits and a length. Five words and a number stand in many a text.
pub(super) fn is_sure_line(bytes: &[u8], version: u8) -> bool {
    // Most lines can be told by their first bytes.
    if !validate::has_scheme(&bytes[..bytes.len().min(64)]) {
        return false;
    }
    let view = &bytes[..bytes.len().min(LONGEST_SURE_LINE)];
    let Some(end) = memchr::memchr(b'\n', view) else { return false };
    columns(view[..end].trim_ascii_end(), version).is_some_and(|columns| columns.are_sure())
}

impl Columns<'_> {
    fn are_sure(&self) -> bool {
        let address = std::str::from_utf8(self.address).ok().and_then(|text| text.parse::<IpAddr>().ok());
        let is_date = (12..=14).contains(&self.date.len()) && self.date.iter().all(u8::is_ascii_digit);
        validate::has_scheme(self.url) && address.is_some() && is_date && decimal(self.length).is_some()
    }
}

impl<S: ReadAt> Reader<S> {
    pub(super) fn next_arc(&mut self) -> io::Result<bool> {
        while self.stage != Stage::End {
            self.pass_blank_lines()?;
            if self.stage == Stage::End {
                break;
            }
            self.record_offset = self.unpacker.position();
            if self.unpacker.encoding() != Encoding::Plain && !self.unpacker.at_member_start() {
                self.say_once(
                    Rule::RecordsShareMember,
                    self.record_offset,
                    "several records share a compressed member",
                );
            }
            if self.take_line()? && self.read_line()? {
                return Ok(true);
            }
            let message = format!("`{}` is no ARC record line", shown(&self.scratch));
            self.findings.push(Finding::new(Rule::ArcLine, self.record_offset, message));
            self.put_aside();
            self.in_doubt = true;
        }
        Ok(false)
    }

    /// Passes newlines, and members that hold nothing else.
    fn pass_blank_lines(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.unpacker.fill()?;
            let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let ended = blank == bytes.len();
            self.unpacker.consume(blank);
            if !ended {
                return Ok(());
            }
            if blank == 0 && !self.unpacker.next_member()? {
                self.stage = Stage::End;
                return Ok(());
            }
        }
    }

    /// Reads one line into the scratch buffer. False when it is too long.
    fn take_line(&mut self) -> io::Result<bool> {
        self.scratch.clear();
        loop {
            let bytes = self.unpacker.fill()?;
            if bytes.is_empty() {
                return Ok(true);
            }
            let newline = memchr::memchr(b'\n', bytes);
            let take = newline.map_or(bytes.len(), |at| at + 1);
            let room = LONGEST_LINE.saturating_sub(self.scratch.len());
            self.scratch.extend_from_slice(&bytes[..take.min(room)]);
            self.unpacker.consume(take);
            if newline.is_some() {
                let kept = self.scratch.trim_ascii_end().len();
                self.scratch.truncate(kept);
                return Ok(room > take);
            }
        }
    }

    /// Makes a header of the line. False when it is none.
    fn read_line(&mut self) -> io::Result<bool> {
        let Format::Arc { version } = self.format else { return Ok(false) };
        let line = std::mem::take(&mut self.scratch);
        let found = columns(&line, version)
            .filter(|columns| !self.in_doubt || columns.are_sure())
            .filter(|columns| self.length_is_known(columns));
        let is_record = match &found {
            Some(columns) => {
                let length = decimal(columns.length);
                self.block = BlockState::new(Some(length.unwrap_or(0)));
                self.stage = Stage::Block;
                self.in_doubt = length.is_none();
                self.make_header(columns)?;
                true
            }
            None => false,
        };
        self.scratch = line;
        Ok(is_record)
    }

    fn length_is_known(&mut self, columns: &Columns<'_>) -> bool {
        if decimal(columns.length).is_some() {
            return true;
        }
        let looks_like_length =
            columns.length.strip_prefix(b"-").is_some_and(|digits| decimal(digits).is_some());
        if looks_like_length {
            let message =
                format!("the length is `{}`: the block is taken to be empty", shown(columns.length));
            self.findings.push(Finding::new(Rule::ArcLength, self.record_offset, message));
        }
        looks_like_length
    }

    fn make_header(&mut self, columns: &Columns<'_>) -> io::Result<()> {
        let is_description = columns.url.starts_with(b"filedesc:");
        self.fill_block()?;
        let is_http = self.block.remaining >= 5 && self.unpacker.require(5)?.starts_with(b"HTTP/");
        if is_description {
            self.learn_version()?;
        }
        self.header.version = Version::V1_0;
        let fields = &mut self.header.fields;
        fields.clear();
        let (record_type, content_type) = match (is_description, is_http) {
            (true, _) => ("warcinfo", columns.mime),
            (false, true) => ("response", b"application/http; msgtype=response".as_slice()),
            (false, false) => ("resource", columns.mime),
        };
        fields.push("WARC-Type", record_type);
        if is_description {
            fields.push("WARC-Filename", columns.url.strip_prefix(b"filedesc://").unwrap_or(columns.url));
        } else {
            fields.push("WARC-Target-URI", columns.url);
            fields.push("WARC-IP-Address", columns.address);
        }
        fields.push("Content-Type", content_type);
        fields.push("Content-Length", self.block.declared.to_string());
        match Date::parse_digits(columns.date) {
            Some(date) => {
                fields.push("WARC-Date", date.to_string());
                if !date.well_formed {
                    self.report_date(columns.date);
                }
            }
            None => self.report_date(columns.date),
        }
        Ok(())
    }

    fn report_date(&mut self, date: &[u8]) {
        let message = format!("`{}` is no date of 14 digits", shown(date));
        self.findings.push(Finding::new(Rule::ArcDate, self.record_offset, message));
    }

    /// The description's first line begins with the version of the columns.
    fn learn_version(&mut self) -> io::Result<()> {
        let first = self.fill_block()?.first().copied();
        if let Some(version @ (b'1' | b'2')) = first {
            self.format = Format::Arc { version: version - b'0' };
        }
        Ok(())
    }

    /// Passes the newline between records, and blank lines behind it.
    pub(super) fn pass_arc_separator(&mut self) -> io::Result<()> {
        let next = self.unpacker.fill()?.first().copied();
        let at_end = loop {
            let bytes = self.unpacker.fill()?;
            let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let (is_empty, ended) = (bytes.is_empty(), blank < bytes.len());
            self.unpacker.consume(blank);
            if is_empty || ended {
                break is_empty;
            }
        };
        if self.unpacker.encoding() == Encoding::Plain || at_end {
            self.note_good();
        }
        self.in_doubt |= self.block.cut || self.unpacker.has_failed();
        if !matches!(next, None | Some(b'\n')) && !self.block.cut {
            self.in_doubt = true;
            let message = "no newline stands between the block and what follows";
            self.findings.push(Finding::new(Rule::ArcSeparator, self.record_offset, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_counted_from_the_right() {
        let one = columns(b"http://a/b c d 1.2.3.4 20080430204825 text/html 12", 1).expect("v1");
        assert_eq!((one.url, one.mime, one.length), (&b"http://a/b c d"[..], &b"text/html"[..], &b"12"[..]));
        let two = columns(b"http://a/ 1.2.3.4 20080430204825 text/html 200 - - 0 f.arc 12", 2).expect("v2");
        assert_eq!((two.url, two.address, two.length), (&b"http://a/"[..], &b"1.2.3.4"[..], &b"12"[..]));
        assert!(columns(b"http://a/ 1.2.3.4", 1).is_none());
        assert!(columns(b"", 1).is_none());
    }
}
