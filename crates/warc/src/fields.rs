//! Named fields: the lines of a WARC header, of an HTTP head, of a warc-fields block.
//!
//! Bytes end to end: names keep their case, values their spelling, order and repetition stay. One buffer holds the
//! text and the fields are ranges in it, so reading a header costs no allocation once the buffers have grown. Values
//! that were folded over several lines are unfolded behind the text, in the same buffer.

use std::ops::Range;

/// An ordered list of names and values.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// The lines as read, then unfolded values.
    text: Vec<u8>,
    spans: Vec<Span>,
    /// A bit for the mark of each name: most names that are asked for are not here, and this tells at once.
    marks: u64,
}

#[derive(Clone, Debug)]
struct Span {
    name: Range<usize>,
    value: Range<usize>,
    mark: u8,
}

/// What was odd about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// It has no colon, or nothing before it.
    NotAField,
    /// It does not end with CRLF.
    LineEnding,
}

/// How many fields one header may have; a hostile one could otherwise make every look-up slow.
const MOST_FIELDS: usize = 4096;

/// A number below 64 that tells most names apart, whatever their case: of their length, their last letter and one that
/// follows the usual `WARC-`.
fn mark(name: &[u8]) -> u8 {
    let letter = |byte: Option<&u8>| byte.map_or(0, |byte| *byte & 0x1f);
    let mixed =
        (name.len() as u8).wrapping_mul(5) ^ letter(name.last()) ^ letter(name.get(6)).wrapping_mul(3);
    mixed & 63
}

impl Fields {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the lines of `block`, up to an empty line or its end. What is odd is told to `odd` with the place of its
    /// line in `block`; a line that is no field is left out.
    pub fn parse(block: &[u8], odd: impl FnMut(Oddity, usize)) -> Self {
        let mut fields = Self::new();
        fields.read(block, odd);
        fields
    }

    /// As `parse`, into buffers that are already there. Returns how many bytes the lines took, the empty one included.
    pub fn read(&mut self, block: &[u8], mut odd: impl FnMut(Oddity, usize)) -> usize {
        self.clear();
        self.text.extend_from_slice(block);
        let mut position = 0;
        while position < block.len() {
            let line_start = position;
            let newline = memchr::memchr(b'\n', &block[position..]);
            position = newline.map_or(block.len(), |at| position + at + 1);
            let line = line_start..trimmed_end(block, line_start..position);
            if newline.is_none() || !ends_with_one_crlf(&block[line_start..position], line.len()) {
                odd(Oddity::LineEnding, line_start);
            }
            if line.is_empty() {
                break;
            }
            if !self.take_line(block, line) {
                odd(Oddity::NotAField, line_start);
            }
        }
        position
    }

    /// Reads one line, without its end. False when it is no field.
    fn take_line(&mut self, block: &[u8], line: Range<usize>) -> bool {
        if matches!(block[line.start], b' ' | b'\t') && !self.spans.is_empty() {
            self.unfold(block, line);
            return true;
        }
        let Some(colon) = memchr::memchr(b':', &block[line.clone()]) else { return false };
        let name = trim(block, line.start..line.start + colon);
        if name.is_empty() || self.spans.len() >= MOST_FIELDS {
            return false;
        }
        let value = trim(block, line.start + colon + 1..line.end);
        let mark = mark(&block[name.clone()]);
        self.add(Span { name, value, mark });
        true
    }

    /// Joins a continuation line to the last value, with one space.
    fn unfold(&mut self, block: &[u8], line: Range<usize>) {
        let more = trim(block, line);
        if more.is_empty() {
            return;
        }
        let Some(last) = self.spans.last_mut() else { return };
        let already_behind = last.value.end == self.text.len() && last.value.start >= block.len();
        if !already_behind {
            let start = self.text.len();
            self.text.extend_from_within(last.value.clone());
            last.value = start..self.text.len();
        }
        if !last.value.is_empty() {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(&block[more]);
        last.value.end = self.text.len();
    }

    /// Forgets all fields, keeps the buffers.
    pub fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.marks = 0;
    }

