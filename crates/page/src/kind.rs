//! The kind of a body: HTML, XML, JSON, other text, or binary.
//!
//! The media type decides, unless the bytes are not text. Without a media type the bytes decide.
//! Servers use `text/plain` and `application/octet-stream` for everything, so those two count as no
//! media type.

use crate::charset;

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyKind {
    /// A page.
    Html,
    /// XML of any vocabulary, feeds and SVG among it.
    Xml,
    /// JSON.
    Json,
    /// A style sheet.
    Css,
    /// A script.
    JavaScript,
    /// Other text.
    Text,
    /// Not text.
    Binary,
}

/// Number of bytes by which the kind is decided.
const SAMPLE_BYTES: usize = 4096;

/// Number of control bytes that may be in a text by mistake.
const MAX_CONTROL_BYTES: usize = 2;

impl BodyKind {
    /// The kind of a body, from its `Content-Type` and its bytes.
    pub fn of(body: &[u8], content_type: Option<&str>) -> Self {
        let declared = content_type.and_then(from_media_type);
        let is_utf_16 = content_type.is_some_and(charset::says_utf_16) && !is_binary_in_utf_16(body);
        if declared != Some(Self::Binary) && !is_utf_16 && is_binary(body, declared) {
            return Self::Binary;
        }
        match declared {
            Some(kind) if kind != Self::Text => kind,
            _ => sniff(body, declared),
        }
    }

    /// Whether the body is text.
    pub fn is_text(self) -> bool {
        self != Self::Binary
    }
}

/// The kind that a media type names. `None` if it names none.
fn from_media_type(content_type: &str) -> Option<BodyKind> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (group, name) = essence.split_once('/')?;
    Some(match (group, name) {
        (_, "html" | "xhtml+xml") => BodyKind::Html,
        (_, "json" | "manifest+json") => BodyKind::Json,
        (_, "javascript" | "x-javascript" | "ecmascript") => BodyKind::JavaScript,
        (_, "css") => BodyKind::Css,
        (_, "xml") => BodyKind::Xml,
        _ if name.ends_with("+xml") => BodyKind::Xml,
        _ if name.ends_with("+json") => BodyKind::Json,
        ("text", _) => BodyKind::Text,
        ("application", "octet-stream" | "unknown" | "x-unknown") => return None,
        ("application", "x-www-form-urlencoded" | "x-sh" | "toml" | "yaml" | "sql") => BodyKind::Text,
        ("image" | "audio" | "video" | "font" | "application", _) => BodyKind::Binary,
        _ => return None,
    })
}

/// Whether a body has bytes that no text has. Zero bytes are text only in UTF-16, which has a byte
/// order mark or is declared. A few control bytes are accepted if the media type or the start of
/// the body says that it is text.
fn is_binary(body: &[u8], declared: Option<BodyKind>) -> bool {
    let start = &body[..body.len().min(SAMPLE_BYTES)];
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return false;
    }
    let odd = start.iter().filter(|byte| is_odd(u32::from(**byte))).count();
    let is_known = || {
        !matches!(declared, None | Some(BodyKind::Text | BodyKind::Binary))
            || sniff(body, Some(BodyKind::Text)) == BodyKind::Html
    };
    let are_few = odd <= MAX_CONTROL_BYTES || odd * 200 < start.len();
    !(are_few && is_known()) && (start.contains(&0) || odd * 50 > start.len())
}

/// Whether a body that is declared as UTF-16 is binary.
fn is_binary_in_utf_16(body: &[u8]) -> bool {
    let start = &body[..body.len().min(SAMPLE_BYTES)];
    let odd = |pair: &&[u8]| {
        let big = u32::from(pair[0]) << 8 | u32::from(pair[1]);
        is_odd(big) || is_odd(big.swap_bytes() >> 16)
    };
    body.len() % 2 == 1 || start.chunks_exact(2).filter(odd).count() * 50 > start.len()
}

