//! The index of varve: FTS5 without positions, words with marks, and compressed texts. What the other
//! engines leave out is included: the texts, for snippets and phrases.

use std::path::Path;

use varve_catalog::SqliteSearchIndex;
use varve_core::search_index::{SearchIndex, SearchIndexRead, SearchPart, SearchRow, WordLookup};
use varve_search::{
    PageText, PageTexts, PageWords, Passage, PassageKind, SearchQuery, TextKind, TextMatcher, index_words,
    ranking_words,
};

use crate::Engine;
use crate::corpus::Corpus;

/// The number of candidates that are verified.
const RANKED_HITS: usize = 100;

pub struct VarveIndex {
    index: SqliteSearchIndex,
}

impl VarveIndex {
    pub fn new(folder: &Path) -> Self {
        Self { index: SqliteSearchIndex::open_to_write(&folder.join("search.db")).expect("a new index") }
    }

    fn write(&mut self, numbers: impl Iterator<Item = usize>, corpus: &Corpus) {
        let rows = numbers.map(|number| row(number, corpus)).collect::<Vec<_>>();
        for batch in rows.chunks(2_000) {
            self.index.apply(&mut batch.iter().cloned()).expect("a batch");
        }
    }
}

fn row(number: usize, corpus: &Corpus) -> SearchRow {
    let title = Passage { kind: PassageKind::Title, text: corpus.title(number) };
    let body = Passage { kind: PassageKind::Text, text: corpus.body(number) };
    let mut texts = PageTexts::default();
    let text = PageText { kind: TextKind::Page, passages: vec![title, body] };
    texts.add([((number as u64).to_be_bytes(), text)]);
    let page = format!("https://example.com/{number}");
    SearchRow::Part(SearchPart {
        words: index_words(&PageWords::new(&texts), &page),
        record: texts.to_record(),
        place: 0,
        host: "example.com".to_owned(),
        url: page.clone(),
        page,
    })
}

impl Engine for VarveIndex {
    fn build(&mut self, corpus: &Corpus) {
        self.write(0..corpus.len(), corpus);
    }

    fn update(&mut self, corpus: &Corpus) {
        self.write((0..corpus.len()).step_by(20), corpus);
    }

    fn search(&self, words: &[String], phrase: bool) -> usize {
        let text = if phrase { format!("\"{}\"", words.join(" ")) } else { words.join(" ") };
        let query = SearchQuery::parse(&text).expect("a query");
        let lookups: Vec<WordLookup> = query
            .wanted
            .iter()
            .flat_map(|phrase| phrase.index_words())
            .map(|word| WordLookup {
                ranking: ranking_words(&word.text).to_vec(),
                text: word.text,
                is_prefix: word.is_prefix,
            })
            .collect();
        let candidates = self.index.candidates(&lookups, None).expect("a search");
        let mut hits = Vec::new();
        for part in candidates.parts {
            let identity = self.index.page_of(part).expect("a read").expect("a page");
            let page = self.index.page(&identity).expect("a read").expect("a page");
            let texts = PageTexts::from_record(&page.records[0]).expect("a record");
            let words = PageWords::of_query(&texts, &query);
            let found = TextMatcher::new(&query, &words, &page.page).match_text(&texts.texts()[0], &[]);
            hits.extend(found.map(|found| found.score));
            if hits.len() >= RANKED_HITS {
                break;
            }
        }
        hits.len().min(10)
    }
}
