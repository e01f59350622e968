//! Feeds: the items of RSS, Atom and JSON Feed documents, with their links.
//!
//! The crate `feed-rs` parses them. Here are the limits, the choice of the link of an item, and
//! absolute URLs: a client that follows a feed needs addresses, in the order of the feed.

use std::collections::HashSet;

use crate::metadata::text::field;
use feed_rs::model::{Entry, Feed, FeedType, Link, Text};
use feed_rs::parser::{Builder, ParseErrorKind, ParseFeedError};
use varve_core::Moment;
use varve_core::url::resolve;

/// Limits of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedLimits {
    /// Maximum number of bytes. A longer feed is an error, because its end decides whether it is
    /// well-formed.
    pub bytes: usize,
    /// Maximum number of items. Later ones are left out.
    pub items: usize,
}

impl Default for FeedLimits {
    fn default() -> Self {
        Self { bytes: 8 << 20, items: 10_000 }
    }
}

/// The format of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FeedFormat {
    /// RSS 0.9, 1.0 or 2.0.
    Rss,
    /// Atom.
    Atom,
    /// JSON Feed.
    Json,
}

/// A feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedFeed {
    /// Its format.
    pub format: FeedFormat,
    /// Its title.
    pub title: Option<String>,
    /// The URL of the page that it belongs to.
    pub site: Option<String>,
    /// Its items in order.
    pub items: Vec<FeedItem>,
    /// Number of items that were left out: beyond the limit, or without a link.
    pub dropped: usize,
}

impl ParsedFeed {
    /// The URLs of its pages in order, each once.
    pub fn page_urls(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        self.items.iter().map(|item| item.link.as_str()).filter(move |link| seen.insert(*link))
    }
}

/// An item of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedItem {
    /// The URL of its page, absolute.
    pub link: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was published; if that is not known, when it was updated.
    pub date: Option<Moment>,
}

/// Why a body cannot be read as a feed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The body is longer than the limit.
    #[error("the feed is longer than {limit} bytes")]
    TooLong {
        /// Maximum number of bytes.
        limit: usize,
    },
    /// The body is neither RSS nor Atom nor JSON Feed.
    #[error("the body is no feed")]
    NoFeed,
    /// The body is a feed that is not well-formed.
    #[error("the feed is not well-formed")]
    Malformed(#[source] Box<ParseFeedError>),
}

/// Reads a feed. `url` is its own URL: links are relative to it.
pub fn read_feed(body: &[u8], url: &str, limits: FeedLimits) -> Result<ParsedFeed, FeedError> {
    if body.len() > limits.bytes {
        return Err(FeedError::TooLong { limit: limits.bytes });
    }
    let parser = Builder::new().base_uri(Some(url)).build();
    let feed = parser.parse(body).map_err(|error| match error {
        ParseFeedError::ParseError(ParseErrorKind::NoFeedRoot) => FeedError::NoFeed,
        error => FeedError::Malformed(Box::new(error)),
    })?;
    Ok(parsed(feed, url, limits))
}

fn parsed(feed: Feed, url: &str, limits: FeedLimits) -> ParsedFeed {
    let format = match feed.feed_type {
        FeedType::Atom => FeedFormat::Atom,
        FeedType::JSON => FeedFormat::Json,
        FeedType::RSS0 | FeedType::RSS1 | FeedType::RSS2 => FeedFormat::Rss,
    };
    let count = feed.entries.len();
    let items: Vec<FeedItem> =
        feed.entries.iter().take(limits.items).filter_map(|entry| item(entry, url)).collect();
    let dropped = count - items.len();
    ParsedFeed {
        format,
        title: feed.title.as_ref().and_then(plain),
        site: page_link(&feed.links, url),
        dropped,
        items,
    }
}

fn item(entry: &Entry, url: &str) -> Option<FeedItem> {
    // The id of an item is often its permanent address.
    let link = page_link(&entry.links, url).or_else(|| web_url(&entry.id, &entry.id))?;
    let date = entry.published.or(entry.updated).map(Moment::from);
    Some(FeedItem { link, title: entry.title.as_ref().and_then(plain), date })
}

fn plain(text: &Text) -> Option<String> {
    field(&text.content)
}

/// The link to the page itself: one with the relation `alternate`, one without relation, or any
/// that does not lead to the feed, a file or the comments.
fn page_link(links: &[Link], url: &str) -> Option<String> {
    let rank = |link: &Link| match link.rel.as_deref() {
        Some("alternate") => Some(0),
        None => Some(1),
        Some(
            "self" | "enclosure" | "hub" | "replies" | "edit" | "license" | "next" | "prev" | "first"
            | "last",
        ) => None,
        Some(_) => Some(2),
    };
    let mut ranked: Vec<(u8, &Link)> = links.iter().filter_map(|link| Some((rank(link)?, link))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().find_map(|(_, link)| web_url(url, &link.href))
}

/// An absolute URL of the web.
fn web_url(base: &str, reference: &str) -> Option<String> {
    let url = resolve(base, reference.trim()).ok()?;
    (url.starts_with("http://") || url.starts_with("https://")).then_some(url)
}

#[cfg(test)]
mod tests;