    /// Adds a field at the end.
    pub fn push(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let mark = mark(name.as_ref());
        let name = self.append(name.as_ref());
        let value = self.append(value.as_ref());
        self.add(Span { name, value, mark });
    }

    fn add(&mut self, span: Span) {
        self.marks |= 1 << span.mark;
        self.spans.push(span);
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        start..self.text.len()
    }

    /// The first value of that name, whatever its case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// All values of that name, in order.
    pub fn get_all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let mark = mark(name.as_bytes());
        let spans = if self.marks & 1 << mark == 0 { &[][..] } else { &self.spans[..] };
        let is_name = move |span: &&Span| {
            span.mark == mark
                && span.name.len() == name.len()
                && self.text[span.name.clone()].eq_ignore_ascii_case(name.as_bytes())
        };
        spans.iter().filter(is_name).map(|span| &self.text[span.value.clone()])
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| (&self.text[span.name.clone()], &self.text[span.value.clone()]))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
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

fn ends_with_one_crlf(line: &[u8], length: usize) -> bool {
    &line[length..] == b"\r\n"
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

/// The end of a block of lines, once its empty line is there; `line_start` remembers how far was looked.
pub(crate) fn end_of_lines(text: &[u8], line_start: &mut usize) -> Option<usize> {
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

    type Parsed = (Vec<(String, String)>, Vec<(Oddity, usize)>);

    fn parsed(block: &[u8]) -> Parsed {
        let mut oddities = Vec::new();
        let fields = Fields::parse(block, |oddity, at| oddities.push((oddity, at)));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (fields.iter().map(|(name, value)| (text(name), text(value))).collect(), oddities)
    }

    #[test]
    fn order_case_and_repetition_stay() {
        let (fields, oddities) = parsed(b"B: 1\r\na:2\r\nB:\t3 \r\n\r\nnot: read\r\n");
        assert_eq!(fields, [("B", "1"), ("a", "2"), ("B", "3")].map(|(n, v)| (n.into(), v.into())));
        assert_eq!(oddities, []);
    }

    #[test]
    fn folded_values() {
        let (fields, oddities) = parsed(b"A: \r\n\tone\r\n  two \r\nB: x\r\n y\r\n \r\n\r\n");
        assert_eq!(fields, [("A", "one two"), ("B", "x y")].map(|(n, v)| (n.into(), v.into())));
        assert_eq!(oddities, []);
    }

    #[test]
    fn odd_lines() {
        let (fields, oddities) = parsed(b"A: 1\nno colon\r\n: no name\r\nC: 3\r\r\n");
        assert_eq!(fields, [("A", "1"), ("C", "3")].map(|(n, v)| (n.into(), v.into())));
        use Oddity::{LineEnding, NotAField};
        assert_eq!(oddities, [(LineEnding, 0), (NotAField, 5), (NotAField, 15), (LineEnding, 26)]);
    }

    #[test]
    fn case_blind_look_up() {
        let fields = Fields::parse(b"WARC-Type: a\r\nwarc-type: b\r\n\r\n", |_, _| {});
        assert_eq!(fields.get("Warc-TYPE"), Some(b"a".as_slice()));
        assert_eq!(fields.get_all("warc-type").count(), 2);
        assert_eq!(fields.get("x"), None);
        let mut fields = Fields::new();
        for name in ["", "a", "WARC-Concurrent-To", "x@y", "X`Y"] {
            fields.push(name, name);
            assert_eq!(fields.get(&name.to_ascii_uppercase()), Some(name.as_bytes()));
            assert_eq!(fields.get(&name.to_ascii_lowercase()), Some(name.as_bytes()));
        }
    }

    proptest! {
        #[test]
        fn any_bytes(block in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut fields = Fields::new();
            let taken = fields.read(&block, |_, at| assert!(at < block.len()));
            prop_assert!(taken <= block.len());
            for (name, value) in fields.iter() {
                prop_assert!(!name.is_empty());
                prop_assert!(!value.contains(&b'\n'));
            }
        }
    }
}
