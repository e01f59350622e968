//! The format in which a body is read for links: by its media type, else by the extension of its
//! URL.

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkFormat {
    /// HTML, XHTML and SVG.
    Html,
    /// A style sheet.
    Css,
    /// A script.
    JavaScript,
    /// A JSON document.
    Json,
    /// A web app manifest.
    Manifest,
    /// XML that may be a feed or a sitemap, gzipped or not.
    Xml,
    /// A sitemap or feed by declaration: XML, JSON or one URL a line, gzipped or not.
    Listing,
    /// A format without links: images, archives.
    Opaque,
}

impl LinkFormat {
    /// The format of a body with this `Content-Type` at this URL. A listing is never guessed: plain
    /// text is one only if the caller says so.
    pub fn of(content_type: Option<&str>, url: &str) -> Self {
        let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or("").trim();
        match essence.to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" | "image/svg+xml" => Self::Html,
            "text/css" => Self::Css,
            other if is_javascript(other) => Self::JavaScript,
            "application/manifest+json" => Self::Manifest,
            "application/json" | "text/json" | "application/feed+json" => Self::Json,
            "text/xml" | "application/xml" => Self::Xml,
            "" | "unknown/unknown" => Self::of_path(url).unwrap_or(Self::Html),
            // `application/octet-stream` is a download, unless the extension is known.
            "application/octet-stream" | "application/gzip" | "application/x-gzip" => {
                Self::of_path(url).unwrap_or(Self::Opaque)
            }
            // Many servers do not know the media type of manifests.
            "text/plain" if Self::of_path(url) == Some(Self::Manifest) => Self::Manifest,
            other if other.ends_with("+xml") => Self::Xml,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Opaque,
        }
    }

    /// The format of the extension of a URL.
    fn of_path(url: &str) -> Option<Self> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split(['?', '#']).next().unwrap_or("");
        let name = path.rsplit_once('/').map_or("", |(_, name)| name);
        let (_, ending) = name.rsplit_once('.')?;
        if ending.eq_ignore_ascii_case("gz") {
            // Only sitemaps are expected to be gzipped.
            let unpacked = Self::of_path(&url[..url.len() - (rest.len() - path.len()) - ending.len() - 1]);
            return Some(unpacked.filter(|kind| *kind == Self::Xml).unwrap_or(Self::Opaque));
        }
        Some(match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" | "shtml" | "svg" => Self::Html,
            "css" => Self::Css,
            "js" | "mjs" => Self::JavaScript,
            "webmanifest" => Self::Manifest,
            "json" => Self::Json,
            "xml" | "rss" | "atom" | "rdf" | "opml" => Self::Xml,
            _ => Self::Opaque,
        })
    }
}

/// Whether a media type, without parameters, is that of a script.
pub(super) fn is_javascript(essence: &str) -> bool {
    const JAVASCRIPT_TYPES: [&str; 5] = [
        "text/javascript",
        "application/javascript",
        "application/x-javascript",
        "text/ecmascript",
        "application/ecmascript",
    ];
    JAVASCRIPT_TYPES.iter().any(|name| essence.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_names() {
        assert_eq!(LinkFormat::of(Some("Text/HTML; charset=x"), "http://h/a.css"), LinkFormat::Html);
        assert_eq!(LinkFormat::of(None, "http://h/a.css?v=1"), LinkFormat::Css);
        assert_eq!(LinkFormat::of(Some("Application/JavaScript"), "http://h/a"), LinkFormat::JavaScript);
        assert_eq!(LinkFormat::of(None, "http://h/a.mjs"), LinkFormat::JavaScript);
        assert_eq!(LinkFormat::of(None, "http://h"), LinkFormat::Html);
        assert_eq!(LinkFormat::of(None, "http://h.css/"), LinkFormat::Html);
        assert_eq!(LinkFormat::of(Some("application/octet-stream"), "http://h/dump"), LinkFormat::Opaque);
        assert_eq!(LinkFormat::of(Some("application/octet-stream"), "http://h/a.css"), LinkFormat::Css);
        assert_eq!(LinkFormat::of(Some("application/rss+xml"), ""), LinkFormat::Xml);
        assert_eq!(LinkFormat::of(Some("application/ld+json"), ""), LinkFormat::Json);
        assert_eq!(LinkFormat::of(Some("text/plain"), "http://h/sitemap.txt"), LinkFormat::Opaque);
        assert_eq!(LinkFormat::of(Some("text/plain"), "http://h/site.webmanifest"), LinkFormat::Manifest);
        assert_eq!(LinkFormat::of(Some("image/png"), "http://h/"), LinkFormat::Opaque);
        for packed in ["application/gzip", "application/x-gzip", "application/octet-stream", ""] {
            assert_eq!(LinkFormat::of(Some(packed), "http://h/map.xml.GZ?v=1"), LinkFormat::Xml, "{packed}");
            assert_eq!(LinkFormat::of(Some(packed), "http://h/src.tar.gz"), LinkFormat::Opaque, "{packed}");
            assert_eq!(LinkFormat::of(Some(packed), "http://h/page.html.gz"), LinkFormat::Opaque, "{packed}");
            assert_eq!(LinkFormat::of(Some(packed), "http://h/.gz"), LinkFormat::Opaque, "{packed}");
        }
    }
}
