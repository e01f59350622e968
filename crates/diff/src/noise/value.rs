//! Searches a token for the values that rules know.
//!
//! Every changed text is searched, and most show no sign of a value: all words of the table are
//! searched in one pass, and only patterns are tried that can match.

use super::document::{SourceDocument, SourceKind};
use super::pattern::{NoisePattern, Position, ValueShape, expand_parts};
use super::position::reason_for_position;
use super::rules::{NOISE_PATTERNS, NoiseRule};
use super::token_shape::{is_hash, is_request_id, is_token, unscrambled_address};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{LazyLock, OnceLock};

/// Maximum length of a token that is searched whole, once. Of a longer one only the part that is
/// compared is searched.
pub(super) const MAX_WHOLE_TOKEN_BYTES: usize = 256 << 10;

/// Number of bytes before and behind that part which patterns may match as well.
pub(super) const PART_CONTEXT_BYTES: usize = 400;

/// Number of bytes before and behind a text that patterns may match as well: the tags and texts
/// around it.
const TEXT_CONTEXT_BYTES: usize = 240;

/// Maximum number of bytes of one document that are searched. There are no values behind them.
const MAX_SEARCHED_BYTES: usize = 8 << 20;

/// Maximum number of values in one search. A token with more has none.
const MAX_VALUES: usize = 4000;

/// A value that a rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoiseValue {
    pub(super) rule: NoiseRule,
    pub(super) shape: ValueShape,
    pub(super) range: Range<usize>,
    /// The words before a time that say that the page made it. Two values are alike only if theirs
    /// are the same.
    pub(super) reason: String,
}

/// A pattern of the table. It is compiled when a text first shows its sign, because compiling all
/// takes milliseconds, which is much in a comparison of small pages.
struct SearchPattern {
    pattern: &'static NoisePattern,
    regex: OnceLock<Regex>,
}

static PATTERNS: LazyLock<Vec<SearchPattern>> = LazyLock::new(|| {
    NOISE_PATTERNS.iter().map(|pattern| SearchPattern { pattern, regex: OnceLock::new() }).collect()
});

/// The words of all patterns, each with the number of its pattern.
static SIGN_WORDS: LazyLock<Vec<(usize, &str)>> = LazyLock::new(|| {
    let words = NOISE_PATTERNS.iter().enumerate();
    words.flat_map(|(number, pattern)| pattern.sign.iter().map(move |word| (number, *word))).collect()
});

/// Finds the words in either case.
static WORD_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
    builder.build(SIGN_WORDS.iter().map(|(_, word)| word)).expect("the words are few and short")
});

/// The numbers of the patterns whose sign a text shows, one bit each.
fn shown_patterns(text: &str) -> u64 {
    let words = WORD_SEARCH.find_overlapping_iter(text);
    words.fold(0, |shown, word| shown | 1 << SIGN_WORDS[word.pattern().as_usize()].0)
}

impl SearchPattern {
    /// Patterns match ASCII alone, and compile in an eighth of the time if the library knows.
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let forms: Vec<_> = self.pattern.forms.iter().map(|form| format!("(?:{form})")).collect();
            let mut builder = RegexBuilder::new(&expand_parts(&forms.join("|")));
            builder.unicode(false).case_insensitive(true);
            builder.build().expect("the patterns of the table are tested")
        })
    }

    fn has_shape(&self, value: &str) -> bool {
        match self.pattern.shape {
            ValueShape::AsMatched | ValueShape::AssetDigest => true,
            ValueShape::Token => is_token(value),
            ValueShape::Hash | ValueShape::SwappedHash => is_hash(value),
            ValueShape::RequestId => is_request_id(value),
            ValueShape::ScrambledAddress => unscrambled_address(value).is_some(),
        }
    }
}

/// A text that patterns are matched with.
struct SearchedText<'t> {
    text: Cow<'t, str>,
    /// Number of bytes at its beginning that are not part of the document at this place.
    added: usize,
    /// The offset of the other bytes in the document.
    start: usize,
}

