//! ARC framing: a line of columns, then the block.
//!
//! The line becomes the equivalent WARC fields, so that all layers above read one kind of record.
//! The line itself stays available for conversion. Columns are counted from the right, because the
//! URL on the left may hold spaces.

use std::io;
use std::net::IpAddr;

use super::block::BlockState;
use super::{Format, ReaderStage, WarcReader};
use crate::date::Date;
use crate::member::Encoding;
use crate::record::{WarcVersion, decimal};
use crate::rules::{Rule, WarcFinding, shown};
use crate::validate_header;
use varve_wire::ReadAt;

/// Longest record line.
const MAX_ARC_LINE_BYTES: usize = 64 << 10;

/// The columns that varve uses.
struct ArcColumns<'a> {
    url: &'a [u8],
    address: &'a [u8],
    date: &'a [u8],
    mime: &'a [u8],
    length: &'a [u8],
}

fn columns(line: &[u8], version: u8) -> Option<ArcColumns<'_>> {
    let after_url = if version == 2 { 9 } else { 4 };
    let mut from_right = line.rsplitn(after_url + 1, |byte| *byte == b' ');
    let mut right: Vec<&[u8]> = from_right.by_ref().take(after_url).collect();
    let url = from_right.next().filter(|url| !url.is_empty())?;
    if right.len() < after_url {
        return None;
    }
    right.reverse();
    Some(ArcColumns { url, address: right[0], date: right[1], mime: right[2], length: right[after_url - 1] })
}

/// Maximum length of a line that counts as a record where none need begin.
pub(super) const MAX_SURE_LINE_BYTES: usize = 4 << 10;

/// Whether these bytes begin with a line that is almost certainly that of a record: a scheme, an
/// address, a date of 12 to 14 digits and a length. Five words and a number occur in many texts.
pub(super) fn is_sure_line(bytes: &[u8], version: u8) -> bool {
    // The first bytes decide for most lines.
    if !validate_header::has_scheme(&bytes[..bytes.len().min(64)]) {
        return false;
    }
    let view = &bytes[..bytes.len().min(MAX_SURE_LINE_BYTES)];
    let Some(end) = memchr::memchr(b'\n', view) else { return false };
    columns(view[..end].trim_ascii_end(), version).is_some_and(|columns| columns.are_sure())
}

impl ArcColumns<'_> {
    fn are_sure(&self) -> bool {
        let address = std::str::from_utf8(self.address).ok().and_then(|text| text.parse::<IpAddr>().ok());
        let is_date = (12..=14).contains(&self.date.len()) && self.date.iter().all(u8::is_ascii_digit);
        validate_header::has_scheme(self.url)
            && address.is_some()
            && is_date
            && decimal(self.length).is_some()
    }
}

impl<S: ReadAt> WarcReader<S> {
    pub(super) fn next_arc(&mut self) -> io::Result<bool> {
        while self.stage != ReaderStage::End {
            self.pass_blank_lines()?;
            if self.stage == ReaderStage::End {
                break;
            }
            self.record_offset = self.members.position();
            if self.members.encoding() != Encoding::Plain && !self.members.at_member_start() {
                self.report_once(
                    Rule::RecordsShareMember,
                    self.record_offset,
                    "several records share a compressed member",
                );
            }
            if self.take_line()? && self.read_line()? {
                return Ok(true);
            }
            let message = format!("`{}` is no ARC record line", shown(&self.scratch));
            self.findings.push(WarcFinding::new(Rule::ArcLine, self.record_offset, message));
            self.put_aside();
            self.in_doubt = true;
        }
        Ok(false)
    }

    /// Skips newlines, and members that hold nothing else.
    fn pass_blank_lines(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.members.fill()?;
            let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let ended = blank == bytes.len();
            self.members.consume(blank);
            if !ended {
                return Ok(());
            }
            if blank == 0 && !self.members.next_member()? {
                self.stage = ReaderStage::End;
                return Ok(());
            }
        }
    }

    /// Reads one line into the scratch buffer. Returns false when it is too long.
    fn take_line(&mut self) -> io::Result<bool> {
        self.scratch.clear();
        loop {
            let bytes = self.members.fill()?;
            if bytes.is_empty() {
                return Ok(true);
            }
            let newline = memchr::memchr(b'\n', bytes);
            let take = newline.map_or(bytes.len(), |at| at + 1);
            let room = MAX_ARC_LINE_BYTES.saturating_sub(self.scratch.len());
            self.scratch.extend_from_slice(&bytes[..take.min(room)]);
            self.members.consume(take);
            if newline.is_some() {
                let kept = self.scratch.trim_ascii_end().len();
                self.scratch.truncate(kept);
                return Ok(room > take);
            }
        }
    }

    /// Makes a header from the line. Returns false when it is no record line.
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
                self.stage = ReaderStage::Block;
                self.in_doubt = length.is_none();
                self.make_header(columns)?;
                true
            }
            None => false,
        };
        self.scratch = line;
        Ok(is_record)
    }

    fn length_is_known(&mut self, columns: &ArcColumns<'_>) -> bool {
        if decimal(columns.length).is_some() {
            return true;
        }
        let looks_like_length =
            columns.length.strip_prefix(b"-").is_some_and(|digits| decimal(digits).is_some());
        if looks_like_length {
            let message =
                format!("the length is `{}`: the block is taken to be empty", shown(columns.length));
            self.findings.push(WarcFinding::new(Rule::ArcLength, self.record_offset, message));
        }
        looks_like_length
    }

    fn make_header(&mut self, columns: &ArcColumns<'_>) -> io::Result<()> {
        let is_description = columns.url.starts_with(b"filedesc:");
        self.fill_block()?;
        let is_http = self.block.remaining >= 5 && self.members.require(5)?.starts_with(b"HTTP/");
        if is_description {
            self.learn_version()?;
        }
        self.header.version = WarcVersion::V1_0;
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
        self.findings.push(WarcFinding::new(Rule::ArcDate, self.record_offset, message));
    }

    /// The description's first line begins with the version of the columns.
    fn learn_version(&mut self) -> io::Result<()> {
        let first = self.fill_block()?.first().copied();
        if let Some(version @ (b'1' | b'2')) = first {
            self.format = Format::Arc { version: version - b'0' };
        }
        Ok(())
    }

    /// Skips the newline between records, and blank lines after it.
    pub(super) fn pass_arc_separator(&mut self) -> io::Result<()> {
        let next = self.members.fill()?.first().copied();
        let at_end = loop {
            let bytes = self.members.fill()?;
            let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let (is_empty, ended) = (bytes.is_empty(), blank < bytes.len());
            self.members.consume(blank);
            if is_empty || ended {
                break is_empty;
            }
        };
        if self.members.encoding() == Encoding::Plain || at_end {
            self.note_good();
        }
        self.in_doubt |= self.block.cut || self.members.has_failed();
        if !matches!(next, None | Some(b'\n')) && !self.block.cut {
            self.in_doubt = true;
            let message = "no newline stands between the block and what follows";
            self.findings.push(WarcFinding::new(Rule::ArcSeparator, self.record_offset, message));
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
