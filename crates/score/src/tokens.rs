//! The tags of an HTML body with their byte ranges, as evidence needs them.
//!
//! An adapter of the [tokenizer](varve_page::tokenizer) for a whole body: start tags with
//! attributes and the text of text elements, and end tags. Comments and text are passed over. No
//! tree is built, because a tree costs time that grows with the square of hostile nesting and
//! forgets the offsets.

use std::ops::Range;
use varve_page::tokenizer::{HtmlToken, Namespace, StartTag, Tokenizer};

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScoredTag<'a> {
    /// The name as written.
    pub(crate) name: &'a [u8],
    /// Whether it is an end tag.
    pub(crate) is_end: bool,
    /// Name and raw value of each attribute, as written.
    pub(crate) attributes: Vec<(&'a [u8], &'a [u8])>,
    /// The byte range of the tag.
    pub(crate) bytes: Range<usize>,
    /// The byte range of the text of a text element; empty for other elements.
    pub(crate) inside: Range<usize>,
    /// Whether the element is one of SVG or MathML.
    pub(crate) is_foreign: bool,
}

impl ScoredTag<'_> {
    /// Whether the tag has that name, given in lower case.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The value of the first attribute of that name, with character references resolved.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let found = self.attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| crate::text::decode(value))
    }

    /// Whether there is an attribute of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
    }
}

/// Iterates over the tags of a body.
#[derive(Debug, Default)]
pub(crate) struct ScoredTags<'a> {
    body: &'a [u8],
    at: usize,
    tokenizer: Tokenizer,
}

impl<'a> ScoredTags<'a> {
    /// The tags of the body.
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { body, ..Self::default() }
    }
}

impl<'a> Iterator for ScoredTags<'a> {
    type Item = ScoredTag<'a>;

    fn next(&mut self) -> Option<ScoredTag<'a>> {
        loop {
            let start = self.at;
            let (length, token) = self.tokenizer.next(&self.body[start..], true)?;
            self.at += length;
            let mut tag = match token {
                HtmlToken::Start(tag) => start_tag(&tag, start),
                HtmlToken::End(name) => end_tag(name, start..self.at),
                HtmlToken::Text(_)
                | HtmlToken::ElementText(_)
                | HtmlToken::Comment
                | HtmlToken::Declaration => continue,
            };
            self.at += self.tokenizer.read_element_text(&self.body[self.at..], true);
            tag.inside.end = self.at;
            return Some(tag);
        }
    }
}

fn start_tag<'a>(tag: &StartTag<'_, 'a>, start: usize) -> ScoredTag<'a> {
    let attribute = |span: &varve_page::tokenizer::AttributeSpan| {
        (&tag.source[span.name.clone()], &tag.source[span.value.clone()])
    };
    let end = start + tag.source.len();
    ScoredTag {
        name: tag.name,
        is_end: false,
        attributes: tag.attributes.iter().map(attribute).collect(),
        bytes: start..end,
        inside: end..end,
        is_foreign: tag.namespace != Namespace::Html,
    }
}

fn end_tag(name: &[u8], bytes: Range<usize>) -> ScoredTag<'_> {
    let inside = bytes.end..bytes.end;
    ScoredTag { name, is_end: true, attributes: Vec::new(), bytes, inside, is_foreign: false }
}

/// The length of the tag name that begins here.
pub(crate) fn name_length(body: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'/' | b'>');
    let rest = body.get(from..).unwrap_or_default();
    rest.iter().position(ends).unwrap_or(rest.len())
}

/// A name, cut to the length of the longest name that has a meaning.
pub(crate) fn beginning(name: &[u8]) -> &[u8] {
    &name[..name.len().min(64)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(body: &str) -> Vec<String> {
        let text = |tag: ScoredTag<'_>| {
            format!("{}{}", if tag.is_end { "/" } else { "" }, String::from_utf8_lossy(tag.name))
        };
        ScoredTags::new(body.as_bytes()).map(text).collect()
    }

    #[test]
    fn comments_and_raw_text_hold_no_tags() {
        assert_eq!(names("<!-- <a> --><b><!--><i><!---><u></ x><p>"), ["b", "i", "u", "p"]);
        assert_eq!(names("<script>'</form><a></scriptx>'</script ><a>"), ["script", "/script", "a"]);
        assert_eq!(names("<title><a></TITLE><style><b>"), ["title", "/TITLE", "style"]);
        assert_eq!(names("<svg><title><a></title><script/><b></svg><title><i>").len(), 8);
        assert_eq!(names("<plaintext><a>"), ["plaintext"]);
    }

    #[test]
    fn attributes_are_read_in_every_quoting() {
        let body = b"x <input a=1 B='2 >' c=\"&amp;\"d e = f/ =g h/>";
        let tag = ScoredTags::new(body).next().unwrap();
        let said = |name: &str| tag.attribute(name);
        assert_eq!(said("b").as_deref(), Some("2 >"));
        assert_eq!(said("c").as_deref(), Some("&"));
        assert_eq!((said("d").as_deref(), said("e").as_deref()), (Some(""), Some("f/")));
        assert!(tag.has("=g") && tag.has("h") && !tag.has("i"));
        assert_eq!(tag.bytes, 2..body.len());
    }

    #[test]
    fn a_tag_that_is_cut_off_is_dropped() {
        assert_eq!(names("<a><b c='"), ["a"]);
        assert_eq!(names("<a><b"), ["a"]);
        assert_eq!(names("<"), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn tags_are_in_order_and_within_the_body(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut end = 0;
            for tag in ScoredTags::new(&body) {
                prop_assert!(tag.bytes.start >= end && tag.bytes.end <= body.len());
                prop_assert_eq!(body[tag.bytes.start], b'<');
                end = tag.bytes.end;
            }
        }

        #[test]
        fn tags_of_markup_are_in_order(body in "(<|>|/|!|-|=|'|\"|script|svg|title|a| ){0,60}") {
            let mut end = 0;
            for tag in ScoredTags::new(body.as_bytes()) {
                prop_assert!(tag.bytes.start >= end && tag.bytes.end <= body.len());
                end = tag.bytes.end;
            }
        }
    }
}
