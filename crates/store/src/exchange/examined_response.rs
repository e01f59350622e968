//! Examines a response: head, payload and body, in one pass over its bytes.

use std::io::{self, BufRead, BufReader, Read};

use varve_warc::digest::{Algorithm, Digest};
use varve_warc::payload::{PayloadKind, PayloadTracker};
use varve_warc::write::BlockFacts;
use varve_wire::{DecodeLimits, MessageHead, ReadAt, ReadAtCursor, open_body};

/// The facts about a response.
pub(super) struct ExaminedResponse {
    /// Length and digests of the block.
    pub(super) facts: BlockFacts,
    /// The head; `None` when it is not an HTTP message.
    pub(super) head: Option<MessageHead>,
    /// The length of the payload.
    pub(super) payload_length: u64,
    /// The digest of the body.
    pub(super) body: Digest,
    pub(super) body_length: u64,
}

/// Reads a response. A body whose content codings cannot be decoded to the end is taken as it is.
pub(super) fn examine(response: &dyn ReadAt, truncated: bool) -> io::Result<ExaminedResponse> {
    let mut hasher = Algorithm::Sha256.hasher();
    let mut tracker = PayloadTracker::new();
    tracker.begin(PayloadKind::Response, Some(Algorithm::Sha256.hasher()));
    let mut length = 0;
    let mut reader = BufReader::with_capacity(64 << 10, ReadAtCursor::new(response, 0));
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
        tracker.push(bytes);
        length += bytes.len() as u64;
        let count = bytes.len();
        reader.consume(count);
    }
    let payload = tracker.finish();
    let facts = BlockFacts { length, digest: hasher.finish(), payload: payload.digest };
    let undone = match &payload.head {
        Some(head) if !truncated && !head.headers.content_codings().is_empty() => undo(head, response),
        _ => None,
    };
    let (body, body_length) = match (undone, &payload.digest) {
        (Some(body), _) => body,
        (None, Some(digest)) => (*digest, payload.length),
        (None, None) => (facts.digest, length),
    };
    Ok(ExaminedResponse { facts, head: payload.head, payload_length: payload.length, body, body_length })
}

/// Digest and length of the decoded body; `None` when it cannot be decoded.
fn undo(head: &MessageHead, response: &dyn ReadAt) -> Option<(Digest, u64)> {
    let start = head.length as u64;
    let reader = BufReader::with_capacity(64 << 10, ReadAtCursor::new(response, start));
    let mut body = open_body(&head.headers, reader, DecodeLimits::default()).ok()?;
    if body.unremoved_coding().is_some() {
        return None;
    }
    let mut hasher = Algorithm::Sha256.hasher();
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Some((hasher.finish(), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A broken coding or a decompression bomb: the body stays encoded.
            Err(_) => return None,
        }
    }
}
