//! The words under which the texts of a page are found.
//!
//! The index holds which words a page has in any of its texts, and no positions. Of two letters in a
//! row that are words of their own, it holds the pair, so that a word of a script without spaces
//! finds few pages. For ranking it holds words with a mark: those in the title, in a heading, and
//! those that one text has several times.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::page_text::PassageKind;
use crate::page_words::{PageWords, WordStream};
use crate::single_letter::is_single_letter;
use crate::words::words_of;

/// Marks of words, from the private use area: no word contains them.
const TITLE_MARK: char = '\u{e000}';
const HEADING_MARK: char = '\u{e001}';
const URL_MARK: char = '\u{e002}';
const SEVERAL_MARK: char = '\u{e003}';
const MANY_MARK: char = '\u{e004}';
/// How often a text has a word with the first mark.
const SEVERAL_TIMES: u32 = 2;
/// How often a text has a word with the second mark.
const MANY_TIMES: u32 = 5;

/// A word with a mark, and what the mark adds to its weight, which is 1 without.
pub fn ranking_words(word: &str) -> [(String, f32); 5] {
    [(TITLE_MARK, 8.0), (HEADING_MARK, 3.0), (URL_MARK, 3.0), (SEVERAL_MARK, 1.0), (MANY_MARK, 2.0)]
        .map(|(mark, weight)| (format!("{word}{mark}"), weight))
}

/// The words under which the texts of the page at `url` are found, sorted.
pub fn index_words(words: &PageWords<'_>, url: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut most: HashMap<u32, WordUse> = HashMap::new();
    for text in words.texts().texts() {
        let stream = words.stream(text);
        add_pairs(words, &stream, &mut found);
        let mut counts: BTreeMap<u32, WordUse> = BTreeMap::new();
        for (kind, range) in &stream.passages {
            for word in &stream.words[range.clone()] {
                let word = counts.entry(*word).or_default();
                word.count += 1;
                word.is_in_title |= *kind == PassageKind::Title;
                word.is_in_heading |= *kind == PassageKind::Heading;
            }
        }
        for (word, in_text) in counts {
            most.entry(word).or_default().merge(in_text);
        }
    }
    for (number, used) in most {
        let word = &words.words[number as usize];
        // Single letters are found by the pairs that they begin.
        if is_single_letter(word) {
            continue;
        }
        found.insert(word.clone());
        let marks = [
            (used.is_in_title, TITLE_MARK),
            (used.is_in_heading, HEADING_MARK),
            (used.count >= SEVERAL_TIMES, SEVERAL_MARK),
            (used.count >= MANY_TIMES, MANY_MARK),
        ];
        found.extend(marks.iter().filter(|(is, _)| *is).map(|(_, mark)| format!("{word}{mark}")));
    }
    add_url(url, &mut found);
    found.into_iter().collect()
}

/// How the texts of a page use a word.
#[derive(Clone, Copy, Default)]
struct WordUse {
    count: u32,
    is_in_title: bool,
    is_in_heading: bool,
}

impl WordUse {
    fn merge(&mut self, other: Self) {
        self.count = self.count.max(other.count);
        self.is_in_title |= other.is_in_title;
        self.is_in_heading |= other.is_in_heading;
    }
}

/// Adds the pairs of single letters, also across passages, because a phrase may cross them.
fn add_pairs(words: &PageWords<'_>, stream: &WordStream, found: &mut BTreeSet<String>) {
    let text = |place: usize| {
        let number = stream.words.get(place)?;
        Some(words.words[*number as usize].as_str())
    };
    for place in 0..stream.words.len() {
        let Some(word) = text(place).filter(|word| is_single_letter(word)) else { continue };
        match text(place + 1).filter(|next| is_single_letter(next)) {
            Some(next) => found.insert(format!("{word}{next}")),
            None => found.insert(word.to_owned()),
        };
    }
}

fn add_url(url: &str, found: &mut BTreeSet<String>) {
    let words = words_of(url);
    for (place, word) in words.iter().enumerate() {
        let next = words.get(place + 1).filter(|next| is_single_letter(word) && is_single_letter(next));
        found.insert(next.map_or_else(|| word.clone(), |next| format!("{word}{next}")));
        found.insert(format!("{word}{URL_MARK}"));
    }
}
