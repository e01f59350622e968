//! What a page says of its type: in its metadata, its structured data and its URL.
//!
//! A product page has one product and rails of others, a listing has nothing but cards. The model
//! needs to know which it is looking at.

use varve_page::dom::{HtmlTree, NodeData};

/// Number of values of a page.
pub(crate) const PAGE_SIGNAL_COUNT: usize = 10;

/// The names of the values, for the model.
pub(crate) const PAGE_SIGNAL_NAMES: [&str; PAGE_SIGNAL_COUNT] = [
    "page.og_type",
    "page.ld_article",
    "page.ld_product",
    "page.ld_list",
    "page.ld_discussion",
    "url.product",
    "url.listing",
    "url.segments",
    "url.last_length",
    "url.last_hyphens",
];

/// Types of structured data.
const STRUCTURED_TYPES: [&[&str]; 4] = [
    &["\"Article\"", "\"NewsArticle\"", "\"BlogPosting\"", "\"TechArticle\"", "\"Recipe\""],
    &["\"Product\"", "\"ProductGroup\""],
    &["\"ItemList\"", "\"CollectionPage\""],
    &["\"DiscussionForumPosting\"", "\"QAPage\""],
];

/// Parts of paths of shops, for one product and for many.
const PATH_WORDS: [&[&str]; 2] = [
    &["/p/", "/product/", "/products/", "/dp/", "/itm/", "/item/", "/pd/", "/pr/"],
    &[
        "/c/",
        "/category/",
        "/categories/",
        "/collection/",
        "/collections/",
        "/cat/",
        "/shop/",
        "/browse/",
        "/search/",
        "/market/",
        "/b/",
        "/l/",
        "/tag/",
        "/topic/",
        "/topics/",
    ],
];

/// The values of a page.
pub(crate) fn of(tree: &HtmlTree, url: &str) -> [f32; PAGE_SIGNAL_COUNT] {
    let mut signals = [0.0; PAGE_SIGNAL_COUNT];
    for (place, node) in tree.nodes().iter().enumerate() {
        match node.name() {
            Some("meta") if node.attribute("property") == Some("og:type") => {
                signals[0] = open_graph_type(node.attribute("content").unwrap_or_default());
            }
            Some("script") if is_structured_data(node.attribute("type").unwrap_or_default()) => {
                add_structured_types(tree, place, &mut signals[1..5]);
            }
            _ => {}
        }
    }
    add_path(url, &mut signals[5..]);
    signals
}

fn open_graph_type(value: &str) -> f32 {
    match value.trim().to_ascii_lowercase().as_str() {
        "" => 0.0,
        "website" => 1.0,
        "article" => 2.0,
        other if other.contains("product") => 3.0,
        _ => 4.0,
    }
}

fn is_structured_data(media_type: &str) -> bool {
    media_type.trim().eq_ignore_ascii_case("application/ld+json")
}

fn add_structured_types(tree: &HtmlTree, script: usize, signals: &mut [f32]) {
    for child in tree.children(script) {
        if let NodeData::Text(text) = &tree.nodes()[child].data {
            for (signal, names) in signals.iter_mut().zip(STRUCTURED_TYPES) {
                if names.iter().any(|name| text.contains(name)) {
                    *signal = 1.0;
                }
            }
        }
    }
}

fn add_path(url: &str, signals: &mut [f32]) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |start| &rest[start..]);
    let path = path.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    for (signal, words) in signals.iter_mut().zip(PATH_WORDS) {
        *signal = f32::from(words.iter().any(|word| path.contains(word)));
    }
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let last = segments.clone().next_back().unwrap_or_default();
    signals[2] = segments.count().min(20) as f32;
    signals[3] = last.len().min(200) as f32;
    signals[4] = last.matches('-').count().min(30) as f32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_tell_their_type() {
        let html = r#"<meta property="og:type" content="og:product"><script type="application/ld+json">{"@type":"Product"}</script>"#;
        let signals = of(&HtmlTree::parse(html), "https://shop.example/products/a-red-chair?x=1");
        assert_eq!(signals, [3.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0, 11.0, 2.0]);
        assert_eq!(of(&HtmlTree::parse("x"), ""), [0.0; PAGE_SIGNAL_COUNT]);
    }
}
