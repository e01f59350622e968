//! Laws of HTTP messages.

use std::io::{self, BufRead, Read};

use varve_warc::digest::Algorithm;
use varve_warc::payload::{Payload, PayloadKind, PayloadTracker};
use varve_wire::{ChunkEnd, ChunkedDecoder, DecodeLimits, HeadCollector, MessageHead, open_body};

/// A message: its head, its payload, its body.
pub(crate) fn message(bytes: &[u8]) {
    let head = MessageHead::parse(bytes);
    let (collected, taken) = collect(bytes, usize::MAX);
    let (in_pieces, taken_in_pieces) = collect(bytes, 3);
    assert_eq!((collected.bytes(), taken), (in_pieces.bytes(), taken_in_pieces));
    if let Some(head) = &head {
        assert!(head.length <= bytes.len());
        assert!(head.status().is_none_or(|status| (100..1000).contains(&status)));
        same_body(head, &bytes[head.length..]);
    }
    for kind in [PayloadKind::Block, PayloadKind::Request, PayloadKind::Response, PayloadKind::Revisit] {
        let (whole, pieces) = (track(kind, bytes, usize::MAX), track(kind, bytes, 5));
        assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
        assert!(whole.length <= bytes.len() as u64);
    }
}

fn collect(bytes: &[u8], step: usize) -> (HeadCollector, usize) {
    let mut collector = HeadCollector::new();
    let mut taken = 0;
    for piece in bytes.chunks(step.min(bytes.len()).max(1)) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (count, complete) = collector.push(rest);
            taken += count;
            rest = &rest[count..];
            if complete {
                return (collector, taken);
            }
        }
    }
    (collector, taken)
}

fn track(kind: PayloadKind, bytes: &[u8], step: usize) -> Payload {
    let mut tracker = PayloadTracker::new();
    tracker.begin(kind, Some(Algorithm::Sha1.hasher()));
    bytes.chunks(step.min(bytes.len()).max(1)).for_each(|piece| tracker.push(piece));
    tracker.finish()
}

/// Gives a few bytes at a time.
struct Stingy<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Stingy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.step);
        self.bytes.read(&mut buffer[..length])
    }
}

impl BufRead for Stingy<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(&self.bytes[..self.bytes.len().min(self.step)])
    }

    fn consume(&mut self, count: usize) {
        self.bytes = &self.bytes[count..];
    }
}

/// The body, as far as it can be had, and whether that is all of it.
fn body(
    head: &MessageHead,
    stored: impl BufRead + Send,
    step: usize,
    limits: DecodeLimits,
) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let Ok(mut body) = open_body(&head.headers, stored, limits) else { return (bytes, false) };
    let mut buffer = vec![0; step];
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return (bytes, true),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(_) => return (bytes, false),
        }
    }
}

/// Pieces do not show in a body that can be read to its end; of one that cannot, one reading begins the other. Where a
/// coding lies under another, decoders may lose what came before damage, and the upper may or may not be content with it.
fn same_body(head: &MessageHead, stored: &[u8]) {
    let limits = DecodeLimits { max_bytes: 1 << 20, max_ratio: 2000, ratio_free_bytes: 1 << 16 };
    let (whole, complete) = body(head, stored, 1 << 16, limits);
    let (pieces, complete_in_pieces) = body(head, Stingy { bytes: stored, step: 2 }, 7, limits);
    assert!(whole.len() <= 1 << 20);
    let is_nested = head.headers.content_codings().len() > 1;
    assert!(complete == complete_in_pieces || is_nested);
    if complete && complete_in_pieces {
        assert_eq!(whole, pieces);
    } else {
        assert!(whole.starts_with(&pieces) || pieces.starts_with(&whole));
    }
}

/// A chunked body.
pub(crate) fn chunked(bytes: &[u8]) {
    let (whole, end) = unchunk(bytes, usize::MAX);
    assert_eq!((&whole, end), (&unchunk(bytes, 1).0, unchunk(bytes, 1).1));
    assert_eq!((&whole, end), (&unchunk(bytes, 7).0, unchunk(bytes, 7).1));
    assert!(whole.len() <= bytes.len());
    if end == ChunkEnd::NotChunked {
        assert_eq!(whole, bytes, "bytes that are not chunked stay as they are");
    }

    let size = 1 + bytes.first().map_or(0, |byte| usize::from(*byte));
    let mut stored = Vec::new();
    for chunk in bytes.chunks(size) {
        stored.extend_from_slice(format!("{:x};name=value\r\n", chunk.len()).as_bytes());
        stored.extend_from_slice(chunk);
        stored.extend_from_slice(b"\r\n");
    }
    stored.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
    assert_eq!(unchunk(&stored, 3), (bytes.to_vec(), ChunkEnd::Complete), "chunked bytes come back");
}

fn unchunk(bytes: &[u8], step: usize) -> (Vec<u8>, ChunkEnd) {
    let mut decoder = ChunkedDecoder::new();
    let mut payload = Vec::new();
    for piece in bytes.chunks(step.min(bytes.len()).max(1)) {
        decoder.push(piece, &mut |bytes| payload.extend_from_slice(bytes));
    }
    let end = decoder.finish(&mut |bytes| payload.extend_from_slice(bytes));
    (payload, end)
}
