//! Finds a page by the canonical URL that it declared, where nothing was captured under that URL.
//!
//! A page may declare any URL, also one of a stranger. So a page of another host counts only if a
//! captured page of the host of that URL names it as its alternate: then both sides agree. Pages of
//! the same host, with or without `www.`, are trusted.
//!
//! Declarations are in the search index, which is a cache: without it nothing is found this way.

use varve_core::search_index::{DeclarationKind, SearchIndexRead};
use varve_core::url::{RequestUrl, page_identity};
use varve_repository::history::HistoryReader;

use super::log::spellings;
use crate::error::ArchiveError;

/// Maximum number of declarations about one URL that are read.
const MAX_DECLARATIONS: usize = 100;

/// The pages that declared `url` as their canonical URL and may be shown for it, by identity.
pub(crate) fn declaring_pages(history: &HistoryReader, url: &str) -> Result<Vec<String>, ArchiveError> {
    Ok(declarations(history, url)?.agreed)
}

/// A page of another host that declared `url` as its canonical URL, although no captured page of the
/// host of `url` names it.
pub(crate) fn unconfirmed_page(history: &HistoryReader, url: &str) -> Result<Option<String>, ArchiveError> {
    Ok(declarations(history, url)?.unconfirmed.into_iter().next())
}

/// The pages that declared a URL as their canonical URL, by identity.
#[derive(Default)]
struct DeclaringPages {
    /// Those that may be shown for it.
    agreed: Vec<String>,
    /// The others.
    unconfirmed: Vec<String>,
}

fn declarations(history: &HistoryReader, url: &str) -> Result<DeclaringPages, ArchiveError> {
    let mut pages = DeclaringPages::default();
    let HistoryReader::Archive(archive) = history else { return Ok(pages) };
    // An index that cannot be read is made again by the next writer or search.
    let Ok(Some(index)) = archive.archive().backends().read_search_index() else { return Ok(pages) };
    let targets: std::collections::BTreeSet<String> =
        spellings(url).iter().filter_map(|spelling| page_identity(spelling)).collect();
    for target in &targets {
        for declaration in index.declarations_about(target, MAX_DECLARATIONS)? {
            if declaration.kind != DeclarationKind::Canonical {
                continue;
            }
            let is_agreed = may_stand_for(&*index, &declaration.page, target)?;
            let known = if is_agreed { &mut pages.agreed } else { &mut pages.unconfirmed };
            if !known.contains(&declaration.page) {
                known.push(declaration.page);
            }
        }
    }
    Ok(pages)
}

/// The URL of a stored page that declared `url` as its canonical URL, unless something was captured
/// under `url` itself, in any spelling.
pub(crate) fn declaring_url(history: &HistoryReader, url: &str) -> Result<Option<String>, ArchiveError> {
    for spelling in spellings(url) {
        if !history.catalog().spellings_of(&spelling)?.is_empty() {
            return Ok(None);
        }
    }
    for page in declaring_pages(history, url)? {
        if let Some(stored) = history.catalog().spellings_of(&page)?.into_iter().next() {
            return Ok(Some(stored));
        }
    }
    Ok(None)
}

/// Whether the URL of a capture that was found for `url` is that of another page, which declared `url`
/// as its canonical URL.
pub fn is_of_declaring_page(url: &str, captured_url: &str) -> bool {
    let identity = page_identity(captured_url);
    !spellings(url).iter().any(|spelling| {
        spelling == captured_url || (identity.is_some() && page_identity(spelling) == identity)
    })
}

/// Whether the captures of a page may be shown for a URL that it declared.
fn may_stand_for(index: &dyn SearchIndexRead, page: &str, target: &str) -> Result<bool, ArchiveError> {
    let site = site_of(target);
    if site.is_none() || site_of(page) == site {
        return Ok(site.is_some());
    }
    let named_by = index.declarations_about(page, MAX_DECLARATIONS)?;
    let is_agreed =
        |kind: DeclarationKind, by: &str| kind == DeclarationKind::Alternate && site_of(by) == site;
    Ok(named_by.iter().any(|declaration| is_agreed(declaration.kind, &declaration.page)))
}

/// The host of a URL in lower case, without port and the label `www`.
pub(crate) fn site_of(url: &str) -> Option<String> {
    let url = RequestUrl::parse(url)?;
    let host = url.page().host();
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_of_a_url_is_the_same_page() {
        assert!(!is_of_declaring_page("HTTP://Example.com/?b=2&a=1#x", "http://example.com/?a=1&b=2"));
        assert!(!is_of_declaring_page("example.com/a", "http://example.com/a"));
        assert!(is_of_declaring_page("http://example.com/", "http://example.com/mobile"));
    }

    #[test]
    fn a_site_has_no_www() {
        assert_eq!(site_of("https://www.Example.com:8080/a").as_deref(), Some("example.com"));
        assert_eq!(site_of("http://m.example.com/").as_deref(), Some("m.example.com"));
        assert_eq!(site_of("mailto:a@h"), None);
    }
}