/// Whether a byte or letter occurs in no text.
const fn is_odd(letter: u32) -> bool {
    matches!(letter, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// The kind of text without a media type. Scripts and style sheets cannot be distinguished from
/// other text.
fn sniff(body: &[u8], declared: Option<BodyKind>) -> BodyKind {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start =
        String::from_utf8_lossy(&start[..start.len().min(SAMPLE_BYTES)]).trim_start().to_ascii_lowercase();
    if start.starts_with("<?xml") {
        return if start.contains("<html") { BodyKind::Html } else { BodyKind::Xml };
    }
    const OPENINGS: [&str; 8] =
        ["<!doctype html", "<html", "<head", "<body", "<title", "<script", "<meta", "<!--"];
    if OPENINGS.iter().any(|opening| start.starts_with(opening)) {
        return BodyKind::Html;
    }
    if declared.is_none()
        && start.starts_with(['{', '['])
        && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
    {
        return BodyKind::Json;
    }
    BodyKind::Text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_count_unless_they_are_generic() {
        let cases: [(&[u8], Option<&str>, BodyKind); 14] = [
            (b"x", Some("text/html; charset=utf-8"), BodyKind::Html),
            (b"x", Some("APPLICATION/XHTML+XML"), BodyKind::Html),
            (b"<svg/>", Some("image/svg+xml"), BodyKind::Xml),
            (b"{}", Some("application/ld+json"), BodyKind::Json),
            (b"a{}", Some("text/css"), BodyKind::Css),
            (b"x", Some("text/javascript"), BodyKind::JavaScript),
            (b"abc", Some("image/png"), BodyKind::Binary),
            (b"\x89PNG\r\n\x1a\n\0\0", Some("text/html"), BodyKind::Binary),
            (b" <!DOCTYPE html><p>", None, BodyKind::Html),
            (b"<html>", Some("text/plain"), BodyKind::Html),
            (b"[1, 2]", Some("application/octet-stream"), BodyKind::Json),
            (b"hello", None, BodyKind::Text),
            (b"\xff\xfeh\0i\0", None, BodyKind::Text),
            (b"", None, BodyKind::Text),
        ];
        for (body, content_type, kind) in cases {
            assert_eq!(BodyKind::of(body, content_type), kind, "{content_type:?} {body:?}");
        }
    }

    #[test]
    fn a_slip_does_not_make_a_page_something_else() {
        let long = [&b"<p>".repeat(2000)[..], b"\0"].concat();
        let cases: [(&[u8], Option<&str>, BodyKind); 7] = [
            (b"<p>a\0b</p>", Some("text/html"), BodyKind::Html),
            (b"<!doctype html><p>a\0b</p>", None, BodyKind::Html),
            (&long, Some("text/html"), BodyKind::Html),
            (b"a\0b", Some("text/plain"), BodyKind::Binary),
            (b"a\0b", None, BodyKind::Binary),
            (b"GIF89a\x01\0\x01\0\x80\0\0", Some("text/html"), BodyKind::Binary),
            (b"\0\0\0\x18ftypmp42", Some("text/html"), BodyKind::Binary),
        ];
        for (body, content_type, kind) in cases {
            assert_eq!(BodyKind::of(body, content_type), kind, "{content_type:?} {body:?}");
        }
    }

    #[test]
    fn a_body_declared_as_utf_16_is_text_if_it_decodes() {
        let little = "<p>hello".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = "<p>hello".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        for (body, charset, kind) in [
            (&little[..], "utf-16le", BodyKind::Html),
            (&little, "utf-16", BodyKind::Html),
            (&big, "UTF-16BE", BodyKind::Html),
            (&little, "utf-8", BodyKind::Binary),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01", "utf-16le", BodyKind::Binary),
        ] {
            let content_type = format!("text/html; charset={charset}");
            assert_eq!(BodyKind::of(body, Some(&content_type)), kind, "{charset} {body:?}");
        }
    }
}
