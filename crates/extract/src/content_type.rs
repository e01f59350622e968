//! Which bodies are pages: the media types that can be extracted.

use varve_page::kind::BodyKind;

/// The content types that can be extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// `text/html` or `application/xhtml+xml`.
    Html,
    /// `text/plain`.
    PlainText,
}

impl ContentType {
    /// The content type of a body. Without a media type, or with one that cannot be parsed, the
    /// bytes decide. `None` if the body is no page.
    pub fn of(body: &[u8], media_type: Option<&str>) -> Option<Self> {
        let essence = media_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/plain" => Some(Self::PlainText),
            other if other.contains('/') => None,
            _ => match BodyKind::of(body, None) {
                BodyKind::Html | BodyKind::Xml => Some(Self::Html),
                BodyKind::Text => Some(Self::PlainText),
                BodyKind::Json | BodyKind::Css | BodyKind::JavaScript | BodyKind::Binary => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_and_plain_text_are_accepted() {
        for (media_type, expected) in [
            (Some("text/html; charset=utf-8"), Some(ContentType::Html)),
            (Some("Application/XHTML+XML"), Some(ContentType::Html)),
            (Some("text/plain"), Some(ContentType::PlainText)),
            (Some("application/pdf"), None),
            (Some("image/png"), None),
            (Some("nonsense"), Some(ContentType::Html)),
            (None, Some(ContentType::Html)),
        ] {
            assert_eq!(ContentType::of(b"<!doctype html><p>x", media_type), expected, "{media_type:?}");
        }
        assert_eq!(ContentType::of(b"\x00\x01\x02\x03", None), None);
    }
}
