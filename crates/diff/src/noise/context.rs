//! Where a line stands: what is still open before it, as a parser would know.
//!
//! A line says little of itself. The same letters are a date that somebody wrote, part of a comment of the server, or a value in a
//! script. So each line that may be noise is looked at behind the tag, comment or script that it stands in. What stands before it must
//! be the same on both sides; else only the opening counts, and where even that differs, nothing is known and nothing is noise.

use super::markup::{Tags, tag_end};
use super::slots::{RawParts, SlotParts};
use crate::text::TextDiff;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::ops::Range;

/// How far before a line a tag may begin.
const FAR: usize = 4 << 10;

/// How much of a comment or of the text before a line is looked at.
const NEAR: usize = 400;

/// What is known of where the lines of two texts stand. The texts are read when that is first asked.
#[derive(Default)]
pub(super) struct Context([OfSide; 2]);

/// What is known of one text.
#[derive(Default)]
struct OfSide {
    raw: OnceCell<RawParts>,
    slots: OnceCell<SlotParts>,
    /// Where the tag ends that was last looked for, by where it begins: all lines of a script ask for the same.
    tag: Cell<Option<(usize, Option<usize>)>>,
    /// The tags that go on for longer than tags do.
    long_tags: OnceCell<Vec<Range<usize>>>,
}

/// What stands before a place.
struct Before<'t> {
    /// The opening, and what follows it.
    whole: Cow<'t, str>,
    /// The opening alone.
    opening: Cow<'t, str>,
}

impl Context {
    /// What stands before a place of the base and one of the head, if both stand in the same.
    pub(super) fn shared(&self, diff: &TextDiff<'_>, base: usize, head: usize) -> Option<String> {
        let (from, to) = (self.before(diff, 0, base)?, self.before(diff, 1, head)?);
        if from.whole == to.whole {
            return Some(from.whole.into_owned());
        }
        (from.opening == to.opening).then(|| from.opening.into_owned())
    }

    /// What opens before a place of the base, 0, or the head, 1, if that is known.
    pub(super) fn opening<'t>(&self, diff: &'t TextDiff<'_>, side: usize, at: usize) -> Option<Cow<'t, str>> {
        Some(self.before(diff, side, at)?.opening)
    }

    fn before<'t>(&self, diff: &'t TextDiff<'_>, side: usize, at: usize) -> Option<Before<'t>> {
        let text = text_of(diff, side);
        match self.raw(diff, side).around(at) {
            Some(start) if text[start..].starts_with("<!--") => Some(in_comment(text, start, at)),
            Some(start) => in_raw_part(text, start, at, self.tag_end(text, side, start)),
            None => in_markup(text, at).or_else(|| {
                let nothing = Before { whole: Cow::Borrowed(""), opening: Cow::Borrowed("") };
                (!self.is_in_long_tag(text, side, at)).then_some(nothing)
            }),
        }
    }

    /// Whether a place is in a tag that begins far before it.
    fn is_in_long_tag(&self, text: &str, side: usize, at: usize) -> bool {
        let find = || {
            let tags = Tags::of(text).map(|tag| tag.range);
            tags.filter(|tag| tag.len() > FAR).collect::<Vec<_>>()
        };
        let tags = self.0[side].long_tags.get_or_init(find);
        let next = tags.partition_point(|tag| tag.end <= at);
        tags.get(next).is_some_and(|tag| tag.start < at)
    }

    /// The place behind the tag that begins at `start`, unless it goes on for longer than tags do.
    fn tag_end(&self, text: &str, side: usize, start: usize) -> Option<usize> {
        let known = &self.0[side].tag;
        if let Some((_, end)) = known.get().filter(|(of, _)| *of == start) {
            return end;
        }
        let end = tag_end(text.as_bytes(), start + 1, start + FAR).map(|(end, _)| end);
        known.set(Some((start, end)));
        end
    }

    /// What of a side is not markup.
    pub(super) fn raw(&self, diff: &TextDiff<'_>, side: usize) -> &RawParts {
        self.0[side].raw.get_or_init(|| RawParts::of(text_of(diff, side)))
    }

    /// Where in a side slots of advertisements may stand.
    pub(super) fn slots(&self, diff: &TextDiff<'_>, side: usize) -> &SlotParts {
        self.0[side].slots.get_or_init(|| SlotParts::of(text_of(diff, side)))
    }
}

/// The text of the base, 0, or the head, 1.
pub(super) fn text_of<'t>(diff: &'t TextDiff<'_>, side: usize) -> &'t str {
    if side == 0 { diff.base().text() } else { diff.head().text() }
}

/// A text with line endings of one kind.
pub(super) fn unix(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// What stands before a place in a comment that begins at `start`.
fn in_comment(text: &str, start: usize, at: usize) -> Before<'_> {
    let from = text.ceil_char_boundary(at.saturating_sub(NEAR).max(start + 4).min(at));
    let whole = Cow::Owned(format!("<!--{}", unix(&text[from..at])));
    Before { whole, opening: Cow::Borrowed("<!--") }
}

