//! The tags of a page, and where in its text they stand.
//!
//! A tree says what is in what, but not where it was written. Lines that are part of something are found with this instead: it reads
//! tags as the standard does, with quotes, comments and scripts. Where a page is so odd that only a parser knows what is meant, it
//! ends, and nothing further is known. Reads forward only, so that a page takes time by its length.

use memchr::{memchr, memmem};
use std::ops::Range;

/// Elements whose content has no tags.
const RAW: [&str; 9] =
    ["iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp"];

/// Elements that have no end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// How deep elements may be in one that is read whole.
const DEEPEST: usize = 200;

/// Where tags end that cannot be followed any further.
const LOST: usize = usize::MAX;

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    pub(super) range: Range<usize>,
    /// Its name, as it is written.
    name: &'t str,
    pub(super) is_end: bool,
    /// Whether it ends with `/>`.
    closes_itself: bool,
}

/// The tags of a text from a place on.
#[derive(Debug)]
pub(super) struct Tags<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tags<'t> {
    pub(super) const fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Whether the end was not that of the text: something was left open, or is in doubt.
    pub(super) const fn is_lost(&self) -> bool {
        self.at == LOST
    }

    /// Goes on at a place at which no tag and no raw text is open.
    pub(super) const fn skip_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Reads what stands at a `<`. None if it is no tag; then it is known where it ends, or all ends here.
    fn read(&mut self, start: usize) -> Option<Tag<'t>> {
        let bytes = self.text.as_bytes();
        let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        let is_end = bytes.get(start + 1) == Some(&b'/');
        let name = start + 1 + usize::from(is_end);
        if !is_letter(name) {
            self.at = self.behind_no_tag(start);
            return None;
        }
        let Some((end, closes_itself)) = tag_end(bytes, name, usize::MAX) else {
            self.at = LOST;
            return None;
        };
        let length = bytes[name..end].iter().take_while(|byte| !is_space(**byte) && !b"/>".contains(byte));
        let name = &self.text[name..name + length.count()];
        self.at = if is_end { end } else { behind_raw(bytes, name, end) };
        Some(Tag { range: start..end, name, is_end, closes_itself })
    }

    /// Where a comment or the like ends that begins here, or what is only a `<`. The end of all if that is in doubt.
    fn behind_no_tag(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let rest = &bytes[start..];
        if rest.starts_with(b"<!--") {
            let comment = memmem::find(&rest[2..], b"-->").map(|end| &rest[..end + 5]);
            // There is another end that comments may have. Who uses it is not followed.
            let plain = comment.filter(|comment| memmem::find(comment, b"--!>").is_none());
            plain.map_or(LOST, |comment| start + comment.len())
        } else if rest.starts_with(b"<![") {
            LOST
        } else if matches!(rest.get(1), Some(b'!' | b'?' | b'/')) {
            memchr(b'>', rest).map_or(LOST, |end| start + end + 1)
        } else {
            start + 1
        }
    }
}

impl<'t> Iterator for Tags<'t> {
    type Item = Tag<'t>;

    fn next(&mut self) -> Option<Tag<'t>> {
        loop {
            let start = self.at + memchr(b'<', self.text.as_bytes().get(self.at..)?)?;
            if let Some(tag) = self.read(start) {
                return Some(tag);
            }
        }
    }
}

/// Where raw text ends that stands behind the start tag of this name; right there, if it has none. The end of all if that is in doubt.
fn behind_raw(text: &[u8], name: &str, from: usize) -> usize {
    if name.eq_ignore_ascii_case("plaintext") {
        return LOST;
    }
    if !RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name)) {
        return from;
    }
    let mut at = from;
    let end = loop {
        let Some(found) = memchr(b'<', &text[at..]) else { return LOST };
        at += found + 1;
        let after = text[at..].strip_prefix(b"/").and_then(|end| end.split_at_checked(name.len()));
        let ends = after.is_some_and(|(end, rest)| {
            let is_whole = rest.first().is_some_and(|byte| is_space(*byte) || b"/>".contains(byte));
            end.eq_ignore_ascii_case(name.as_bytes()) && is_whole
        });
        if ends {
            break at - 1;
        }
    };
    // A script may hide its own end in a comment. Who does so is not followed.
    let hidden = memmem::rfind(&text[from..end], b"<!--")
        .is_some_and(|open| memmem::find(&text[from + open..end], b"-->").is_none());
    if hidden { LOST } else { end }
}

