//! Feeds of each format, whole and broken.

use super::*;

const URL: &str = "https://a.example/blog/feed.xml";

fn read(body: &str) -> ParsedFeed {
    read_feed(body.as_bytes(), URL, FeedLimits::default()).unwrap()
}

fn failure(body: &[u8]) -> FeedError {
    read_feed(body, URL, FeedLimits::default()).unwrap_err()
}

fn lines(feed: &ParsedFeed) -> Vec<String> {
    let line = |item: &FeedItem| {
        let date = item.date.map(|date| date.to_string()).unwrap_or_default();
        format!("{} {:?} {date}", item.link, item.title.as_deref().unwrap_or_default())
    };
    feed.items.iter().map(line).collect()
}

#[test]
fn rss_2() {
    let feed = read(
        r#"<?xml version="1.0"?><rss version="2.0"><channel><title>A blog</title><link>https://a.example/blog/</link>
        <item><title>One &amp; only</title><link>https://a.example/1</link><pubDate>Fri, 01 Mar 2024 10:00:00 +0200</pubDate></item>
        <item><title> Relative
           link </title><link>../2</link></item>
        <item><title>By its id</title><guid isPermaLink="true">https://a.example/3</guid></item>
        <item><title>Nowhere</title></item>
        <item><link>javascript:alert(1)</link></item>
        </channel></rss>"#,
    );
    assert_eq!(feed.format, FeedFormat::Rss);
    assert_eq!(feed.title.as_deref(), Some("A blog"));
    assert_eq!(feed.site.as_deref(), Some("https://a.example/blog/"));
    assert_eq!(
        lines(&feed),
        [
            r#"https://a.example/1 "One & only" 2024-03-01T08:00:00Z"#,
            r#"https://a.example/2 "Relative link" "#,
            r#"https://a.example/3 "By its id" "#,
        ]
    );
    assert_eq!(feed.dropped, 2);
}

#[test]
fn rss_1_and_0() {
    let rdf = read(
        r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
        <channel rdf:about="https://a.example/"><title>T</title><link>https://a.example/</link><description>D</description></channel>
        <item rdf:about="https://a.example/1"><title>One</title><link>https://a.example/1</link></item></rdf:RDF>"#,
    );
    assert_eq!(lines(&rdf), [r#"https://a.example/1 "One" "#]);
    let old = read(
        r#"<rss version="0.91"><channel><title>T</title><link>https://a.example/</link><description>D</description>
        <item><title>One</title><link>https://a.example/1</link></item></channel></rss>"#,
    );
    assert_eq!(
        (old.format, lines(&old)),
        (FeedFormat::Rss, vec![r#"https://a.example/1 "One" "#.to_owned()])
    );
}

#[test]
fn atom() {
    let feed = read(
        r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>urn:x</id><updated>2024-03-01T00:00:00Z</updated>
        <link rel="self" href="https://a.example/blog/feed.xml"/><link href="/blog/"/>
        <entry><id>urn:1</id><title type="html">One</title><updated>2024-03-02T00:00:00Z</updated>
          <link rel="enclosure" href="/1.mp3"/><link rel="alternate" href="/1"/></entry>
        <entry><id>urn:2</id><title>Two</title><published>2024-02-01T00:00:00Z</published><updated>2024-03-02T00:00:00Z</updated>
          <link href="https://b.example/2"/></entry></feed>"#,
    );
    assert_eq!((feed.format, feed.site.as_deref()), (FeedFormat::Atom, Some("https://a.example/blog/")));
    assert_eq!(
        lines(&feed),
        [
            r#"https://a.example/1 "One" 2024-03-02T00:00:00Z"#,
            r#"https://b.example/2 "Two" 2024-02-01T00:00:00Z"#,
        ]
    );
}

#[test]
fn json_feed() {
    let feed = read(
        r#"{"version": "https://jsonfeed.org/version/1.1", "title": "T", "home_page_url": "https://a.example/", "items": [
        {"id": "1", "url": "https://a.example/1", "title": "One", "content_text": "x", "date_published": "2024-03-01T10:00:00Z"},
        {"id": "https://a.example/2", "content_text": "x"}]}"#,
    );
    assert_eq!(feed.format, FeedFormat::Json);
    assert_eq!(
        lines(&feed),
        [r#"https://a.example/1 "One" 2024-03-01T10:00:00Z"#, r#"https://a.example/2 "" "#]
    );
}

#[test]
fn broken_feeds_are_errors_or_what_is_left_of_them() {
    assert!(matches!(failure(b""), FeedError::NoFeed));
    assert!(matches!(failure(b"just text"), FeedError::NoFeed));
    assert!(matches!(failure(b"<!doctype html><html><p>a page</html>"), FeedError::NoFeed));
    assert!(matches!(failure(br#"{"version": "https://jsonfeed.org/version/1", "#), FeedError::Malformed(_)));
    for cut in
        ["<rss version=\"2.0\"><channel><title>T</title><item><link>https://a.example/1</li", "\0\0<rss"]
    {
        // What counts is that it returns: feeds in the wild are cut, and what was read may be used.
        let _ = read_feed(cut.as_bytes(), URL, FeedLimits::default());
    }
}

#[test]
fn hostile_feeds_are_bounded() {
    let limits = FeedLimits { bytes: 1 << 20, items: 3 };
    let items = "<item><link>https://a.example/x</link></item>".repeat(1000);
    let many = format!("<rss version=\"2.0\"><channel><title>T</title>{items}</channel></rss>");
    let feed = read_feed(many.as_bytes(), URL, limits).unwrap();
    assert_eq!((feed.items.len(), feed.dropped), (3, 997));
    let long = vec![b'<'; (1 << 20) + 1];
    assert!(matches!(read_feed(&long, URL, limits), Err(FeedError::TooLong { limit: 1_048_576 })));
    let deep = format!("<rss version=\"2.0\"><channel>{}", "<a>".repeat(100_000));
    let _ = read_feed(deep.as_bytes(), URL, limits);
    let deep =
        format!("{{\"version\": \"https://jsonfeed.org/version/1\", \"items\": {}", "[".repeat(100_000));
    assert!(read_feed(deep.as_bytes(), URL, limits).is_err());
    // No entity is expanded: a billion laughs stay nine letters.
    let laughs = r#"<!DOCTYPE r [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">]><rss version="2.0"><channel><title>&b;</title></channel></rss>"#;
    let _ = read_feed(laughs.as_bytes(), URL, limits);
}

#[test]
fn a_page_that_two_items_link_to_is_named_once() {
    let feed = read(
        r#"{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[
            {"id":"1","url":"https://a.example/1"},{"id":"2","url":"https://a.example/2"},
            {"id":"3","url":"https://a.example/1"}]}"#,
    );
    assert_eq!(feed.page_urls().collect::<Vec<_>>(), ["https://a.example/1", "https://a.example/2"]);
}
