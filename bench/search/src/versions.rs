//! How an index grows over twenty versions of a site.
//!
//! A site has 2,000 pages of 20 passages with 20 words each. In each version a twentieth of the
//! passages changes, in one of two ways: some words are replaced, as in an edit; or all words, as in
//! new text.

use std::path::Path;

use varve_catalog::SqliteSearchIndex;
use varve_core::search_index::{SearchIndex, SearchPart, SearchRow};
use varve_search::{PageText, PageTexts, PageWords, Passage, PassageKind, TextKind, index_words};

use crate::corpus::{Random, Vocabulary};

const PAGES: usize = 2_000;
const PASSAGES: usize = 20;
const PASSAGE_WORDS: usize = 20;
const VERSIONS: usize = 20;

/// How a passage changes.
#[derive(Clone, Copy)]
pub enum Change {
    /// This number of words.
    Words(usize),
    /// All words.
    Whole,
}

/// The size of the index after each version.
pub fn sizes(folder: &Path, change: Change) -> Vec<u64> {
    std::fs::create_dir_all(folder).expect("the temporary folder can be written");
    let vocabulary = Vocabulary::new();
    let mut random = Random::new(5);
    let passage =
        |random: &mut Random| -> Vec<u32> { (0..PASSAGE_WORDS).map(|_| vocabulary.draw(random)).collect() };
    let mut pages: Vec<Vec<Vec<u32>>> =
        (0..PAGES).map(|_| (0..PASSAGES).map(|_| passage(&mut random)).collect()).collect();
    let mut stored: Vec<PageTexts> = vec![PageTexts::default(); PAGES];
    let path = folder.join("search.db");
    let mut sizes = Vec::new();
    for version in 0..VERSIONS {
        let index = SqliteSearchIndex::open_to_write(&path).expect("an index");
        let mut rows = Vec::new();
        for (number, page) in pages.iter_mut().enumerate() {
            if version > 0 {
                let place = random.below(PASSAGES);
                match change {
                    Change::Whole => page[place] = passage(&mut random),
                    Change::Words(count) => {
                        for _ in 0..count {
                            page[place][random.below(PASSAGE_WORDS)] = vocabulary.draw(&mut random);
                        }
                    }
                }
            }
            rows.push(row(number, version, page, &vocabulary, &mut stored[number]));
        }
        for batch in rows.chunks(500) {
            index.apply(&mut batch.iter().cloned()).expect("a batch");
        }
        drop(index);
        sizes.push(crate::folder_bytes(folder));
    }
    std::fs::remove_dir_all(folder).expect("the temporary folder can be removed");
    sizes
}

fn row(
    number: usize,
    version: usize,
    page: &[Vec<u32>],
    vocabulary: &Vocabulary,
    stored: &mut PageTexts,
) -> SearchRow {
    let text = |words: &Vec<u32>| Passage { kind: PassageKind::Text, text: vocabulary.text(words) };
    let passages = page.iter().map(text).collect();
    // Ids of bodies look random.
    let key = Random::new((number * VERSIONS + version + 1) as u64).next().to_be_bytes();
    stored.add([(key, PageText { kind: TextKind::Page, passages })]);
    let url = format!("https://example.com/{number}");
    SearchRow::Part(SearchPart {
        words: index_words(&PageWords::new(stored), &url),
        record: stored.to_record(),
        place: 0,
        host: "example.com".to_owned(),
        url: url.clone(),
        page: url,
    })
}
