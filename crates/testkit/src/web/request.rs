//! A request, as far as the test server needs it.

use std::io::{self, Read};

/// Maximum length of a request.
const MAX_HEAD_BYTES: usize = 256 << 10;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The target, as it was sent: a path with its query, or a whole URL where the client takes
    /// this for a proxy.
    pub target: String,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How often this target has been asked for, this time included.
    pub times: usize,
}

impl Request {
    /// The path of the target.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }

    /// The query of the target; empty where there is none.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The value of the first header with that name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The number in this segment of the path, counted from zero; zero where there is none.
    pub fn number(&self, segment: usize) -> usize {
        let mut segments = self.path().split('/').skip(1);
        segments.nth(segment).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The URL of another path on the same site, as the client knows the site.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.header("host").unwrap_or("localhost"))
    }

    /// Whether the client wants the connection closed.
    pub(super) fn wants_close(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// Reads the next request; nothing where the client has gone.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() > MAX_HEAD_BYTES || stream.read(&mut byte)? == 0 {
                return Ok(None);
            }
            head.push(byte[0]);
        }
        let mut request = Self::parse(&String::from_utf8_lossy(&head));
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        stream.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }

    fn parse(head: &str) -> Self {
        let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
        let mut words = lines.next().unwrap_or("").split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        };
        Self { method, target, headers: lines.filter_map(header).collect(), ..Self::default() }
    }
}
