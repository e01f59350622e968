//! What `rel` makes of a link: the same rule for `<link>` and for the `Link` header.

use super::link::Role;

/// A link with what it says about itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Relation<'a> {
    pub(super) rel: &'a str,
    /// The media type.
    pub(super) kind: &'a str,
    /// What it is loaded as.
    pub(super) loaded_as: &'a str,
    pub(super) reference: &'a str,
}

/// These name a host to be ready for, or an address that only takes posts.
const NO_LINKS: [&str; 3] = ["dns-prefetch", "preconnect", "pingback"];
const PARTS: [&str; 6] = ["icon", "stylesheet", "preload", "modulepreload", "manifest", "image_src"];
const FEEDS: [&str; 3] = ["application/rss+xml", "application/atom+xml", "application/feed+json"];

impl Relation<'_> {
    /// What the link is for; nothing if it is none.
    pub(super) fn role(&self) -> Option<Role> {
        if self.has(&NO_LINKS) {
            return None;
        }
        let path = path(self.reference);
        let css = is(self.kind, "text/css") || ends_with(path, &[".css"]);
        Some(if self.has(&PARTS) || self.has_icon() || css {
            Role::Embed
        } else if self.has(&["canonical"]) {
            Role::Canonical
        } else if self.has(&["sitemap"]) {
            Role::Sitemap
        } else if FEEDS.iter().any(|feed| is(self.kind, feed)) {
            Role::Feed
        } else if self.has(&["alternate", "amphtml", "shortlink"]) {
            Role::Alternate
        } else if self.has(&["prefetch", "prerender"]) {
            if self.loaded_as.is_empty() || is(self.loaded_as, "document") {
                Role::Navigate
            } else {
                Role::Embed
            }
        } else if ends_with(path, &[".ico", ".png"]) {
            Role::Embed
        } else {
            Role::Navigate
        })
    }

    /// Whether it is one of the many names for an icon.
    pub(super) fn has_icon(&self) -> bool {
        self.rel.split_ascii_whitespace().any(|name| {
            let name = name.to_ascii_lowercase();
            name.ends_with("icon") || name.starts_with("apple-touch-")
        })
    }

    fn has(&self, names: &[&str]) -> bool {
        self.rel.split_ascii_whitespace().any(|token| names.iter().any(|name| is(token, name)))
    }
}

/// Whether a URL looks like a part of a page rather than a page. A guess, for what stands in scripts and JSON.
pub(super) fn looks_embedded(url: &str) -> bool {
    const PARTS: [&str; 13] = [
        ".gif", ".jpg", ".jpeg", ".png", ".svg", ".js", ".css", ".webp", ".avif", ".ico", ".woff", ".woff2",
        ".ttf",
    ];
    let url = url.split('#').next().unwrap_or(url);
    ends_with(url, &PARTS) || url.split_once('?').is_some_and(|(path, _)| ends_with(path, &PARTS))
}

fn path(reference: &str) -> &str {
    reference.split(['?', '#']).next().unwrap_or(reference)
}

fn is(text: &str, name: &str) -> bool {
    text.eq_ignore_ascii_case(name)
}

fn ends_with(text: &str, endings: &[&str]) -> bool {
    let text = text.as_bytes();
    let ends = |ending: &&str| {
        text.len() > ending.len() && text[text.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
    };
    endings.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(rel: &str, kind: &str, loaded_as: &str, reference: &str) -> Option<Role> {
        Relation { rel, kind, loaded_as, reference }.role()
    }

    #[test]
    fn relations_have_roles() {
        assert_eq!(role("Alternate Stylesheet", "", "", "x"), Some(Role::Embed));
        assert_eq!(role("apple-touch-icon-precomposed", "", "", "x"), Some(Role::Embed));
        assert_eq!(role("alternate", "application/RSS+xml", "", "x"), Some(Role::Feed));
        assert_eq!(role("alternate", "text/html", "", "x"), Some(Role::Alternate));
        assert_eq!(role("prefetch", "", "", "x"), Some(Role::Navigate));
        assert_eq!(role("prefetch", "", "script", "x"), Some(Role::Embed));
        assert_eq!(role("preconnect", "", "", "//cdn"), None);
        assert_eq!(role("", "", "", "a/c.css?v=1"), Some(Role::Embed));
        assert_eq!(role("next", "", "", "x"), Some(Role::Navigate));
    }

    #[test]
    fn looks() {
        assert!(looks_embedded("http://h/a?b.png"));
        assert!(looks_embedded("http://h/a.PNG?b#c"));
        assert!(!looks_embedded("http://h/a.png/b"));
        assert!(!looks_embedded("http://h/png"));
    }
}
