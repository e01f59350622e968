//! The body of an answer as a browser wants it handed over: chunks joined, codings undone, within limits.
//!
//! Only for rendering. What is kept of an exchange is never touched by this.

use std::io::Read;

use memchr::memchr;
use varve_core::exchange::{Exchange, ResponseHead};

/// A body that is larger is not handed to the browser.
const LARGEST_BODY: u64 = 64 << 20;

/// The body of an answer; none when it is too large, or in a coding that is not known or broken.
pub(super) fn body(exchange: &Exchange, head: &ResponseHead) -> Option<Vec<u8>> {
    if exchange.response.len() > LARGEST_BODY {
        return None;
    }
    let mut bytes = Vec::new();
    exchange.response.reader().read_to_end(&mut bytes).ok()?;
    bytes.drain(..head.length.min(bytes.len()));
    if head
        .headers
        .get_text("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"))
    {
        bytes = joined(&bytes);
    }
    let codings = head.headers.get_text("content-encoding").unwrap_or_default().to_ascii_lowercase();
    codings.rsplit(',').map(str::trim).filter(|coding| !coding.is_empty()).try_fold(bytes, undo)
}

/// Chunks without what is between them; up to where they are broken, if they are.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(rest.len());
    while let Some(end) = memchr(b'\n', rest) {
        let line = rest[..end].split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let size = std::str::from_utf8(line).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        rest = &rest[end + 1..];
        let taken = size.min(rest.len());
        whole.extend_from_slice(&rest[..taken]);
        rest = &rest[taken..];
        rest = memchr(b'\n', rest).map_or(&[], |end| &rest[end + 1..]);
    }
    whole
}

fn undo(bytes: Vec<u8>, coding: &str) -> Option<Vec<u8>> {
    // Servers label empty bodies, too.
    if bytes.is_empty() {
        return Some(bytes);
    }
    match coding {
        "identity" => Some(bytes),
        "gzip" | "x-gzip" => limited(flate2::read::MultiGzDecoder::new(&bytes[..])),
        "deflate" => limited(flate2::read::ZlibDecoder::new(&bytes[..]))
            .or_else(|| limited(flate2::read::DeflateDecoder::new(&bytes[..]))),
        "br" => limited(brotli_decompressor::Decompressor::new(&bytes[..], 4096)),
        "zstd" => {
            let mut decoder = zstd::stream::read::Decoder::new(&bytes[..]).ok()?;
            decoder.window_log_max(27).ok()?;
            limited(decoder)
        }
        _ => None,
    }
}

fn limited(reader: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = reader.take(LARGEST_BODY + 1).read_to_end(&mut bytes).ok()?;
    (count as u64 <= LARGEST_BODY).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn chunks_are_joined_however_they_end() {
        assert_eq!(joined(b"5;x\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n"), b"hello world");
        assert_eq!(joined(b"5\nhello\n0\n\n"), b"hello");
        assert_eq!(joined(b"5\r\nhel"), b"hel");
        assert_eq!(joined(b"ffffffffffffffff\r\nhel"), b"hel");
        assert_eq!(joined(b"no chunk\r\n"), b"");
    }

    #[test]
    fn codings_are_undone_and_bombs_are_not() {
        let gzip = |bytes: &[u8]| {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap()
        };
        assert_eq!(undo(gzip(b"hello"), "gzip").as_deref(), Some(&b"hello"[..]));
        assert_eq!(undo(zstd::encode_all(&b"hello"[..], 1).unwrap(), "zstd").as_deref(), Some(&b"hello"[..]));
        assert_eq!(undo(b"hello".to_vec(), "gzip"), None);
        assert_eq!(undo(b"hello".to_vec(), "unheard-of"), None);
        assert_eq!(undo(Vec::new(), "br").as_deref(), Some(&b""[..]));
        assert_eq!(undo(gzip(&vec![0; usize::try_from(LARGEST_BODY).unwrap() + 1]), "gzip"), None);
    }
}
