//! Finding where the next member begins when its predecessor cannot say.
//!
//! Three magic bytes are found by chance in any compressed data, so a candidate counts only when it decompresses to
//! the first bytes of a record. That also serves splitting a file into parts that are read side by side.

use std::io;

use super::gzip;
use super::zstd;
use super::{Encoding, Unpacker};
use varve_wire::ReadAt;

/// So many packed bytes are looked at together.
const STRETCH: usize = 64 << 10;
/// So many packed bytes of a gzip member are enough to tell what it begins with.
const CANDIDATE: usize = 4096;
/// Of a zstd frame nothing is seen before its first block is there, which may have 128 KiB.
const LARGEST_CANDIDATE: usize = zstd::LONGEST_HEADER + 3 + (128 << 10);

/// Whether plain bytes look like the beginning of a WARC or ARC record.
pub(crate) fn looks_like_record(bytes: &[u8]) -> bool {
    is_warc_start(bytes) || is_arc_start(bytes)
}

pub(crate) fn is_warc_start(bytes: &[u8]) -> bool {
    bytes.len() >= 6 && bytes[..5].eq_ignore_ascii_case(b"WARC/") && bytes[5].is_ascii_digit()
}

/// How many plain bytes a WARC record takes by its own account, from its first to its last; a hint, and no more.
pub(super) fn promised_length(beginning: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"content-length:";
    if !is_warc_start(beginning) {
        return None;
    }
    let end = memchr::memmem::find(beginning, b"\r\n\r\n")? + 4;
    let mut lines = beginning[..end].split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))?;
    let length: u64 = std::str::from_utf8(&line[NAME.len()..]).ok()?.trim().parse().ok()?;
    length.checked_add(end as u64 + 4)
}

/// A URL scheme, then a line with the columns of an ARC record.
fn is_arc_start(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let scheme = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    scheme > 0
        && line[0].is_ascii_alphabetic()
        && line.get(scheme) == Some(&b':')
        && line.iter().all(|byte| *byte >= b' ' || *byte == b'\r')
        && (line.len() == bytes.len() || line.iter().filter(|byte| **byte == b' ').count() >= 4)
}

impl<S: ReadAt> Unpacker<S> {
    /// Moves to the first member from `from` on and before `until` that begins a record. False, and at the end or behind
    /// `until`, when there is none.
    pub(super) fn search(&mut self, from: u64, until: u64) -> io::Result<bool> {
        self.window.seek(from);
        loop {
            let here = self.window.position();
            let view = self.window.fill(STRETCH)?;
            if view.is_empty() || here >= until {
                return Ok(false);
            }
            match self.encoding.candidate(view) {
                None => {
                    // The last bytes may be the first of a magic number.
                    let passed = if view.len() < STRETCH { view.len() } else { view.len() - 5 };
                    self.window.consume(passed);
                }
                Some(at) => {
                    self.window.consume(at);
                    if self.begins_record()? {
                        return Ok(self.window.position() < until);
                    }
                    self.window.consume(1);
                }
            }
        }
    }

    fn begins_record(&mut self) -> io::Result<bool> {
        // More than a few is looked at only where a few are not enough, and paid for: a hostile file asks for it everywhere.
        match self.begins_record_within(CANDIDATE)? {
            None if self.encoding == Encoding::Zstd && self.spend(LARGEST_CANDIDATE as u64) => {
                Ok(self.begins_record_within(LARGEST_CANDIDATE)? == Some(true))
            }
            begins => Ok(begins == Some(true)),
        }
    }

    /// Whether what begins here is a record, told by so many packed bytes; none when nothing is seen of it.
    fn begins_record_within(&mut self, enough: usize) -> io::Result<Option<bool>> {
        let view = self.window.fill(enough)?;
        let view = &view[..view.len().min(enough)];
        let mut beginning = [0; 256];
        let length = match self.encoding {
            Encoding::Gzip => {
                let inflating = self.inflating.get_or_insert_with(|| Box::new(gzip::Inflating::new()));
                inflating.beginning(view, &mut beginning).1
            }
            Encoding::Zstd => {
                self.unframing.as_mut().map_or(0, |unframing| unframing.beginning(view, &mut beginning))
            }
            Encoding::Plain => {
                let length = view.len().min(beginning.len());
                beginning[..length].copy_from_slice(&view[..length]);
                length
            }
        };
        Ok((length > 0).then(|| looks_like_record(&beginning[..length])))
    }
}

impl Encoding {
    /// The first place in `view` where a member may begin.
    fn candidate(self, view: &[u8]) -> Option<usize> {
        match self {
            Self::Gzip => memchr::memmem::find(view, &gzip::MAGIC),
            Self::Zstd => memchr::memmem::find(view, &zstd::MAGIC),
            Self::Plain => memchr::memmem::find(view, b"\nWARC/").map(|newline| newline + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_records_give() {
        let promised = |text: &str| promised_length(text.as_bytes());
        assert_eq!(promised("WARC/1.1\r\nContent-length: 12\r\nA: b\r\n\r\nxyz"), Some(38 + 12 + 4));
        assert_eq!(promised("WARC/1.1\r\nContent-Length: 12\r\nA: b\r\n"), None);
        assert_eq!(promised("WARC/1.1\r\nContent-Length: -1\r\n\r\n"), None);
        assert_eq!(promised("WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n"), None);
        assert_eq!(promised("HTTP/1.1 200\r\nContent-Length: 12\r\n\r\n"), None);
    }

    #[test]
    fn first_bytes_of_records() {
        assert!(looks_like_record(b"WARC/1.1\r\n"));
        assert!(looks_like_record(b"warc/1.0\r\n"));
        assert!(looks_like_record(b"filedesc://x 0.0.0.0 20080430204825 text/plain 77\n1 0 x\n"));
        assert!(looks_like_record(b"http://a/ 1.2.3.4 20080430204825 text/html 9\nHTTP/1.0 200"));
        assert!(!looks_like_record(b"WARC/"));
        assert!(!looks_like_record(b"hello world"));
        assert!(!looks_like_record(b"key: value\nnext: line\n"));
        assert!(!looks_like_record(b""));
    }
}