/// The place behind a tag, and whether the tag ends with `/>`, if that is found before `most`. A `>` within quotes is no end, and quotes
/// are some only where a value begins.
pub(super) fn tag_end(text: &[u8], name: usize, most: usize) -> Option<(usize, bool)> {
    enum At {
        Element,
        Between,
        Name,
        AfterName,
        BeforeValue,
        Quoted(u8),
        Bare,
    }
    let mut state = At::Element;
    let mut slash = false;
    for (place, byte) in text.iter().copied().enumerate().take(most).skip(name) {
        if byte == b'>' && !matches!(state, At::Quoted(_)) {
            return Some((place + 1, slash));
        }
        let is_slash = byte == b'/' && !matches!(state, At::BeforeValue | At::Quoted(_) | At::Bare);
        state = match (state, byte) {
            (At::Quoted(quote), _) if byte != quote => At::Quoted(quote),
            (At::Quoted(_), _) => At::Between,
            (At::BeforeValue, b'"' | b'\'') => At::Quoted(byte),
            (At::Name | At::AfterName, b'=') => At::BeforeValue,
            (_, _) if is_slash => At::Between,
            (At::BeforeValue, _) if is_space(byte) => At::BeforeValue,
            (At::Name | At::AfterName, _) if is_space(byte) => At::AfterName,
            (_, _) if is_space(byte) => At::Between,
            (At::BeforeValue | At::Bare, _) => At::Bare,
            (At::Element, _) => At::Element,
            (At::Between | At::Name | At::AfterName, _) => At::Name,
        };
        slash = is_slash;
    }
    None
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Where the element ends that begins with the tag at `start`, and how many start tags it has with its own. None if any tag in it is
/// not closed by its own end, in order: then only a parser knows what is in it.
pub(super) fn whole_element(text: &str, start: usize) -> Option<(usize, usize)> {
    let mut open: Vec<&str> = Vec::new();
    let mut count = 0;
    let mut tags = Tags { text, at: start };
    loop {
        let tag = tags.next()?;
        if tag.is_end {
            open.pop().filter(|name| name.eq_ignore_ascii_case(tag.name))?;
        } else {
            count += 1;
            let is_drawing = || {
                let drawings = ["svg", "math"];
                let mut names = open.iter().copied().chain([tag.name]);
                names.any(|name| drawings.iter().any(|drawing| drawing.eq_ignore_ascii_case(name)))
            };
            let is_void = VOID.iter().any(|void| void.eq_ignore_ascii_case(tag.name));
            let is_closed = is_void || (tag.closes_itself && is_drawing());
            if !is_closed {
                open.push(tag.name);
            }
        }
        if open.is_empty() {
            return Some((tag.range.end, count));
        }
        (open.len() <= DEEPEST).then_some(())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varve_page::dom::{Data, Tree};

    fn read(text: &str) -> Vec<&str> {
        Tags::of(text).map(|tag| &text[tag.range]).collect()
    }

    #[test]
    fn tags_are_read_as_parsers_do() {
        for (text, tags) in [
            ("a<b>c</b>", vec!["<b>", "</b>"]),
            ("<p title='>'>x", vec!["<p title='>'>"]),
            ("<p title=a'>'>x", vec!["<p title=a'>"]),
            ("<p a=\"b\"=\">\">x", vec!["<p a=\"b\"=\">"]),
            ("<p a = '>' b>x", vec!["<p a = '>' b>"]),
            ("<p \"a>x", vec!["<p \"a>"]),
            ("<!-- <i> --><b>", vec!["<b>"]),
            ("<!--><b>", vec!["<b>"]),
            ("<!-- --!><b>", vec![]),
            ("<!doctype html><b>", vec!["<b>"]),
            ("</ <i>><b>", vec!["<b>"]),
            ("1 < 2 <b>", vec!["<b>"]),
            ("<script>'<i>'</scripts></SCRIPT ><b>", vec!["<script>", "</SCRIPT >", "<b>"]),
            ("<script><!-- <script></script><b>", vec!["<script>"]),
            ("<svg><![CDATA[<i>]]><b>", vec!["<svg>"]),
            ("<plaintext><b>", vec!["<plaintext>"]),
            ("<b", vec![]),
        ] {
            assert_eq!(read(text), tags, "{text}");
        }
    }

    #[test]
    fn an_element_is_whole_if_all_in_it_is_closed() {
        for (text, end) in [
            ("<div><b>x</b><img src=a><br/></div>y", Some(39 - 4)),
            ("<div><svg><path d='x'/></svg></div>y", Some(35)),
            ("<div><path/></div>", None),
            ("<div><p>x</div>", None),
            ("<div></main></div>", None),
            ("<div><div></div>", None),
            ("<iframe><div></iframe>", Some(22)),
        ] {
            assert_eq!(whole_element(text, 0).map(|(end, _)| end), end, "{text}");
        }
    }

    #[test]
    fn a_page_takes_time_by_its_length() {
        let pieces = ["<", "<p ", "<p a=\"", "</p", "<!--", "<script>", "<a><!-- -->", "<p>", "</"];
        for piece in pieces {
            let page = piece.repeat((8 << 20) / piece.len());
            assert!(Tags::of(&page).count() <= page.len());
        }
    }

    proptest! {
        #[test]
        fn start_tags_are_those_of_the_parser(
            text in "(<(b|i|u)|<|>|/|=|'|\"| |x|</b|<!--|-->){0,20}",
        ) {
            // Formatting is repeated by the parser where it is not closed, so only names and attributes of the first are compared.
            let first = Tags::of(&text).find(|tag| !tag.is_end);
            let tree = Tree::parse(&text);
            let mut elements = tree.nodes().iter().filter(|node| matches!(node.data, Data::Element(..))).skip(3);
            if let Some(tag) = first {
                let alone = Tree::parse(&text[tag.range]);
                let own = alone.nodes().iter().filter(|node| matches!(node.data, Data::Element(..))).nth(3);
                prop_assert_eq!(own.map(|node| &node.data), elements.next().map(|node| &node.data));
            }
        }
    }
}
