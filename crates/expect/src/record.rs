//! The expected response of one URL: one record of a domain file.

use varve_core::BodyId;
use varve_yaml::{Entry, Value};

/// With this category, any redirect is accepted.
pub const REDIRECT_OK: &str = "redirect-ok";
/// With this category, the media type may change.
pub const CONTENT_TYPE_CHANGE_OK: &str = "content-type-change-ok";
/// With this category, a URL is no longer checked.
pub const DEPRECATED_CATEGORY: &str = "deprecated";

pub(crate) const PATH_KEY: &str = "_path";
/// The key of the path in the oldest files.
pub(crate) const OLD_PATH_KEY: &str = "path";
pub(crate) const CATEGORIES_KEY: &str = "categories";
pub(crate) const CONTENT_LENGTH_KEY: &str = "content-length";
pub(crate) const CONTENT_SHA256_KEY: &str = "content-sha256";
pub(crate) const CONTENT_TYPE_KEY: &str = "content-type";

/// One record of a domain file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The absolute path, with a query where there is one; empty for a URL without any path.
    pub path: String,
    /// The media type, or `X-NNN-Redirect`; unchecked where it is absent.
    pub media_type: Option<String>,
    /// The length of the body in bytes, with content codings removed.
    pub length: Option<u64>,
    /// The SHA-256 of the body, with content codings removed.
    pub sha256: Option<BodyId>,
    /// Free tags, of which three matter to a check. Sorted by convention; a file with another order
    /// keeps it.
    pub categories: Vec<String>,
    /// All other keys, unchanged.
    pub extras: Vec<Entry>,
}

impl Expectation {
    /// Expects any successful response at `path`.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Whether its content is declared never to change.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.sha256.is_some()
    }

    /// Whether it has the category `name`.
    pub fn has_category(&self, name: &str) -> bool {
        self.categories.iter().any(|category| category == name)
    }

    /// Whether its path can follow a host: it begins with `/`, or has no path before its query.
    pub fn is_below_host(&self) -> bool {
        self.path.is_empty() || self.path.starts_with(['/', '?'])
    }

    /// Whether its path has a fragment, which no server ever sees.
    pub fn has_fragment(&self) -> bool {
        self.path.contains('#')
    }

    /// Puts the categories into their conventional order, each once.
    pub fn sort_categories(&mut self) {
        self.categories.sort();
        self.categories.dedup();
    }

    /// The record as YAML.
    pub fn value(&self) -> Value {
        let mut entries = self.extras.clone();
        entries.push(Entry::new(PATH_KEY, Value::text(&self.path)));
        if !self.categories.is_empty() {
            entries.push(Entry::new(CATEGORIES_KEY, Value::texts(&self.categories)));
        }
        entries.extend(self.length.map(|length| Entry::new(CONTENT_LENGTH_KEY, Value::int(length))));
        entries.extend(self.sha256.map(|id| Entry::new(CONTENT_SHA256_KEY, Value::text(id.to_string()))));
        entries.extend(self.media_type.as_ref().map(|kind| Entry::new(CONTENT_TYPE_KEY, Value::text(kind))));
        Value::mapping(entries)
    }
}
