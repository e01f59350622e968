//! The role of a link by its `rel`, for `<link>` and the `Link` header.

use super::link::LinkRole;

/// The attributes of a link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Relation<'a> {
    pub(super) rel: &'a str,
    /// The media type.
    pub(super) kind: &'a str,
    /// The `as` attribute.
    pub(super) loaded_as: &'a str,
    pub(super) reference: &'a str,
}

/// Relations that only name a host, or an address for POST requests.
const IGNORED_RELATIONS: [&str; 3] = ["dns-prefetch", "preconnect", "pingback"];
/// Relations that are part of the page.
const EMBEDDED_RELATIONS: [&str; 6] =
    ["icon", "stylesheet", "preload", "modulepreload", "manifest", "image_src"];
/// Media types of feeds.
const FEED_TYPES: [&str; 3] = ["application/rss+xml", "application/atom+xml", "application/feed+json"];

impl Relation<'_> {
    /// The role of the link. `None` if it is no link.
    pub(super) fn role(&self) -> Option<LinkRole> {
        if self.has(&IGNORED_RELATIONS) {
            return None;
        }
        let path = path(self.reference);
        let css = is(self.kind, "text/css") || ends_with(path, &[".css"]);
        Some(if self.has(&EMBEDDED_RELATIONS) || self.has_icon() || css {
            LinkRole::Embed
        } else if self.has(&["canonical"]) {
            LinkRole::Canonical
        } else if self.has(&["sitemap"]) {
            LinkRole::Sitemap
        } else if FEED_TYPES.iter().any(|feed| is(self.kind, feed)) {
            LinkRole::Feed
        } else if self.has(&["alternate", "amphtml", "shortlink"]) {
            LinkRole::Alternate
        } else if self.has(&["prefetch", "prerender"]) {
            if self.loaded_as.is_empty() || is(self.loaded_as, "document") {
                LinkRole::Navigate
            } else {
                LinkRole::Embed
            }
        } else if ends_with(path, &[".ico", ".png"]) {
            LinkRole::Embed
        } else {
            LinkRole::Navigate
        })
    }

    /// Whether it is a relation for icons.
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

/// Whether a URL looks like a part of a page rather than a page. For guessed links in scripts and
/// JSON.
pub(super) fn looks_embedded(url: &str) -> bool {
    /// Relations that are part of the page.
    const EMBEDDED_RELATIONS: [&str; 13] = [
        ".gif", ".jpg", ".jpeg", ".png", ".svg", ".js", ".css", ".webp", ".avif", ".ico", ".woff", ".woff2",
        ".ttf",
    ];
    let url = url.split('#').next().unwrap_or(url);
    ends_with(url, &EMBEDDED_RELATIONS)
        || url.split_once('?').is_some_and(|(path, _)| ends_with(path, &EMBEDDED_RELATIONS))
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

    fn role(rel: &str, kind: &str, loaded_as: &str, reference: &str) -> Option<LinkRole> {
        Relation { rel, kind, loaded_as, reference }.role()
    }

    #[test]
    fn relations_have_roles() {
        assert_eq!(role("Alternate Stylesheet", "", "", "x"), Some(LinkRole::Embed));
        assert_eq!(role("apple-touch-icon-precomposed", "", "", "x"), Some(LinkRole::Embed));
        assert_eq!(role("alternate", "application/RSS+xml", "", "x"), Some(LinkRole::Feed));
        assert_eq!(role("alternate", "text/html", "", "x"), Some(LinkRole::Alternate));
        assert_eq!(role("prefetch", "", "", "x"), Some(LinkRole::Navigate));
        assert_eq!(role("prefetch", "", "script", "x"), Some(LinkRole::Embed));
        assert_eq!(role("preconnect", "", "", "//cdn"), None);
        assert_eq!(role("", "", "", "a/c.css?v=1"), Some(LinkRole::Embed));
        assert_eq!(role("next", "", "", "x"), Some(LinkRole::Navigate));
    }

    #[test]
    fn looks() {
        assert!(looks_embedded("http://h/a?b.png"));
        assert!(looks_embedded("http://h/a.PNG?b#c"));
        assert!(!looks_embedded("http://h/a.png/b"));
        assert!(!looks_embedded("http://h/png"));
    }
}
