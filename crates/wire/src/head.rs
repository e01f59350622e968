//! The head of an HTTP message: its first line and its header list.
//!
//! This is the only parser of heads in the workspace. It reads what servers really send: bare LF,
//! folded lines, no reason phrase, `HTTP/2 200` from careless writers. A status is exactly three
//! digits from 100 to 999. A first line that begins with `HTTP/` and has no such status is still
//! the head of a response, but one without a status.

use crate::headers::{Headers, end_of_lines, is_token};

/// A head longer than this is not parsed. Servers rarely send more than 64 KiB; browsers stop at
/// 256 KiB.
pub const MAX_HEAD_BYTES: usize = 1 << 20;
/// The head collector takes at least this many bytes at a time.
const COLLECT_STEP_BYTES: usize = 4096;
/// A longer first word of a request line is not a method.
const MAX_METHOD_BYTES: usize = 32;

/// The version that a response claims: 1.1 for `HTTP/1.1`, 2.0 for `HTTP/2`, 0.0 for what is no
/// number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpVersion {
    /// The number before the dot.
    pub major: u8,
    /// The number after the dot.
    pub minor: u8,
}

impl HttpVersion {
    fn parse(text: &[u8]) -> Self {
        let mut numbers = text.splitn(2, |byte| *byte == b'.').map(|digits| {
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
        });
        Self { major: numbers.next().unwrap_or(0), minor: numbers.next().unwrap_or(0) }
    }

    /// Whether connections stay open unless the server says otherwise.
    pub fn is_persistent(self) -> bool {
        self >= Self { major: 1, minor: 1 }
    }
}

/// The first line of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartLine {
    /// The status line of a response.
    Response {
        /// The version.
        version: HttpVersion,
        /// The status: three digits from 100 to 999, or none.
        status: Option<u16>,
        /// The reason phrase.
        reason: Vec<u8>,
    },
    /// The request line of a request.
    Request {
        /// GET, POST and so on.
        method: Vec<u8>,
        /// The request target.
        target: Vec<u8>,
    },
}

impl StartLine {
    fn parse(line: &[u8]) -> Option<Self> {
        let (first, rest) = split_word(line);
        if let Some(version) = strip_http(first) {
            let rest = rest.trim_ascii_start();
            let (status, reason) =
                rest.split_at(rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count());
            return Some(Self::Response {
                version: HttpVersion::parse(version),
                status: parse_status(status),
                reason: reason.trim_ascii().to_vec(),
            });
        }
        let is_method =
            !first.is_empty() && first.len() <= MAX_METHOD_BYTES && first.iter().all(|byte| is_token(*byte));
        let (target, version) = split_word(rest);
        strip_http(version.trim_ascii_start()).filter(|_| is_method)?;
        Some(Self::Request { method: first.to_vec(), target: target.to_vec() })
    }
}

/// The bytes before the first space, and those after it.
fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b' ', line) {
        Some(space) => (&line[..space], &line[space + 1..]),
        None => (line, &[]),
    }
}

fn strip_http(word: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = word.split_at_checked(5)?;
    prefix.eq_ignore_ascii_case(b"HTTP/").then_some(rest)
}

/// A status: exactly three digits, from 100 to 999.
fn parse_status(word: &[u8]) -> Option<u16> {
    let [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] = word else { return None };
    Some(word.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0')))
}

/// The head of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// The first line.
    pub start_line: StartLine,
    /// The header list.
    pub headers: Headers,
    /// The number of bytes of the head, with the empty line.
    pub length: usize,
}

impl MessageHead {
    /// Parses the head at the start of `block`; bytes after the empty line are not looked at. A
    /// head that ends without its empty line is parsed as far as it goes. None when the block does
    /// not begin with an HTTP message.
    pub fn parse(block: &[u8]) -> Option<Self> {
        let line_end = memchr::memchr(b'\n', block).map_or(block.len(), |at| at + 1);
        let start_line = StartLine::parse(block[..line_end].trim_ascii_end())?;
        let rest = &block[line_end..];
        // The header list copies the block that it is given: it must not get the body.
        let length = end_of_lines(rest, &mut 0).unwrap_or(rest.len());
        let mut headers = Headers::new();
        let length = line_end + headers.read(&rest[..length], |_, _| {});
        Some(Self { start_line, headers, length })
    }

