//! Where a line stands: what is still open before it, as a parser would know.
//!
//! A line says little of itself. The same letters are a date that somebody wrote, part of a comment of the server, or a value in a
//! script. So each line that may be noise is looked at behind the tag, comment or script that it stands in. What stands before it must
//! be the same on both sides; else only the opening counts, and where even that differs, nothing is known and nothing is noise.

use super::slots::{RawParts, SlotParts};
use std::borrow::Cow;
use std::cell::OnceCell;
use varve_core::diff::TextDiff;

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
        let (from, to) = (self.before(diff, 0, base), self.before(diff, 1, head));
        if from.whole == to.whole {
            return Some(from.whole.into_owned());
        }
        (from.opening == to.opening).then(|| from.opening.into_owned())
    }

    /// What opens before a place of the base, 0, or the head, 1.
    pub(super) fn opening<'t>(&self, diff: &'t TextDiff<'_>, side: usize, at: usize) -> Cow<'t, str> {
        self.before(diff, side, at).opening
    }

    fn before<'t>(&self, diff: &'t TextDiff<'_>, side: usize, at: usize) -> Before<'t> {
        let text = text_of(diff, side);
        match self.raw(diff, side).around(at) {
            Some(start) => in_raw_part(text, start, at),
            None => in_markup(text, at),
        }
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

/// What stands before a place in a comment, a script or the like that begins at `start`.
fn in_raw_part(text: &str, start: usize, at: usize) -> Before<'_> {
    if text[start..].starts_with("<!--") {
        let from = text.ceil_char_boundary(at.saturating_sub(NEAR).max(start + 4).min(at));
        let whole = Cow::Owned(format!("<!--{}", unix(&text[from..at])));
        return Before { whole, opening: Cow::Borrowed("<!--") };
    }
    // Each line looks for the end of the tag that it stands behind: no further than a tag goes.
    let head = &text[start..text.floor_char_boundary(at.min(start + FAR))];
    let end = head.find('>').map(|end| start + end + 1);
    if end.is_none() && at <= start + FAR {
        return in_markup(text, at);
    }
    let name = head[1..].bytes().take_while(u8::is_ascii_alphanumeric).count();
    let opening: Cow<'_, str> = Cow::Owned(format!("<{}>", &head[1..1 + name]));
    let whole = end.filter(|end| end - start <= NEAR).map(|end| Cow::Borrowed(&text[start..end]));
    Before { whole: whole.unwrap_or_else(|| opening.clone()), opening }
}

/// What stands before a place in markup: the tag that is open there, or else the last one and the text behind it.
fn in_markup(text: &str, at: usize) -> Before<'_> {
    let from = text.ceil_char_boundary(at.saturating_sub(FAR));
    let Some(open) = text[from..at].rfind('<').map(|open| from + open) else {
        return Before { whole: Cow::Borrowed(""), opening: Cow::Borrowed("") };
    };
    if !text[open..at].contains('>') {
        let tag = unix(&text[open..at]);
        return Before { whole: tag.clone(), opening: tag };
    }
    let near = text.ceil_char_boundary(at.saturating_sub(NEAR)).min(open);
    let first = text[near..at].find('<').map_or(open, |first| near + first);
    // Behind a tag stands text, whichever tag it is.
    Before { whole: unix(&text[first..at]), opening: Cow::Borrowed("<p>") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varve_core::diff::Options;

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
            ("<p>Server time:\n|10:00", "<p>Server time:\n"),
            ("one\n|two", ""),
        ] {
            assert_eq!(shared(text, text).as_deref(), Some(known), "{text}");
        }
        assert_eq!(shared("<!-- one\n|", "<!-- two\n|").as_deref(), Some("<!--"));
        assert_eq!(shared("<p>one\n|", "<p>two\n|").as_deref(), Some("<p>"));
        assert_eq!(shared("<p>one\n|", "<script>\n|"), None);
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
