//! A short piece of a text around the hits of a query.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::page_text::PassageKind;
use crate::page_texts::{PageTexts, StoredText};
use crate::text_match::TextMatch;
use crate::words::each_word;

/// The number of bytes of text before the first hit.
const LEADING_BYTES: usize = 60;
/// The length of a snippet in bytes.
const SNIPPET_BYTES: usize = 220;

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The text. An ellipsis is where it was cut.
    pub text: String,
    /// The byte ranges of the hits in it, in order.
    pub hits: Vec<Range<usize>>,
}

/// The snippet of a text that matched: from the passage with hits of most phrases. If the text has no
/// passage with a hit but its title, it is the beginning of the first other passage.
pub fn snippet(texts: &PageTexts, text: &StoredText, found: &TextMatch) -> Option<Snippet> {
    let count = |range: &Range<usize>| {
        let overlaps = |hit: &Range<usize>| hit.start < range.end && hit.end > range.start;
        found.hits.iter().filter(|hits| hits.iter().any(overlaps)).count()
    };
    let others = found.passages.iter().enumerate().filter(|(_, (kind, _))| *kind != PassageKind::Title);
    let candidates = others.filter(|(_, (_, range))| !range.is_empty());
    // The first of the best.
    let (place, (_, range)) =
        candidates.rev().max_by_key(|(_, (kind, range))| (count(range), *kind == PassageKind::Text))?;
    let passage = texts.passages_of(text).nth(place)?;
    let marked: BTreeSet<usize> = found.hits.iter().flatten().flat_map(Clone::clone).collect();
    let mut marks = Vec::new();
    let mut word = range.start;
    each_word(&passage.text, |_, bytes| {
        if marked.contains(&word) {
            add_mark(&passage.text, &mut marks, bytes);
        }
        word += 1;
    });
    Some(cut(&passage.text, &marks))
}

/// Adds a mark. One mark covers several words in a row.
fn add_mark(text: &str, marks: &mut Vec<Range<usize>>, next: Range<usize>) {
    match marks.last_mut() {
        Some(last)
            if !text.get(last.end..next.start).is_some_and(|gap| gap.contains(char::is_alphanumeric)) =>
        {
            last.end = next.end;
        }
        _ => marks.push(next),
    }
}

/// The part of a text around the first mark.
fn cut(text: &str, marks: &[Range<usize>]) -> Snippet {
    let first = marks.first().map_or(0, |mark| mark.start);
    let start = match first.saturating_sub(LEADING_BYTES) {
        0 => 0,
        start => after_space(text, text.ceil_char_boundary(start), first),
    };
    let end = match start + SNIPPET_BYTES {
        end if end >= text.len() => text.len(),
        end => before_space(text, text.floor_char_boundary(end), start),
    };
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    let inside = marks.iter().filter(|mark| mark.start >= start && mark.end <= end);
    let moved = |mark: &Range<usize>| mark.start - start + before.len()..mark.end - start + before.len();
    Snippet { text: format!("{before}{}{after}", &text[start..end]), hits: inside.map(moved).collect() }
}

/// The place behind the first space from `start` on, if it is before `limit`.
fn after_space(text: &str, start: usize, limit: usize) -> usize {
    text.get(start..limit).and_then(|part| part.find(' ')).map_or(start, |space| start + space + 1)
}

/// The place of the last space before `end`, if it is near.
fn before_space(text: &str, end: usize, start: usize) -> usize {
    let near = text.floor_char_boundary((start + end) / 2);
    text.get(near..end).and_then(|part| part.rfind(' ')).map_or(end, |space| near + space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_text::{PageText, Passage, TextKind};
    use crate::page_words::PageWords;
    use crate::query::SearchQuery;
    use crate::text_match::TextMatcher;

    fn shown(passages: &[(PassageKind, &str)], query: &str) -> String {
        let passages =
            passages.iter().map(|(kind, text)| Passage { kind: *kind, text: (*text).to_owned() }).collect();
        let mut texts = PageTexts::default();
        texts.add([([0; 8], PageText { kind: TextKind::Page, passages })]);
        let query = SearchQuery::parse(query).unwrap();
        let words = PageWords::of_query(&texts, &query);
        let text = &texts.texts()[0];
        let found = TextMatcher::new(&query, &words, "https://a.example/").match_text(text, &[]).unwrap();
        let Snippet { text, hits } = snippet(&texts, text, &found).unwrap();
        let mut marked = String::new();
        let mut at = 0;
        for hit in hits {
            marked.push_str(&format!("{}[{}]", &text[at..hit.start], &text[hit.clone()]));
            at = hit.end;
        }
        marked + &text[at..]
    }

    #[test]
    fn the_passage_with_most_phrases_is_shown() {
        use PassageKind::{Text, Title};
        let passages =
            [(Title, "Café"), (Text, "A café."), (Text, "The Café has red doors."), (Text, "Doors.")];
        assert_eq!(shown(&passages, "cafe doors"), "The [Café] has red [doors].");
        assert_eq!(shown(&passages, "\"cafe a\""), "[A] café.");
        assert_eq!(shown(&passages, "example"), "A café.");
        assert_eq!(shown(&[(Text, "全文検索です")], "検索"), "全文[検索]です");
    }

    #[test]
    fn long_passages_are_cut_at_words() {
        let text = format!("{}needle {}", "before ".repeat(50), "after ".repeat(50));
        let shown = shown(&[(PassageKind::Text, text.trim())], "needle");
        assert!(shown.starts_with("…before ") && shown.ends_with(" after…"), "{shown}");
        assert!(shown.contains(" [needle] after") && shown.len() < 240, "{shown}");
    }
}
