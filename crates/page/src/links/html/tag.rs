//! One tag: its name and attributes, as they stand and decoded once.
//!
//! Attributes are taken apart by the rules of browsers, which know no malformed tag, only tags that mean something odd.

use crate::links::entity;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use std::borrow::Cow;

/// Values longer than this are read only where length is normal: in styles, sets and documents inside attributes.
const LONG: usize = 64 << 10;
const MAY_BE_LONG: [&str; 5] = ["style", "srcset", "data-srcset", "imagesrcset", "srcdoc"];

/// Frequent, and neither a link nor a word about one.
const DULL: [&str; 8] = ["class", "id", "width", "height", "role", "tabindex", "colspan", "aria-hidden"];

/// So many attributes of one tag are read.
const MOST: usize = 256;

/// An attribute with its references resolved.
#[derive(Debug)]
pub(super) struct Value<'b> {
    pub(super) name: Cow<'b, str>,
    pub(super) text: Cow<'b, str>,
    /// Where the value stands.
    pub(super) offset: u64,
}

/// A start tag.
#[derive(Debug)]
pub(super) struct Tag<'b> {
    pub(super) name: Cow<'b, str>,
    pub(super) values: Vec<Value<'b>>,
    /// How many attributes were too long to be read, or too many.
    pub(super) cut: u64,
    /// Whether it ends with a slash.
    pub(super) closed: bool,
    /// How long it is, from its angle bracket to the other.
    pub(super) length: usize,
}

/// How a tag is read.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) encoding: &'static Encoding,
    /// Whether nobody has named that encoding.
    pub(super) is_guess: bool,
    /// Attributes longer than this are left out, wherever they stand.
    pub(super) most: usize,
    /// Where the tag stands.
    pub(super) at: u64,
}

impl Manner {
    /// The text of a value. What nobody has named an encoding for, and is no UTF-8, is read as browsers read it.
    fn text(self, bytes: &[u8]) -> Cow<'_, str> {
        if self.is_guess && self.encoding == UTF_8 && std::str::from_utf8(bytes).is_err() {
            return WINDOWS_1252.decode_without_bom_handling(bytes).0;
        }
        decode(bytes, self.encoding)
    }
}

impl<'b> Tag<'b> {
    /// Reads the start tag that the bytes begin with; none if it does not end in them.
    pub(super) fn read(bytes: &'b [u8], manner: Manner) -> Option<Self> {
        let end = name_end(bytes, 1)?;
        let name = lower(&bytes[1..end], manner.encoding);
        let mut tag = Self { name, values: Vec::new(), cut: 0, closed: false, length: 0 };
        let mut at = end;
        loop {
            match next_attribute(bytes, at)? {
                Piece::End { length, closed } => {
                    (tag.length, tag.closed) = (length, closed);
                    return Some(tag);
                }
                Piece::Attribute(attribute) => {
                    at = attribute.end;
                    tag.push(bytes, &attribute, manner);
                }
            }
        }
    }

    fn push(&mut self, bytes: &'b [u8], attribute: &Attribute, manner: Manner) {
        let name = lower(&bytes[attribute.name.0..attribute.name.1], manner.encoding);
        if DULL.contains(&&*name) {
            return;
        }
        let most = if MAY_BE_LONG.contains(&&*name) { manner.most } else { manner.most.min(LONG) };
        let (from, to) = attribute.value;
        if to - from > most || self.values.len() >= MOST {
            self.cut += 1;
        } else if self.value(&name).is_none() {
            let text = manner.text(&bytes[from..to]);
            let text = if text.contains('&') { entity::decode(&text).into_owned().into() } else { text };
            self.values.push(Value { name, text, offset: manner.at + from as u64 });
        }
    }

    /// The first attribute of that name.
    pub(super) fn value(&self, name: &str) -> Option<&Value<'b>> {
        self.values.iter().find(|value| value.name == name)
    }

    /// The text of the first attribute of that name; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.value(name).map_or("", |value| &value.text)
    }

    /// Whether an attribute of words has this one.
    pub(super) fn has_word(&self, name: &str, word: &str) -> bool {
        self.text(name).split_ascii_whitespace().any(|given| given.eq_ignore_ascii_case(word))
    }
}

/// Reads the end tag that the bytes begin with: its name, and how long it is; none if it does not end in them.
pub(super) fn end_tag(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = name_end(bytes, 2)?;
    let mut at = end;
    loop {
        match next_attribute(bytes, at)? {
            Piece::End { length, .. } => return Some((&bytes[2..end], length)),
            Piece::Attribute(attribute) => at = attribute.end,
        }
    }
}

/// What stands in a tag.
enum Piece {
    Attribute(Attribute),
    End { length: usize, closed: bool },
}

