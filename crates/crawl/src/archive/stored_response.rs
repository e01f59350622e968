//! A capture of this run as a response, for a page in a browser that requests it again.

use std::io::Read;

use varve_core::exchange::Exchange;
use varve_core::history::Capture;
use varve_wire::MessageHead;

use super::super::response_cache::{MAX_RESPONSE_BYTES, is_reusable};
use crate::error::CrawlError;
use varve_repository::history::ArchiveHistoryWriter;

/// The response of a capture, with its codings removed; `None` if it may not be reused. It has no
/// request.
pub(super) fn stored_response(
    history: &ArchiveHistoryWriter,
    capture: &Capture,
) -> Result<Option<Exchange>, CrawlError> {
    if capture.truncated || capture.length.is_none_or(|length| length > MAX_RESPONSE_BYTES) {
        return Ok(None);
    }
    let wire = history.wire_head(capture)?.unwrap_or_default();
    let parsed = MessageHead::parse(&wire);
    let response = parsed.as_ref().and_then(MessageHead::response);
    let Some(head) = response.filter(is_reusable) else { return Ok(None) };
    let mut bytes = format!("HTTP/1.1 {} ", head.status).into_bytes();
    bytes.extend_from_slice(head.reason);
    bytes.extend_from_slice(b"\r\n");
    let is_framing = |name: &[u8]| {
        ["content-encoding", "transfer-encoding"]
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
    };
    for (name, value) in head.headers.iter().filter(|(name, _)| !is_framing(name)) {
        bytes.extend_from_slice(&[name, b": ", value, b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"\r\n");
    // An unreadable body is requested again; `audit` reports the damage.
    if history.open_body(capture)?.take(MAX_RESPONSE_BYTES + 1).read_to_end(&mut bytes).is_err() {
        return Ok(None);
    }
    Ok(Some(Exchange::of_response(capture.url.clone(), capture.time, bytes.into())))
}
