//! Quotes two values so that their difference is visible.
//!
//! Equal text at both ends is left out, except for a little, and the text between is quoted up to a
//! maximum.

use super::report::{NodeChange, NodeChangeKind};
use crate::text::{InlineSpan, inline};
use std::borrow::Cow;

/// Length up to which values are quoted whole.
const SHORT_VALUE_BYTES: usize = 2000;

/// Length of equal text on both sides of a difference.
const CONTEXT_BYTES: usize = 80;

/// Maximum length of a quoted difference.
pub(super) const MAX_QUOTED_BYTES: usize = 64 << 10;

impl NodeChange {
    /// The old and the new value, as far as needed to see the difference.
    pub fn quoted(&self) -> [Option<Cow<'_, str>>; 2] {
        match (&self.what, self.from.as_deref(), self.to.as_deref()) {
            (NodeChangeKind::Text | NodeChangeKind::Attribute(_), Some(from), Some(to)) => {
                around(from, to).map(Some)
            }
            (_, from, to) => [from, to].map(|side| side.map(|text| bounded(text, 0..text.len()))),
        }
    }

    /// A changed text as one text with removed and added words. `None` for all other changes. White
    /// space is one space, unless it changed.
    pub fn inline(&self) -> Option<Vec<InlineSpan<'static>>> {
        let (NodeChangeKind::Text, [Some(from), Some(to)]) = (&self.what, self.quoted()) else { return None };
        let (mut from, mut to) = (from.into_owned(), to.into_owned());
        let spaced = [&from, &to].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        if spaced[0] != spaced[1] {
            [from, to] = spaced;
        }
        let owned =
            |span: InlineSpan<'_>| InlineSpan { kind: span.kind, text: Cow::Owned(span.text.into_owned()) };
        Some(inline(&from, &to, CONTEXT_BYTES).into_iter().map(owned).collect())
    }
}

/// Two values, from shortly before their first difference to shortly after their last.
fn around<'a>(from: &'a str, to: &'a str) -> [Cow<'a, str>; 2] {
    if from.len().max(to.len()) <= SHORT_VALUE_BYTES {
        return [Cow::Borrowed(from), Cow::Borrowed(to)];
    }
    let (one, other) = (from.as_bytes(), to.as_bytes());
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let rest = one[same..].iter().rev().zip(other[same..].iter().rev());
    let ending = rest.take_while(|(one, other)| one == other).count();
    [from, to].map(|text| {
        bounded(text, same.saturating_sub(CONTEXT_BYTES)..text.len() - ending.saturating_sub(CONTEXT_BYTES))
    })
}

/// A part of a text with ellipses where it goes on, and with the length of its middle if that is
/// too long.
fn bounded(text: &str, range: std::ops::Range<usize>) -> Cow<'_, str> {
    let (start, end) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
    if start == 0 && end == text.len() && text.len() <= MAX_QUOTED_BYTES {
        return Cow::Borrowed(text);
    }
    let stretch = &text[start..end];
    let sign = |there: bool| if there { "…" } else { "" };
    let (before, after) = (sign(start > 0), sign(end < text.len()));
    if stretch.len() <= MAX_QUOTED_BYTES + 2 * CONTEXT_BYTES {
        return Cow::Owned(format!("{before}{stretch}{after}"));
    }
    let first = stretch.floor_char_boundary(MAX_QUOTED_BYTES / 2);
    let last = stretch.ceil_char_boundary(stretch.len() - MAX_QUOTED_BYTES / 2);
    let (left_out, most) = (last - first, MAX_QUOTED_BYTES >> 10);
    let (first, last) = (&stretch[..first], &stretch[last..]);
    Cow::Owned(format!(
        "{before}{first} … {left_out} bytes left out, as {most} KiB are quoted … {last}{after}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_at_any_position() {
        let long = "é ".repeat(2000);
        for place in [0, 1, 2999, 6000] {
            let place = long.floor_char_boundary(place);
            let with = |word: &str| format!("{}{word}{}", &long[..place], &long[place..]);
            let (from, to) = (with("one"), with("two"));
            let [one, other] = around(&from, &to);
            assert!(one.contains("one") && other.contains("two"), "{one} {other}");
            assert!(one.len() < 2 * CONTEXT_BYTES + 20, "{one}");
        }
    }

    #[test]
    fn one_that_repeats_its_ending_is_no_trouble() {
        let long = "ab".repeat(2000);
        let longer = format!("{long}ab");
        let [one, other] = around(&long, &longer);
        assert!(other.len() == one.len() + 2 && one.starts_with('…'), "{one} {other}");
    }

    #[test]
    fn the_differing_middle_is_whole_up_to_its_bound() {
        let (before, after) = ("x".repeat(3000), "y".repeat(3000));
        let with = |middle: &str| format!("{before}{middle}{after}");
        let (from, to) = (with(""), with(&"z".repeat(60_000)));
        assert_eq!(around(&from, &to)[1].matches('z').count(), 60_000);
        let to = with(&"z".repeat(100_000));
        assert!(around(&from, &to)[1].contains(" … 34624 bytes left out, as 64 KiB are quoted … "));
    }

    #[test]
    fn a_changed_sentence_is_shown_once_with_marked_words() {
        let told = |from: &str, to: &str| {
            let trees = [from, to].map(|text| varve_page::dom::HtmlTree::parse(&format!("<p>{text}")));
            let diff = crate::nodes::DomDiff::between(&trees[0], &trees[1]);
            let spans = diff.changes[0].inline().expect("a text changed");
            spans.into_iter().map(|span| (span.kind, span.text.into_owned())).collect::<Vec<_>>()
        };
        use crate::text::LineRunKind::{Added, Equal, Removed};
        let span = |kind, text: &str| (kind, text.to_owned());
        assert_eq!(
            told("one two\n three", "one 2 three"),
            [span(Equal, "one "), span(Removed, "two"), span(Added, "2"), span(Equal, " three")]
        );
        assert_eq!(
            told("one  two", "one two"),
            [span(Equal, "one"), span(Removed, "  "), span(Added, " "), span(Equal, "two")]
        );
    }

    #[test]
    fn short_values_are_themselves() {
        assert_eq!(around("one", "two"), ["one", "two"]);
    }
}
