//! Lines that differ only in what an advertisement in them shows, or one that they are part of.
//!
//! Such a line, or the slot that it is part of, is read as a page of its own, so that nodes decide, as they do elsewhere. That holds
//! only if the parser keeps every tag of it, and if it is markup in its own page: within a script or a comment the same letters are
//! something else.

use super::adverts::SIGNS;
use super::markup::{Tags, whole_element};
use super::nodes::only_advertisements;
use crate::nodes::DomDiff;
use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;
use varve_page::dom::{Data, Tree};

/// Longer lines are whole pages. Nodes should be compared instead.
const LONGEST_LINE: usize = 16 << 10;

/// So many tags of a page that may be those of slots are looked at. Each is followed to its end, as far as a line goes.
const MOST_TRIED: usize = 1000;

static SIGN: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let search = AhoCorasick::builder().ascii_case_insensitive(true).build(SIGNS);
    search.expect("the signs are few and short")
});

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

/// What may be a slot, whole: all in it is closed in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    range: Range<usize>,
    /// How many start tags it has.
    tags: usize,
}

/// Where in a text slots may stand, in order. What is within one is not told apart.
#[derive(Debug, Default)]
pub(super) struct SlotParts(Vec<Part>);

impl SlotParts {
    /// Reads a page. A text that does not begin as one has no slots: what looks so in a program is a piece of that.
    pub(super) fn of(text: &str) -> Self {
        let start = text.trim_start_matches('\u{feff}').trim_start().as_bytes();
        let is_page = matches!(start, [b'<', next, ..] if *next == b'!' || next.is_ascii_alphabetic());
        if !is_page || !SIGN.is_match(text) {
            return Self::default();
        }
        let mut parts = Vec::new();
        let mut tries = 0;
        let mut tags = Tags::of(text);
        while let Some(tag) = tags.next() {
            if tag.is_end || !SIGN.is_match(&text[tag.range.clone()]) {
                continue;
            }
            tries += 1;
            if tries > MOST_TRIED {
                break;
            }
            let start = tag.range.start;
            let far = text.floor_char_boundary(text.len().min(start + LONGEST_LINE));
            if let Some((end, tags_in_it)) = whole_element(&text[..far], start) {
                parts.push(Part { range: start..end, tags: tags_in_it });
                tags.skip_to(end);
            }
        }
        Self(parts)
    }

    /// Those that a stretch of the text has a part in.
    fn within(&self, range: &Range<usize>) -> &[Part] {
        let first = self.0.partition_point(|part| part.range.end <= range.start);
        let after = self.0.partition_point(|part| part.range.start < range.end);
        self.0.get(first..after).unwrap_or_default()
    }
}

/// A stretch of a text, with the slots that it has a part in.
pub(super) struct Stretch<'t> {
    text: &'t str,
    range: Range<usize>,
    parts: &'t [Part],
}

impl<'t> Stretch<'t> {
    pub(super) fn of(text: &'t str, range: Range<usize>, slots: &'t SlotParts) -> Self {
        Self { text, parts: slots.within(&range), range }
    }

    /// What stands before, between and behind the slots.
    fn between(&self) -> impl Iterator<Item = &'t str> {
        let Self { text, range, parts } = self;
        let starts = parts.iter().map(|part| part.range.start).chain([range.end]);
        let ends = [range.start].into_iter().chain(parts.iter().map(|part| part.range.end));
        // Slots may begin before the stretch, and end behind it.
        ends.zip(starts).map(|(from, to)| &text[from.min(to)..to])
    }

    /// The slots that differ from those of another stretch. None if anything else differs, such as where slots begin and end: that a
    /// place of the base is one of the head is said by `is_aligned`.
    pub(super) fn other_slots(
        &self,
        head: &Self,
        is_aligned: impl Fn(usize, usize) -> bool,
    ) -> Option<Vec<SlotPair<'t>>> {
        let is_one = |(from, to): (&Part, &Part)| {
            is_aligned(from.range.start, to.range.start) && is_aligned(from.range.end - 1, to.range.end - 1)
        };
        let is_alike = self.parts.len() == head.parts.len()
            && self.between().eq(head.between())
            && self.parts.iter().zip(head.parts).all(is_one);
        let slot = |side: &Self, part: &Part| (&side.text[part.range.clone()], part.tags);
        let pairs = self.parts.iter().zip(head.parts).filter_map(|(from, to)| {
            let pair = SlotPair { base: slot(self, from), head: slot(head, to) };
            (pair.base.0 != pair.head.0).then_some(pair)
        });
        is_alike.then(|| pairs.collect())
    }
}

/// What may be the same slot on both sides, with how many tags it has.
pub(super) struct SlotPair<'t> {
    base: (&'t str, usize),
    head: (&'t str, usize),
}

impl SlotPair<'_> {
    /// Whether they are slots, and only what an advertisement shows is other than it was.
    pub(super) fn shows_other(&self) -> bool {
        let [from, to] = [self.base, self.head].map(|(text, tags)| (Tree::parse(text), tags));
        let is_whole = |(tree, tags): &(Tree, usize)| tree.cut().is_none() && elements(tree) == tags + 3;
        is_whole(&from) && is_whole(&to) && differ_by_nodes(&from.0, &to.0)
    }
}

