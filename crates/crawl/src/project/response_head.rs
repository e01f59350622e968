//! The head of a response as a row of a project stores it: every header unchanged, folded lines
//! with their line endings.

use varve_core::Moment;
use varve_crystal::ResponseMetadata;
use varve_wire::{HttpVersion, MessageHead};

/// Status and headers of a response with this head. `None` if the head has no status. `sent` is the
/// only ETag that the request named, which a 304 may omit.
pub(super) fn metadata(head: &MessageHead, at: Moment, sent: Option<&str>) -> Option<ResponseMetadata> {
    let response = head.response()?;
    let status = response.status;
    let mut headers = response.headers.with_folds();
    let version = if head.version() == (HttpVersion { major: 1, minor: 0 }) { 10 } else { 11 };
    if let Some(tag) = sent.filter(|_| status == 304 && !headers.contains("etag")) {
        headers.push("ETag", tag);
    }
    Some(ResponseMetadata::new(version, i64::from(status), response.reason, &headers, at.utc()))
}

/// The ETag that a request named, if it named exactly one.
pub(super) fn only_tag(request: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(request);
    let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with("if-none-match:"))?;
    let tag = line.split_once(':')?.1.trim();
    // Between quotes, a comma is part of the tag.
    let outside = tag.split('"').step_by(2).any(|piece| piece.contains(','));
    (!tag.is_empty() && !outside).then(|| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_kept_to_the_letter() {
        let head = b"HTTP/1.0 200 Caf\xe9 \r\nX-A: 1\r\nx-a:2 \r\nX-Fold: a\r\n  b\r\nbroken\r\nDate: x\r\n\r\nbody: no";
        let head = MessageHead::parse(head).unwrap();
        let metadata = metadata(&head, Moment::from_seconds(0), None).unwrap();
        assert_eq!((metadata.http_version, metadata.status_code), (10, 200));
        assert_eq!(metadata.reason_phrase, "Caf\u{e9}");
        let headers: Vec<(&str, &str)> =
            metadata.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("X-A", "1"), ("x-a", "2"), ("X-Fold", "a\r\n  b"), ("Date", "x")]);
        let without_status = MessageHead::parse(b"HTTP/1.1 x\r\n\r\n").unwrap();
        assert!(super::metadata(&without_status, Moment::from_seconds(0), None).is_none());
    }

    #[test]
    fn a_304_gets_the_tag_that_was_asked_with_before_the_date() {
        let head = MessageHead::parse(b"HTTP/1.1 304 Not Modified\r\n\r\n").unwrap();
        let metadata = metadata(&head, Moment::from_seconds(0), Some("\"a\"")).unwrap();
        let names: Vec<&str> = metadata.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ETag", "Date"]);
        assert_eq!(
            only_tag(b"GET / HTTP/1.1\r\nIf-None-Match: W/\"a,b\"\r\n\r\n").as_deref(),
            Some("W/\"a,b\"")
        );
        assert_eq!(only_tag(b"GET / HTTP/1.1\r\nIf-None-Match: \"a\", \"b\"\r\n\r\n"), None);
        assert_eq!(only_tag(b"GET / HTTP/1.1\r\n\r\n"), None);
    }
}
