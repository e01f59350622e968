//! Head, payload and body of a record, while the index is made and when a capture is read.

use std::io::{self, BufRead, Read};

use sha2::{Digest, Sha256};
use varve_core::BodyId;
use varve_wire::{DecodeLimits, DecodedBody, HeadCollector, MessageHead, StartLine, open_body, open_payload};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Where a record is, for programs that read the file themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLocation {
    /// The file, relative to the archive, with the member of a package after `!`.
    pub file: String,
    /// The byte offset in that file or member.
    pub offset: u64,
}

/// How the body of a record follows from its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockForm {
    /// The block begins with an HTTP head.
    pub(crate) has_head: bool,
    /// The content codings can be removed.
    pub(crate) decodes: bool,
}

/// Reads the head of an HTTP response. `None` when the block does not begin with one; then bytes of
/// it were read.
pub(crate) fn read_head(block: &mut impl BufRead) -> io::Result<Option<(MessageHead, Vec<u8>)>> {
    let mut collector = HeadCollector::new();
    loop {
        let bytes = block.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let (taken, is_complete) = collector.push(bytes);
        block.consume(taken);
        if is_complete {
            break;
        }
    }
    let head = collector.head().filter(|head| matches!(head.start_line, StartLine::Response { .. }));
    Ok(head.map(|head| (head, collector.bytes().to_vec())))
}

/// The body in a block, from behind its head. `None` when a content coding is unknown.
pub(crate) fn decoded_body<'a>(
    head: &MessageHead,
    block: impl BufRead + Send + 'a,
) -> io::Result<Option<DecodedBody<'a>>> {
    let body = open_body(&head.headers, block, DecodeLimits::default())?;
    Ok(Some(body).filter(|body| body.unremoved_coding().is_none()))
}

/// The payload in a block, from behind its head.
pub(crate) fn payload<'a>(
    head: &MessageHead,
    block: impl BufRead + Send + 'a,
) -> io::Result<DecodedBody<'a>> {
    let limits = DecodeLimits { max_bytes: u64::MAX, max_ratio: u64::MAX, ratio_free_bytes: u64::MAX };
    open_payload(&head.headers, block, limits)
}

/// The id and the length of a body.
pub(crate) fn digest_of(mut body: impl Read) -> io::Result<(BodyId, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut length = 0;
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Ok((BodyId::new(hasher.finalize().into()), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads a body and fails at its end when it is not the one that the index describes.
pub(crate) struct IndexedBodyReader<R> {
    body: R,
    hasher: Option<Sha256>,
    expected: BodyId,
}

impl<R: Read> IndexedBodyReader<R> {
    pub(crate) fn new(body: R, expected: BodyId) -> Self {
        Self { body, hasher: Some(Sha256::new()), expected }
    }
}

impl<R: Read> Read for IndexedBodyReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        if count > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
            return Ok(count);
        }
        if !buffer.is_empty()
            && let Some(hasher) = self.hasher.take()
            && BodyId::new(hasher.finalize().into()) != self.expected
        {
            let message = "the body is not the one that was there when the archive was opened";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}
