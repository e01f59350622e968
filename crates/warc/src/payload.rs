//! The payload of a record, hashed while its block streams by.
//!
//! The payload depends on the record (ISO 28500, clause 6): the block itself, or the entity inside
//! an HTTP message with the transfer coding removed. The caller pushes the bytes of the block in
//! pieces of any size and the tracker hashes the payload in them, so checking and writing share one
//! definition of a payload and no body is buffered.

use crate::digest::{Digest, Hasher};
use crate::record::{RecordHeader, RecordType};
use varve_wire::{ChunkEnd, ChunkedDecoder, HeadCollector, MessageHead, StartLine};

/// Where in a block the payload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadKind {
    /// There is none in this block.
    #[default]
    None,
    /// The block is the payload.
    Block,
    /// The entity of an HTTP request.
    Request,
    /// The entity of an HTTP response.
    Response,
    /// An HTTP response whose entity is stored elsewhere.
    Revisit,
}

impl PayloadKind {
    /// The kind by the header. The payload of a segment is that of the whole object, so its block
    /// has none of its own.
    pub fn of(header: &RecordHeader) -> Self {
        let record_type = header.record_type();
        match record_type {
            _ if header.is_segment() => Self::None,
            RecordType::Revisit if header.is_http() => Self::Revisit,
            RecordType::Request if header.is_http() => Self::Request,
            _ if !record_type.holds_payload() => Self::None,
            _ if header.is_http() => Self::Response,
            _ => Self::Block,
        }
    }

    fn has_head(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Revisit)
    }
}

/// The facts about a payload.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// Its digest, if one was requested and there is a payload.
    pub digest: Option<Digest>,
    /// The digest of a chunked payload with the chunk framing, which some tools wrongly record.
    pub framed_digest: Option<Digest>,
    /// The digest of the bytes after the first empty line, for blocks that should be an HTTP
    /// message and are not.
    pub unheaded_digest: Option<Digest>,
    /// The head of the HTTP message.
    pub head: Option<MessageHead>,
    /// The block should be an HTTP message and is not.
    pub not_http: bool,
    /// How a chunked body ended.
    pub chunks: Option<ChunkEnd>,
    /// Bytes of the payload.
    pub length: u64,
}

/// Tracks a payload. One tracker serves many records, one after another.
#[derive(Default)]
pub struct PayloadTracker {
    kind: PayloadKind,
    parser: HeadCollector,
    /// The head is complete, or there is none.
    in_body: bool,
    not_http: bool,
    head: Option<MessageHead>,
    hasher: Option<Hasher>,
    chunked: Option<(ChunkedDecoder, Option<Hasher>)>,
    unheaded: Option<Hasher>,
    length: u64,
}

impl PayloadTracker {
    /// A tracker without a record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a new record. Without a hasher only its form is checked.
    pub fn begin(&mut self, kind: PayloadKind, hasher: Option<Hasher>) {
        self.parser.reset();
        self.kind = kind;
        self.in_body = !kind.has_head();
        self.not_http = false;
        self.head = None;
        self.hasher = if matches!(kind, PayloadKind::None | PayloadKind::Revisit) { None } else { hasher };
        self.chunked = None;
        self.unheaded = None;
        self.length = 0;
    }

    /// Starts a record with a response of which the head is known: the first byte to push is the
    /// one after it.
    pub fn begin_after(&mut self, head: &MessageHead, hasher: Option<Hasher>) {
        self.begin(PayloadKind::Response, hasher);
        self.in_body = true;
        if head.headers.is_chunked() {
            self.chunked = Some((ChunkedDecoder::new(), self.hasher.clone()));
        }
    }

    /// Whether the head of the message is complete, or there is none.
    pub(crate) fn is_past_head(&self) -> bool {
        self.in_body
    }

