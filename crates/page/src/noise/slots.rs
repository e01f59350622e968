//! Lines that differ only in what an advertisement in them shows.
//!
//! Such a line is read as a page of its own, so that nodes decide, as they do elsewhere. That holds only if the parser
//! keeps every tag of it, and if the line is markup in its own page: within a script or a comment the same letters are
//! something else.

use super::nodes::only_advertisements;
use crate::dom::{Data, Tree};
use crate::dom_diff::DomDiff;
use std::ops::Range;

/// Longer lines are whole pages. Nodes should be compared instead.
const LONGEST_LINE: usize = 16 << 10;

/// Elements whose content is not markup.
const RAW: [&str; 8] = ["script", "style", "textarea", "title", "template", "noscript", "xmp", "iframe"];

/// Which parts of a text are not markup.
#[derive(Debug, Default)]
pub(super) struct RawParts(Vec<Range<usize>>);

impl RawParts {
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
            let start = at + found;
            at = raw_end(bytes, start).unwrap_or(start);
            if at > start {
                parts.push(start..at);
            }
            at += 1;
            if at >= bytes.len() {
                break;
            }
        }
        Self(parts)
    }

    /// Where the part begins that a place is within.
    pub(super) fn around(&self, at: usize) -> Option<usize> {
        let after = self.0.partition_point(|part| part.end < at);
        self.0.get(after).filter(|part| part.start < at).map(|part| part.start)
    }

    /// Whether a part goes on before or behind this. Parts that are wholly in it are read with it.
    pub(super) fn cut(&self, range: &Range<usize>) -> bool {
        self.around(range.start).is_some() || self.around(range.end).is_some()
    }

    /// Whether any of this is not markup.
    pub(super) fn touch(&self, range: &Range<usize>) -> bool {
        let after = self.0.partition_point(|part| part.end <= range.start);
        self.0.get(after).is_some_and(|part| part.start < range.end)
    }
}

/// Where what starts here and is not markup ends. None if it is markup.
fn raw_end(text: &[u8], start: usize) -> Option<usize> {
    let rest = &text[start + 1..];
    if rest.starts_with(b"!--") {
        return Some(memchr::memmem::find(rest, b"-->").map_or(text.len(), |end| start + 1 + end));
    }
    let name = RAW.iter().find(|name| starts_with(rest, name))?;
    let mut at = start + 1;
    let end = loop {
        let Some(found) = memchr::memchr(b'<', &text[at..]) else { return Some(text.len()) };
        at += found + 1;
        if text.get(at) == Some(&b'/') && starts_with(&text[at + 1..], name) {
            break at;
        }
    };
    // A script may hide its own end in a comment. Who does so is not followed.
    let hidden = memchr::memmem::rfind(&text[start..end], b"<!--")
        .is_some_and(|open| memchr::memmem::find(&text[start + open..end], b"-->").is_none());
    Some(if hidden { text.len() } else { end })
}

fn starts_with(text: &[u8], name: &str) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
}

/// Whether two lines are the same but for what an advertisement shows.
pub(super) fn differ_by_advertisement(base: &str, head: &str) -> bool {
    let (base, head) = (base.trim(), head.trim());
    let is_markup = |line: &str| {
        line.len() <= LONGEST_LINE
            && line.ends_with('>')
            && line.strip_prefix('<').is_some_and(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    let ends = |line: &str| line.matches("</").count();
    if base == head || !is_markup(base) || !is_markup(head) || ends(base) != ends(head) {
        return false;
    }
    let (from, to) = (Tree::parse(base), Tree::parse(head));
    if !keeps_all(&from, base) || !keeps_all(&to, head) {
        return false;
    }
    let diff = DomDiff::between(&from, &to);
    !diff.truncated && only_advertisements(&from, &to, &diff.changes)
}

/// Whether a tree has every tag of its text. It has three that are implied.
fn keeps_all(tree: &Tree, text: &str) -> bool {
    let elements = tree.nodes().iter().filter(|node| matches!(node.data, Data::Element(..))).count();
    let tags = text.match_indices('<').filter(|(at, _)| {
        text.as_bytes().get(at + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'!')
    });
    tree.cut().is_none() && elements == tags.count() + 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn advertisements_in_lines_may_change_but_not_act() {
        let line = |ad: &str| format!("  <ins class=\"adsbygoogle\">{ad}</ins>\n");
        let told = |base: &str, head: &str| differ_by_advertisement(&line(base), &line(head));
        assert!(told("Buy <b>this</b>", "Buy <b>that</b>"));
        assert!(!told("Buy this", "<script>evil()</script>"));
        assert!(!told("<b>x</b>", "<b onclick=evil()>x</b>"));
        assert!(!told("<tr><b>x</b>", "<tr onclick=evil()><b>x</b>"));
        assert!(!told("x", "x</ins><p>new"));
        assert!(!differ_by_advertisement("<p>one</p>", "<p>two</p>"));
        assert!(!differ_by_advertisement(
            "x='<ins class=adsbygoogle>a</ins>'",
            "x='<ins class=adsbygoogle>b</ins>'"
        ));
        assert!(!differ_by_advertisement(
            "<ins class=adsbygoogle>a</ins><p>one</p>",
            "<ins class=adsbygoogle>b</ins><p>two</p>"
        ));
    }

    #[test]
    fn scripts_and_comments_are_not_markup() {
        let text = "<p>a</p><SCRIPT>b</Script><i>c</i><!-- <script>d --><u>e</u><style>f";
        let raw = RawParts::of(text);
        let touched: String = ["a", "b<", "c", "d", "e", "f"]
            .into_iter()
            .filter(|part| {
                let at = text.rfind(&format!(">{part}")).unwrap() + 1;
                raw.touch(&(at..at + 1))
            })
            .collect();
        assert_eq!(touched, "b<df");
        let hiding = "<script><!-- <script></script>g";
        assert!(RawParts::of(hiding).touch(&(hiding.len() - 1..hiding.len())));
    }

    proptest! {
        #[test]
        fn any_text_has_raw_parts_in_order(text in "(<|</|script|style|<!--|-->|>|x|é){0,20}") {
            let parts = RawParts::of(&text).0;
            prop_assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(parts.iter().all(|part| part.start < part.end && part.end <= text.len()));
        }
    }
}