impl SourceDocument<'_> {
    /// The values in a part of a token, in order.
    pub(super) fn values(&self, token: usize, part: &Range<usize>) -> Vec<NoiseValue> {
        let whole = self.range(token);
        let found = if whole.len() <= MAX_WHOLE_TOKEN_BYTES {
            self.values_of_token(token)
        } else {
            let start = part.start.saturating_sub(PART_CONTEXT_BYTES).max(whole.start);
            let end = (part.end + PART_CONTEXT_BYTES).min(whole.end);
            let region = self.text.floor_char_boundary(start)..self.text.ceil_char_boundary(end);
            self.search(token, region).into()
        };
        let is_inside = |value: &&NoiseValue| part.start <= value.range.start && value.range.end <= part.end;
        found.iter().filter(is_inside).cloned().collect()
    }

    fn values_of_token(&self, token: usize) -> Rc<[NoiseValue]> {
        if let Some(found) = self.index.values.borrow().get(&token) {
            return Rc::clone(found);
        }
        let found: Rc<[NoiseValue]> = self.search(token, self.region_around(token)).into();
        self.index.values.borrow_mut().insert(token, Rc::clone(&found));
        found
    }

    /// What patterns may match to find a value in a token: the token, and for a text also the
    /// tokens around it.
    fn region_around(&self, token: usize) -> Range<usize> {
        let own = self.range(token);
        if self.kind(token) != SourceKind::Text {
            return own;
        }
        let least = own.start.saturating_sub(TEXT_CONTEXT_BYTES);
        let first = (0..token).rev().take_while(|before| self.range(*before).start >= least).last();
        let next = self.range(token + 1);
        let end = if next.len() <= TEXT_CONTEXT_BYTES { next.end } else { own.end };
        self.range(first.unwrap_or(token)).start..end
    }

    /// The values in a token that are found by matching patterns in a region.
    fn search(&self, token: usize, region: Range<usize>) -> Vec<NoiseValue> {
        let searched = self.index.searched.get() + region.len();
        let is_unread =
            matches!(self.kind(token), SourceKind::EndTag | SourceKind::Declaration | SourceKind::Unread);
        let shown = shown_patterns(&self.text[region.clone()]);
        if searched > MAX_SEARCHED_BYTES || is_unread || shown == 0 {
            return Vec::new();
        }
        self.index.searched.set(searched);
        let mut found = Vec::new();
        let is_shown = |(number, _): &(usize, _)| shown & 1 << number != 0;
        for (_, search) in PATTERNS.iter().enumerate().filter(is_shown) {
            self.search_pattern(token, &region, search, &mut found);
        }
        if found.len() > MAX_VALUES {
            return Vec::new();
        }
        found.sort_unstable_by_key(|value: &NoiseValue| value.range.start);
        found
    }

    /// Adds the values of one pattern. Of two that overlap the one of the earlier rule stays.
    fn search_pattern(
        &self,
        token: usize,
        region: &Range<usize>,
        search: &SearchPattern,
        found: &mut Vec<NoiseValue>,
    ) {
        let NoisePattern { rule, shape, position, .. } = *search.pattern;
        let own = self.range(token);
        let text = SearchedText { text: self.text[region.clone()].into(), added: 0, start: region.start };
        let texts = if position == Position::Attribute { self.attributes(token) } else { vec![text] };
        for SearchedText { text, added, start } in &texts {
            let captures = search.regex().captures_iter(text.as_bytes());
            let groups = captures.flat_map(|captures| captures.iter().skip(1).flatten().collect::<Vec<_>>());
            for group in groups.filter(|group| group.start() >= *added) {
                let from = start + group.start() - added;
                let range = from..from + group.len();
                let overlaps =
                    |other: &NoiseValue| other.range.start < range.end && range.start < other.range.end;
                let is_inside = own.start <= range.start && range.end <= own.end;
                let value = self.text.get(range.clone()).filter(|value| is_inside && search.has_shape(value));
                if value.is_none() || found.iter().any(overlaps) || found.len() > MAX_VALUES {
                    continue;
                }
                if let Some(reason) = reason_for_position(*self, token, &range, position) {
                    found.push(NoiseValue { rule, shape, range, reason });
                }
            }
        }
    }

    /// The attributes of a start tag as `name=value`, and the `value` or `content` of a named
    /// element also as `element name=value`.
    fn attributes(&self, token: usize) -> Vec<SearchedText<'_>> {
        const NAMING_ATTRIBUTES: [&str; 4] = ["name", "property", "http-equiv", "itemprop"];
        let start = self.range(token).start;
        let read = self.with_start_tag(token, |tag| {
            let text = |bytes| String::from_utf8_lossy(bytes);
            let field = NAMING_ATTRIBUTES.iter().find_map(|name| tag.raw_value(name)).map(text);
            let mut texts = Vec::new();
            for span in tag.attributes {
                let (own, value) =
                    (text(&tag.source[span.name.clone()]), text(&tag.source[span.value.clone()]));
                let is_value = ["value", "content"].iter().any(|name| own.eq_ignore_ascii_case(name));
                let field = field.as_ref().filter(|_| is_value);
                let field = field.map(|field| format!("{} {field}=", text(tag.name)));
                for name in [Some(format!("{own}=")), field].into_iter().flatten() {
                    let added = name.len();
                    texts.push(SearchedText {
                        text: (name + &value).into(),
                        added,
                        start: start + span.value.start,
                    });
                }
            }
            texts
        });
        read.unwrap_or_default()
    }

    /// The text of a range with the names of rules in place of values. `None` if there are none.
    pub(super) fn masked(&self, range: Range<usize>) -> Option<String> {
        let mut masked = String::new();
        let (mut at, mut has_values) = (range.start, false);
        let mut token = self.token_at(range.start);
        while at < range.end {
            let part = at..self.range(token).end.min(range.end);
            for value in self.values(token, &part) {
                masked.push_str(&self.text[at..value.range.start]);
                masked.extend(["\u{0}", value.rule.name(), "\u{0}"]);
                (at, has_values) = (value.range.end, true);
            }
            masked.push_str(&self.text[at..part.end]);
            (at, token) = (part.end, token + 1);
        }
        has_values.then(|| masked.replace("\r\n", "\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{BodySyntax, DocumentIndex};
    use super::*;
    use proptest::prelude::*;

    /// Pieces of texts that all patterns match.
    const PIECES: &str = "(NONCE=|'nonce-|_wpnonce:|abcdef12345|1234567890|value=\"|content='|\"|'| |<|>|/|&|\\?|CSRF|xsrf|\
        Form_Token|__VIEWSTATE|2026-11-16 10:11:12|Mon, 16 Nov 2026 10:11:12 GMT|>9:59:59<|timestamp:|\"now\":|ts=|<meta |name=\"dc.created\" |<lastBuildDate>|<!--|-->|updated |2024-10-31|integrity=\"sha256-|\"buildId\":\"|_token|Generated in 1.5 s|\
        took 3ms|\\.JS|\\.css|-0a1b2c3d|\\.min\\.js|\\?ver=6.4|/static/|/DIST/|/\\(S\\(abcdefabcdefabcdef\\)\\)/|sid=|PHPSESSID=|name=\"sid\"|\
        request-id=|SpanId:|cf-ray:|0123456789abcdef|data-cfemail=|/cdn-cgi/l/email-protection#|é){0,14}";

    #[test]
    fn every_pattern_has_its_bit_and_compiles() {
        assert!(PATTERNS.len() <= u64::BITS as usize);
        for search in PATTERNS.iter() {
            assert!(!search.regex().as_str().contains("_name}"), "{:?}", search.pattern);
            assert!(search.regex().captures_len() > search.pattern.forms.len());
        }
    }

    proptest! {
        #[test]
        fn patterns_match_only_where_their_sign_is_shown(text in PIECES) {
            let shown = shown_patterns(&text);
            for (_, search) in PATTERNS.iter().enumerate().filter(|(number, _)| shown & 1 << number == 0) {
                let index = DocumentIndex::of_fragment(BodySyntax::Html);
                let document = SourceDocument { text: &text, index: &index };
                for token in 0..document.token_count() {
                    let mut found = Vec::new();
                    document.search_pattern(token, &(0..text.len()), search, &mut found);
                    prop_assert_eq!(&found, &[], "{:?}", search.pattern);
                }
            }
        }

        #[test]
        fn values_are_in_order_and_inside_their_token(text in PIECES) {
            let index = DocumentIndex::of_fragment(BodySyntax::Html);
            let document = SourceDocument { text: &text, index: &index };
            for token in 0..document.token_count() {
                let values = document.values(token, &document.range(token));
                prop_assert!(values.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
            }
            document.masked(0..text.len());
        }
    }
}
