//! The seam to the index for full text search.
//!
//! Owns the two traits, and the values that go through them. The index maps words to pages, keeps a
//! record for each part of a page, which it does not interpret, and keeps what pages declare about URLs. It knows nothing of versions but
//! which of them it has read: the catalog decides which text of a page a version shows. Its error is
//! that of the catalog, because both are in databases of the same kind.
//!
//! The index is a cache that can be made again from the catalog and the bodies. A relational database
//! implements it with two tables and an inverted index.

use crate::VersionId;
use crate::catalog::CatalogResult;
use crate::history::ListCursor;

/// The number of a part in an index. Another index has other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartNumber(pub i64);

/// A part of the texts of a page, to be stored. A query finds a page if one of its parts has all the
/// words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPart {
    /// The identity of the page.
    pub page: String,
    /// Which part of the page it is, from 0. An existing one is replaced.
    pub place: u32,
    /// A URL of the page.
    pub url: String,
    /// The host of the URL; empty if it has none.
    pub host: String,
    /// The words that find it: sorted, without repetition, and without ASCII punctuation or spaces.
    pub words: Vec<String>,
    /// Its record.
    pub record: Vec<u8>,
}

/// What a page says about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    /// It is the canonical URL of the page.
    Canonical,
    /// It is another form of the page: another language, a mobile page.
    Alternate,
}

/// A declaration of a page about a URL. It stays when later captures of the page say otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlDeclaration {
    /// The identity of the page.
    pub page: String,
    /// What it says.
    pub kind: DeclarationKind,
    /// The identity of the URL.
    pub target: String,
}

/// One change to an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchRow {
    /// A part of a page.
    Part(SearchPart),
    /// A declaration of a page. An existing one stays.
    Declaration(UrlDeclaration),
    /// All pages of a version are in the index, or come before this row in the same batch.
    Version(VersionId),
}

/// A word to look up.
#[derive(Clone, Debug, PartialEq)]
pub struct WordLookup {
    /// The word.
    pub text: String,
    /// Whether all words that begin so are meant.
    pub is_prefix: bool,
    /// Words that tell how well a page fits, each with its weight. A page has weight 1 without any.
    pub ranking: Vec<(String, f32)>,
}

/// The parts that have all words of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateParts {
    /// The parts, the likely best first.
    pub parts: Vec<PartNumber>,
    /// For each word, how rare it is: the logarithm of the share of parts that have it, as BM25
    /// defines it.
    pub rarity: Vec<f32>,
}

/// A page in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedPage {
    /// The identity of the page.
    pub page: String,
    /// A URL of the page.
    pub url: String,
    /// The records of its parts, in order.
    pub records: Vec<Vec<u8>>,
}

/// Reads an index. Any number of readers may read while one process writes.
pub trait SearchIndexRead: Send + Sync {
    /// Whether all pages of a version are in the index.
    fn has_version(&self, version: &VersionId) -> CatalogResult<bool>;

    /// The number of versions whose pages are in the index.
    fn count_versions(&self) -> CatalogResult<u64>;

    /// The parts that have all these words, on this host or a subdomain of it. There is at least one
    /// word.
    fn candidates(&self, words: &[WordLookup], site: Option<&str>) -> CatalogResult<CandidateParts>;

    /// The identity of the page that a part belongs to.
    fn page_of(&self, part: PartNumber) -> CatalogResult<Option<String>>;

    /// A page by its identity.
    fn page(&self, page: &str) -> CatalogResult<Option<IndexedPage>>;

    /// At most `limit` declarations about a URL, by page. The URL is given by its identity.
    fn declarations_about(&self, target: &str, limit: usize) -> CatalogResult<Vec<UrlDeclaration>>;

    /// The declarations of a page, by kind and target.
    fn declarations_of(&self, page: &str) -> CatalogResult<Vec<UrlDeclaration>>;

    /// The identities of all pages, sorted by their bytes.
    fn pages(&self, cursor: ListCursor<&str>) -> CatalogResult<Vec<String>>;
}

/// Writes an index. One process writes at a time, and holds the lock of the archive.
pub trait SearchIndex: SearchIndexRead {
    /// Stores all rows or none. A power cut may lose the last calls, in order, and damages nothing.
    fn apply(&self, rows: &mut dyn Iterator<Item = SearchRow>) -> CatalogResult<()>;

    /// The same index, for reading.
    fn as_read(&self) -> &dyn SearchIndexRead;
}
