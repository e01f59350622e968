//! Which elements of sitemaps and feeds are links, by name alone.
//!
//! Names are compared without prefix, because prefixes and namespaces are often wrong. Names with
//! several meanings are decided by the element around them.

use crate::links::link::LinkRole;

/// The role of the text of an element, by the element around it.
pub(super) fn text_role(parent: &str, name: &str) -> Option<LinkRole> {
    match (parent, name) {
        ("sitemap", "loc") | ("sitemapindex", "sitemap" | "loc") => Some(LinkRole::Sitemap),
        ("image", "loc" | "url") => Some(LinkRole::Embed),
        (_, "loc" | "link" | "comments" | "origlink" | "player_loc" | "gallery_loc") => {
            Some(LinkRole::Navigate)
        }
        (_, "content_loc" | "thumbnail_loc" | "content_segment_loc") => Some(LinkRole::Embed),
        ("feed" | "entry" | "source", "logo" | "icon") => Some(LinkRole::Embed),
        (_, "commentrss") => Some(LinkRole::Feed),
        _ => None,
    }
}

/// The attribute of an element that is a link, and its role.
pub(super) fn attribute_role(parent: &str, name: &str) -> &'static [(&'static str, LinkRole)] {
    match (parent, name) {
        (_, "enclosure" | "thumbnail") => &[("url", LinkRole::Embed)],
        ("entry", "content") => &[("src", LinkRole::Navigate)],
        (_, "content") => &[("url", LinkRole::Embed)],
        (_, "player") => &[("url", LinkRole::Navigate)],
        (_, "image") => &[("href", LinkRole::Embed)],
        (_, "outline") => &[("xmlurl", LinkRole::Feed), ("htmlurl", LinkRole::Navigate)],
        _ => &[],
    }
}

/// The role of a `link` element with an `href`.
pub(super) fn link_role(parent: &str, rel: &str, kind: &str) -> Option<LinkRole> {
    match rel.to_ascii_lowercase().as_str() {
        "edit" | "edit-media" | "hub" | "service" | "search" => None,
        "self" | "first" | "last" | "next" | "previous" | "prev" | "prev-archive" | "next-archive"
        | "current" => Some(LinkRole::Feed),
        "enclosure" | "icon" | "stylesheet" => Some(LinkRole::Embed),
        _ if kind.ends_with("atom+xml") || kind.ends_with("rss+xml") => Some(LinkRole::Feed),
        "alternate" if parent == "url" => Some(LinkRole::Alternate),
        _ => Some(LinkRole::Navigate),
    }
}

/// Whether the element is an entry of a listing.
pub(super) fn is_item(name: &str) -> bool {
    matches!(name, "item" | "entry" | "url" | "sitemap" | "channel" | "feed")
}
