//! Metadata of whole pages: small ones for each rule, hostile ones, and those of the public corpus.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that a fixture is not as expected")]

mod corpus;
mod hostile;
#[path = "../../../../fuzz/laws/metadata.rs"]
mod laws;
mod pages;

use varve_core::Moment;
use varve_extract::metadata::{ArticleMetadata, MetadataInput, read};
use varve_page::dom::HtmlTree;

/// The metadata of a page that was fetched in 2026.
fn metadata_of(html: &str, url: &str) -> ArticleMetadata {
    let fetched: Moment = "2026-11-18T00:00:00Z".parse().unwrap();
    let tree = HtmlTree::parse(html);
    read(&MetadataInput { tree: &tree, requested_url: url, content_language: None, fetched: Some(fetched) })
}
