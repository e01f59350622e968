//! The parameters of a query, read leniently and written in one form.
//!
//! The parser drops pieces that it cannot decode and returns them; the writer sorts by name and
//! escapes everything but letters, digits and `-_.~`. Sorting breaks queries whose order of names
//! has a meaning, so only cleaning uses this module, and normalising does not.

use super::escape::{ByteSet, EscapeSink, escaped_byte, first_bad_escape, write_byte};
use std::borrow::Cow;

/// Bytes that are literal in a name or value.
const COMPONENT_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-_.~");

/// One parameter, with escapes resolved. Bytes, because an escape can hide any byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryParameter<'a> {
    /// The text before the first `=`.
    pub name: Cow<'a, [u8]>,
    /// The text after it; empty if there is no `=`.
    pub value: Cow<'a, [u8]>,
}

/// The parameters of a query, in order, and the pieces that are not parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UrlQuery<'a> {
    /// The parameters.
    pub parameters: Vec<QueryParameter<'a>>,
    /// Pieces with a semicolon or a broken escape.
    pub dropped: Vec<&'a str>,
}

impl<'a> UrlQuery<'a> {
    /// Parses the text after the question mark. Any text is accepted.
    pub fn parse(raw: &'a str) -> Self {
        let mut query = Self::default();
        for piece in raw.split('&').filter(|piece| !piece.is_empty()) {
            match QueryParameter::parse(piece) {
                Some(parameter) => query.parameters.push(parameter),
                None => query.dropped.push(piece),
            }
        }
        query
    }

    /// Plain names and values, to be encoded.
    pub fn from_pairs(pairs: &'a [(&'a str, String)]) -> Self {
        let parameter = |(name, value): &'a (&'a str, String)| QueryParameter {
            name: Cow::Borrowed(name.as_bytes()),
            value: Cow::Borrowed(value.as_bytes()),
        };
        Self { parameters: pairs.iter().map(parameter).collect(), dropped: Vec::new() }
    }

    /// Sorts by name, byte by byte. Values of one name keep their order.
    pub fn sort(&mut self) {
        self.parameters.sort_by(|left, right| left.name.cmp(&right.name));
    }

    /// The parameters written as a query, without a question mark.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    pub(crate) fn write(&self, sink: &mut impl EscapeSink) {
        for (index, parameter) in self.parameters.iter().enumerate() {
            if index > 0 {
                sink.byte(b'&');
            }
            write_component(&parameter.name, sink);
            sink.byte(b'=');
            write_component(&parameter.value, sink);
        }
    }
}

impl<'a> QueryParameter<'a> {
    /// Reads one piece between ampersands.
    fn parse(piece: &'a str) -> Option<Self> {
        if memchr::memchr(b';', piece.as_bytes()).is_some() || first_bad_escape(piece).is_some() {
            return None;
        }
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        Some(Self { name: unescape(name), value: unescape(value) })
    }
}

/// Decodes escapes, and `+` as a space.
pub fn unescape(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if memchr::memchr2(b'%', b'+', bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = match bytes[at] {
            b'+' => (b' ', 1),
            byte => escaped_byte(&bytes[at..]).map_or((byte, 1), |byte| (byte, 3)),
        };
        plain.push(byte);
        at += length;
    }
    Cow::Owned(plain)
}

fn write_component(bytes: &[u8], sink: &mut impl EscapeSink) {
    for &byte in bytes {
        match byte {
            b' ' => sink.byte(b'+'),
            _ => write_byte(byte, &COMPONENT_BYTES, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_lenient_and_says_what_it_dropped() {
        let query = UrlQuery::parse("b=2&&a=1;c&x=%zz&flag&a+b=%C3%A9%3b=");
        assert_eq!(query.dropped, ["a=1;c", "x=%zz"]);
        assert_eq!(query.encode(), "b=2&flag=&a+b=%C3%A9%3B%3D");
    }

    #[test]
    fn sorting_is_by_name_alone() {
        let mut query = UrlQuery::parse("b=2&a=1&b=1&B=0");
        query.sort();
        assert_eq!(query.encode(), "B=0&a=1&b=2&b=1");
    }
}
