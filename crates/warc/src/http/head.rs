//! The head of an HTTP message: its first line and its fields, as bytes.
//!
//! Reads what servers really send: bare LF, folded lines, no reason phrase, `HTTP/2 200` from careless writers.

use crate::fields::{Fields, end_of_lines};

/// Most bytes of a head. Servers rarely send more than 64 KiB; browsers give up at 256 KiB.
const LARGEST_HEAD: usize = 1 << 20;

/// What the first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartLine {
    /// A response.
    Response {
        /// The three digits; none when they are not there.
        status: Option<u16>,
        /// What follows them.
        reason: Vec<u8>,
    },
    /// A request.
    Request {
        /// GET, POST and so on.
        method: Vec<u8>,
        /// The request target.
        target: Vec<u8>,
    },
}

/// The head of a message.
#[derive(Clone, Debug)]
pub struct Head {
    /// The first line.
    pub start_line: StartLine,
    /// The fields.
    pub fields: Fields,
    /// Bytes that it took, with the empty line.
    pub length: usize,
}

impl Head {
    /// Reads a head from the start of `block`; what follows the empty line is not looked at. None when the block does
    /// not begin with an HTTP message.
    pub fn parse(block: &[u8]) -> Option<Self> {
        let line_end = memchr::memchr(b'\n', block).map_or(block.len(), |at| at + 1);
        let start_line = start_line(block[..line_end].trim_ascii_end())?;
        let mut fields = Fields::new();
        let length = line_end + fields.read(&block[line_end..], |_, _| {});
        Some(Self { start_line, fields, length })
    }

    /// The status of a response.
    pub fn status(&self) -> Option<u16> {
        match self.start_line {
            StartLine::Response { status, .. } => status,
            StartLine::Request { .. } => None,
        }
    }

    /// Whether the last transfer coding is `chunked`.
    pub fn is_chunked(&self) -> bool {
        let last = self.fields.get_all("Transfer-Encoding").last();
        last.and_then(|value| value.rsplit(|byte| *byte == b',').next())
            .is_some_and(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
    }

    /// Leaves the content codings out, for those who want the payload as it is.
    pub fn forget_content_codings(&mut self) {
        let mut fields = Fields::new();
        for (name, value) in self.fields.iter() {
            if !name.eq_ignore_ascii_case(b"Content-Encoding") {
                fields.push(name, value);
            }
        }
        self.fields = fields;
    }

    /// The content codings in the order they were applied, lower-cased, `identity` left out.
    pub fn content_codings(&self) -> Vec<Vec<u8>> {
        self.fields
            .get_all("Content-Encoding")
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(|coding| coding.trim_ascii().to_ascii_lowercase())
            .filter(|coding| !coding.is_empty() && coding != b"identity")
            .collect()
    }
}

fn start_line(line: &[u8]) -> Option<StartLine> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let first = words.next()?;
    let second = words.next().unwrap_or_default();
    let rest = words.next().unwrap_or_default();
    if first.len() >= 5 && first[..5].eq_ignore_ascii_case(b"HTTP/") {
        return Some(StartLine::Response { status: status(second), reason: rest.to_vec() });
    }
    let is_method = !first.is_empty() && first.len() <= 32 && first.iter().all(|byte| is_token(*byte));
    let version = rest.trim_ascii_start();
    let is_request = is_method && version.len() >= 5 && version[..5].eq_ignore_ascii_case(b"HTTP/");
    is_request.then(|| StartLine::Request { method: first.to_vec(), target: second.to_vec() })
}

fn status(digits: &[u8]) -> Option<u16> {
    let [a, b, c] = *digits else { return None };
    let value = [a, b, c]
        .iter()
        .try_fold(0u16, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u16::from(byte - b'0')))?;
    (100..1000).contains(&value).then_some(value)
}

/// Whether a byte may stand in an HTTP token.
pub(crate) fn is_token(byte: u8) -> bool {
    TOKENS[usize::from(byte)]
}

/// Which bytes may stand in a token.
const TOKENS: [bool; 256] = {
    let mut tokens = [false; 256];
    let (mut byte, others) = (0, b"!#$%&'*+-.^_`|~");
    while byte < 256 {
        tokens[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut number = 0;
    while number < others.len() {
        tokens[others[number] as usize] = true;
        number += 1;
    }
    tokens
};

/// Collects a head from bytes that come in pieces.
#[derive(Debug, Default)]
pub struct HeadParser {
    text: Vec<u8>,
    line_start: usize,
}

impl HeadParser {
    /// Nothing collected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what was collected.
    pub fn reset(&mut self) {
        self.text.clear();
        self.line_start = 0;
    }

    /// Takes in bytes up to the end of the head. Returns how many it took, and whether the head is complete or has
    /// grown beyond what is believed.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, bool) {
        let held = self.text.len();
        let take = bytes.len().min(4096.max(held)).min(LARGEST_HEAD.saturating_sub(held));
        self.text.extend_from_slice(&bytes[..take]);
        if let Some(end) = end_of_lines(&self.text, &mut self.line_start) {
            self.text.truncate(end);
            return (end - held, true);
        }
        (take, self.text.len() >= LARGEST_HEAD)
    }

    /// The bytes collected so far.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The head that was collected, also when its empty line never came.
    pub fn head(&self) -> Option<Head> {
        Head::parse(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn responses() {
        let head = Head::parse(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody").expect("a head");
        assert_eq!((head.status(), head.length), (Some(200), 25));
        for line in ["HTTP/2 301", "HTTP/1.1 301 ", "http/1.0 301 x", "HTTP/1.1 301\n"] {
            assert_eq!(Head::parse(line.as_bytes()).expect(line).status(), Some(301), "{line}");
        }
        assert_eq!(Head::parse(b"HTTP/1.1 2x0 OK\r\n\r\n").expect("lenient").status(), None);
        assert_eq!(Head::parse(b"HTTP/1.1 099 OK\r\n\r\n").expect("lenient").status(), None);
    }

    #[test]
    fn requests() {
        let head = Head::parse(b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(head.is_none(), "a target with a space leaves no version as third word");
        let head = Head::parse(b"POST /a HTTP/1.1\nHost: x\n\n").expect("a head");
        assert_eq!(head.start_line, StartLine::Request { method: b"POST".to_vec(), target: b"/a".to_vec() });
        assert!(Head::parse(b"<html>").is_none());
        assert!(Head::parse(b"").is_none());
    }

    #[test]
    fn codings() {
        let head = Head::parse(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Encoding: GZIP, br\r\n\r\n",
        )
        .expect("a head");
        assert!(head.is_chunked());
        assert_eq!(head.content_codings(), [b"gzip".to_vec(), b"br".to_vec()]);
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_head(body in ".{0,40}", cut in 0usize..60) {
            let message = format!("HTTP/1.1 200 OK\r\nX-Y: {}\r\nZ: 1\r\n\r\nbody", body.replace(['\r', '\n'], ""));
            let bytes = message.as_bytes();
            let cut = cut.min(bytes.len());
            let mut parser = HeadParser::new();
            let (taken, mut done) = parser.push(&bytes[..cut]);
            if !done {
                prop_assert_eq!(taken, cut);
                done = parser.push(&bytes[cut..]).1;
            }
            prop_assert!(done);
            prop_assert_eq!(parser.bytes(), &bytes[..bytes.len() - 4]);
        }

        #[test]
        fn any_bytes(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(head) = Head::parse(&block) {
                prop_assert!(head.length <= block.len());
            }
        }
    }
}
