//! The header list: names and values exactly as they were received.
//!
//! Names keep their case, values keep their bytes, and order and repetition stay. The same grammar
//! serves HTTP heads, WARC record headers and `application/warc-fields` blocks. One buffer holds
//! the text and the fields are ranges in it, so parsing a header costs no allocation once the
//! buffers have grown.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// An ordered list of header names and values.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// The lines as parsed, followed by the joined values of folded lines.
    text: Vec<u8>,
    spans: Vec<HeaderSpan>,
    /// The fields with a folded value: their position, and the range of all lines of the value.
    folded: Vec<(usize, Range<usize>)>,
    /// One bit for the hash of each name. A lookup of an absent name mostly ends here.
    name_filter: u64,
}

#[derive(Clone, Debug)]
struct HeaderSpan {
    name: Range<usize>,
    value: Range<usize>,
    hash: u8,
}

/// What is wrong with a line of a header block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderDefect {
    /// The line has no colon, or nothing before it.
    NotAField,
    /// The line does not end with CRLF.
    LineEnding,
}

/// Lines beyond this number are not parsed: a hostile header could otherwise make every lookup
/// slow.
const MAX_FIELDS: usize = 4096;

/// A case-insensitive hash below 64. It mixes the length, the last letter and the letter after the
/// usual `WARC-`.
fn hash_name(name: &[u8]) -> u8 {
    let letter = |byte: Option<&u8>| byte.map_or(0, |byte| *byte & 0x1f);
    let mixed =
        (name.len() as u8).wrapping_mul(5) ^ letter(name.last()) ^ letter(name.get(6)).wrapping_mul(3);
    mixed & 63
}

impl Headers {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the lines of `block` up to an empty line or its end. Each defect is passed to
    /// `report` with the offset of its line in `block`. A line that is no field is left out.
    pub fn parse(block: &[u8], report: impl FnMut(HeaderDefect, usize)) -> Self {
        let mut headers = Self::new();
        headers.read(block, report);
        headers
    }

    /// As [`Headers::parse`], reusing the buffers. Returns the number of bytes the lines took, with
    /// the empty one.
    pub fn read(&mut self, block: &[u8], mut report: impl FnMut(HeaderDefect, usize)) -> usize {
        self.clear();
        self.text.extend_from_slice(block);
        let mut position = 0;
        while position < block.len() {
            let line_start = position;
            let newline = memchr::memchr(b'\n', &block[position..]);
            position = newline.map_or(block.len(), |at| position + at + 1);
            let line = line_start..trimmed_end(block, line_start..position);
            if newline.is_none() || &block[line.end..position] != b"\r\n" {
                report(HeaderDefect::LineEnding, line_start);
            }
            if line.is_empty() {
                break;
            }
            if !self.take_line(block, line) {
                report(HeaderDefect::NotAField, line_start);
            }
        }
        position
    }

    /// Parses one line without its end. Returns false when it is no field.
    fn take_line(&mut self, block: &[u8], line: Range<usize>) -> bool {
        if matches!(block[line.start], b' ' | b'\t') && !self.spans.is_empty() {
            self.continue_value(block, line);
            return true;
        }
        let Some(colon) = memchr::memchr(b':', &block[line.clone()]) else { return false };
        let name = trim(block, line.start..line.start + colon);
        if name.is_empty() || self.spans.len() >= MAX_FIELDS {
            return false;
        }
        let value = trim(block, line.start + colon + 1..line.end);
        let hash = hash_name(&block[name.clone()]);
        self.add(HeaderSpan { name, value, hash });
        true
    }

    /// Joins a continuation line to the last value, with one space.
    fn continue_value(&mut self, block: &[u8], line: Range<usize>) {
        let more = trim(block, line);
        let position = self.spans.len().saturating_sub(1);
        let Some(last) = self.spans.last_mut().filter(|_| !more.is_empty()) else { return };
        match self.folded.last_mut().filter(|(folded, _)| *folded == position) {
            Some((_, lines)) => lines.end = more.end,
            None => {
                self.folded.push((position, last.value.start..more.end));
                let start = self.text.len();
                self.text.extend_from_within(last.value.clone());
                last.value = start..self.text.len();
            }
        }
        if !last.value.is_empty() {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(&block[more]);
        last.value.end = self.text.len();
    }

    /// The same list, but folded values have their line breaks, as CRLF, and their indentation.
    pub fn with_folds(&self) -> Self {
        let mut unfolded = Self::new();
        for (position, (name, value)) in self.iter().enumerate() {
            match self.folded.iter().find(|(folded, _)| *folded == position) {
                Some((_, lines)) => unfolded.push(name, with_line_breaks(&self.text[lines.clone()])),
                None => unfolded.push(name, value),
            }
        }
        unfolded
    }

    /// Removes all fields and keeps the buffers.
    pub fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.folded.clear();
        self.name_filter = 0;
    }

