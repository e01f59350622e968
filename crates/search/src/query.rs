//! What a user looks for: words, phrases in quotes, and exclusions.
//!
//! `three words` are three phrases of one word, which a page must have in any order. `"two words"` is
//! one phrase. `-word` and `-"two words"` exclude pages. A word that punctuation divides, such as
//! `e-mail` or `example.com/a`, is a phrase, as is a run of Chinese characters. `word*` finds words
//! that begin so.

use crate::single_letter::is_single_letter;
use crate::words::words_of;

/// Maximum number of words in a query.
const MAX_QUERY_WORDS: usize = 200;

/// Why a query cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It has no word that pages must have.
    #[error("the query has no word to look for")]
    NoWord,
    /// It is too long.
    #[error("the query has more than {MAX_QUERY_WORDS} words")]
    TooLong,
}

/// One word of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWord {
    /// The normalised word.
    pub text: String,
    /// Whether it is the beginning of the words to find.
    pub is_prefix: bool,
}

impl QueryWord {
    /// Whether it finds this word.
    pub fn finds(&self, word: &str) -> bool {
        if self.is_prefix { word.starts_with(&self.text) } else { word == self.text }
    }
}

/// Words that follow each other in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPhrase {
    /// The words. At least one.
    pub words: Vec<QueryWord>,
}

impl QueryPhrase {
    /// The phrase of a text; `None` if it has no word.
    fn of(text: &str, is_prefix: bool) -> Option<Self> {
        let mut words: Vec<QueryWord> =
            words_of(text).into_iter().map(|text| QueryWord { text, is_prefix: false }).collect();
        words.last_mut()?.is_prefix = is_prefix;
        Some(Self { words })
    }

    /// The words of the index that a page with the phrase has.
    pub fn index_words(&self) -> Vec<QueryWord> {
        let is_single = |place: usize| self.words.get(place).is_some_and(|word| is_single_letter(&word.text));
        let mut list = Vec::new();
        for (place, word) in self.words.iter().enumerate() {
            if !is_single(place) {
                list.push(word.clone());
            } else if is_single(place + 1) {
                let text = format!("{}{}", word.text, self.words[place + 1].text);
                list.push(QueryWord { text, is_prefix: false });
            } else if place == 0 || !is_single(place - 1) {
                // Alone: the first letter of a pair, or one without a pair.
                list.push(QueryWord { text: word.text.clone(), is_prefix: true });
            }
        }
        list
    }
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// The phrases that a page must have.
    pub wanted: Vec<QueryPhrase>,
    /// The phrases that it must not have.
    pub excluded: Vec<QueryPhrase>,
}

impl SearchQuery {
    /// Reads the text of a user. Every text is a query, unless it has no word or too many.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let mut query = Self { wanted: Vec::new(), excluded: Vec::new() };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let is_excluded = rest.starts_with('-');
            let term = rest.strip_prefix('-').unwrap_or(rest);
            let (phrase, after) = match term.strip_prefix('"') {
                Some(quoted) => {
                    let (phrase, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                    (QueryPhrase::of(phrase, false), after)
                }
                None => {
                    let end = term.find(|letter: char| letter.is_whitespace() || letter == '"');
                    let (word, after) = term.split_at(end.unwrap_or(term.len()));
                    (QueryPhrase::of(word, word.ends_with('*')), after)
                }
            };
            let list = if is_excluded { &mut query.excluded } else { &mut query.wanted };
            list.extend(phrase.filter(|phrase| !list.contains(phrase)));
            rest = after.trim_start();
        }
        let count: usize = query.wanted.iter().chain(&query.excluded).map(|phrase| phrase.words.len()).sum();
        match query.wanted.is_empty() {
            true => Err(QueryError::NoWord),
            false if count > MAX_QUERY_WORDS => Err(QueryError::TooLong),
            false => Ok(query),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(phrases: &[QueryPhrase]) -> Vec<String> {
        let word = |word: &QueryWord| format!("{}{}", word.text, if word.is_prefix { "*" } else { "" });
        phrases.iter().map(|phrase| phrase.words.iter().map(word).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn queries_are_words_phrases_and_exclusions() {
        for (text, wanted, excluded) in [
            ("Three small words", &["three", "small", "words"][..], &[][..]),
            ("a \"Small House\" -red -\"old roof\"", &["a", "small house"], &["red", "old roof"]),
            ("e-mail example.com/a x", &["e mail", "example com a", "x"], &[]),
            ("\"never closed", &["never closed"], &[]),
            ("gard* a\"b c\"d", &["gard*", "a", "b c", "d"], &[]),
            ("検索エンジン", &["検 索 エ ン シ ン"], &[]),
            ("same same", &["same"], &[]),
        ] {
            let query = SearchQuery::parse(text).unwrap();
            assert_eq!(shown(&query.wanted), wanted, "{text}");
            assert_eq!(shown(&query.excluded), excluded, "{text}");
        }
    }

    #[test]
    fn a_query_needs_a_word() {
        for text in ["", "  ", "-red", "\"\" …", "*"] {
            assert_eq!(SearchQuery::parse(text), Err(QueryError::NoWord), "{text}");
        }
        assert_eq!(SearchQuery::parse(&"検".repeat(300)), Err(QueryError::TooLong));
    }

    #[test]
    fn single_letters_are_looked_up_in_pairs() {
        let words = |text: &str| {
            let query = SearchQuery::parse(text).unwrap();
            shown(&[QueryPhrase { words: query.wanted[0].index_words() }])
        };
        assert_eq!(words("全文検索"), ["全文 文検 検索"]);
        assert_eq!(words("\"見 abc 検\""), ["見* abc 検*"]);
        assert_eq!(words("見"), ["見*"]);
    }

    proptest! {
        #[test]
        fn parsing_is_total(text in "\\PC{0,40}") {
            let _ = SearchQuery::parse(&text);
        }
    }
}
