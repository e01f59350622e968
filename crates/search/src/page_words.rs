//! The words of all texts of a page, as numbers, so that many queries compare numbers.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::page_text::PassageKind;
use crate::page_texts::{PageTexts, StoredText};
use crate::query::SearchQuery;
use crate::words::each_word;

/// The words of a page.
pub struct PageWords<'a> {
    texts: &'a PageTexts,
    /// The different words.
    pub(crate) words: Vec<String>,
    /// The words of each passage.
    passages: Vec<Vec<u32>>,
}

/// The words of one text in one list, and where its passages begin.
pub(crate) struct WordStream {
    pub(crate) words: Vec<u32>,
    /// For each passage of the text: its kind and the range of its words.
    pub(crate) passages: Vec<(PassageKind, Range<usize>)>,
}

/// The number of a word that no query asks for.
const OTHER_WORD: u32 = u32::MAX;

impl<'a> PageWords<'a> {
    /// Reads the words of all passages.
    pub fn new(texts: &'a PageTexts) -> Self {
        Self::with_words(texts, |_| true)
    }

    /// Reads the words of all passages, and tells only those apart that a query asks for.
    pub fn of_query(texts: &'a PageTexts, query: &SearchQuery) -> Self {
        let phrases = || query.wanted.iter().chain(&query.excluded).flat_map(|phrase| &phrase.words);
        let exact: HashSet<&str> = phrases().map(|word| word.text.as_str()).collect();
        let prefixes: Vec<&str> =
            phrases().filter(|word| word.is_prefix).map(|word| word.text.as_str()).collect();
        Self::with_words(texts, |word| {
            exact.contains(word) || prefixes.iter().any(|prefix| word.starts_with(prefix))
        })
    }

    fn with_words(texts: &'a PageTexts, is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut words = Vec::new();
        let mut number = |word: &str| match numbers.get(word) {
            Some(number) => *number,
            None if !is_wanted(word) => OTHER_WORD,
            None => {
                let number = u32::try_from(words.len()).unwrap_or(OTHER_WORD);
                words.push(word.to_owned());
                numbers.insert(word.to_owned(), number);
                number
            }
        };
        let passages = texts.passages.iter().map(|passage| {
            let mut list = Vec::new();
            each_word(&passage.text, |word, _| list.push(number(word)));
            list
        });
        let passages = passages.collect();
        Self { texts, words, passages }
    }

    /// The texts.
    pub fn texts(&self) -> &'a PageTexts {
        self.texts
    }

    /// The words of a text.
    pub(crate) fn stream(&self, text: &StoredText) -> WordStream {
        let mut stream = WordStream { words: Vec::new(), passages: Vec::with_capacity(text.passages.len()) };
        for passage in &text.passages {
            let start = stream.words.len();
            stream.words.extend_from_slice(&self.passages[*passage as usize]);
            let kind = self.texts.passages[*passage as usize].kind;
            stream.passages.push((kind, start..stream.words.len()));
        }
        stream
    }
}
