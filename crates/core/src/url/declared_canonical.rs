//! The canonical URL of a page: the address that the page itself declares.
//!
//! Chooses among candidates that the caller found. It parses no HTML, and does not handle the other
//! two ways in which one URL leads to another: redirects of servers, and aliases of users.

use super::resolve::resolve;
use super::{Reference, UrlError};
use serde::{Deserialize, Serialize};

/// The declarations of a page about its own address. Empty texts count as absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates<'a> {
    /// The content of `meta property="og:url"`.
    pub og_url: Option<&'a str>,
    /// The content of `meta name="twitter:url"`.
    pub twitter_url: Option<&'a str>,
    /// The target of `link rel="canonical"`.
    pub canonical_link: Option<&'a str>,
    /// The target of `link rel="alternate" hreflang="x-default"`.
    pub default_language: Option<&'a str>,
    /// The contents of all `og:` and `twitter:` metadata in order: the first web address among them
    /// names the site.
    pub social: Vec<&'a str>,
}

/// The source of the canonical URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanonicalSource {
    /// `og:url`.
    OgUrl,
    /// `twitter:url`.
    TwitterUrl,
    /// The canonical link.
    CanonicalLink,
    /// The link to the default language.
    DefaultLanguage,
    /// No declaration: the requested URL.
    Requested,
}

/// The canonical URL of a page, and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canonical {
    /// The URL, absolute unless the requested one is not.
    pub url: String,
    /// Its source.
    pub source: CanonicalSource,
}

/// Chooses the canonical URL of the page at `requested`.
///
/// In this order: an absolute `og:url`; an absolute `twitter:url`; the canonical link; if there is
/// none, the link to the default language; else the requested URL. A link that begins with a slash
/// is completed with the site that the social metadata names, other relative ones are resolved
/// against the requested URL.
pub fn canonical(requested: &str, candidates: &Candidates<'_>) -> Canonical {
    let absolute = |url: Option<&str>| said(url).filter(|url| is_web(url)).map(str::to_owned);
    let found = absolute(candidates.og_url)
        .map(|url| (url, CanonicalSource::OgUrl))
        .or_else(|| Some((absolute(candidates.twitter_url)?, CanonicalSource::TwitterUrl)))
        .or_else(|| linked(requested, candidates));
    let (url, source) = found.unwrap_or_else(|| (requested.to_owned(), CanonicalSource::Requested));
    Canonical { url, source }
}

/// The URL that the links of the page declare.
fn linked(requested: &str, candidates: &Candidates<'_>) -> Option<(String, CanonicalSource)> {
    let (link, source) = match candidates.canonical_link {
        Some(link) => (link, CanonicalSource::CanonicalLink),
        None => (candidates.default_language?, CanonicalSource::DefaultLanguage),
    };
    let link = said(Some(link))?;
    let url = if is_web(link) {
        link.to_owned()
    } else {
        completed(link, &candidates.social).or_else(|| resolve(requested, link).ok())?
    };
    is_web(&url).then_some((url, source))
}

/// A path from the root of a site, behind the first site that the metadata names.
fn completed(link: &str, social: &[&str]) -> Option<String> {
    if !link.starts_with('/') || link.starts_with("//") {
        return None;
    }
    social.iter().find_map(|content| site(content)).map(|site| format!("{site}{link}"))
}

/// The scheme and host of the first web address in a text.
fn site(content: &str) -> Option<&str> {
    let start = content.find("http://").into_iter().chain(content.find("https://")).min()?;
    let host = start + content[start..].find("//")? + 2;
    let length = content[host..].find('/').filter(|length| *length > 0)?;
    Some(&content[start..host + length])
}

fn said(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Whether the text is an absolute URL of the web.
fn is_web(url: &str) -> bool {
    let web =
        |reference: Reference<'_>| reference.has_host() && ["http", "https"].contains(&&*reference.scheme());
    Reference::parse(url).map(web).unwrap_or_else(|_: UrlError| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTED: &str = "https://m.example.com/a/b?utm_source=x";

    fn chosen(candidates: Candidates<'_>) -> (String, CanonicalSource) {
        let Canonical { url, source } = canonical(REQUESTED, &candidates);
        (url, source)
    }

    fn expect(candidates: Candidates<'_>, url: &str, source: CanonicalSource) {
        assert_eq!(chosen(candidates), (url.to_owned(), source));
    }

    #[test]
    fn the_order_of_trust() {
        let mut candidates = Candidates {
            og_url: Some(" https://example.com/og "),
            twitter_url: Some("https://example.com/twitter"),
            canonical_link: Some("https://example.com/link"),
            default_language: Some("https://example.com/default"),
            social: vec![],
        };
        expect(candidates.clone(), "https://example.com/og", CanonicalSource::OgUrl);
        candidates.og_url = Some("/og");
        expect(candidates.clone(), "https://example.com/twitter", CanonicalSource::TwitterUrl);
        candidates.twitter_url = Some("ftp://example.com/");
        expect(candidates.clone(), "https://example.com/link", CanonicalSource::CanonicalLink);
        candidates.canonical_link = None;
        expect(candidates.clone(), "https://example.com/default", CanonicalSource::DefaultLanguage);
        candidates.default_language = None;
        expect(candidates, REQUESTED, CanonicalSource::Requested);
    }

    #[test]
    fn an_empty_canonical_link_still_silences_the_default_language() {
        let candidates = Candidates {
            canonical_link: Some(" "),
            default_language: Some("https://example.com/"),
            ..Candidates::default()
        };
        expect(candidates, REQUESTED, CanonicalSource::Requested);
    }

    #[test]
    fn relative_links_are_completed() {
        let link = |link, social| Candidates { canonical_link: Some(link), social, ..Candidates::default() };
        let site = vec!["A title", "https://www.example.com/logo.png", "https://cdn.example/x"];
        let source = CanonicalSource::CanonicalLink;
        expect(link("/page", site.clone()), "https://www.example.com/page", source);
        expect(link("/page", vec!["https://no-path.example"]), "https://m.example.com/page", source);
        expect(link("page", site.clone()), "https://m.example.com/a/page", source);
        expect(link("//other.example/page", site), "https://other.example/page", source);
        expect(link("javascript:void(0)", vec![]), REQUESTED, CanonicalSource::Requested);
    }
}