    /// Appends a field, even if one of that name is there.
    pub fn push(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let hash = hash_name(name.as_ref());
        let name = self.append(name.as_ref());
        let value = self.append(value.as_ref());
        self.add(HeaderSpan { name, value, hash });
    }

    fn add(&mut self, span: HeaderSpan) {
        self.name_filter |= 1 << span.hash;
        self.spans.push(span);
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        start..self.text.len()
    }

    /// The first value of that name, compared without regard to case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// All values of that name, in order.
    pub fn get_all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let hash = hash_name(name.as_bytes());
        let spans = if self.name_filter & 1 << hash == 0 { &[][..] } else { &self.spans[..] };
        let is_name = move |span: &&HeaderSpan| {
            span.hash == hash
                && span.name.len() == name.len()
                && self.text[span.name.clone()].eq_ignore_ascii_case(name.as_bytes())
        };
        spans.iter().filter(is_name).map(|span| &self.text[span.value.clone()])
    }

    /// The first value of that name as text, without white space around it.
    pub fn get_text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name).map(|value| match decode_header_text(value) {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        })
    }

    /// Whether a field of that name is there.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| (&self.text[span.name.clone()], &self.text[span.value.clone()]))
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether the last transfer coding is `chunked`.
    pub fn is_chunked(&self) -> bool {
        last_transfer_coding(self.get_all("Transfer-Encoding")).eq_ignore_ascii_case(b"chunked")
    }

    /// The content codings in the order in which they were applied, in lower case, without
    /// `identity`.
    pub fn content_codings(&self) -> Vec<Vec<u8>> {
        self.get_all("Content-Encoding")
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(|coding| coding.trim_ascii().to_ascii_lowercase())
            .filter(|coding| !coding.is_empty() && coding != b"identity")
            .collect()
    }
}

/// The last transfer coding that is named, without its parameters.
fn last_transfer_coding<'a>(values: impl Iterator<Item = &'a [u8]>) -> &'a [u8] {
    let codings = values.flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let last = codings.filter(|coding| !coding.is_empty()).last().unwrap_or_default();
    last.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end()
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Headers {}

impl Hash for Headers {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|field| field.hash(state));
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut headers = Self::new();
        pairs.into_iter().for_each(|(name, value)| headers.push(name, value));
        headers
    }
}

/// Whether a name and a value can stand in a head: a token, and no byte that ends the line (RFC
/// 9110, 5.1 and 5.5). Received headers need not be valid; those that a user gives must be.
pub fn is_valid_header(name: &[u8], value: &[u8]) -> bool {
    let ends_line = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
    !name.is_empty() && name.iter().all(|byte| is_token(*byte)) && !value.iter().any(ends_line)
}

/// Whether a byte may stand in an HTTP token.
pub fn is_token(byte: u8) -> bool {
    TOKEN_BYTES[usize::from(byte)]
}

