//! What a page says about the URLs of itself: its canonical URL, and its alternates.
//!
//! The rules of the canonical URL are those of `varve_page::metadata`. Only URLs that differ from
//! that of the page are kept: a lookup needs no declaration to find a page under its own URL.

use varve_core::search_index::{DeclarationKind, UrlDeclaration};
use varve_core::url::{CanonicalSource, page_identity, resolve};
use varve_page::dom::HtmlTree;
use varve_page::metadata::PageMetadata;

/// Maximum number of alternates of a page that are kept.
const MAX_ALTERNATES: usize = 64;
/// Maximum length of a declared URL, in bytes.
const MAX_DECLARED_BYTES: usize = 2_048;

/// The declarations of the page `page`, which was captured from `url`.
pub(super) fn declared_urls(tree: &HtmlTree, page: &str, url: &str) -> Vec<UrlDeclaration> {
    let declaration = |kind, target: &str| {
        let target = page_identity(target).filter(|target| target.len() <= MAX_DECLARED_BYTES)?;
        (target != page).then(|| UrlDeclaration { page: page.to_owned(), kind, target })
    };
    let canonical = PageMetadata::of_tree(tree).canonical(url);
    let mut found = Vec::new();
    if canonical.source != CanonicalSource::Requested {
        found.extend(declaration(DeclarationKind::Canonical, &canonical.url));
    }
    let alternates = tree.nodes().iter().filter(|node| node.name() == Some("link")).filter_map(|node| {
        let rel = node.attribute("rel")?;
        let is_alternate =
            |word: &str| ["alternate", "amphtml"].iter().any(|name| word.eq_ignore_ascii_case(name));
        rel.split_ascii_whitespace().any(is_alternate).then_some(())?;
        declaration(DeclarationKind::Alternate, &resolve(url, node.attribute("href")?.trim()).ok()?)
    });
    found.extend(alternates.take(MAX_ALTERNATES));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(html: &str) -> Vec<String> {
        let (page, url) = ("https://m.example.com/a", "https://m.example.com/a?utm_source=x");
        let line = |one: UrlDeclaration| format!("{:?} {}", one.kind, one.target);
        declared_urls(&HtmlTree::parse(html), page, url).into_iter().map(line).collect()
    }

    #[test]
    fn canonical_and_alternates_are_kept_unless_they_are_the_page_itself() {
        let page = "<link rel=canonical href=https://www.example.com/a>
            <link rel='alternate' hreflang=de href=/de/a><link rel=amphtml href=https://amp.example.net/a>
            <link rel=alternate href=https://m.example.com/a><link rel=stylesheet href=/x.css>
            <link rel=alternate href='mailto:a@example.com'>";
        assert_eq!(
            declared(page),
            [
                "Canonical https://www.example.com/a",
                "Alternate https://m.example.com/de/a",
                "Alternate https://amp.example.net/a"
            ]
        );
        assert!(declared("<link rel=canonical href=/a><p>x").is_empty());
        assert!(declared("<p>x").is_empty());
    }
}
