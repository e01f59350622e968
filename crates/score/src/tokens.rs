//! The tags of an HTML body with their places, in one pass.
//!
//! Owns the tokenising that evidence needs: start tags with attributes, end tags, and where each stands, to the
//! byte. Comments, text and the inside of scripts and other raw text are passed over as browsers with scripting do.
//! Builds no tree: a tree costs time that grows with the square of hostile nesting, and forgets where things stood.
//! Every byte sequence is accepted, time is linear in its length, and nothing is copied.

use memchr::memmem;
use std::ops::Range;

/// More attributes of one tag than these are not looked at.
const MOST_ATTRIBUTES: usize = 256;

/// Elements whose inside is text until their end tag.
const RAW_TEXT: [&[u8]; 9] =
    [b"iframe", b"noembed", b"noframes", b"noscript", b"script", b"style", b"textarea", b"title", b"xmp"];

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    /// The name as written.
    pub(crate) name: &'a [u8],
    /// Whether it is an end tag.
    pub(crate) is_end: bool,
    /// Name and raw value of each attribute, as written.
    pub(crate) attributes: Vec<(&'a [u8], &'a [u8])>,
    /// Where the tag stands.
    pub(crate) bytes: Range<usize>,
    /// The text inside, where the inside is text; empty elsewhere.
    pub(crate) inside: Range<usize>,
    /// Whether it is in SVG or MathML.
    pub(crate) is_foreign: bool,
    /// Whether it ends in `/>`.
    is_self_closing: bool,
}

impl Tag<'_> {
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

/// Walks over the tags of a body.
#[derive(Debug)]
pub(crate) struct Tags<'a> {
    body: &'a [u8],
    at: usize,
    /// How deep in SVG or MathML, where there is no raw text.
    foreign: usize,
}

impl<'a> Tags<'a> {
    /// The tags of the body.
    pub(crate) const fn new(body: &'a [u8]) -> Self {
        Self { body, at: 0, foreign: 0 }
    }

    /// The byte at a place, if the body reaches that far.
    fn byte(&self, at: usize) -> Option<u8> {
        self.body.get(at).copied()
    }

    /// What is left from a place on.
    fn rest(&self, at: usize) -> &'a [u8] {
        self.body.get(at..).unwrap_or_default()
    }

    /// Goes behind the next occurrence of a mark, or to the end.
    fn skip_behind(&mut self, from: usize, mark: &[u8]) {
        self.at =
            memmem::find(self.rest(from), mark).map_or(self.body.len(), |found| from + found + mark.len());
    }

    /// Goes over a comment that opens at `at`. `<!-->` and `<!--->` are whole comments.
    fn skip_comment(&mut self) {
        let inside = self.at + 4;
        if self.rest(inside).starts_with(b">") || self.rest(inside).starts_with(b"->") {
            self.skip_behind(inside, b">");
        } else {
            self.skip_behind(inside, b"-->");
        }
    }

    /// Goes over the text of a raw text element, to its end tag or to the end of the body.
    fn skip_raw_text(&mut self, name: &[u8]) {
        let mut from = self.at;
        while let Some(found) = memmem::find(self.rest(from), b"</") {
            let behind = from + found + 2 + name.len();
            let candidate = self.body.get(from + found + 2..behind).unwrap_or_default();
            let ends = self.byte(behind).is_none_or(|byte| is_space(byte) || matches!(byte, b'/' | b'>'));
            if ends && candidate.eq_ignore_ascii_case(name) {
                self.at = from + found;
                return;
            }
            from += found + 2;
        }
        self.at = self.body.len();
    }

    /// Reads the tag that opens at `at`; none if the body ends inside it, as browsers drop it.
    fn read_tag(&mut self) -> Option<Tag<'a>> {
        let start = self.at;
        let is_end = self.byte(start + 1) == Some(b'/');
        let from = start + 1 + usize::from(is_end);
        let length = name_length(self.body, from);
        let name = self.body.get(from..from + length)?;
        let mut reader = Attributes { body: self.body, at: from + length, is_self_closing: false };
        let attributes = reader.read();
        self.at = reader.at.min(self.body.len());
        let attributes = attributes?;
        Some(Tag {
            name,
            is_end,
            attributes,
            bytes: start..self.at,
            inside: self.at..self.at,
            is_foreign: self.foreign > 0,
            is_self_closing: reader.is_self_closing,
        })
    }

    /// Takes note of what the tag opens or closes: foreign content, raw text.
    fn follow(&mut self, tag: &Tag<'a>) {
        let is_foreign = tag.is("svg") || tag.is("math");
        match (is_foreign, tag.is_end) {
            (true, true) => self.foreign = self.foreign.saturating_sub(1),
            (true, false) if !tag.is_self_closing => self.foreign += 1,
            (false, false) if self.foreign == 0 => {
                if tag.is("plaintext") {
                    self.at = self.body.len();
                } else if RAW_TEXT.iter().any(|name| tag.name.eq_ignore_ascii_case(name)) {
                    self.skip_raw_text(tag.name);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            self.at += memchr::memchr(b'<', self.rest(self.at))?;
            match (self.byte(self.at + 1)?, self.byte(self.at + 2)) {
                (b'!', Some(b'-')) if self.byte(self.at + 3) == Some(b'-') => self.skip_comment(),
                (b'!' | b'?', _) => self.skip_behind(self.at, b">"),
                (b'/', Some(b'a'..=b'z' | b'A'..=b'Z')) | (b'a'..=b'z' | b'A'..=b'Z', _) => {
                    let mut tag = self.read_tag()?;
                    self.follow(&tag);
                    tag.inside.end = self.at;
                    return Some(tag);
                }
                (b'/', _) => self.skip_behind(self.at, b">"),
                _ => self.at += 1,
            }
        }
    }
}

/// Reads attributes up to the end of the tag.
struct Attributes<'a> {
    body: &'a [u8],
    at: usize,
    is_self_closing: bool,
}