fn differ_by_nodes(base: &Tree, head: &Tree) -> bool {
    let diff = DomDiff::between(base, head);
    !diff.truncated && only_advertisements(base, head, &diff.changes)
}

fn elements(tree: &Tree) -> usize {
    tree.nodes().iter().filter(|node| matches!(node.data, Data::Element(..))).count()
}

/// Whether two lines are the same but for what an advertisement shows.
pub(super) fn differ_by_advertisement(base: &str, head: &str) -> bool {
    let (base, head) = (base.trim(), head.trim());
    let is_markup = |line: &str| {
        line.len() <= LONGEST_LINE
            && line.ends_with('>')
            && line.strip_prefix('<').is_some_and(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    if base == head || !is_markup(base) || !is_markup(head) || !is_closed(base) || !is_closed(head) {
        return false;
    }
    let (from, to) = (Tree::parse(base), Tree::parse(head));
    if !keeps_all(&from, base) || !keeps_all(&to, head) {
        return false;
    }
    differ_by_nodes(&from, &to)
}

/// Whether all that begins in a line ends in it, and nothing else does: what a line leaves open goes on behind it.
fn is_closed(line: &str) -> bool {
    let mut tags = Tags::of(line);
    while let Some(tag) = tags.next() {
        let end = if tag.is_end { None } else { whole_element(line, tag.range.start) };
        let Some((end, _)) = end else { return false };
        tags.skip_to(end);
    }
    !tags.is_lost()
}

/// Whether a tree has every tag of its text. It has three that are implied.
fn keeps_all(tree: &Tree, text: &str) -> bool {
    let tags = text.match_indices('<').filter(|(at, _)| {
        text.as_bytes().get(at + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'!')
    });
    tree.cut().is_none() && elements(tree) == tags.count() + 3
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

    /// What explains two pages that differ from the places of `[` to those of `]`.
    fn other_slots(base: &str, head: &str) -> Option<usize> {
        let stretch = |text: &str| {
            let range = text.find('[').unwrap()..text.find(']').unwrap() - 1;
            (text.replace(['[', ']'], ""), range)
        };
        let (from, to) = (stretch(base), stretch(head));
        let slots = (SlotParts::of(&from.0), SlotParts::of(&to.0));
        let from = Stretch::of(&from.0, from.1, &slots.0);
        Some(from.other_slots(&Stretch::of(&to.0, to.1, &slots.1), |_, _| true)?.len())
    }

    #[test]
    fn slots_are_found_around_a_stretch() {
        let page = |ad: &str| format!("<p>a</p><div class=ad-slot>\n{ad}\n</div><p>b</p>");
        assert_eq!(other_slots(&page("[x]"), &page("[y]")), Some(1));
        assert_eq!(other_slots(&page("x[]"), &page("x[y]")), Some(1));
        assert_eq!(other_slots(&page("[x]"), &page("[x]")), Some(0));
        assert_eq!(other_slots(&page("[x]"), "<p>[x]</p>"), None);
        assert_eq!(other_slots(&page("[x").replace("b<", "b]<"), &page("[y").replace("b<", "c]<")), None);
        let one_line = |ad: &str, text: &str| format!("[{}]", page(ad).replace(">b<", &format!(">{text}<")));
        assert_eq!(other_slots(&one_line("x", "b"), &one_line("y", "b")), Some(1));
        assert_eq!(other_slots(&one_line("x", "b"), &one_line("y", "c")), None);
        let program = |ad: &str| format!("var a = `{}`;", page(ad));
        assert_eq!(other_slots(&program("[x]"), &program("[y]")), None, "it has no slots");
        let hidden = |ad: &str| format!("<p title='{}'>", page(ad));
        assert_eq!(other_slots(&hidden("[x]"), &hidden("[y]")), None, "it is an attribute");
    }

    #[test]
    fn many_slots_are_found_in_bounds() {
        let open = "<div class=ad-slot>".repeat(200_000);
        assert_eq!(SlotParts::of(&open).0.len(), 0);
        let closed = "<div class=ad-slot></div>".repeat(200_000);
        assert_eq!(SlotParts::of(&closed).0.len(), MOST_TRIED);
    }

    proptest! {
        #[test]
        fn any_text_has_slots_in_order(text in "(<div class=ad-slot>|</div>|<p>|</p>|<!--|-->|x|é|<script>|</script>){0,20}") {
            let parts = SlotParts::of(&text).0;
            prop_assert!(parts.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
            prop_assert!(parts.iter().all(|part| text.get(part.range.clone()).is_some_and(|part| part.ends_with("</div>"))));
        }

        #[test]
        fn any_text_has_raw_parts_in_order(text in "(<|</|script|style|<!--|-->|>|x|é){0,20}") {
            let parts = RawParts::of(&text).0;
            prop_assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(parts.iter().all(|part| part.start < part.end && part.end <= text.len()));
        }
    }
}