/// What stands before a place in a script or the like, whose tag goes from `start` to `end`. Nothing is known where that tag is so long
/// that its end was not found: the place may be in one of its attributes, where the same letters are something else.
fn in_raw_part(text: &str, start: usize, at: usize, end: Option<usize>) -> Option<Before<'_>> {
    let Some(end) = end.filter(|end| *end <= at) else {
        let tag = (at <= start + FAR).then(|| unix(&text[start..at]))?;
        return Some(Before { whole: tag.clone(), opening: tag });
    };
    let name = text[start + 1..end].bytes().take_while(u8::is_ascii_alphanumeric).count();
    let opening: Cow<'_, str> = Cow::Owned(format!("<{}>", &text[start + 1..start + 1 + name]));
    let whole = if end - start <= NEAR { Cow::Borrowed(&text[start..end]) } else { opening.clone() };
    Some(Before { whole, opening })
}

/// What stands before a place in markup: the tag that is open there, or else the last one and the text behind it. None if there is none.
fn in_markup(text: &str, at: usize) -> Option<Before<'_>> {
    let from = text.ceil_char_boundary(at.saturating_sub(FAR));
    let open = from + text[from..at].rfind('<')?;
    if !text[open..at].contains('>') {
        let tag = unix(&text[open..at]);
        return Some(Before { whole: tag.clone(), opening: tag });
    }
    let near = text.ceil_char_boundary(at.saturating_sub(NEAR)).min(open);
    let first = text[near..at].find('<').map_or(open, |first| near + first);
    // Behind a tag stands text, whichever tag it is.
    Some(Before { whole: unix(&text[first..at]), opening: Cow::Borrowed("<p>") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Options;
    use proptest::prelude::*;

    /// What is known to stand before the place that `|` marks.
    fn shared(base: &str, head: &str) -> Option<String> {
        let diff = TextDiff::between(base, head, Options::default());
        Context::default().shared(&diff, base.find('|')?, head.find('|')?)
    }

    #[test]
    fn what_is_open_before_a_line_is_known() {
        for (text, known) in [
            ("<p>a</p>\n<!-- one\n|two -->", "<!-- one\n"),
            ("<script id=x>\nvar a = 1;\n|b", "<script id=x>"),
            ("<p>a</p>\n<input name=x\n  |value=y>", "<input name=x\n  "),
            ("<script id='>'\n|data-x", "<script id='>'\n"),
            ("<p>Server time:\n|10:00", "<p>Server time:\n"),
            ("one\n|two", ""),
        ] {
            assert_eq!(shared(text, text).as_deref(), Some(known), "{text}");
        }
        assert_eq!(shared("<!-- one\n|", "<!-- two\n|").as_deref(), Some("<!--"));
        assert_eq!(shared("<p>one\n|", "<p>two\n|").as_deref(), Some("<p>"));
        assert_eq!(shared("<p>one\n|", "<script>\n|"), None);
    }

    #[test]
    fn nothing_is_known_behind_a_tag_that_does_not_end() {
        let tag = |length: usize| format!("<script data-x=\"{}\n|", "x".repeat(length));
        let known = shared(&tag(FAR - 100), &tag(FAR - 100));
        assert!(known.is_some_and(|known| known.starts_with("<script data-x")));
        assert_eq!(shared(&tag(FAR), &tag(FAR)), None);
        let ended = tag(FAR).replace('|', "\">\n|");
        assert_eq!(shared(&ended, &ended), None, "who knows");
        let other = tag(FAR).replace("script", "p") + "\">";
        assert_eq!(shared(&other, &other), None);
        let words = format!("<p>{}|", "words ".repeat(FAR));
        assert_eq!(shared(&words, &words).as_deref(), Some(""));
    }

    #[test]
    fn ten_megabytes_in_one_tag_are_looked_at_in_bounds() {
        for element in ["script", "p"] {
            let text =
                format!("<{element} data-x=\"{}\">", "var now = 1700000000;\n".repeat((10 << 20) / 22));
            let diff = TextDiff::between(text.as_str(), text.as_str(), Options::default());
            let context = Context::default();
            let places = (2 * FAR..text.len() - FAR).step_by(22);
            assert!(places.into_iter().all(|at| context.shared(&diff, at, at).is_none()), "{element}");
        }
    }

    proptest! {
        #[test]
        fn any_place_of_any_text_has_something_before_it(text in "(<|</|script|<!--|-->|>|x|é|\n){0,20}", at in 0..80_usize) {
            let at = text.floor_char_boundary(at.min(text.len()));
            let diff = TextDiff::between(text.as_str(), text.as_str(), Options::default());
            prop_assert!(Context::default().shared(&diff, at, at).is_some());
        }
    }
}
