//! What an answer holds: its head, its payload and its body, each followed once while the bytes stream by.

use std::io::{self, BufRead, BufReader, Read};

use varve_warc::digest::{Algorithm, Digest};
use varve_warc::http::{BodyLimits, Head, open_body};
use varve_warc::payload::{PayloadKind, PayloadTracker};
use varve_warc::source::ReadAt;
use varve_warc::write::BlockFacts;

/// What is known of an answer.
pub(super) struct Examined {
    /// The block, as its record will describe it.
    pub(super) facts: BlockFacts,
    /// The head; none when it is no HTTP message.
    pub(super) head: Option<Head>,
    /// How long the payload is.
    pub(super) payload_length: u64,
    /// The body, and its length.
    pub(super) body: Digest,
    pub(super) body_length: u64,
}

/// Reads all of an answer. A body whose codings cannot be undone, to the end, is taken as it is.
pub(super) fn examine(response: &dyn ReadAt, truncated: bool) -> io::Result<Examined> {
    let mut hasher = Algorithm::Sha256.hasher();
    let mut tracker = PayloadTracker::new();
    tracker.begin(PayloadKind::Response, Some(Algorithm::Sha256.hasher()));
    let mut length = 0;
    let mut reader = BufReader::with_capacity(64 << 10, Cursor::new(response));
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
        Some(head) if !truncated && !head.content_codings().is_empty() => undo(head, response),
        _ => None,
    };
    let (body, body_length) = match (undone, &payload.digest) {
        (Some(body), _) => body,
        (None, Some(digest)) => (*digest, payload.length),
        (None, None) => (facts.digest, length),
    };
    Ok(Examined { facts, head: payload.head, payload_length: payload.length, body, body_length })
}

/// The body with its content codings undone; none when they cannot be.
fn undo(head: &Head, response: &dyn ReadAt) -> Option<(Digest, u64)> {
    let start = head.length as u64;
    let reader = BufReader::with_capacity(64 << 10, Cursor { response, offset: start });
    let mut body = open_body(head, reader, BodyLimits::default()).ok()?;
    if body.coding_left_alone().is_some() {
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
            // A broken coding, or a bomb: the bytes stay what they are.
            Err(_) => return None,
        }
    }
}

/// Reads a source from its beginning.
pub(super) struct Cursor<'a> {
    response: &'a dyn ReadAt,
    offset: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(response: &'a dyn ReadAt) -> Self {
        Self { response, offset: 0 }
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.response.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