const TOKEN_BYTES: [bool; 256] = {
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

/// The text of header bytes: UTF-8 where they are UTF-8, else Latin-1, as HTTP defines. No byte is
/// replaced, so distinct bytes give distinct texts.
pub fn decode_header_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

/// The lines of a folded value, each without white space at its end, and without blank ones.
fn with_line_breaks(lines: &[u8]) -> Vec<u8> {
    let mut lines = lines.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let first = lines.next().unwrap_or_default().to_vec();
    lines.filter(|line| !line.is_empty()).fold(first, |value, line| [&value, line].join(&b"\r\n"[..]))
}

/// End of the line without its CR and LF.
fn trimmed_end(block: &[u8], line: Range<usize>) -> usize {
    let mut end = line.end;
    if end > line.start && block[end - 1] == b'\n' {
        end -= 1;
    }
    while end > line.start && block[end - 1] == b'\r' {
        end -= 1;
    }
    end
}

fn trim(block: &[u8], mut range: Range<usize>) -> Range<usize> {
    while range.start < range.end && matches!(block[range.start], b' ' | b'\t') {
        range.start += 1;
    }
    while range.start < range.end && matches!(block[range.end - 1], b' ' | b'\t') {
        range.end -= 1;
    }
    range
}

/// The end of a block of lines, once its empty line is there. An empty line has no bytes but CR and
/// LF. `line_start` remembers how far the search came, so that a block which arrives in pieces is
/// searched once.
pub fn end_of_lines(text: &[u8], line_start: &mut usize) -> Option<usize> {
    while let Some(length) = memchr::memchr(b'\n', &text[*line_start..]) {
        let end = *line_start + length + 1;
        let is_empty = text[*line_start..end].iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        *line_start = end;
        if is_empty {
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Parsed = (Vec<(String, String)>, Vec<(HeaderDefect, usize)>);

    fn fields(headers: &Headers) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        headers.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn parsed(block: &[u8]) -> Parsed {
        let mut defects = Vec::new();
        let headers = Headers::parse(block, |defect, at| defects.push((defect, at)));
        (fields(&headers), defects)
    }

    #[test]
    fn order_case_and_repetition_stay() {
        let (fields, defects) = parsed(b"B: 1\r\na:2\r\nB:\t3 \r\n\r\nnot: read\r\n");
        assert_eq!(fields, [("B", "1"), ("a", "2"), ("B", "3")].map(|(n, v)| (n.into(), v.into())));
        assert_eq!(defects, []);
    }

    #[test]
    fn folded_values_are_joined_or_kept() {
        let block = b"A: \r\n\tone\r\n  two \r\nB: x\r\n y\r\n \r\n\r\n";
        let (joined, defects) = parsed(block);
        assert_eq!(joined, [("A", "one two"), ("B", "x y")].map(|(n, v)| (n.into(), v.into())));
        assert_eq!(defects, []);
        let kept = [("A", "\r\n\tone\r\n  two"), ("B", "x\r\n y")];
        let with_folds = Headers::parse(block, |_, _| {}).with_folds();
        assert_eq!(fields(&with_folds), kept.map(|(n, v)| (n.into(), v.into())));
    }

    #[test]
    fn defective_lines_are_reported() {
        let (fields, defects) = parsed(b"A: 1\nno colon\r\n: no name\r\nC: 3\r\r\n");
        assert_eq!(fields, [("A", "1"), ("C", "3")].map(|(n, v)| (n.into(), v.into())));
        use HeaderDefect::{LineEnding, NotAField};
        assert_eq!(defects, [(LineEnding, 0), (NotAField, 5), (NotAField, 15), (LineEnding, 26)]);
    }

    #[test]
    fn lookups_ignore_case() {
        let headers = Headers::parse(b"WARC-Type: a\r\nwarc-type: b\r\n\r\n", |_, _| {});
        assert_eq!(headers.get("Warc-TYPE"), Some(b"a".as_slice()));
        assert_eq!(headers.get_all("warc-type").count(), 2);
        assert_eq!(headers.get("x"), None);
        let mut headers = Headers::new();
        for name in ["", "a", "WARC-Concurrent-To", "x@y", "X`Y"] {
            headers.push(name, name);
            assert_eq!(headers.get(&name.to_ascii_uppercase()), Some(name.as_bytes()));
            assert_eq!(headers.get(&name.to_ascii_lowercase()), Some(name.as_bytes()));
        }
    }

    #[test]
    fn equality_is_that_of_names_and_values() {
        let parsed = Headers::parse(b"A: 1\r\n 2\r\n\r\n", |_, _| {});
        assert_eq!(parsed, Headers::from_iter([("A", "1 2")]));
        assert_ne!(parsed, Headers::from_iter([("a", "1 2")]));
    }

    #[test]
    fn text_is_utf_8_or_latin_1() {
        let headers = Headers::from_iter([("Server", &b" nginx "[..]), ("X", b"caf\xe9")]);
        assert_eq!(headers.get_text("server").as_deref(), Some("nginx"));
        assert_eq!(headers.get_text("x").as_deref(), Some("café"));
        assert_eq!(decode_header_text("é".as_bytes()), "é");
    }

    #[test]
    fn codings() {
        let headers =
            Headers::from_iter([("Transfer-Encoding", "gzip, Chunked"), ("Content-Encoding", "GZIP, br")]);
        assert!(headers.is_chunked());
        assert_eq!(headers.content_codings(), [b"gzip".to_vec(), b"br".to_vec()]);
        assert!(!Headers::from_iter([("Transfer-Encoding", "chunked, gzip")]).is_chunked());
    }

    proptest! {
        #[test]
        fn any_bytes(block in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut headers = Headers::new();
            let taken = headers.read(&block, |_, at| assert!(at < block.len()));
            prop_assert!(taken <= block.len());
            for (name, value) in headers.iter() {
                prop_assert!(!name.is_empty());
                prop_assert!(!value.contains(&b'\n'));
            }
        }
    }
}
