//! The links of a feed: RSS, Atom or JSON Feed.
//!
//! `feed-rs` parses the feed. Here the link of each item is chosen: the page that the item stands for,
//! and not its comments, enclosures or feeds.

use std::collections::HashSet;

use feed_rs::model::Entry;
use feed_rs::parser::{self, ParseFeedError};
use varve_core::url::request_url;

/// Maximum number of items whose links are returned.
const MAX_FEED_LINKS: usize = 1_000;

/// A body is not a feed.
#[derive(Debug, thiserror::Error)]
#[error("the body is neither RSS, Atom nor a JSON Feed")]
pub struct FeedError(#[source] ParseFeedError);

/// The pages that the items of a feed link to, in the order of the feed and without repetition.
/// Relative links are resolved against `url`.
pub fn feed_links(body: &[u8], url: &str) -> Result<Vec<String>, FeedError> {
    let parser = parser::Builder::new().base_uri(Some(url)).build();
    let feed = parser.parse(body).map_err(FeedError)?;
    let mut seen = HashSet::new();
    let links = feed.entries.iter().filter_map(page_of).filter(|link| seen.insert(link.clone()));
    Ok(links.take(MAX_FEED_LINKS).collect())
}

/// The page that an item stands for.
fn page_of(entry: &Entry) -> Option<String> {
    let is_page = |rel: Option<&str>| matches!(rel, None | Some("alternate"));
    let pages = entry.links.iter().filter(|link| is_page(link.rel.as_deref()));
    let declared = pages.filter_map(|link| request_url(link.href.trim())).next();
    declared.or_else(|| request_url(entry.id.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEED_URL: &str = "https://example.com/blog/feed";

    fn links(body: &str) -> Vec<String> {
        feed_links(body.as_bytes(), FEED_URL).expect("a feed")
    }

    #[test]
    fn rss_atom_and_json_feeds_are_read() {
        let rss = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>
            <item><title>one</title><link>https://example.com/1</link><comments>https://example.com/1/c</comments></item>
            <item><title>two</title><guid isPermaLink="true">https://example.com/2</guid></item>
            <item><title>again</title><link>https://example.com/1</link></item>
            <item><title>mail</title><link>mailto:a@example.com</link></item></channel></rss>"#;
        assert_eq!(links(rss), ["https://example.com/1", "https://example.com/2"]);
        let atom = r#"<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><id>i</id>
            <updated>2026-01-01T00:00:00Z</updated>
            <entry><id>a</id><title>one</title><updated>2026-01-01T00:00:00Z</updated>
            <link rel="self" href="https://example.com/1.atom"/><link href="https://example.com/1"/></entry></feed>"#;
        assert_eq!(links(atom), ["https://example.com/1"]);
        let json = r#"{"version":"https://jsonfeed.org/version/1.1","title":"t",
            "items":[{"id":"1","url":"https://example.com/1","content_text":"x"}]}"#;
        assert_eq!(links(json), ["https://example.com/1"]);
    }

    #[test]
    fn other_bodies_are_refused() {
        for body in ["", "<html><p>x", "{}", "plain text", "<rss", "\0"] {
            assert!(feed_links(body.as_bytes(), FEED_URL).is_err(), "{body}");
        }
        let deep = format!("<rss><channel>{}", "<item>".repeat(50_000));
        let _ = feed_links(deep.as_bytes(), FEED_URL);
    }
}