    /// The status of a response.
    pub fn status(&self) -> Option<u16> {
        match self.start_line {
            StartLine::Response { status, .. } => status,
            StartLine::Request { .. } => None,
        }
    }

    /// The version of a response.
    pub fn version(&self) -> HttpVersion {
        match self.start_line {
            StartLine::Response { version, .. } => version,
            StartLine::Request { .. } => HttpVersion::default(),
        }
    }

    /// The head as that of a response; none for a request, and without a status.
    pub fn response(&self) -> Option<ResponseHead<'_>> {
        let StartLine::Response { status: Some(status), reason, .. } = &self.start_line else { return None };
        Some(ResponseHead { status: *status, reason, headers: &self.headers, length: self.length })
    }
}

/// The head of a response that has a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// The status, from 100 to 999.
    pub status: u16,
    /// The reason phrase.
    pub reason: &'a [u8],
    /// The header list.
    pub headers: &'a Headers,
    /// The number of bytes of the head, with the empty line.
    pub length: usize,
}

/// Collects a head from bytes that arrive in pieces.
#[derive(Debug, Default)]
pub struct HeadCollector {
    text: Vec<u8>,
    line_start: usize,
}

impl HeadCollector {
    /// Nothing collected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Drops the collected bytes and keeps the buffer.
    pub fn reset(&mut self) {
        self.text.clear();
        self.line_start = 0;
    }