    /// Takes bytes of the block.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !self.in_body && !bytes.is_empty() {
            let (taken, complete) = self.parser.push(bytes);
            bytes = &bytes[taken..];
            if complete {
                self.enter_body(true);
            }
        }
        if bytes.is_empty() {
            return;
        }
        for hasher in self.hasher.iter_mut().chain(&mut self.unheaded) {
            hasher.update(bytes);
        }
        match &mut self.chunked {
            None => self.length += bytes.len() as u64,
            Some((decoder, hasher)) => {
                let length = &mut self.length;
                decoder.push(bytes, &mut |payload| {
                    *length += payload.len() as u64;
                    if let Some(hasher) = hasher {
                        hasher.update(payload);
                    }
                });
            }
        }
    }

    /// The head is complete, or the block ended in it.
    fn enter_body(&mut self, complete: bool) {
        self.in_body = true;
        let wants_request = self.kind == PayloadKind::Request;
        self.head = self
            .parser
            .head()
            .filter(|head| matches!(head.start_line, StartLine::Request { .. }) == wants_request);
        match &self.head {
            Some(head) if head.headers.is_chunked() && self.kind != PayloadKind::Revisit => {
                self.chunked = Some((ChunkedDecoder::new(), self.hasher.clone()));
            }
            Some(_) => {}
            None => {
                // Not HTTP: the payload is the whole block, or all that follows the intended head.
                self.not_http = true;
                self.unheaded = if complete { self.hasher.clone() } else { None };
                if let Some(hasher) = &mut self.hasher {
                    hasher.update(self.parser.bytes());
                }
                self.length = self.parser.bytes().len() as u64;
            }
        }
    }

    /// Ends the record.
    pub fn finish(&mut self) -> Payload {
        if !self.in_body {
            // A revisit may have no block at all.
            if self.kind == PayloadKind::Revisit && self.parser.bytes().is_empty() {
                return Payload::default();
            }
            self.enter_body(false);
        }
        let length = &mut self.length;
        let whole = self.hasher.take().map(Hasher::finish);
        let mut payload = Payload { head: self.head.take(), not_http: self.not_http, ..Payload::default() };
        payload.unheaded_digest = self.unheaded.take().map(Hasher::finish);
        match self.chunked.take() {
            None => payload.digest = whole,
            Some((mut decoder, mut hasher)) => {
                let end = decoder.finish(&mut |bytes| {
                    *length += bytes.len() as u64;
                    if let Some(hasher) = &mut hasher {
                        hasher.update(bytes);
                    }
                });
                payload.chunks = Some(end);
                payload.digest = hasher.map(Hasher::finish);
                payload.framed_digest = whole;
            }
        }
        payload.length = *length;
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Algorithm;

    fn track(kind: PayloadKind, block: &[u8], piece: usize) -> Payload {
        let mut tracker = PayloadTracker::new();
        tracker.begin(kind, Some(Algorithm::Sha256.hasher()));
        block.chunks(piece).for_each(|bytes| tracker.push(bytes));
        tracker.finish()
    }

    fn sha256(bytes: &[u8]) -> Option<Digest> {
        Some(Algorithm::Sha256.digest(bytes))
    }

    #[test]
    fn payload_by_kind() {
        let plain = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody";
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
        for piece in [1, 3, 1000] {
            assert_eq!(track(PayloadKind::Block, b"body", piece).digest, sha256(b"body"));
            let response = track(PayloadKind::Response, plain, piece);
            assert_eq!((response.digest, response.length), (sha256(b"body"), 4));
            let response = track(PayloadKind::Response, chunked, piece);
            assert_eq!((response.digest, response.length), (sha256(b"body"), 4));
            assert_eq!(response.framed_digest, sha256(b"4\r\nbody\r\n0\r\n\r\n"));
            assert_eq!(response.chunks, Some(ChunkEnd::Complete));
            assert_eq!(track(PayloadKind::None, plain, piece).digest, None);
            assert_eq!(track(PayloadKind::Revisit, plain, piece).digest, None);
            assert!(track(PayloadKind::Response, b"<p>", piece).not_http);
            assert_eq!(track(PayloadKind::Response, b"<p>", piece).digest, sha256(b"<p>"));
            assert!(track(PayloadKind::Request, plain, piece).not_http);
            let no_version = track(PayloadKind::Request, b"GET /\r\nHost: x\r\n\r\nbody", piece);
            assert_eq!((no_version.not_http, no_version.unheaded_digest), (true, sha256(b"body")));
            let no_empty_line = track(PayloadKind::Request, b"GET / HTTP/1.1\r\nHost: x\r\n", piece);
            assert_eq!((no_empty_line.not_http, no_empty_line.digest), (false, sha256(b"")));
        }
        assert!(!track(PayloadKind::Revisit, b"", 1).not_http);
        assert!(track(PayloadKind::Response, b"", 1).not_http);
    }
}
