//! The head of an answer, read as leniently as browsers do.
//!
//! Real servers end lines with a bare line feed, fold them, put spaces before colons and lines of rubbish between
//! headers. All that is read; what is no header is passed over. Nothing is written back from here: the bytes of the
//! answer stay what they are.

use memchr::memchr;

use crate::headers::Headers;

/// A head longer than this is not read. Four times what fetchers take in unless told otherwise.
pub const LONGEST_HEAD: usize = 1 << 20;

/// Where the head ends: the place behind its empty line. Looks from `from` on, so that a head which arrives in pieces is
/// gone over once; give the end of the last look, less three.
pub fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from.min(bytes.len());
    loop {
        let line_end = at + memchr(b'\n', &bytes[at..])? + 1;
        match &bytes[line_end..] {
            [b'\n', ..] => return Some(line_end + 1),
            [b'\r', b'\n', ..] => return Some(line_end + 2),
            _ => at = line_end,
        }
    }
}

/// The first line of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLine<'a> {
    /// Whether it is HTTP/1.1 or later, which keeps connections open unless it says otherwise.
    pub persistent: bool,
    /// The status.
    pub status: u16,
    /// What the server says about it.
    pub reason: &'a [u8],
}

impl<'a> StatusLine<'a> {
    /// Reads the first line of an answer, with or without its end.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let rest = strip_prefix_ignoring_case(line.trim_ascii_end(), b"HTTP/")?;
        let version_end = memchr(b' ', rest)?;
        let (version, rest) = (&rest[..version_end], rest[version_end..].trim_ascii_start());
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits != 3 || rest.get(3).is_some_and(|byte| !byte.is_ascii_whitespace()) {
            return None;
        }
        let status = rest[..3].iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
        Some(Self { persistent: is_persistent(version), status, reason: rest[3..].trim_ascii() })
    }
}

/// Whether connections of that version stay open by themselves: from 1.1 on.
fn is_persistent(version: &[u8]) -> bool {
    let (major, minor) = match memchr(b'.', version) {
        Some(dot) => (&version[..dot], &version[dot + 1..]),
        None => (version, &b"0"[..]),
    };
    match major {
        [b'0'] | [] => false,
        [b'1'] => minor != b"0",
        _ => true,
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The header lines of a head, in order. A line that continues the one before has an empty name; lines without a colon
/// are passed over.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The lines behind the first one.
    pub fn of(head: &'a [u8]) -> Self {
        let rest = memchr(b'\n', head).map_or(&[][..], |end| &head[end + 1..]);
        Self { rest }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr(b'\n', self.rest).unwrap_or(self.rest.len());
            let line = &self.rest[..end];
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                self.rest = &[];
                return None;
            }
            if matches!(line[0], b' ' | b'\t') {
                return Some((&[], line.trim_ascii()));
            }
            match memchr(b':', line) {
                Some(colon) if colon > 0 => {
                    return Some((line[..colon].trim_ascii_end(), line[colon + 1..].trim_ascii()));
                }
                _ => {}
            }
        }
        None
    }
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status.
    pub status: u16,
    /// What the server says about it.
    pub reason: Vec<u8>,
    /// The headers, folded lines made one.
    pub headers: Headers,
    /// How many bytes the head takes, its empty line included.
    pub length: usize,
}

impl ResponseHead {
    /// Reads the head at the beginning of an answer. A head that was cut before its empty line is read as far as it
    /// goes; bytes that do not begin as HTTP does have none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let length = head_end(bytes, 0).unwrap_or(bytes.len());
        let head = &bytes[..length];
        let first = memchr(b'\n', head).map_or(head, |end| &head[..end]);
        let line = StatusLine::read(first)?;
        Some(Self { status: line.status, reason: line.reason.to_vec(), headers: unfolded(head), length })
    }
}

fn unfolded(head: &[u8]) -> Headers {
    let mut lines: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for (name, value) in Lines::of(head) {
        match lines.last_mut() {
            Some((_, folded)) if name.is_empty() => {
                folded.push(b' ');
                folded.extend_from_slice(value);
            }
            _ if name.is_empty() => {}
            _ => lines.push((name, value.to_vec())),
        }
    }
    lines.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn status_lines_of_the_wild() {
        let read =
            |line: &'static str| StatusLine::read(line.as_bytes()).map(|line| (line.persistent, line.status));
        assert_eq!(read("HTTP/1.1 200 OK\r\n"), Some((true, 200)));
        assert_eq!(read("HTTP/1.0 404 Not Found"), Some((false, 404)));
        assert_eq!(read("http/1.1  301"), Some((true, 301)));
        assert_eq!(read("HTTP/2 200 "), Some((true, 200)));
        assert_eq!(read("HTTP/1 200"), Some((false, 200)));
        for line in
            ["", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1 abc", "<html>", "HTTP/1.1 200OK"]
        {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn a_head_of_every_sloppiness() {
        let bytes = b"HTTP/1.1 200 Fine by me\nServer : x\r\nrubbish\r\n: none\r\nSet-Cookie: a\r\nFolded: one\r\n\ttwo\r\n  three\r\nset-cookie:b\r\n\nbody: no";
        let head = ResponseHead::read(bytes).unwrap();
        assert_eq!((head.status, head.reason.as_slice()), (200, &b"Fine by me"[..]));
        let lines: Vec<_> = head
            .headers
            .iter()
            .map(|header| {
                format!(
                    "{}={}",
                    String::from_utf8_lossy(&header.name),
                    String::from_utf8_lossy(&header.value)
                )
            })
            .collect();
        assert_eq!(lines, ["Server=x", "Set-Cookie=a", "Folded=one two three", "set-cookie=b"]);
        assert_eq!(&bytes[head.length..], b"body: no");
    }

    #[test]
    fn a_head_that_was_cut_is_read_as_far_as_it_goes() {
        let head = ResponseHead::read(b"HTTP/1.1 500 Oh\r\nA: b\r\nC: d").unwrap();
        assert_eq!((head.status, head.headers.len(), head.length), (500, 2, 27));
        assert_eq!(ResponseHead::read(b"<html>"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let _ = ResponseHead::read(&bytes);
        }

        #[test]
        fn a_head_in_pieces_ends_where_the_whole_ends(
            text in "HTTP/1.1 200 OK\r?\n([a-z]{1,3}: ?[a-z]{0,3}\r?\n){0,5}\r?\n[a-z\r\n]{0,9}",
            cut in 0usize..60,
        ) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            let whole = head_end(bytes, 0).unwrap();
            match head_end(&bytes[..cut], 0) {
                Some(end) => prop_assert_eq!(end, whole),
                None => prop_assert_eq!(head_end(bytes, cut.saturating_sub(3)), Some(whole)),
            }
        }
    }
}
