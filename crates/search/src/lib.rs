//! Full text: words, queries, and the texts that a page had over time.
//!
//! Owns what a word is, what a query matches, and the record that keeps all texts of a page: a
//! passage that many versions share is in it once. Functions from text to values; nothing here knows
//! HTML, a database, or which version has which text. Decision 062 gives the reasons.
//!
//! The index only proposes pages. Whether a page matches is decided here, against its text, so
//! phrases across passages and exclusions are exact with any index.

mod attribution;
mod index_words;
mod page_text;
mod page_texts;
mod page_words;
mod query;
mod record;
mod single_letter;
mod snippet;
mod text_match;
mod words;

pub use attribution::Attributed;
pub use attribution::attribute;
pub use index_words::{index_words, ranking_words};
pub use page_text::{PageText, Passage, PassageKind, TextKind};
pub use page_texts::{MAX_PART_PASSAGES, PageTexts, StoredText, TextKey};
pub use page_words::PageWords;
pub use query::{QueryError, QueryPhrase, QueryWord, SearchQuery};
pub use record::TextRecordError;
pub use snippet::{Snippet, snippet};
pub use text_match::{TextMatch, TextMatcher};
pub use words::{each_word, words_of};
