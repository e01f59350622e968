//! Tags: where their names, attributes and values are.
//!
//! A tag is split by the rules of browsers, to which no tag is malformed: an `=` in front of a name
//! is part of it, and a value without quotes ends at white space or `>`.

use super::character_reference::decode_references;
use super::foreign::Namespace;
use super::text_element::TextElement;
use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of attributes that are reported for one tag. A tag with more is read to its end.
pub const MAX_TAG_ATTRIBUTES: usize = 512;

/// Where an attribute is, in bytes from the `<` of its tag. An attribute without a value has an
/// empty range at its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeSpan {
    /// The name, as written.
    pub name: Range<usize>,
    /// The value, as written, without quotes.
    pub value: Range<usize>,
}

/// A start tag.
#[derive(Debug)]
pub struct StartTag<'t, 'b> {
    /// The whole tag, from `<` to `>`.
    pub source: &'b [u8],
    /// The name, as written.
    pub name: &'b [u8],
    /// The attributes in order, the first [`MAX_TAG_ATTRIBUTES`] of them.
    pub attributes: &'t [AttributeSpan],
    /// Number of attributes beyond the maximum.
    pub dropped_attributes: usize,
    /// Whether the tag ends with `/>`.
    pub is_self_closing: bool,
    /// The namespace of the element.
    pub namespace: Namespace,
    /// The model of the text that follows, if the element is a text element.
    pub text_element: Option<&'static TextElement>,
}

impl<'t, 'b> StartTag<'t, 'b> {
    /// Reads the start tag at the beginning of the bytes. `None` if it does not end in them.
    pub(super) fn read(bytes: &'b [u8], attributes: &'t mut Vec<AttributeSpan>) -> Option<Self> {
        let name_end = name_end(bytes, 1)?;
        let mut dropped_attributes = 0;
        attributes.clear();
        let mut at = name_end;
        loop {
            match next_attribute(bytes, at)? {
                TagItem::Attribute(attribute, end) => {
                    at = end;
                    if attributes.len() < MAX_TAG_ATTRIBUTES {
                        attributes.push(attribute);
                    } else {
                        dropped_attributes += 1;
                    }
                }
                TagItem::End { length, is_self_closing } => {
                    return Some(Self {
                        source: &bytes[..length],
                        name: &bytes[1..name_end],
                        attributes,
                        dropped_attributes,
                        is_self_closing,
                        namespace: Namespace::Html,
                        text_element: None,
                    });
                }
            }
        }
    }

    /// Whether the element has this name, given in lower case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The first attribute of this name, given in lower case.
    pub fn attribute(&self, name: &str) -> Option<&'t AttributeSpan> {
        let is_named =
            |span: &&AttributeSpan| self.source[span.name.clone()].eq_ignore_ascii_case(name.as_bytes());
        self.attributes.iter().find(is_named)
    }

    /// The value of the first attribute of this name, as written.
    pub fn raw_value(&self, name: &str) -> Option<&'b [u8]> {
        Some(&self.source[self.attribute(name)?.value.clone()])
    }

    /// The value of the first attribute of this name as text, with character references resolved.
    pub fn value(&self, name: &str) -> Option<Cow<'b, str>> {
        let text = String::from_utf8_lossy(self.raw_value(name)?);
        Some(if text.contains('&') { decode_references(&text).into_owned().into() } else { text })
    }
}

/// An end tag.
pub(super) struct EndTag<'b> {
    pub(super) name: &'b [u8],
    pub(super) length: usize,
}

/// Reads the end tag at the beginning of the bytes. `None` if it does not end in them.
pub(super) fn read_end_tag(bytes: &[u8]) -> Option<EndTag<'_>> {
    let name_end = name_end(bytes, 2)?;
    let mut at = name_end;
    loop {
        match next_attribute(bytes, at)? {
            TagItem::End { length, .. } => return Some(EndTag { name: &bytes[2..name_end], length }),
            TagItem::Attribute(_, end) => at = end,
        }
    }
}