/// From where to where name and value stand, and where to read on. What has no value has one of no length, where its
/// name stands.
struct Attribute {
    name: (usize, usize),
    value: (usize, usize),
    end: usize,
}

fn next_attribute(bytes: &[u8], from: usize) -> Option<Piece> {
    let start = from + bytes[from..].iter().position(|byte| !is_space(*byte) && *byte != b'/')?;
    if bytes[start] == b'>' {
        return Some(Piece::End { length: start + 1, closed: bytes[start - 1] == b'/' });
    }
    // An equals sign in front is part of the name.
    let ends = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>' | b'=');
    let name_end = start + 1 + bytes[start + 1..].iter().position(ends)?;
    let name = (start, name_end);
    let sign = name_end + bytes[name_end..].iter().position(|byte| !is_space(*byte))?;
    if bytes[sign] != b'=' {
        return Some(Piece::Attribute(Attribute { name, value: (start, start), end: sign }));
    }
    let first = sign + 1 + bytes[sign + 1..].iter().position(|byte| !is_space(*byte))?;
    let (value, end) = match bytes[first] {
        quote @ (b'"' | b'\'') => {
            let length = memchr::memchr(quote, &bytes[first + 1..])?;
            ((first + 1, first + 1 + length), first + length + 2)
        }
        b'>' => ((first, first), first),
        _ => {
            let length = bytes[first..].iter().position(|byte| is_space(*byte) || *byte == b'>')?;
            ((first, first + length), first + length)
        }
    };
    Some(Piece::Attribute(Attribute { name, value, end }))
}

fn name_end(bytes: &[u8], from: usize) -> Option<usize> {
    let ends = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>');
    bytes.get(from..)?.iter().position(ends).map(|length| from + length)
}

/// Whether a byte is white space to HTML.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn lower<'b>(name: &'b [u8], encoding: &'static Encoding) -> Cow<'b, str> {
    match decode(name, encoding) {
        Cow::Borrowed(name) if !name.bytes().any(|byte| byte.is_ascii_uppercase()) => Cow::Borrowed(name),
        name => Cow::Owned(name.to_ascii_lowercase()),
    }
}

/// The text of bytes, with replacement characters for what is broken.
pub(super) fn decode<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Cow<'b, str> {
    if encoding == UTF_8 {
        String::from_utf8_lossy(bytes)
    } else {
        encoding.decode_without_bom_handling(bytes).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> Option<(String, Vec<String>, bool)> {
        let tag =
            Tag::read(html.as_bytes(), Manner { encoding: UTF_8, is_guess: false, most: 1 << 20, at: 0 })?;
        assert!(html[..tag.length].ends_with('>'));
        let values = tag.values.iter().map(|value| format!("{}={}", value.name, value.text));
        Some((tag.name.clone().into_owned(), values.collect(), tag.closed))
    }

    #[test]
    fn attributes_are_taken_apart_as_browsers_do() {
        for (html, values) in [
            ("<A HREF=x>", &["href=x"][..]),
            ("<a href = 'x>y' title=\"q\">", &["href=x>y", "title=q"]),
            ("<a/href=x/b/y>", &["href=x/b/y"]),
            ("<a b c=>", &["b=", "c="]),
            ("<a =b=c d='e'f=g>", &["=b=c", "d=e", "f=g"]),
            ("<a href=1 HREF=2 class=x>", &["href=1"]),
            ("<a href='&amp;&#x41;'>", &["href=&A"]),
            ("<a\nhref\n=\n\"\"\n>", &["href="]),
        ] {
            assert_eq!(
                read(html).map(|(_, found, _)| found),
                Some(values.iter().map(|text| (*text).to_owned()).collect()),
                "{html}"
            );
        }
        assert!(read("<br/>").is_some_and(|(name, _, closed)| name == "br" && closed));
        assert!(read("<a b=c/>").is_some_and(|(_, _, closed)| closed), "the slash stands before the bracket");
        for html in ["<a", "<a href", "<a href=", "<a href='x>", "<a href=x "] {
            assert!(read(html).is_none(), "{html}");
        }
    }

    #[test]
    fn what_is_no_utf_8_and_has_no_encoding_is_read_as_browsers_do() {
        let html = b"<a href=/fu\xdf title=caf\xc3\xa9>";
        for (is_guess, href) in [(true, "/fu\u{df}"), (false, "/fu\u{fffd}")] {
            let manner = Manner { encoding: UTF_8, is_guess, most: 99, at: 0 };
            let tag = Tag::read(html, manner).unwrap();
            assert_eq!((tag.text("href"), tag.text("title")), (href, "caf\u{e9}"));
        }
    }

    #[test]
    fn end_tags_end_where_their_attributes_do() {
        assert_eq!(end_tag(b"</a b='>'>x"), Some((&b"a"[..], 10)));
        assert_eq!(end_tag(b"</a b='>"), None);
    }
}
