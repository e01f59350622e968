//! Two texts as one, with what went and what came where it stood.
//!
//! For a sentence in which a word changed: told as "this became that", people would have to find the word themselves.
//! Owns the cutting into spans and how much of what is equal is left around them. Does not know how spans are drawn.

use super::RunKind;
use super::words::{Budget, refine};
use std::borrow::Cow;

/// A stretch of two texts that are read as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<'a> {
    /// Whether both have it, or one.
    pub kind: RunKind,
    /// What it says; of a long stretch that both have, its ends.
    pub text: Cow<'a, str>,
}

/// Reads two texts as one. Of what both have, `around` bytes stay on either side of what differs.
pub fn inline<'a>(base: &'a str, head: &'a str, around: usize) -> Vec<Span<'a>> {
    let edits = refine(base, head, 0..base.len(), 0..head.len(), &mut Budget::default());
    let mut spans = Vec::with_capacity(edits.list.len() * 3 + 1);
    let mut push = |kind, text: Cow<'a, str>| {
        if !text.is_empty() {
            spans.push(Span { kind, text });
        }
    };
    let mut last = 0;
    for edit in &edits.list {
        let equal = &base[last..edit.base.start];
        push(RunKind::Equal, shortened(equal, if last == 0 { 0 } else { around }, around));
        push(RunKind::Removed, Cow::Borrowed(&base[edit.base.clone()]));
        push(RunKind::Added, Cow::Borrowed(&head[edit.head.clone()]));
        last = edit.base.end;
    }
    push(RunKind::Equal, shortened(&base[last..], around, 0));
    spans
}

/// The beginning and the end of a text, with a sign for what is between, unless that would be little.
fn shortened(text: &str, first: usize, last: usize) -> Cow<'_, str> {
    const LITTLE: usize = 20;
    if text.len() <= first + last + LITTLE {
        return Cow::Borrowed(text);
    }
    let first = text.floor_char_boundary(first);
    let last = text.ceil_char_boundary(text.len() - last);
    Cow::Owned(format!("{}…{}", &text[..first], &text[last..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(base: &str, head: &str) -> String {
        let sign = |span: &Span<'_>| match span.kind {
            RunKind::Equal => span.text.to_string(),
            RunKind::Removed => format!("[-{}-]", span.text),
            RunKind::Added => format!("{{+{}+}}", span.text),
        };
        inline(base, head, 10).iter().map(sign).collect()
    }

    #[test]
    fn a_word_is_seen_in_its_sentence() {
        let base = "Support for others in public lists and newsgroups. The effort expended by any one of them is fairly light.";
        let head = "Support for others in public lists. The effort expended by any single one of them is fairly light.";
        insta::assert_snapshot!(told(base, head), @"…blic lists[- and newsgroups-]. The effort expended by any {+single +}one of them is fairly light.");
        assert_eq!(told("old", "new"), "[-old-]{+new+}");
        assert_eq!(told("", "new"), "{+new+}");
    }

    proptest! {
        #[test]
        fn each_text_can_be_read_off_again(base in "[ab é.]{0,40}", head in "[ab é.]{0,40}") {
            let spans = inline(&base, &head, 1 << 10);
            let of = |without: RunKind| -> String {
                spans.iter().filter(|span| span.kind != without).map(|span| &*span.text).collect()
            };
            prop_assert_eq!(of(RunKind::Added), base.as_str());
            prop_assert_eq!(of(RunKind::Removed), head.as_str());
        }
    }
}
