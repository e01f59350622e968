//! Which elements of sitemaps and feeds are links, by name alone.
//!
//! Names are compared without prefix, because prefixes and namespaces are the part that files get wrong. The few
//! names that mean different things in different lists are told apart by the element around them.

use crate::links::link::Role;

/// What the text of an element is, given the element around it.
pub(super) fn text_role(parent: &str, name: &str) -> Option<Role> {
    match (parent, name) {
        ("sitemap", "loc") | ("sitemapindex", "sitemap" | "loc") => Some(Role::Sitemap),
        ("image", "loc" | "url") => Some(Role::Embed),
        (_, "loc" | "link" | "comments" | "origlink" | "player_loc" | "gallery_loc") => Some(Role::Navigate),
        (_, "content_loc" | "thumbnail_loc" | "content_segment_loc") => Some(Role::Embed),
        ("feed" | "entry" | "source", "logo" | "icon") => Some(Role::Embed),
        (_, "commentrss") => Some(Role::Feed),
        _ => None,
    }
}

/// The attribute of an element that holds a link, and what it is.
pub(super) fn attribute_role(parent: &str, name: &str) -> &'static [(&'static str, Role)] {
    match (parent, name) {
        (_, "enclosure" | "thumbnail") => &[("url", Role::Embed)],
        ("entry", "content") => &[("src", Role::Navigate)],
        (_, "content") => &[("url", Role::Embed)],
        (_, "player") => &[("url", Role::Navigate)],
        (_, "image") => &[("href", Role::Embed)],
        (_, "outline") => &[("xmlurl", Role::Feed), ("htmlurl", Role::Navigate)],
        _ => &[],
    }
}

/// What a `link` element with an `href` is.
pub(super) fn link_role(parent: &str, rel: &str, kind: &str) -> Option<Role> {
    match rel.to_ascii_lowercase().as_str() {
        "edit" | "edit-media" | "hub" | "service" | "search" => None,
        "self" | "first" | "last" | "next" | "previous" | "prev" | "prev-archive" | "next-archive"
        | "current" => Some(Role::Feed),
        "enclosure" | "icon" | "stylesheet" => Some(Role::Embed),
        _ if kind.ends_with("atom+xml") || kind.ends_with("rss+xml") => Some(Role::Feed),
        "alternate" if parent == "url" => Some(Role::Alternate),
        _ => Some(Role::Navigate),
    }
}

/// Whether the element is one entry of a list, with a title of its own.
pub(super) fn is_item(name: &str) -> bool {
    matches!(name, "item" | "entry" | "url" | "sitemap" | "channel" | "feed")
}
