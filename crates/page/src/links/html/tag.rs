//! The attributes of a start tag that may hold links, as text.

use crate::tokenizer::{AttributeSpan, StartTag, decode_references};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use std::borrow::Cow;

/// Maximum length of a value, except of the attributes that are long in ordinary pages.
const MAX_VALUE_BYTES: usize = 64 << 10;
const LONG_ATTRIBUTES: [&str; 5] = ["style", "srcset", "data-srcset", "imagesrcset", "srcdoc"];

/// Frequent attributes that hold no link and describe none.
const LINKLESS_ATTRIBUTES: [&str; 8] =
    ["class", "id", "width", "height", "role", "tabindex", "colspan", "aria-hidden"];

/// Maximum number of attributes of one tag that are read.
const MAX_READ_ATTRIBUTES: usize = 256;

/// An attribute with its character references resolved.
#[derive(Debug)]
pub(super) struct LinkAttribute<'b> {
    pub(super) name: Cow<'b, str>,
    pub(super) text: Cow<'b, str>,
    /// The offset of the value.
    pub(super) offset: u64,
}

/// A start tag as text.
#[derive(Debug)]
pub(super) struct LinkTag<'b> {
    pub(super) name: Cow<'b, str>,
    pub(super) values: Vec<LinkAttribute<'b>>,
    /// Number of attributes that were not read because there were too many or they were too long.
    pub(super) skipped: u64,
}

/// How the text of a tag is decoded.
#[derive(Clone, Copy)]
pub(super) struct TagDecoding {
    pub(super) encoding: &'static Encoding,
    /// Whether neither the headers nor the page named the encoding.
    pub(super) is_guess: bool,
    /// Maximum length of a value of any attribute.
    pub(super) max_value_bytes: usize,
    /// The offset of the tag.
    pub(super) offset: u64,
}

impl TagDecoding {
    /// The text of a value. Where the encoding is a guess and the bytes are not UTF-8, browsers
    /// assume Windows-1252.
    fn text(self, bytes: &[u8]) -> Cow<'_, str> {
        if self.is_guess && self.encoding == UTF_8 && std::str::from_utf8(bytes).is_err() {
            return WINDOWS_1252.decode_without_bom_handling(bytes).0;
        }
        decode(bytes, self.encoding)
    }
}

impl<'b> LinkTag<'b> {
    /// Decodes a start tag.
    pub(super) fn of(tag: &StartTag<'_, 'b>, decoding: TagDecoding) -> Self {
        let name = lower(tag.name, decoding.encoding);
        let mut decoded = Self { name, values: Vec::new(), skipped: tag.dropped_attributes as u64 };
        for attribute in tag.attributes {
            decoded.push(tag.source, attribute, decoding);
        }
        decoded
    }

    fn push(&mut self, source: &'b [u8], attribute: &AttributeSpan, decoding: TagDecoding) {
        let name = lower(&source[attribute.name.clone()], decoding.encoding);
        if LINKLESS_ATTRIBUTES.contains(&&*name) {
            return;
        }
        let is_long = LONG_ATTRIBUTES.contains(&&*name);
        let most =
            if is_long { decoding.max_value_bytes } else { decoding.max_value_bytes.min(MAX_VALUE_BYTES) };
        let value = attribute.value.clone();
        if value.len() > most || self.values.len() >= MAX_READ_ATTRIBUTES {
            self.skipped += 1;
        } else if self.value(&name).is_none() {
            let offset = decoding.offset + value.start as u64;
            let text = decoding.text(&source[value]);
            let text = if text.contains('&') { decode_references(&text).into_owned().into() } else { text };
            self.values.push(LinkAttribute { name, text, offset });
        }
    }

    /// The first attribute of that name.
    pub(super) fn value(&self, name: &str) -> Option<&LinkAttribute<'b>> {
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
    use crate::tokenizer::{HtmlToken, Tokenizer};

    fn read(html: &[u8], is_guess: bool) -> LinkTag<'_> {
        let mut tokenizer = Tokenizer::default();
        let Some((_, HtmlToken::Start(tag))) = tokenizer.next(html, true) else { panic!("no tag") };
        LinkTag::of(&tag, TagDecoding { encoding: UTF_8, is_guess, max_value_bytes: 99, offset: 0 })
    }

    #[test]
    fn attributes_are_decoded_once_and_those_without_links_are_left_out() {
        let tag = read(b"<A href=1 HREF=2 class=x title='&amp;&#x41;'>", false);
        let values: Vec<_> =
            tag.values.iter().map(|value| format!("{}={}", value.name, value.text)).collect();
        assert_eq!((&*tag.name, values), ("a", vec!["href=1".to_owned(), "title=&A".to_owned()]));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_read_as_windows_1252_if_the_encoding_is_a_guess() {
        let html = b"<a href=/fu\xdf title=caf\xc3\xa9>";
        for (is_guess, href) in [(true, "/fu\u{df}"), (false, "/fu\u{fffd}")] {
            let tag = read(html, is_guess);
            assert_eq!((tag.text("href"), tag.text("title")), (href, "caf\u{e9}"));
        }
    }
}
