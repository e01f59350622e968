//! Percent escapes, byte by byte: which bytes stand for themselves where, and how the others are
//! written.
//!
//! Knows nothing of URLs as a whole. Everything is written into an [`EscapeSink`], so that the same
//! rules can make a text or feed a hash without making one.

use std::borrow::Cow;

/// A set of bytes.
pub struct ByteSet([bool; 256]);

impl ByteSet {
    /// The letters, the digits and these.
    pub const fn alphanumeric_and(others: &[u8]) -> Self {
        let mut set = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            set[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let mut index = 0;
        while index < others.len() {
            set[others[index] as usize] = true;
            index += 1;
        }
        Self(set)
    }

    /// Whether the byte is in the set.
    pub const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }

    /// The place of the first byte that is not in the set.
    pub(crate) fn first_outside(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().position(|&byte| !self.has(byte))
    }
}

/// Where written bytes go.
pub trait EscapeSink {
    /// Takes one ASCII byte.
    fn byte(&mut self, ascii: u8);

    /// Takes a text.
    fn text(&mut self, text: &str);
}

impl EscapeSink for String {
    fn byte(&mut self, ascii: u8) {
        self.push(char::from(ascii));
    }

    fn text(&mut self, text: &str) {
        self.push_str(text);
    }
}

const HEX_DIGITS: [u8; 16] = *b"0123456789ABCDEF";

/// Writes one byte, escaped unless it is in `kept`.
pub fn write_byte(byte: u8, kept: &ByteSet, sink: &mut impl EscapeSink) {
    if kept.has(byte) {
        sink.byte(byte);
    } else {
        write_escape(byte, sink);
    }
}

/// Writes `%XX`.
pub(crate) fn write_escape(byte: u8, sink: &mut impl EscapeSink) {
    sink.byte(b'%');
    sink.byte(HEX_DIGITS[usize::from(byte >> 4)]);
    sink.byte(HEX_DIGITS[usize::from(byte & 15)]);
}

/// The byte that `%XX` at the beginning of `bytes` encodes.
pub fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    match *bytes {
        [b'%', high, low, ..] => Some(hex(high)? << 4 | hex(low)?),
        _ => None,
    }
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// The bytes of a text with its escapes decoded. Invalid escapes stay as they are.
pub(crate) struct PercentDecoded<'a>(pub(crate) &'a [u8]);

impl Iterator for PercentDecoded<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (byte, length) = match escaped_byte(self.0) {
            Some(byte) => (byte, 3),
            None => (*self.0.first()?, 1),
        };
        self.0 = &self.0[length..];
        Some(byte)
    }
}

/// All escapes resolved at once.
pub(crate) fn decode(text: &str) -> Cow<'_, [u8]> {
    if memchr::memchr(b'%', text.as_bytes()).is_none() {
        return Cow::Borrowed(text.as_bytes());
    }
    Cow::Owned(PercentDecoded(text.as_bytes()).collect())
}

/// The place of the first percent sign that begins no escape.
pub(crate) fn first_bad_escape(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'%', bytes).find(|&at| escaped_byte(&bytes[at..]).is_none())
}
