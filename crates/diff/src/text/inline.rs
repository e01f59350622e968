//! Two texts as one, with removed and added words in place.
//!
//! Used for a changed sentence, in which the changed word would be hard to find. Owns the spans and
//! the length of the equal text around them. Does not know how spans are drawn.

use super::LineRunKind;
use super::words::{TokenBudget, refine};
use std::borrow::Cow;

/// A span of two texts that are shown as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineSpan<'a> {
    /// Whether both texts have it, or one.
    pub kind: LineRunKind,
    /// Its text. Of a long text that both have, the ends.
    pub text: Cow<'a, str>,
}

/// Shows two texts as one, with `around` bytes of equal text on both sides of each difference.
pub fn inline<'a>(base: &'a str, head: &'a str, around: usize) -> Vec<InlineSpan<'a>> {
    let edits = refine(base, head, 0..base.len(), 0..head.len(), &mut TokenBudget::default());
    let mut spans = Vec::with_capacity(edits.list.len() * 3 + 1);
    let mut push = |kind, text: Cow<'a, str>| {
        if !text.is_empty() {
            spans.push(InlineSpan { kind, text });
        }
    };
    let mut last = 0;
    for edit in &edits.list {
        let equal = &base[last..edit.base.start];
        push(LineRunKind::Equal, shortened(equal, if last == 0 { 0 } else { around }, around));
        push(LineRunKind::Removed, Cow::Borrowed(&base[edit.base.clone()]));
        push(LineRunKind::Added, Cow::Borrowed(&head[edit.head.clone()]));
        last = edit.base.end;
    }
    push(LineRunKind::Equal, shortened(&base[last..], around, 0));
    spans
}

/// The beginning and the end of a text with an ellipsis between, unless the text is short.
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
        let sign = |span: &InlineSpan<'_>| match span.kind {
            LineRunKind::Equal => span.text.to_string(),
            LineRunKind::Removed => format!("[-{}-]", span.text),
            LineRunKind::Added => format!("{{+{}+}}", span.text),
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
            let of = |without: LineRunKind| -> String {
                spans.iter().filter(|span| span.kind != without).map(|span| &*span.text).collect()
            };
            prop_assert_eq!(of(LineRunKind::Added), base.as_str());
            prop_assert_eq!(of(LineRunKind::Removed), head.as_str());
        }
    }
}
