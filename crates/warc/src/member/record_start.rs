//! What the first bytes of a record look like.
//!
//! A magic number occurs by chance in any compressed data. So a place counts as the start of a
//! member only when it decompresses to the start of a record.

/// Whether decompressed bytes look like the start of a WARC or ARC record.
pub(crate) fn looks_like_record(bytes: &[u8]) -> bool {
    is_warc_start(bytes) || is_arc_start(bytes)
}

/// `WARC/` and a digit.
pub(crate) fn is_warc_start(bytes: &[u8]) -> bool {
    bytes.len() >= 6 && bytes[..5].eq_ignore_ascii_case(b"WARC/") && bytes[5].is_ascii_digit()
}

/// The length of a WARC record, with header and separator, as its header declares it. It is a hint
/// and may be wrong.
pub(super) fn declared_record_length(prefix: &[u8]) -> Option<u64> {
    const LENGTH_FIELD: &[u8] = b"content-length:";
    if !is_warc_start(prefix) {
        return None;
    }
    let end = memchr::memmem::find(prefix, b"\r\n\r\n")? + 4;
    let is_length = |line: &&[u8]| {
        line.len() > LENGTH_FIELD.len() && line[..LENGTH_FIELD.len()].eq_ignore_ascii_case(LENGTH_FIELD)
    };
    let line = prefix[..end].split(|byte| *byte == b'\n').find(is_length)?;
    let length: u64 = std::str::from_utf8(&line[LENGTH_FIELD.len()..]).ok()?.trim().parse().ok()?;
    length.checked_add(end as u64 + 4)
}

/// A URL scheme, then a line with the columns of an ARC record.
fn is_arc_start(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let scheme = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    scheme > 0
        && line[0].is_ascii_alphabetic()
        && line.get(scheme) == Some(&b':')
        && line.iter().all(|byte| *byte >= b' ' || *byte == b'\r')
        && (line.len() == bytes.len() || line.iter().filter(|byte| **byte == b' ').count() >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_lengths() {
        let declared = |text: &str| declared_record_length(text.as_bytes());
        assert_eq!(declared("WARC/1.1\r\nContent-length: 12\r\nA: b\r\n\r\nxyz"), Some(38 + 12 + 4));
        assert_eq!(declared("WARC/1.1\r\nContent-Length: 12\r\nA: b\r\n"), None);
        assert_eq!(declared("WARC/1.1\r\nContent-Length: -1\r\n\r\n"), None);
        assert_eq!(declared("WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n"), None);
        assert_eq!(declared("HTTP/1.1 200\r\nContent-Length: 12\r\n\r\n"), None);
    }

    #[test]
    fn first_bytes_of_records() {
        assert!(looks_like_record(b"WARC/1.1\r\n"));
        assert!(looks_like_record(b"warc/1.0\r\n"));
        assert!(looks_like_record(b"filedesc://x 0.0.0.0 20080430204825 text/plain 77\n1 0 x\n"));
        assert!(looks_like_record(b"http://a/ 1.2.3.4 20080430204825 text/html 9\nHTTP/1.0 200"));
        assert!(!looks_like_record(b"WARC/"));
        assert!(!looks_like_record(b"hello world"));
        assert!(!looks_like_record(b"key: value\nnext: line\n"));
        assert!(!looks_like_record(b""));
    }
}
