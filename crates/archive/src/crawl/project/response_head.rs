//! The head of an answer, as a row of a project has it: every header as it was, folded lines with their ends.

use varve_core::Moment;
use varve_core::exchange::{StatusLine, head_end};
use varve_core::headers::Headers;
use varve_crystal::Metadata;

/// Status and headers of an answer that begins with these bytes; none if they are no HTTP. `sent` is the one tag that was
/// asked with, which an answer that nothing changed may leave out.
pub(super) fn metadata(start: &[u8], at: Moment, sent: Option<&str>) -> Option<Metadata> {
    let head = &start[..head_end(start, 0).unwrap_or(start.len())];
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = StatusLine::read(first)?;
    let version = if first.starts_with(b"HTTP/1.0") { 10 } else { 11 };
    let mut headers = headers(&head[first.len().min(head.len())..]);
    if let Some(tag) = sent.filter(|_| line.status == 304 && !headers.contains("etag")) {
        headers.push("ETag", tag);
    }
    let now = at.utc();
    Some(Metadata::new(version, i64::from(line.status), line.reason.trim_ascii(), &headers, now))
}

/// The headers, in their order. A line that begins with a blank belongs to the one before it, line end and all.
fn headers(lines: &[u8]) -> Headers {
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.first(), found.last_mut()) {
            (Some(b' ' | b'\t'), Some((_, value))) => {
                value.extend_from_slice(b"\r\n");
                value.extend_from_slice(line.trim_ascii_end());
            }
            _ => {
                let Some(colon) = line.iter().position(|byte| *byte == b':').filter(|at| *at > 0) else {
                    continue;
                };
                found.push((line[..colon].trim_ascii().to_vec(), line[colon + 1..].trim_ascii().to_vec()));
            }
        }
    }
    found.into_iter().collect()
}

/// The one tag that a request asked with, if it was one.
pub(super) fn only_tag(request: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(request);
    let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with("if-none-match:"))?;
    let tag = line.split_once(':')?.1.trim();
    // Between quotes a comma is a letter like any other.
    let outside = tag.split('"').step_by(2).any(|piece| piece.contains(','));
    (!tag.is_empty() && !outside).then(|| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_kept_to_the_letter() {
        let head = b"HTTP/1.0 200 Caf\xe9 \r\nX-A: 1\r\nx-a:2 \r\nX-Fold: a\r\n  b\r\nbroken\r\nDate: x\r\n\r\nbody: no";
        let metadata = metadata(head, Moment::from_seconds(0), None).unwrap();
        assert_eq!((metadata.http_version, metadata.status_code), (10, 200));
        assert_eq!(metadata.reason_phrase, "Caf\u{e9}");
        let headers: Vec<(&str, &str)> =
            metadata.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("X-A", "1"), ("x-a", "2"), ("X-Fold", "a\r\n  b"), ("Date", "x")]);
        assert!(super::metadata(b"GARBAGE\r\n", Moment::from_seconds(0), None).is_none());
    }

    #[test]
    fn a_304_gets_the_tag_that_was_asked_with_before_the_date() {
        let head = b"HTTP/1.1 304 Not Modified\r\n\r\n";
        let metadata = metadata(head, Moment::from_seconds(0), Some("\"a\"")).unwrap();
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