    /// Takes bytes up to the end of the head. Returns how many it took, and whether collecting is
    /// over: the head is complete, or [`MAX_HEAD_BYTES`] were taken.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, bool) {
        let held = self.text.len();
        let most = COLLECT_STEP_BYTES.max(held).min(MAX_HEAD_BYTES.saturating_sub(held));
        let take = bytes.len().min(most);
        self.text.extend_from_slice(&bytes[..take]);
        if let Some(end) = end_of_lines(&self.text, &mut self.line_start) {
            self.text.truncate(end);
            return (end - held, true);
        }
        (take, self.text.len() >= MAX_HEAD_BYTES)
    }

    /// The bytes collected so far.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The collected head, even when its empty line never came.
    pub fn head(&self) -> Option<MessageHead> {
        MessageHead::parse(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// First lines with the status they have; `None` in the outer place means that they are no
    /// response at all.
    const STATUS_LINES: [(&str, Option<Option<u16>>); 30] = [
        ("HTTP/1.1 200 OK", Some(Some(200))),
        ("HTTP/1.1 200", Some(Some(200))),
        ("HTTP/1.1 200 ", Some(Some(200))),
        ("HTTP/1.0 404 Not Found", Some(Some(404))),
        ("http/1.1  301", Some(Some(301))),
        ("HTTP/2 301", Some(Some(301))),
        ("HTTP/ 301", Some(Some(301))),
        ("HTTP/x 301", Some(Some(301))),
        ("HTTP/1.1 100 Continue", Some(Some(100))),
        ("HTTP/1.1 999 Denied", Some(Some(999))),
        ("HTTP/1.1 099 Low", Some(None)),
        ("HTTP/1.1 000", Some(None)),
        ("HTTP/1.1 99", Some(None)),
        ("HTTP/1.1 20", Some(None)),
        ("HTTP/1.1 1000", Some(None)),
        ("HTTP/1.1 2000 OK", Some(None)),
        ("HTTP/1.1 0200 OK", Some(None)),
        ("HTTP/1.1 +200 OK", Some(None)),
        ("HTTP/1.1 -200 OK", Some(None)),
        ("HTTP/1.1 2x0 OK", Some(None)),
        ("HTTP/1.1 200OK", Some(None)),
        ("HTTP/1.1 200\tOK", Some(Some(200))),
        ("HTTP/1.1 \u{662}\u{660}\u{660}", Some(None)),
        ("HTTP/1.1 abc", Some(None)),
        ("HTTP/1.1", Some(None)),
        ("HTTP/1.1\t200 OK", Some(None)),
        ("HTTP 200 OK", None),
        (" HTTP/1.1 200 OK", None),
        ("<html>", None),
        ("", None),
    ];

    #[test]
    fn a_status_is_three_digits_from_100_to_999() {
        for (line, wanted) in STATUS_LINES {
            for end in ["", "\n", "\r\n", "\r\nA: b\r\n\r\nbody"] {
                let head = MessageHead::parse(format!("{line}{end}").as_bytes());
                assert_eq!(head.as_ref().map(MessageHead::status), wanted, "{line:?}");
                let response = head.as_ref().and_then(MessageHead::response);
                assert_eq!(response.map(|head| head.status), wanted.flatten(), "{line:?}");
            }
        }
    }

    #[test]
    fn versions_decide_whether_connections_stay_open() {
        for (line, persistent) in [
            ("HTTP/1.1 200", true),
            ("HTTP/1.2 200", true),
            ("HTTP/2 200", true),
            ("HTTP/1.0 200", false),
            ("HTTP/1 200", false),
            ("HTTP/0.9 200", false),
            ("HTTP/x 200", false),
        ] {
            let head = MessageHead::parse(line.as_bytes()).expect(line);
            assert_eq!(head.version().is_persistent(), persistent, "{line}");
        }
    }

    #[test]
    fn lenient_heads() {
        let bytes = b"HTTP/1.1 200 Fine by me\nServer : x\r\nrubbish\r\n: none\r\nSet-Cookie: a\r\nFolded: one\r\n\ttwo\r\n  three\r\nset-cookie:b\r\n\nbody: no";
        let head = MessageHead::parse(bytes).expect("a head");
        let response = head.response().expect("a response");
        assert_eq!((response.status, response.reason), (200, &b"Fine by me"[..]));
        let wanted = [("Server", "x"), ("Set-Cookie", "a"), ("Folded", "one two three"), ("set-cookie", "b")];
        assert_eq!(head.headers, Headers::from_iter(wanted));
        assert_eq!(&bytes[head.length..], b"body: no");
    }

    #[test]
    fn a_head_without_its_empty_line_is_parsed_as_far_as_it_goes() {
        let head = MessageHead::parse(b"HTTP/1.1 500 Oh\r\nA: b\r\nC: d").expect("a head");
        assert_eq!((head.status(), head.headers.len(), head.length), (Some(500), 2, 27));
    }

    #[test]
    fn requests() {
        let head = MessageHead::parse(b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(head.is_none(), "a target with a space leaves no version as third word");
        let head = MessageHead::parse(b"POST /a HTTP/1.1\nHost: x\n\n").expect("a head");
        assert_eq!(head.start_line, StartLine::Request { method: b"POST".to_vec(), target: b"/a".to_vec() });
        assert_eq!(head.response(), None);
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_head(value in ".{0,40}", cut in 0usize..60) {
            let message = format!("HTTP/1.1 200 OK\r\nX-Y: {}\r\nZ: 1\r\n\r\nbody", value.replace(['\r', '\n'], ""));
            let bytes = message.as_bytes();
            let cut = cut.min(bytes.len());
            let mut collector = HeadCollector::new();
            let (taken, mut done) = collector.push(&bytes[..cut]);
            if !done {
                prop_assert_eq!(taken, cut);
                done = collector.push(&bytes[cut..]).1;
            }
            prop_assert!(done);
            prop_assert_eq!(collector.bytes(), &bytes[..bytes.len() - 4]);
            prop_assert_eq!(collector.head(), MessageHead::parse(bytes));
        }

        #[test]
        fn any_bytes(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(head) = MessageHead::parse(&block) {
                prop_assert!(head.length <= block.len());
            }
        }
    }
}
