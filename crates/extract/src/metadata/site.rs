//! The site of a page: its host and its name.

use super::facts::PageFacts;
use super::linked_data::{ItemKind, LinkedItems};
use super::text::{comparable, field};

/// Maximum length of the name of a site. Longer ones are sentences.
const MAX_SITE_NAME_CHARS: usize = 80;

/// The host of a URL.
pub(super) fn hostname(url: &str) -> Option<String> {
    let reference = varve_core::url::Reference::parse(url).ok()?;
    Some(String::from_utf8_lossy(&reference.hostname()).to_lowercase()).filter(|host| !host.is_empty())
}

/// The name of the site, as the page declares it.
pub(super) fn sitename(facts: &PageFacts<'_>, items: &LinkedItems<'_>, url: &str) -> Option<String> {
    let is_name = |name: &String| name.chars().count() <= MAX_SITE_NAME_CHARS && !name.starts_with('@');
    let meta = facts.meta_content(&[
        "og:site_name",
        "application-name",
        "dc.publisher",
        "dcterms.publisher",
        "citation_publisher",
        "apple-mobile-web-app-title",
    ]);
    let publisher = || items.main(url).and_then(|(_, item)| items.names(item, "publisher").first().copied());
    let website = || items.website_name();
    meta.and_then(field)
        .filter(is_name)
        .or_else(|| website().and_then(field).filter(is_name))
        .or_else(|| publisher().and_then(field).filter(is_name))
}

/// What the site may be called in titles, for comparison: its declared name, and its host.
pub(super) fn site_names(sitename: Option<&str>, hostname: Option<&str>) -> Vec<String> {
    let host = hostname.unwrap_or_default();
    let bare = host.strip_prefix("www.").unwrap_or(host);
    let label = bare.split('.').rev().nth(1).unwrap_or_default();
    let names = [sitename.unwrap_or_default(), host, bare, label];
    let mut names: Vec<String> = names.into_iter().map(comparable).filter(|name| !name.is_empty()).collect();
    names.dedup();
    names
}

/// The type of the page: `og:type`, else that of the item that describes it.
pub(super) fn page_type(facts: &PageFacts<'_>, items: &LinkedItems<'_>, url: &str) -> Option<String> {
    let declared = facts.meta_content(&["og:type"]).and_then(field);
    declared.or_else(|| {
        let (kind, _) = items.main(url)?;
        Some(
            match kind {
                ItemKind::Article => "article",
                ItemKind::Thread => "discussion",
                ItemKind::Work => "work",
                ItemKind::Page => "website",
            }
            .to_owned(),
        )
    })
}

/// Whether a URL is that of a whole site, which is published again and again. A page of a file has no
/// URL.
pub(super) fn is_home_page(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    path.split_once('/').is_none_or(|(_, path)| path.is_empty()) && !rest.contains('?')
}

/// Whether a page is a thread of posts, whose first post has its date.
pub(super) fn is_thread(url: &str, items: &LinkedItems<'_>) -> bool {
    let is_posting = items.main(url).is_some_and(|(kind, _)| kind == ItemKind::Thread);
    let url = url.to_ascii_lowercase();
    is_posting || THREAD_PARTS.iter().any(|part| url.contains(part))
}

/// Parts of the URLs of threads.
const THREAD_PARTS: [&str; 7] =
    ["forum", "/thread", "viewtopic", "showthread", "/discussion", "/questions/", "/t/"];

/// Whether a text is one of the names of the site.
pub(super) fn is_site(text: &str, site: &[String]) -> bool {
    let text = comparable(text);
    site.iter().any(|name| *name == text || name.replace(' ', "") == text.replace(' ', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_home_page() {
        for url in ["https://example.com", "https://example.com/", "https://example.com/#top"] {
            assert!(is_home_page(url), "{url}");
        }
        for url in ["", "page.html", "https://example.com/a", "https://example.com/?p=1"] {
            assert!(!is_home_page(url), "{url}");
        }
    }
}
