//! How a body is read for links: by its media type, and by its name where the type says nothing.

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// HTML, XHTML and SVG.
    Html,
    /// A style sheet.
    Css,
    /// A JSON document.
    Json,
    /// A web app manifest.
    Manifest,
    /// XML that may be a feed or a sitemap, gzipped or not.
    Xml,
    /// Something that was named as a sitemap or feed: XML, JSON or one URL a line, gzipped or not.
    Listing,
    /// Nothing that is read: images, scripts, archives.
    Opaque,
}

impl Kind {
    /// The kind of a body of this media type, parameters and all, at this URL. A listing is never guessed: plain
    /// text is one only if somebody said so.
    pub fn of(content_type: Option<&str>, url: &str) -> Self {
        let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or("").trim();
        match essence.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" | "image/svg+xml" => Self::Html,
            "text/css" => Self::Css,
            "application/manifest+json" => Self::Manifest,
            "application/json" | "text/json" | "application/feed+json" => Self::Json,
            "text/xml" | "application/xml" => Self::Xml,
            "" | "unknown/unknown" => Self::of_path(url).unwrap_or(Self::Html),
            // What a server calls mere bytes is offered as a file, unless its name knows better.
            "application/octet-stream" | "application/gzip" | "application/x-gzip" => {
                Self::of_path(url).unwrap_or(Self::Opaque)
            }
            // Many servers do not know what a manifest is.
            "text/plain" if Self::of_path(url) == Some(Self::Manifest) => Self::Manifest,
            other if other.ends_with("+xml") => Self::Xml,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Opaque,
        }
    }

    /// The kind that the name in a URL suggests, if it has an ending.
    fn of_path(url: &str) -> Option<Self> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split(['?', '#']).next().unwrap_or("");
        let name = path.rsplit_once('/').map_or("", |(_, name)| name);
        let (_, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case("gz") {
            // Sitemaps are packed, for one. What else is would be read for nothing.
            let unpacked = Self::of_path(&url[..url.len() - (rest.len() - path.len()) - ending.len() - 1]);
            return Some(unpacked.filter(|kind| *kind == Self::Xml).unwrap_or(Self::Opaque));
        }
        Some(match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" | "shtml" | "svg" => Self::Html,
            "css" => Self::Css,
            "webmanifest" => Self::Manifest,
            "json" => Self::Json,
            "xml" | "rss" | "atom" | "rdf" | "opml" => Self::Xml,
            _ => Self::Opaque,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_names() {
        assert_eq!(Kind::of(Some("Text/HTML; charset=x"), "http://h/a.css"), Kind::Html);
        assert_eq!(Kind::of(None, "http://h/a.css?v=1"), Kind::Css);
        assert_eq!(Kind::of(None, "http://h"), Kind::Html);
        assert_eq!(Kind::of(None, "http://h.css/"), Kind::Html);
        assert_eq!(Kind::of(Some("application/octet-stream"), "http://h/dump"), Kind::Opaque);
        assert_eq!(Kind::of(Some("application/octet-stream"), "http://h/a.css"), Kind::Css);
        assert_eq!(Kind::of(Some("application/rss+xml"), ""), Kind::Xml);
        assert_eq!(Kind::of(Some("application/ld+json"), ""), Kind::Json);
        assert_eq!(Kind::of(Some("text/plain"), "http://h/sitemap.txt"), Kind::Opaque);
        assert_eq!(Kind::of(Some("text/plain"), "http://h/site.webmanifest"), Kind::Manifest);
        assert_eq!(Kind::of(Some("image/png"), "http://h/"), Kind::Opaque);
        for packed in ["application/gzip", "application/x-gzip", "application/octet-stream", ""] {
            assert_eq!(Kind::of(Some(packed), "http://h/map.xml.GZ?v=1"), Kind::Xml, "{packed}");
            assert_eq!(Kind::of(Some(packed), "http://h/src.tar.gz"), Kind::Opaque, "{packed}");
            assert_eq!(Kind::of(Some(packed), "http://h/page.html.gz"), Kind::Opaque, "{packed}");
            assert_eq!(Kind::of(Some(packed), "http://h/.gz"), Kind::Opaque, "{packed}");
        }
    }
}
