//! Resolves references on a page to URLs, as browsers do.
//!
//! Only here does the `url` crate decide, because browsers define the meaning of a link. Most links
//! of most pages are plain paths, which all parsers read in the same way: they are joined without
//! that crate.

use super::escape::ByteSet;
use url::{ParseError, Url};

/// Bytes that are literal in a path. A colon is not among them: it may end a scheme. A percent sign
/// is, except in an escaped dot.
const PLAIN_PATH_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~/!$&'()*+,;=@%");
/// Bytes that are literal in a query. An apostrophe is not: browsers escape it.
const PLAIN_QUERY_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~/!$&()*+,;=@%:?");
/// Bytes that are literal in a fragment.
const PLAIN_FRAGMENT_BYTES: ByteSet = ByteSet::alphanumeric_and(b"-._~/:=");

/// Why a reference cannot be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The base is not an absolute URL.
    #[error("base URL cannot be read")]
    Base(#[source] ParseError),
    /// The reference is not a URL, not even relative to its base.
    #[error("reference cannot be read")]
    Reference(#[source] ParseError),
}

/// The URL of a page, read once for all the references on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    url: Url,
    /// The length of the URL up to its path, for a web URL; other URLs have no plain paths.
    root: Option<usize>,
    /// The length of the URL up to the last slash of its path.
    folder: usize,
}

impl Base {
    /// Reads the URL of a page.
    pub fn parse(url: &str) -> Result<Self, ResolveError> {
        let url = Url::parse(url).map_err(ResolveError::Base)?;
        let path = &url[url::Position::BeforePath..url::Position::AfterPath];
        let before = url[..url::Position::BeforePath].len();
        let folder = before + path.rfind('/').map_or(0, |at| at + 1);
        let root = matches!(url.scheme(), "http" | "https").then_some(before);
        Ok(Self { url, root, folder })
    }

    /// The absolute URL that a reference on the page leads to.
    pub fn resolve(&self, reference: &str) -> Result<String, ResolveError> {
        match self.plain(reference) {
            Some(url) => Ok(url),
            None => self.url.join(reference).map(String::from).map_err(ResolveError::Reference),
        }
    }

    /// Resolves a plain path and query, which have no character that browsers rewrite. Only the
    /// beginning of the path may have dot segments.
    fn plain(&self, reference: &str) -> Option<String> {
        let root = self.root?;
        let (rest, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
        let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let is_plain = |bytes: &ByteSet, part: &str| bytes.first_outside(part.as_bytes()).is_none();
        let are_plain = is_plain(&PLAIN_PATH_BYTES, path)
            && is_plain(&PLAIN_QUERY_BYTES, query)
            && is_plain(&PLAIN_FRAGMENT_BYTES, fragment.get(1..).unwrap_or(""));
        let has_escaped_dot = || path.contains('%') && (path.contains("%2e") || path.contains("%2E"));
        if path.is_empty() || path.starts_with("//") || !are_plain || has_escaped_dot() {
            return None;
        }
        let (folder, rest) = if path.starts_with('/') {
            (&self.url.as_str()[..root], path)
        } else {
            climb(&self.url.as_str()[..self.folder], root, path)
        };
        if rest.split('/').any(|segment| matches!(segment, "." | "..")) {
            return None;
        }
        let mut url = String::with_capacity(folder.len() + rest.len() + query.len() + fragment.len());
        for part in [folder, rest, query, fragment] {
            url.push_str(part);
        }
        Some(url)
    }
}

/// Removes leading dot segments from a path, and one folder for each `..`.
fn climb<'a>(mut folder: &'a str, root: usize, mut path: &'a str) -> (&'a str, &'a str) {
    loop {
        if let Some(rest) = path.strip_prefix("../") {
            let inside = folder.len().saturating_sub(1).max(root);
            folder = folder[..inside]
                .rfind('/')
                .filter(|at| *at >= root)
                .map_or(&folder[..=root], |at| &folder[..=at]);
            path = rest;
        } else if let Some(rest) = path.strip_prefix("./") {
            path = rest;
        } else {
            return (folder, path);
        }
    }
}

/// Resolves a reference on the page `base`. The base may be empty for an absolute reference.
pub fn resolve(base: &str, reference: &str) -> Result<String, ResolveError> {
    if base.is_empty() {
        return Url::parse(reference).map(String::from).map_err(ResolveError::Reference);
    }
    Base::parse(base)?.resolve(reference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_error_says_which_of_the_two_is_wrong() {
        assert!(matches!(resolve("x", "/a"), Err(ResolveError::Base(_))));
        assert!(matches!(resolve("http://h/", "http://[1"), Err(ResolveError::Reference(_))));
        assert!(matches!(resolve("", "/a"), Err(ResolveError::Reference(_))));
    }

    proptest! {
        /// The short way leads where the long one does.
        #[test]
        fn plain_paths_mean_what_browsers_make_of_them(
            base in "https?://[a-z.]{1,5}(:[0-9]{1,4})?(/[a-zA-Z%2e.]{0,3}){0,4}([?][a-z/.]{0,4})?(#[a-z/]{0,3})?",
            reference in "(\\.{1,3}/|/){0,4}([a-zA-Z./_~!$&'()*+,;=@%-]|%2[eEf0]){0,8}(\\.{1,2})?\
                          ([?][a-z/.:=%'+,;@!$&()*?]{0,5})?(#[a-z/:=%]{0,4})?",
        ) {
            let Ok(base) = Base::parse(&base) else { return Ok(()) };
            if let Some(url) = base.plain(&reference) {
                prop_assert_eq!(Some(url), base.url.join(&reference).ok().map(String::from));
            }
        }
    }

    #[test]
    fn the_short_way_is_taken() {
        let base = Base::parse("http://h:81/a//b/c?d/e#f/g").unwrap();
        for (reference, url) in [
            ("x.html#y", "http://h:81/a//b/x.html#y"),
            ("../../x", "http://h:81/a/x"),
            ("../../../../x/", "http://h:81/x/"),
            ("./", "http://h:81/a//b/"),
            ("/x//y#", "http://h:81/x//y#"),
            ("c++/a,b%20c?d=e+f&g=%41#h", "http://h:81/a//b/c++/a,b%20c?d=e+f&g=%41#h"),
        ] {
            assert_eq!(base.plain(reference).as_deref(), Some(url), "{reference}");
        }
        for reference in ["", "#x", "?x", "//x", "x/../y", "..", "a:b", "x y", "é", "%2e", "x?'"] {
            assert_eq!(base.plain(reference), None, "{reference}");
        }
        assert_eq!(Base::parse("file:///a/b").unwrap().plain("x"), None);
    }
}
