//! Where the slots of advertisements are in the source of a page.
//!
//! Only an element whose tags are all closed inside of it counts, so that the source of the slot
//! read alone is the same tree as in the page. What the slot shows is compared by
//! [`ad_content`](super::ad_content), as in the mode by nodes.

use super::ad_content::slot_marks;
use super::document::{SourceDocument, SourceKind};
use super::nodes::only_advertisements;
use crate::nodes::DomDiff;
use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;
use varve_page::dom::{HtmlTree, NodeData, VOID_ELEMENTS};

/// Maximum length of a slot.
const MAX_SLOT_BYTES: usize = 16 << 10;

/// Maximum depth of elements in a slot.
const MAX_SLOT_DEPTH: usize = 200;

/// Maximum number of tags of a page that are tried as slots.
const MAX_TRIED_TAGS: usize = 1000;

/// Number of elements that the parser adds to a fragment: `html`, `head` and `body`.
const IMPLIED_ELEMENTS: usize = 3;

static MARK_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let search = AhoCorasick::builder().ascii_case_insensitive(true).build(slot_marks());
    search.expect("the marks are few and short")
});

/// An element that may be the slot of an advertisement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdSlot {
    pub(super) range: Range<usize>,
    /// The number of start tags in it, its own included.
    start_tags: usize,
}

/// The elements of a page that may be slots. Slots inside of slots are part of the outer one.
pub(super) fn find_ad_slots(document: SourceDocument<'_>) -> Vec<AdSlot> {
    let mut slots = Vec::new();
    if !MARK_SEARCH.is_match(document.text) {
        return slots;
    }
    let (mut token, mut tried) = (0, 0);
    while token < document.token_count() && tried < MAX_TRIED_TAGS {
        let is_marked =
            document.kind(token) == SourceKind::StartTag && MARK_SEARCH.is_match(document.source(token));
        tried += usize::from(is_marked);
        match is_marked.then(|| whole_element(document, token)).flatten() {
            Some((end, start_tags)) => {
                let range = document.range(token).start..document.range(end).end;
                slots.push(AdSlot { range, start_tags });
                token = end + 1;
            }
            None => token += 1,
        }
    }
    slots
}

/// The token that ends the element which a token begins, and the number of start tags up to there.
/// `None` if a tag in it is not closed by its own end tag, in order: then only a parser knows what
/// is in it.
fn whole_element(document: SourceDocument<'_>, start: usize) -> Option<(usize, usize)> {
    let mut open: Vec<String> = Vec::new();
    let mut start_tags = 0;
    let limit = document.range(start).start + MAX_SLOT_BYTES;
    for token in start..document.token_count() {
        let source = document.source(token);
        match document.kind(token) {
            SourceKind::StartTag => {
                start_tags += 1;
                let (name, is_self_closing) = document.with_start_tag(token, |tag| {
                    (String::from_utf8_lossy(tag.name).to_ascii_lowercase(), tag.is_self_closing)
                })?;
                let is_void = VOID_ELEMENTS.contains(&name.as_str());
                open.push(name);
                let is_foreign = open.iter().any(|name| ["svg", "math"].contains(&name.as_str()));
                open.pop_if(|_| is_void || (is_self_closing && is_foreign));
            }
            SourceKind::EndTag => {
                let is_end = |letter: char| letter.is_ascii_whitespace() || "/>".contains(letter);
                let name = source[2..].split(is_end).next().unwrap_or_default();
                open.pop().filter(|open| open.eq_ignore_ascii_case(name))?;
            }
            SourceKind::Declaration | SourceKind::Unread => return None,
            SourceKind::Text | SourceKind::Program | SourceKind::Plain | SourceKind::Comment => {}
        }
        if open.is_empty() {
            return Some((token, start_tags));
        }
        if open.len() > MAX_SLOT_DEPTH || document.range(token).end > limit {
            return None;
        }
    }
    None
}

/// Whether two elements are slots, and differ only by what an advertisement shows.
pub(super) fn differ_by_advertisement(
    base: (SourceDocument<'_>, &AdSlot),
    head: (SourceDocument<'_>, &AdSlot),
) -> bool {
    let [from, to] = [base, head].map(|(document, slot)| HtmlTree::parse(&document.text[slot.range.clone()]));
    let is_whole = |tree: &HtmlTree, slot: &AdSlot| {
        let elements = tree.nodes().iter().filter(|node| matches!(node.data, NodeData::Element(..)));
        tree.cut().is_none() && elements.count() == slot.start_tags + IMPLIED_ELEMENTS
    };
    if !is_whole(&from, base.1) || !is_whole(&to, head.1) {
        return false;
    }
    let diff = DomDiff::between(&from, &to);
    !diff.truncated && only_advertisements(&from, &to, &diff.changes)
}

#[cfg(test)]
mod tests {
    use super::super::document::{BodySyntax, DocumentIndex};
    use super::*;

    fn slots(text: &str) -> Vec<String> {
        let index = DocumentIndex::new(BodySyntax::Html);
        let slots = find_ad_slots(SourceDocument { text, index: &index });
        slots.iter().map(|slot| text[slot.range.clone()].to_owned()).collect()
    }

    #[test]
    fn a_slot_is_an_element_whose_tags_are_all_closed() {
        for (inside, is_whole) in [
            ("<b>x</b><img src=a><br/>", true),
            ("<svg><path d='x'/></svg>", true),
            ("<path/>", false),
            ("<p>x", false),
            ("</main>", false),
            ("<div>", false),
            ("<iframe><div></iframe>", true),
            ("<!-- <p> --><script>'<p>'</script>", true),
        ] {
            let slot = format!("<div class=ad-slot>{inside}</div>");
            let expected = if is_whole { vec![slot.clone()] } else { Vec::new() };
            assert_eq!(slots(&format!("<p>a</p>{slot}<p>b</p>")), expected, "{inside}");
        }
        assert_eq!(
            slots("<p title='<div class=ad-slot></div>'><script>'<b class=ad-slot></b>'</script>"),
            [""; 0]
        );
    }

    #[test]
    fn many_slots_are_found_in_bounds() {
        assert_eq!(slots(&"<div class=ad-slot>".repeat(200_000)).len(), 0);
        assert_eq!(slots(&"<div class=ad-slot></div>".repeat(200_000)).len(), MAX_TRIED_TAGS);
    }
}
