//! Resolving: which URL a reference on a page leads to, as browsers read it.
//!
//! The one place where the `url` crate decides, because what a link means is what a browser makes of it.

use url::{ParseError, Url};

/// Why a reference leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The base is no absolute URL.
    #[error("base URL cannot be read")]
    Base(#[source] ParseError),
    /// The reference is no URL, not even relative to its base.
    #[error("reference cannot be read")]
    Reference(#[source] ParseError),
}

/// The URL of a page, read once for all the references on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(Url);

impl Base {
    /// Reads the URL of a page.
    pub fn parse(url: &str) -> Result<Self, ResolveError> {
        Url::parse(url).map(Self).map_err(ResolveError::Base)
    }

    /// The absolute URL that a reference on the page leads to.
    pub fn resolve(&self, reference: &str) -> Result<String, ResolveError> {
        self.0.join(reference).map(String::from).map_err(ResolveError::Reference)
    }
}

/// The absolute URL that a reference on the page `base` leads to. An empty base will do for an absolute reference.
pub fn resolve(base: &str, reference: &str) -> Result<String, ResolveError> {
    if base.is_empty() {
        return Url::parse(reference).map(String::from).map_err(ResolveError::Reference);
    }
    Base::parse(base)?.resolve(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_which_of_the_two_is_wrong() {
        assert!(matches!(resolve("x", "/a"), Err(ResolveError::Base(_))));
        assert!(matches!(resolve("http://h/", "http://[1"), Err(ResolveError::Reference(_))));
        assert!(matches!(resolve("", "/a"), Err(ResolveError::Reference(_))));
    }
}