impl<'a> Attributes<'a> {
    /// All attributes, going behind the `>`; none if the body ends first.
    fn read(&mut self) -> Option<Vec<(&'a [u8], &'a [u8])>> {
        let mut found = Vec::new();
        loop {
            self.skip(is_space);
            match *self.body.get(self.at)? {
                b'>' => {
                    self.at += 1;
                    return Some(found);
                }
                b'/' => {
                    self.at += 1;
                    self.is_self_closing = self.body.get(self.at) == Some(&b'>');
                }
                _ => {
                    let attribute = self.read_one()?;
                    if found.len() < MOST_ATTRIBUTES {
                        found.push(attribute);
                    }
                }
            }
        }
    }

    /// One attribute, with or without a value.
    fn read_one(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let start = self.at;
        // An `=` where a name should begin is part of the name.
        self.at += 1;
        self.skip(|byte| !ends_name(byte) && byte != b'=');
        let name = self.body.get(start..self.at)?;
        self.skip(is_space);
        if self.body.get(self.at) != Some(&b'=') {
            return Some((name, b""));
        }
        self.at += 1;
        self.skip(is_space);
        Some((name, self.read_value()?))
    }

    /// A value: quoted, or up to white space.
    fn read_value(&mut self) -> Option<&'a [u8]> {
        let quote = *self.body.get(self.at)?;
        if !matches!(quote, b'"' | b'\'') {
            let start = self.at;
            self.skip(|byte| !is_space(byte) && byte != b'>');
            return self.body.get(start..self.at);
        }
        let start = self.at + 1;
        let Some(length) = memchr::memchr(quote, self.body.get(start..)?) else {
            self.at = self.body.len();
            return None;
        };
        self.at = start + length + 1;
        self.body.get(start..start + length)
    }

    /// Goes on while the bytes are such.
    fn skip(&mut self, such: impl Fn(u8) -> bool) {
        while self.body.get(self.at).is_some_and(|&byte| such(byte)) {
            self.at += 1;
        }
    }
}

/// How long the name is that begins here.
pub(crate) fn name_length(body: &[u8], from: usize) -> usize {
    let rest = body.get(from..).unwrap_or_default();
    rest.iter().position(|&byte| ends_name(byte)).unwrap_or(rest.len())
}

/// A name, or its beginning if it is longer than any that means something.
pub(crate) fn beginning(name: &[u8]) -> &[u8] {
    &name[..name.len().min(64)]
}

/// White space as HTML has it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Whether a byte ends a name.
const fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(body: &str) -> Vec<String> {
        let text = |tag: Tag<'_>| {
            format!("{}{}", if tag.is_end { "/" } else { "" }, String::from_utf8_lossy(tag.name))
        };
        Tags::new(body.as_bytes()).map(text).collect()
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
        let tag = Tags::new(body).next().unwrap();
        let said = |name: &str| tag.attribute(name);
        assert_eq!(said("b").as_deref(), Some("2 >"));
        assert_eq!(said("c").as_deref(), Some("&"));
        assert_eq!((said("d").as_deref(), said("e").as_deref()), (Some(""), Some("f/")));
        assert!(tag.has("=g") && tag.has("h") && !tag.has("i"));
        assert_eq!(tag.bytes, 2..body.len());
        assert!(tag.is_self_closing);
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
            for tag in Tags::new(&body) {
                prop_assert!(tag.bytes.start >= end && tag.bytes.end <= body.len());
                prop_assert_eq!(body[tag.bytes.start], b'<');
                end = tag.bytes.end;
            }
        }

        #[test]
        fn tags_of_markup_are_in_order(body in "(<|>|/|!|-|=|'|\"|script|svg|title|a| ){0,60}") {
            let mut end = 0;
            for tag in Tags::new(body.as_bytes()) {
                prop_assert!(tag.bytes.start >= end && tag.bytes.end <= body.len());
                end = tag.bytes.end;
            }
        }
    }
}
