//! Searches a token for the values that rules know.

use super::document::{SourceDocument, SourceKind};
use super::pattern::{NoisePattern, ValueShape, expand_parts};
use super::position::reason_for_position;
use super::rules::{NOISE_RULES, NoiseRule};
use super::sign_search::{SignWords, Signs};
use super::token_shape::{is_hash, is_request_id, is_token, unscrambled_address};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::rc::Rc;
use std::sync::{LazyLock, OnceLock};

/// Maximum length of a token that is searched whole, once. Of a longer one only the part that is compared is searched.
const MAX_WHOLE_TOKEN_BYTES: usize = 256 << 10;

/// Number of bytes before and behind that part which patterns may match as well.
const PART_CONTEXT_BYTES: usize = 400;

/// Number of bytes before and behind a text that patterns may match as well: the tags and texts around it.
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
    /// The words before a time that say that the page made it. Two values are alike only if theirs are the same.
    pub(super) reason: String,
}

/// A pattern of the table. It is compiled when a text first shows its sign, because compiling all takes milliseconds,
/// which is much in a comparison of small pages.
struct SearchPattern {
    rule: NoiseRule,
    pattern: &'static NoisePattern,
    words: SignWords,
    regex: OnceLock<Regex>,
}

static PATTERNS: LazyLock<Vec<SearchPattern>> = LazyLock::new(|| {
    let search = |rule, pattern: &'static NoisePattern| {
        let words = pattern.sign.word_set();
        SearchPattern { rule, pattern, words, regex: OnceLock::new() }
    };
    NOISE_RULES
        .iter()
        .flat_map(|rule| rule.patterns.iter().map(move |pattern| search(rule.rule, pattern)))
        .collect()
});

impl SearchPattern {
    /// Patterns match ASCII alone, and compile in an eighth of the time if the library knows.
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let form = expand_parts(self.pattern.form);
            RegexBuilder::new(&form).unicode(false).build().expect("the patterns of the table are tested")
        })
    }
}

impl SourceDocument<'_> {
    /// The values in a part of a token, in order.
    pub(super) fn values(&self, token: usize, part: &Range<usize>) -> Vec<NoiseValue> {
        let whole = self.range(token);
        let found = if whole.len() <= MAX_WHOLE_TOKEN_BYTES {
            self.values_of_token(token)
        } else if Signs::of(&self.text[part.clone()]).show_any(&PATTERNS) {
            let start = part.start.saturating_sub(PART_CONTEXT_BYTES).max(whole.start);
            let end = (part.end + PART_CONTEXT_BYTES).min(whole.end);
            let region = self.text.floor_char_boundary(start)..self.text.ceil_char_boundary(end);
            self.search(token, region).into()
        } else {
            Vec::new().into()
        };
        let is_inside = |value: &&NoiseValue| part.start <= value.range.start && value.range.end <= part.end;
        found.iter().filter(is_inside).cloned().collect()
    }

    fn values_of_token(&self, token: usize) -> Rc<[NoiseValue]> {
        if let Some(found) = self.index.values.borrow().get(&token) {
            return Rc::clone(found);
        }
        let region = self.region_around(token);
        let found: Rc<[NoiseValue]> = self.search(token, region).into();
        self.index.values.borrow_mut().insert(token, Rc::clone(&found));
        found
    }

    /// What patterns may match to find a value in a token: the token, and for a text also the tokens around it.
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
        let is_searchable = matches!(
            self.kind(token),
            SourceKind::Text
                | SourceKind::Program
                | SourceKind::Plain
                | SourceKind::StartTag
                | SourceKind::Comment
        );
        if searched > MAX_SEARCHED_BYTES || !is_searchable {
            return Vec::new();
        }
        self.index.searched.set(searched);
        let mut found = Vec::new();
        let signs = Signs::of(&self.text[region.clone()]);
        for search in PATTERNS.iter().filter(|search| signs.show(search.pattern.sign, search.words)) {
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
        let NoisePattern { shape, position, .. } = *search.pattern;
        let own = self.range(token);
        for captures in search.regex().captures_iter(self.text[region.clone()].as_bytes()) {
            let Some(group) = captures.name("v") else { continue };
            let range = region.start + group.start()..region.start + group.end();
            let Some(value) = self.text.get(range.clone()) else { continue };
            let is_inside = own.start <= range.start && range.end <= own.end;
            let overlaps =
                |other: &NoiseValue| other.range.start < range.end && range.start < other.range.end;
            if !is_inside || !has_shape(value, shape) || found.iter().any(overlaps) {
                continue;
            }
            if let Some(reason) = reason_for_position(*self, token, &range, position) {
                found.push(NoiseValue { rule: search.rule, shape, range, reason });
            }
            if found.len() > MAX_VALUES {
                return;
            }
        }
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

impl Signs {
    fn show_any(&self, patterns: &[SearchPattern]) -> bool {
        patterns.iter().any(|search| self.show(search.pattern.sign, search.words))
    }
}

/// Whether a text shows a sign of any value.
pub(super) fn may_have_values(text: &str) -> bool {
    Signs::of(text).show_any(&PATTERNS)
}

fn has_shape(value: &str, shape: ValueShape) -> bool {
    match shape {
        ValueShape::AsMatched | ValueShape::AssetDigest => true,
        ValueShape::Token => is_token(value),
        ValueShape::Hash | ValueShape::SwappedHash => is_hash(value),
        ValueShape::RequestId => is_request_id(value),
        ValueShape::ScrambledAddress => unscrambled_address(value).is_some(),
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

    proptest! {
        #[test]
        fn patterns_match_only_where_their_sign_is_shown(text in PIECES) {
            let signs = Signs::of(&text);
            for search in PATTERNS.iter().filter(|search| !signs.show(search.pattern.sign, search.words)) {
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