/// What comes next in a tag.
enum TagItem {
    /// An attribute, and where to read on.
    Attribute(AttributeSpan, usize),
    End {
        length: usize,
        is_self_closing: bool,
    },
}

fn next_attribute(bytes: &[u8], from: usize) -> Option<TagItem> {
    let start = from + bytes[from..].iter().position(|byte| !is_space(*byte) && *byte != b'/')?;
    if bytes[start] == b'>' {
        return Some(TagItem::End { length: start + 1, is_self_closing: bytes[start - 1] == b'/' });
    }
    let ends_name = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>' | b'=');
    let name_end = start + 1 + bytes[start + 1..].iter().position(ends_name)?;
    let name = start..name_end;
    let sign = name_end + bytes[name_end..].iter().position(|byte| !is_space(*byte))?;
    if bytes[sign] != b'=' {
        return Some(TagItem::Attribute(AttributeSpan { name, value: start..start }, sign));
    }
    let first = sign + 1 + bytes[sign + 1..].iter().position(|byte| !is_space(*byte))?;
    let (value, end) = match bytes[first] {
        quote @ (b'"' | b'\'') => {
            let length = memchr::memchr(quote, &bytes[first + 1..])?;
            (first + 1..first + 1 + length, first + length + 2)
        }
        b'>' => (first..first, first),
        _ => {
            let length = bytes[first..].iter().position(|byte| is_space(*byte) || *byte == b'>')?;
            (first..first + length, first + length)
        }
    };
    Some(TagItem::Attribute(AttributeSpan { name, value }, end))
}

fn name_end(bytes: &[u8], from: usize) -> Option<usize> {
    let ends = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>');
    bytes.get(from..)?.iter().position(ends).map(|length| from + length)
}

/// White space by the HTML standard.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_split_as_browsers_split_them() {
        for (html, values) in [
            ("<A HREF=x>", &["HREF=x"][..]),
            ("<a href = 'x>y' title=\"q\">", &["href=x>y", "title=q"]),
            ("<a/href=x/b/y>", &["href=x/b/y"]),
            ("<a b c=>", &["b=", "c="]),
            ("<a =b=c d='e'f=g>", &["=b=c", "d=e", "f=g"]),
            ("<a\nhref\n=\n\"\"\n>", &["href="]),
        ] {
            let mut spans = Vec::new();
            let tag = StartTag::read(html.as_bytes(), &mut spans).unwrap();
            assert_eq!(tag.source, html.as_bytes());
            let found: Vec<_> = tag
                .attributes
                .iter()
                .map(|span| format!("{}={}", &html[span.name.clone()], &html[span.value.clone()]))
                .collect();
            assert_eq!(found, values, "{html}");
        }
        for html in ["<a", "<a href", "<a href=", "<a href='x>", "<a href=x "] {
            assert!(StartTag::read(html.as_bytes(), &mut Vec::new()).is_none(), "{html}");
        }
    }

    #[test]
    fn values_are_those_of_the_first_attribute_of_a_name() {
        let mut spans = Vec::new();
        let tag = StartTag::read(b"<BR a='&amp;&#x41;' A=2/>", &mut spans).unwrap();
        assert_eq!((tag.value("a").as_deref(), tag.value("b").as_deref()), (Some("&A"), None));
        assert!(tag.is("br") && tag.is_self_closing);
    }

    #[test]
    fn attributes_beyond_the_maximum_are_counted() {
        let html = format!("<a{}>", " b".repeat(MAX_TAG_ATTRIBUTES + 3));
        let mut spans = Vec::new();
        let tag = StartTag::read(html.as_bytes(), &mut spans).unwrap();
        assert_eq!((tag.attributes.len(), tag.dropped_attributes), (MAX_TAG_ATTRIBUTES, 3));
    }

    #[test]
    fn end_tags_end_where_their_attributes_do() {
        let tag = read_end_tag(b"</a b='>'>x").unwrap();
        assert_eq!((tag.name, tag.length), (&b"a"[..], 10));
        assert!(read_end_tag(b"</a b='>").is_none());
    }
}
