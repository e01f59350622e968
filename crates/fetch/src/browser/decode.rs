//! The body of a response as a browser takes it: transfer and content codings removed, within
//! limits.
//!
//! Only for rendering. The stored bytes of an exchange are never changed by this.

use std::io::Read;

use varve_core::exchange::Exchange;
use varve_wire::DecodeLimits;

/// A larger body is not handed to the browser.
const MAX_BODY_BYTES: u64 = 64 << 20;

/// The body of a response. None when it is too large, or has a coding that is unknown or broken.
pub(super) fn body(exchange: &Exchange) -> Option<Vec<u8>> {
    let limits = DecodeLimits { max_bytes: MAX_BODY_BYTES, ..DecodeLimits::default() };
    let mut body = exchange.response.open_body(limits).ok()??;
    if body.unremoved_coding().is_some() {
        return None;
    }
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(response: &str) -> Option<Vec<u8>> {
        let (url, at) = ("http://lake.example/".to_owned(), varve_core::Moment::from_seconds(0));
        body(&Exchange::of_response(url, at, response.as_bytes().to_vec().into()))
    }

    #[test]
    fn bodies_with_unknown_or_broken_codings_are_not_decoded() {
        let head = "HTTP/1.1 200 OK\r\n";
        assert_eq!(body_of(&format!("{head}\r\nhello")).as_deref(), Some(&b"hello"[..]));
        let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
        assert_eq!(body_of(&chunked).as_deref(), Some(&b"hello"[..]));
        for coding in ["gzip", "zstd", "br", "unheard-of"] {
            assert_eq!(body_of(&format!("{head}Content-Encoding: {coding}\r\n\r\nhello")), None);
            let empty = body_of(&format!("{head}Content-Encoding: {coding}\r\n\r\n"));
            assert_eq!(empty.as_deref(), Some(&b""[..]), "{coding}");
        }
        assert_eq!(body_of("hello"), None);
    }
}
