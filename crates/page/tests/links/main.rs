//! Links of whole bodies: the measured vectors, the sitemaps, pages with everything in them, and
//! hostile ones.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that a fixture is not as expected")]

mod crystal;
mod hostile;
mod pages;
mod sitemaps;

use varve_core::headers::Headers;
use varve_page::links::{ExtractedLinks, LinkFormat, LinkLimits, PageLink, extract};

/// The bytes of a fixture. Without the corpora the test is skipped.
fn fixture(path: &str) -> Option<Vec<u8>> {
    let path = varve_testkit::fixtures(path)?;
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// All links of a body, kept.
fn links(
    kind: LinkFormat,
    url: &str,
    headers: &Headers,
    body: &[u8],
) -> (Vec<PageLink<'static>>, ExtractedLinks) {
    let mut links = Vec::new();
    let mut sink = |link: PageLink<'_>| links.push(link.into_owned());
    let extracted = extract(kind, url, headers, body, LinkLimits::default(), &mut sink).unwrap();
    (links, extracted)
}

/// The links of a page without headers.
fn page(html: &str) -> Vec<PageLink<'static>> {
    links(LinkFormat::Html, "http://h/d/p", &Headers::new(), html.as_bytes()).0
}
