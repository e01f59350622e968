//! What a body is, as far as comparing and reading it goes.
//!
//! The server's word counts, unless the bytes say that it is not even text; without one the bytes are asked. Servers call
//! everything `text/plain` or `application/octet-stream`, so those two mean that nobody has looked.

use crate::charset;

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
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

/// How much of a body is looked at.
const SAMPLE: usize = 4096;

/// So many bytes that no text has may stand in one by mistake.
const MOST_SLIPS: usize = 2;

impl Kind {
    /// What a body is, from its `Content-Type` and its bytes.
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

/// What a media type says. None when it says nothing.
fn from_media_type(content_type: &str) -> Option<Kind> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (group, name) = essence.split_once('/')?;
    Some(match (group, name) {
        (_, "html" | "xhtml+xml") => Kind::Html,
        (_, "json" | "manifest+json") => Kind::Json,
        (_, "javascript" | "x-javascript" | "ecmascript") => Kind::JavaScript,
        (_, "css") => Kind::Css,
        (_, "xml") => Kind::Xml,
        _ if name.ends_with("+xml") => Kind::Xml,
        _ if name.ends_with("+json") => Kind::Json,
        ("text", _) => Kind::Text,
        ("application", "octet-stream" | "unknown" | "x-unknown") => return None,
        ("application", "x-www-form-urlencoded" | "x-sh" | "toml" | "yaml" | "sql") => Kind::Text,
        ("image" | "audio" | "video" | "font" | "application", _) => Kind::Binary,
        _ => return None,
    })
}

/// Whether bytes are there that no text has. Zeros are text in UTF-16 only, which then opens with its mark or is declared. But a page
/// does not cease to be one over a slip: where something says that it is one, a few such bytes are let pass.
fn is_binary(body: &[u8], declared: Option<Kind>) -> bool {
    let start = &body[..body.len().min(SAMPLE)];
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return false;
    }
    let odd = start.iter().filter(|byte| is_odd(u32::from(**byte))).count();
    let is_known = || {
        !matches!(declared, None | Some(Kind::Text | Kind::Binary))
            || sniff(body, Some(Kind::Text)) == Kind::Html
    };
    let are_few = odd <= MOST_SLIPS || odd * 200 < start.len();
    !(are_few && is_known()) && (start.contains(&0) || odd * 50 > start.len())
}

/// Whether what is declared as UTF-16 is something else.
fn is_binary_in_utf_16(body: &[u8]) -> bool {
    let start = &body[..body.len().min(SAMPLE)];
    let odd = |pair: &&[u8]| {
        let big = u32::from(pair[0]) << 8 | u32::from(pair[1]);
        is_odd(big) || is_odd(big.swap_bytes() >> 16)
    };
    body.len() % 2 == 1 || start.chunks_exact(2).filter(odd).count() * 50 > start.len()
}

/// Whether a byte or letter stands in no text.
const fn is_odd(letter: u32) -> bool {
    matches!(letter, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// What text without a telling type is. A script or style sheet cannot be told from other text, and need not be.
fn sniff(body: &[u8], declared: Option<Kind>) -> Kind {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = String::from_utf8_lossy(&start[..start.len().min(SAMPLE)]).trim_start().to_ascii_lowercase();
    if start.starts_with("<?xml") {
        return if start.contains("<html") { Kind::Html } else { Kind::Xml };
    }
    const OPENINGS: [&str; 8] =
        ["<!doctype html", "<html", "<head", "<body", "<title", "<script", "<meta", "<!--"];
    if OPENINGS.iter().any(|opening| start.starts_with(opening)) {
        return Kind::Html;
    }
    if declared.is_none()
        && start.starts_with(['{', '['])
        && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
    {
        return Kind::Json;
    }
    Kind::Text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_count_unless_they_say_nothing() {
        let cases: [(&[u8], Option<&str>, Kind); 14] = [
            (b"x", Some("text/html; charset=utf-8"), Kind::Html),
            (b"x", Some("APPLICATION/XHTML+XML"), Kind::Html),
            (b"<svg/>", Some("image/svg+xml"), Kind::Xml),
            (b"{}", Some("application/ld+json"), Kind::Json),
            (b"a{}", Some("text/css"), Kind::Css),
            (b"x", Some("text/javascript"), Kind::JavaScript),
            (b"abc", Some("image/png"), Kind::Binary),
            (b"\x89PNG\r\n\x1a\n\0\0", Some("text/html"), Kind::Binary),
            (b" <!DOCTYPE html><p>", None, Kind::Html),
            (b"<html>", Some("text/plain"), Kind::Html),
            (b"[1, 2]", Some("application/octet-stream"), Kind::Json),
            (b"hello", None, Kind::Text),
            (b"\xff\xfeh\0i\0", None, Kind::Text),
            (b"", None, Kind::Text),
        ];
        for (body, content_type, kind) in cases {
            assert_eq!(Kind::of(body, content_type), kind, "{content_type:?} {body:?}");
        }
    }

    #[test]
    fn a_slip_does_not_make_a_page_something_else() {
        let long = [&b"<p>".repeat(2000)[..], b"\0"].concat();
        let cases: [(&[u8], Option<&str>, Kind); 7] = [
            (b"<p>a\0b</p>", Some("text/html"), Kind::Html),
            (b"<!doctype html><p>a\0b</p>", None, Kind::Html),
            (&long, Some("text/html"), Kind::Html),
            (b"a\0b", Some("text/plain"), Kind::Binary),
            (b"a\0b", None, Kind::Binary),
            (b"GIF89a\x01\0\x01\0\x80\0\0", Some("text/html"), Kind::Binary),
            (b"\0\0\0\x18ftypmp42", Some("text/html"), Kind::Binary),
        ];
        for (body, content_type, kind) in cases {
            assert_eq!(Kind::of(body, content_type), kind, "{content_type:?} {body:?}");
        }
    }

    #[test]
    fn what_a_header_calls_utf_16_is_text_if_it_can_be() {
        let little = "<p>hello".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = "<p>hello".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        for (body, charset, kind) in [
            (&little[..], "utf-16le", Kind::Html),
            (&little, "utf-16", Kind::Html),
            (&big, "UTF-16BE", Kind::Html),
            (&little, "utf-8", Kind::Binary),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01", "utf-16le", Kind::Binary),
        ] {
            let content_type = format!("text/html; charset={charset}");
            assert_eq!(Kind::of(body, Some(&content_type)), kind, "{charset} {body:?}");
        }
    }
}
