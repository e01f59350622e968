//! Media types: guesses one from a file name, and validates one.
//!
//! The table is small and holds only reliable extensions. Any other file is
//! `application/octet-stream`, which is always correct.

use std::path::Path;

/// The media type of arbitrary bytes.
pub const OCTET_STREAM: &str = "application/octet-stream";

/// Extensions with one undisputed meaning. `.ts`, `.doc` and similar ones are left out, because
/// they have several.
const BY_ENDING: [(&str, &str); 46] = [
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

/// The probable media type of a file with this name.
pub fn of_name(path: &Path) -> &'static str {
    let Some(ending) = path.extension().and_then(|ending| ending.to_str()) else { return OCTET_STREAM };
    let ending = ending.to_ascii_lowercase();
    match BY_ENDING.binary_search_by_key(&ending.as_str(), |(known, _)| known) {
        Ok(found) => BY_ENDING[found].1,
        Err(_) => OCTET_STREAM,
    }
}

/// The usual extension of files of a media type, which is given without parameters.
pub fn ending_of(media_type: &str) -> Option<&'static str> {
    /// Types with several extensions, or with names that the table does not have.
    const USUAL_ENDINGS: [(&str, &str); 12] = [
        ("application/javascript", "js"),
        ("application/x-javascript", "js"),
        ("application/xhtml+xml", "xhtml"),
        ("font/woff", "woff"),
        ("image/jpeg", "jpg"),
        ("image/svg+xml", "svg"),
        ("image/tiff", "tiff"),
        ("image/x-icon", "ico"),
        ("text/html", "html"),
        ("text/javascript", "js"),
        ("text/xml", "xml"),
        ("video/webm", "webm"),
    ];
    if let Ok(found) = USUAL_ENDINGS.binary_search_by_key(&media_type, |(known, _)| known) {
        return Some(USUAL_ENDINGS[found].1);
    }
    let known = BY_ENDING.iter().find(|(_, known)| *known == media_type).map(|(ending, _)| *ending);
    known.or_else(|| match media_type.rsplit_once('+')?.1 {
        "json" => Some("json"),
        "xml" => Some("xml"),
        _ => None,
    })
}

/// Whether the text is a media type, with or without parameters (RFC 9110, 8.3.1).
pub fn is_media_type(text: &str) -> bool {
    let (essence, _) = text.split_once(';').unwrap_or((text, ""));
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let has_two =
        essence.trim_end().split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub));
    has_two && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_right() {
        assert!(BY_ENDING.is_sorted());
        assert!(BY_ENDING.iter().all(|(_, media_type)| is_media_type(media_type)));
        assert_eq!(of_name(Path::new("a/Page.HTML")), "text/html");
        assert_eq!(of_name(Path::new("a/tree.avif")), "image/avif");
        assert_eq!(of_name(Path::new("html")), OCTET_STREAM);
        assert_eq!(of_name(Path::new("x.unheard-of")), OCTET_STREAM);
    }

    #[test]
    fn a_type_has_its_usual_ending() {
        for (media_type, ending) in [
            ("text/html", Some("html")),
            ("image/jpeg", Some("jpg")),
            ("text/css", Some("css")),
            ("application/rss+xml", Some("xml")),
            ("application/ld+json", Some("json")),
            ("application/octet-stream", None),
            ("", None),
        ] {
            assert_eq!(ending_of(media_type), ending, "{media_type}");
        }
        let is_usual = |ending: &str| ending_of(of_name(Path::new(&format!("x.{ending}")))).is_some();
        assert!(BY_ENDING.iter().all(|(ending, _)| is_usual(ending)));
    }

    #[test]
    fn media_types_have_two_parts() {
        for text in ["text/plain", "text/html; charset=utf-8", "application/vnd.varve.tree", "a/b ;c"] {
            assert!(is_media_type(text), "{text}");
        }
        for text in ["", "text", "text/", "/plain", "text/pl ain", "text/plain\r\nX: y", "tëxt/plain"] {
            assert!(!is_media_type(text), "{text}");
        }
    }
}
