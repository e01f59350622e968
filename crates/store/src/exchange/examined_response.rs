//! Examines a response: head, payload and body, in one pass over its bytes.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use varve_warc::digest::{Algorithm, Digest};
use varve_warc::payload::{PayloadKind, PayloadTracker};
use varve_warc::write::BlockFacts;
use varve_wire::{DecodeLimits, MessageHead, ReadAt, ReadAtCursor, StartLine, open_body};

/// The status of a response to a conditional request when nothing changed.
pub(super) const STATUS_NOT_MODIFIED: u16 = 304;

/// The facts about a response.
pub(super) struct ExaminedResponse<'a> {
    /// Length and digests of the block.
    pub(super) facts: BlockFacts,
    /// The head; `None` when it is not an HTTP message.
    pub(super) head: Option<Cow<'a, MessageHead>>,
    /// The length of the payload.
    pub(super) payload_length: u64,
    /// The digest of the body.
    pub(super) body: Digest,
    pub(super) body_length: u64,
}

impl ExaminedResponse<'_> {
    /// The status of the response; `None` when it is not an HTTP message.
    pub(super) fn status(&self) -> Option<u16> {
        self.head.as_deref().and_then(MessageHead::status)
    }
}

/// Reads a response, whose head is parsed unless it is known. A body whose content codings cannot
/// be decoded to the end is taken as it is.
pub(super) fn examine<'a>(
    response: &dyn ReadAt,
    known_head: Option<&'a MessageHead>,
    truncated: bool,
) -> io::Result<ExaminedResponse<'a>> {
    let known_head = known_head.filter(|head| matches!(head.start_line, StartLine::Response { .. }));
    let mut hasher = Algorithm::Sha256.hasher();
    let mut tracker = PayloadTracker::new();
    let payload_hasher = Some(Algorithm::Sha256.hasher());
    match known_head {
        Some(head) => tracker.begin_after(head, payload_hasher),
        None => tracker.begin(PayloadKind::Response, payload_hasher),
    }
    let mut head_left = known_head.map_or(0, |head| head.length);
    let mut length = 0;
    let mut reader = BufReader::with_capacity(64 << 10, ReadAtCursor::new(response, 0));
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
        let in_head = head_left.min(bytes.len());
        head_left -= in_head;
        tracker.push(&bytes[in_head..]);
        length += bytes.len() as u64;
        let count = bytes.len();
        reader.consume(count);
    }
    let payload = tracker.finish();
    let facts = BlockFacts { length, digest: hasher.finish(), payload: payload.digest };
    let head = known_head.map(Cow::Borrowed).or(payload.head.map(Cow::Owned));
    let undone = match &head {
        Some(head) if !truncated && !head.headers.content_codings().is_empty() => undo(head, response),
        _ => None,
    };
    let (body, body_length) = match (undone, &payload.digest) {
        (Some(body), _) => body,
        (None, Some(digest)) => (*digest, payload.length),
        (None, None) => (facts.digest, length),
    };
    Ok(ExaminedResponse { facts, head, payload_length: payload.length, body, body_length })
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
