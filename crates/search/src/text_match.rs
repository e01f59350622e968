//! Whether a text has what a query looks for, and how well it fits.

use std::ops::Range;

use crate::page_text::PassageKind;
use crate::page_texts::StoredText;
use crate::page_words::{PageWords, WordStream};
use crate::query::{QueryPhrase, SearchQuery};
use crate::words::words_of;

/// The weight of a hit in a title, in a heading and in a URL. In other text it is 1.
const TITLE_WEIGHT: f32 = 8.0;
const HEADING_WEIGHT: f32 = 3.0;
const URL_WEIGHT: f32 = 3.0;
/// The constants of BM25: how soon more hits count less, and how much long texts are discounted.
const TERM_SATURATION: f32 = 1.2;
const LENGTH_DISCOUNT: f32 = 0.75;
/// The length of an ordinary text, in words.
const ORDINARY_WORDS: f32 = 400.0;
/// Maximum number of hits of a phrase that are kept for snippets.
const MAX_KEPT_HITS: usize = 50;

/// How a text matches.
#[derive(Clone, Debug)]
pub struct TextMatch {
    /// How well it fits: greater is better.
    pub score: f32,
    /// For each wanted phrase, the places of its hits in the list of words of the text.
    pub(crate) hits: Vec<Vec<Range<usize>>>,
    pub(crate) passages: Vec<(PassageKind, Range<usize>)>,
}

/// A query, prepared for the texts of one page.
pub struct TextMatcher<'a> {
    words: &'a PageWords<'a>,
    wanted: Vec<PreparedPhrase>,
    excluded: Vec<PreparedPhrase>,
}

/// A phrase as numbers of words.
struct PreparedPhrase {
    /// For each word of the phrase, the words of the page that it finds.
    choices: Vec<Vec<u32>>,
    is_in_url: bool,
}

impl PreparedPhrase {
    fn new(phrase: &QueryPhrase, words: &PageWords<'_>, url_words: &[String]) -> Self {
        let choices = phrase.words.iter().map(|wanted| {
            let found = (0..).zip(&words.words).filter(|(_, word)| wanted.finds(word));
            found.map(|(number, _)| number).collect()
        });
        let mut windows = url_words.windows(phrase.words.len());
        let is_in_url =
            windows.any(|window| phrase.words.iter().zip(window).all(|(wanted, word)| wanted.finds(word)));
        Self { choices: choices.collect(), is_in_url }
    }

    /// The places of the phrase in a text.
    fn hits<'a>(&'a self, stream: &'a WordStream) -> impl Iterator<Item = usize> + 'a {
        let can_occur = self.choices.iter().all(|words| !words.is_empty());
        let places = stream.words.windows(self.choices.len()).enumerate().filter(move |_| can_occur);
        places.filter(|(_, window)| self.is_at(window)).map(|(place, _)| place)
    }

    fn is_at(&self, window: &[u32]) -> bool {
        self.choices.iter().zip(window).all(|(words, word)| words.contains(word))
    }
}

impl<'a> TextMatcher<'a> {
    /// Prepares a query for the texts of the page at `url`.
    pub fn new(query: &SearchQuery, words: &'a PageWords<'a>, url: &str) -> Self {
        let url_words = words_of(url);
        let prepare = |phrases: &[QueryPhrase]| {
            phrases.iter().map(|phrase| PreparedPhrase::new(phrase, words, &url_words)).collect()
        };
        Self { words, wanted: prepare(&query.wanted), excluded: prepare(&query.excluded) }
    }

    /// Whether a text matches: it or the URL has each wanted phrase, and neither has an excluded one.
    /// `rarity` has a weight for each wanted phrase.
    pub fn match_text(&self, text: &StoredText, rarity: &[f32]) -> Option<TextMatch> {
        let stream = self.words.stream(text);
        let has = |phrase: &PreparedPhrase| phrase.is_in_url || phrase.hits(&stream).next().is_some();
        if self.excluded.iter().any(has) {
            return None;
        }
        let mut hits = Vec::with_capacity(self.wanted.len());
        let mut score = 0.0;
        for (number, phrase) in self.wanted.iter().enumerate() {
            let mut weight = if phrase.is_in_url { URL_WEIGHT } else { 0.0 };
            let mut kept = Vec::new();
            let mut passage = 0;
            for place in phrase.hits(&stream) {
                while stream.passages.get(passage).is_some_and(|(_, range)| range.end <= place) {
                    passage += 1;
                }
                weight += match stream.passages.get(passage).map(|(kind, _)| kind) {
                    Some(PassageKind::Title) => TITLE_WEIGHT,
                    Some(PassageKind::Heading) => HEADING_WEIGHT,
                    _ => 1.0,
                };
                if kept.len() < MAX_KEPT_HITS {
                    kept.push(place..place + phrase.choices.len());
                }
            }
            if weight == 0.0 {
                return None;
            }
            score += rarity.get(number).copied().unwrap_or(1.0) * saturated(weight, stream.words.len());
            hits.push(kept);
        }
        Some(TextMatch { score, hits, passages: stream.passages })
    }
}

/// BM25 of one phrase.
fn saturated(weight: f32, words: usize) -> f32 {
    let length = 1.0 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * words as f32 / ORDINARY_WORDS;
    weight * (TERM_SATURATION + 1.0) / (weight + TERM_SATURATION * length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_text::{PageText, Passage, TextKind};
    use crate::page_texts::PageTexts;

    fn page(passages: &[(PassageKind, &str)]) -> PageTexts {
        let passages =
            passages.iter().map(|(kind, text)| Passage { kind: *kind, text: (*text).to_owned() }).collect();
        let mut texts = PageTexts::default();
        texts.add([([0; 8], PageText { kind: TextKind::Page, passages })]);
        texts
    }

    fn score(texts: &PageTexts, query: &str) -> Option<f32> {
        let query = SearchQuery::parse(query).unwrap();
        let words = PageWords::of_query(texts, &query);
        let matcher = TextMatcher::new(&query, &words, "https://example.com/garden/roses");
        matcher.match_text(&texts.texts()[0], &[]).map(|found| found.score)
    }

    #[test]
    fn phrases_cross_passages_and_exclusions_exclude() {
        use PassageKind::{Heading, Text, Title};
        let texts =
            page(&[(Title, "Old houses"), (Heading, "Roofs"), (Text, "Red tiles last."), (Text, "全文検索")]);
        for query in [
            "tiles houses",
            "\"red tiles last\"",
            "\"roofs red\"",
            "\"houses roofs red\"",
            "til*",
            "検索",
            "\"last 全\"",
            "example.com/garden",
            "tiles rose*",
            "tiles -slate",
        ] {
            assert!(score(&texts, query).is_some(), "{query}");
        }
        for query in
            ["til", "\"tiles red\"", "索検", "tiles -last", "houses -garden", "\"last red\"", "\"roses old\""]
        {
            assert!(score(&texts, query).is_none(), "{query}");
        }
    }

    #[test]
    fn titles_and_headings_count_more_and_long_texts_less() {
        use PassageKind::{Heading, Text, Title};
        let long = "word ".repeat(2000);
        let in_title = score(&page(&[(Title, "tulips"), (Text, "x")]), "tulips").unwrap();
        let in_heading = score(&page(&[(Heading, "tulips"), (Text, "x")]), "tulips").unwrap();
        let in_text = score(&page(&[(Text, "tulips x")]), "tulips").unwrap();
        let in_long = score(&page(&[(Text, "tulips"), (Text, &long)]), "tulips").unwrap();
        assert!(in_title > in_heading && in_heading > in_text && in_text > in_long);
    }
}
