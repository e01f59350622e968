//! The identity of a page: the one text that all spellings of its URL share.
//!
//! Two links may name one page with their parameters in another order, with a tracking parameter,
//! or with redundant escapes. Normalised, with a [sorted query](mod@super::sort_query), they are
//! the same text. The crawler deduplicates by it, the catalog finds rows by it and `diff` pairs
//! pages by it. It is never sent. User information is removed: it identifies the client, not the
//! page.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use url::Host;

use super::lookup_key::key_of_normal;
use super::web_url::{WebUrl, is_numeric, scan};
use super::{normalise, sort_query};
use crate::UrlKey;

/// Sorting the query and normalising reach a fixed point within this many rounds.
const MAX_NORMALISING_ROUNDS: usize = 4;

/// The identity of a page, for comparing and looking up. A clone shares the text.
#[derive(Clone)]
pub struct PageUrl {
    url: WebUrl,
    key: UrlKey,
}

impl PageUrl {
    /// The identity of the page that `text` names; `None` for text that is no `http` or `https`
    /// URL.
    pub fn parse(text: &str) -> Option<Self> {
        match scan(text).filter(|scanned| scanned.is_page) {
            Some(scanned) => WebUrl::new(scanned.request).map(Self::of_normal),
            None => WebUrl::new(&normalised(text)?).map(Self::verbatim),
        }
    }

    /// The identity whose text is that of `url`, in any spelling.
    pub(super) fn verbatim(url: WebUrl) -> Self {
        // A text without a key is stored under 0, and compared with the other texts there.
        let key = super::key(url.as_str()).unwrap_or(UrlKey::ZERO);
        Self { url, key }
    }

    /// The identity whose text is that of `url`, which [`scan`] found to be normal.
    pub(super) fn of_normal(url: WebUrl) -> Self {
        let key = key_of_normal(url.as_str(), url.host());
        Self { url, key }
    }

    /// The number under which rows of the page are found.
    pub fn key(&self) -> UrlKey {
        self.key
    }
}

impl Deref for PageUrl {
    type Target = WebUrl;

    fn deref(&self) -> &WebUrl {
        &self.url
    }
}

impl PartialEq for PageUrl {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for PageUrl {}

impl PartialOrd for PageUrl {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PageUrl {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.url.cmp(&other.url)
    }
}

impl std::hash::Hash for PageUrl {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.url.hash(state);
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl fmt::Debug for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// The text of [`PageUrl`]: the one text that all spellings of a URL share.
///
/// ```
/// # use varve_core::url::page_identity;
/// let identity = page_identity("HTTP://Example.com:80/a?y=2&utm_source=z&x=1#top");
/// assert_eq!(identity.as_deref(), Some("http://example.com/a?x=1&y=2"));
/// ```
pub fn page_identity(text: &str) -> Option<String> {
    match scan(text).filter(|scanned| scanned.is_page) {
        Some(scanned) => Some(scanned.request.to_owned()),
        None => normalised(text),
    }
}

/// Replaces another spelling of an IPv4 address by the dotted one.
fn with_dotted_host(url: &str) -> Cow<'_, str> {
    let authority = authority(url);
    let host = authority.split_once(':').map_or(authority, |(host, _)| host);
    match Host::parse(host) {
        Ok(Host::Ipv4(address)) if is_numeric(host) => {
            Cow::Owned(url.replacen(&format!("//{host}"), &format!("//{address}"), 1))
        }
        _ => Cow::Borrowed(url),
    }
}

/// The same by the general rules, for any text.
pub(super) fn normalised(text: &str) -> Option<String> {
    let url = without_user_info(&normalise(text).ok()?).into_owned();
    let mut url = with_dotted_host(&url).into_owned();
    if !is_web(&url) {
        return None;
    }
    for _ in 0..MAX_NORMALISING_ROUNDS {
        let next = normalise(&sort_query(&url)).ok()?;
        if next == url {
            break;
        }
        url = next;
    }
    Some(url)
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn without_user_info(url: &str) -> Cow<'_, str> {
    let authority = authority(url);
    match authority.rsplit_once('@') {
        Some((user_info, _)) => Cow::Owned(url.replacen(&format!("{user_info}@"), "", 1)),
        None => Cow::Borrowed(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_become_one() {
        let one = "http://example.com/a?x=1&y=2";
        for text in [
            "http://example.com/a?x=1&y=2",
            "HTTP://EXAMPLE.com:80/./b/../a?y=2&x=1#top",
            "http://me:hunter2@example.com/%61?utm_source=z&x=1&y=2",
            "  http://example.com/a?y=2&x=1\n",
        ] {
            assert_eq!(page_identity(text).as_deref(), Some(one), "{text}");
        }
        for text in ["", "/a", "ftp://example.com/", "mailto:a@example.com", "http://", "javascript:0"] {
            assert_eq!(page_identity(text), None, "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_has_one_spelling() {
        for host in ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1."] {
            let url = format!("http://{host}:81/a?x=1");
            assert_eq!(page_identity(&url).as_deref(), Some("http://127.0.0.1:81/a?x=1"), "{host}");
        }
        assert_eq!(page_identity("http://1.example/"), Some("http://1.example/".to_owned()));
    }

    #[test]
    fn what_a_server_could_tell_apart_stays() {
        for url in [
            "http://h/gitweb?p=linux.git;a=summary",
            "http://h/?C=N;O=D",
            "http://h/service?wsdl",
            "http://h/style.css?2022.1",
            "http://h/search?q=a/b",
        ] {
            assert_eq!(page_identity(url).as_deref(), Some(url));
        }
    }

    proptest! {
        #[test]
        fn parsing_is_idempotent(text in "https?://[a-zA-Z0-9.:@]{1,12}[a-z%0-9.?&=;+/~#é ]{0,30}") {
            if let Some(once) = page_identity(&text) {
                prop_assert!(!authority(&once).contains('@'));
                prop_assert_eq!(page_identity(&once), Some(once));
            }
        }
    }
}
