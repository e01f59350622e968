//! Divides the texts of a page into parts, and makes the rows of the index.
//!
//! A page that changes often gets a new part when the last one is long, so that storing a change does
//! not rewrite everything that the page ever was. A text is in one part, whole.

use varve_core::search_index::SearchPart;
use varve_core::url::{PageUrl, page_identity};
use varve_search::{
    MAX_PART_PASSAGES, PageText, PageTexts, PageWords, TextKey, TextRecordError, index_words,
};

/// Number of bytes up to which a part always grows.
const SMALL_PART_BYTES: usize = 64 << 10;
/// A part grows until it is this many times as long as the text that is added.
const MAX_PART_TEXTS: usize = 4;

/// The identity of the page at a URL.
pub fn page_key(url: &str) -> String {
    page_identity(url).unwrap_or_else(|| url.to_owned())
}

/// The texts in the records of a page.
pub fn texts_of_records(records: &[Vec<u8>]) -> Result<Vec<PageTexts>, TextRecordError> {
    records.iter().map(|record| PageTexts::from_record(record)).collect()
}

/// The parts of a page.
pub(super) struct PageParts {
    parts: Vec<PageTexts>,
    /// The first part that changed.
    first_changed: Option<usize>,
}

impl PageParts {
    pub(super) fn new(parts: Vec<PageTexts>) -> Self {
        Self { parts, first_changed: None }
    }

    /// Whether there is a text of this body.
    pub(super) fn has(&self, key: TextKey) -> bool {
        self.parts.iter().any(|part| part.text_of(key).is_some())
    }

    /// Adds a text to the last part, or to a new one.
    pub(super) fn add(&mut self, key: TextKey, text: PageText) {
        let length: usize = text.passages.iter().map(|passage| passage.text.len()).sum();
        let most = SMALL_PART_BYTES.max(length.saturating_mul(MAX_PART_TEXTS));
        let is_full =
            |part: &PageTexts| part.passage_bytes() > most || part.count_passages() > MAX_PART_PASSAGES;
        if self.parts.last().is_none_or(is_full) {
            self.parts.push(PageTexts::default());
        }
        let last = self.parts.len() - 1;
        if self.parts[last].add([(key, text)]) {
            self.first_changed.get_or_insert(last);
        }
    }

    /// The rows of the parts that changed.
    pub(super) fn into_rows(self, page: &str, url: &str) -> Vec<SearchPart> {
        let Some(first) = self.first_changed else { return Vec::new() };
        let host = PageUrl::parse(page).map(|page| page.host().to_owned()).unwrap_or_default();
        let changed = self.parts.iter().enumerate().skip(first);
        let row = |(place, texts): (usize, &PageTexts)| SearchPart {
            page: page.to_owned(),
            place: u32::try_from(place).unwrap_or(u32::MAX),
            url: url.to_owned(),
            host: host.clone(),
            words: index_words(&PageWords::new(texts), page),
            record: texts.to_record(),
        };
        changed.map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_search::{Passage, PassageKind, TextKind};

    /// Passages that repeat each other add no bytes to a part, so their number must end it.
    #[test]
    fn a_part_ends_before_its_record_is_too_long() {
        let text = |letter: char| {
            let passage = Passage { kind: PassageKind::Text, text: letter.to_string() };
            PageText { kind: TextKind::Page, passages: vec![passage; 1 << 20] }
        };
        let mut parts = PageParts::new(Vec::new());
        for number in 0..6_u64 {
            parts.add(number.to_be_bytes(), text(if number % 2 == 0 { 'a' } else { 'b' }));
        }
        let lengths: Vec<usize> = parts.parts.iter().map(|part| part.texts().len()).collect();
        assert_eq!(lengths, [5, 1]);
        let records: Vec<Vec<u8>> = parts.parts.iter().map(PageTexts::to_record).collect();
        assert_eq!(texts_of_records(&records).expect("both are read").len(), 2);
    }
}
