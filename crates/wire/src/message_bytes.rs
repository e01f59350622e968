//! The bytes of one message as received, in memory or in a file, with its head parsed at most once.
//!
//! Short messages, nearly all of them, are one allocation. Long ones lie where the fetcher wrote
//! them, behind [`ReadAt`]. Clones share the bytes and the parsed head, so every consumer of a
//! capture sees one reading of its head.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::{Arc, OnceLock};

use crate::content_coding::{DecodeLimits, DecodedBody, open_body, open_payload};
use crate::head::{MAX_HEAD_BYTES, MessageHead};
use crate::read_at::{ReadAt, ReadAtCursor};

/// Bytes of a message that lies in a file are read in steps of this size.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// The bytes of a message. Cloning shares them.
#[derive(Clone)]
pub struct MessageBytes(Arc<SharedMessage>);

struct SharedMessage {
    storage: MessageStorage,
    head: OnceLock<Option<MessageHead>>,
}

enum MessageStorage {
    Memory(Vec<u8>),
    Source { source: Box<dyn ReadAt>, length: u64 },
}

impl MessageBytes {
    /// The first `length` bytes of `source`, which must not change any more.
    pub fn from_source(source: impl ReadAt + 'static, length: u64) -> Self {
        Self::new(MessageStorage::Source { source: Box::new(source), length })
    }

    fn new(storage: MessageStorage) -> Self {
        Self(Arc::new(SharedMessage { storage, head: OnceLock::new() }))
    }

    /// The message with its head, which was parsed from the same bytes, so that it is not parsed
    /// again.
    pub fn with_head(self, head: Option<MessageHead>) -> Self {
        if let Some(head) = head.filter(|head| head.length as u64 <= self.len()) {
            self.0.head.get_or_init(|| Some(head));
        }
        self
    }

    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match &self.0.storage {
            MessageStorage::Memory(bytes) => bytes.len() as u64,
            MessageStorage::Source { length, .. } => *length,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes, if they are in memory.
    pub fn in_memory(&self) -> Option<&[u8]> {
        match &self.0.storage {
            MessageStorage::Memory(bytes) => Some(bytes),
            MessageStorage::Source { .. } => None,
        }
    }

    /// A reader that starts at `position`.
    pub fn reader_at(&self, position: u64) -> ReadAtCursor<&Self> {
        ReadAtCursor::new(self, position)
    }

    /// A reader of all bytes.
    pub fn reader(&self) -> ReadAtCursor<&Self> {
        self.reader_at(0)
    }

    /// The first bytes, at most `limit` of them.
    pub fn start(&self, limit: usize) -> io::Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.in_memory() {
            return Ok(Cow::Borrowed(&bytes[..bytes.len().min(limit)]));
        }
        let mut start = Vec::new();
        self.reader().take(limit as u64).read_to_end(&mut start)?;
        Ok(Cow::Owned(start))
    }

    /// The head of the message, parsed on the first call. None when the bytes do not begin with an
    /// HTTP message.
    pub fn head(&self) -> io::Result<Option<&MessageHead>> {
        if let Some(head) = self.0.head.get() {
            return Ok(head.as_ref());
        }
        let start = self.start(MAX_HEAD_BYTES)?;
        Ok(self.0.head.get_or_init(|| MessageHead::parse(&start)).as_ref())
    }

    /// The payload: what follows the head, with the transfer coding removed. None without a head.
    pub fn open_payload(&self, limits: DecodeLimits) -> io::Result<Option<DecodedBody<'_>>> {
        let Some(head) = self.head()? else { return Ok(None) };
        open_payload(&head.headers, self.after(head), limits).map(Some)
    }

    /// The body: the payload with the content codings removed as far as possible. None without a
    /// head.
    pub fn open_body(&self, limits: DecodeLimits) -> io::Result<Option<DecodedBody<'_>>> {
        let Some(head) = self.head()? else { return Ok(None) };
        open_body(&head.headers, self.after(head), limits).map(Some)
    }

    fn after(&self, head: &MessageHead) -> Box<dyn BufRead + Send + '_> {
        match self.in_memory() {
            Some(bytes) => Box::new(Cursor::new(&bytes[head.length.min(bytes.len())..])),
            None => Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, self.reader_at(head.length as u64))),
        }
    }
}

impl From<Vec<u8>> for MessageBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(MessageStorage::Memory(bytes))
    }
}

impl fmt::Debug for MessageBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageBytes({} bytes)", self.len())
    }
}

impl ReadAt for MessageBytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.0.storage {
            MessageStorage::Memory(bytes) => bytes.read_at(buffer, offset),
            MessageStorage::Source { source, length } => {
                let left = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
                let count = buffer.len().min(left);
                source.read_at(&mut buffer[..count], offset)
            }
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that gives at most three bytes at a time.
    struct ShortReads(Vec<u8>);

    impl ReadAt for ShortReads {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let count = buffer.len().min(3);
            self.0.read_at(&mut buffer[..count], offset)
        }

        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }
    }

    fn both(bytes: &[u8]) -> [MessageBytes; 2] {
        let source = ShortReads([bytes, b"not part of it"].concat());
        [bytes.to_vec().into(), MessageBytes::from_source(source, bytes.len() as u64)]
    }

    #[test]
    fn bytes_are_the_same_in_memory_and_elsewhere() {
        for message in both(b"0123456789") {
            let mut all = Vec::new();
            message.reader().read_to_end(&mut all).unwrap();
            assert_eq!(all, b"0123456789");
            assert_eq!(&*message.start(4).unwrap(), b"0123");
            assert_eq!(&*message.start(40).unwrap(), b"0123456789");
            assert!(message.head().unwrap().is_none());
            assert!(message.open_body(DecodeLimits::default()).unwrap().is_none());
        }
    }

    #[test]
    fn the_head_is_parsed_once_for_all_clones() {
        for message in both(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n") {
            let copy = message.clone();
            let (one, other) = (message.head().unwrap().unwrap(), copy.head().unwrap().unwrap());
            assert!(std::ptr::eq(one, other));
            let mut text = String::new();
            let mut body = message.open_payload(DecodeLimits::default()).unwrap().unwrap();
            body.read_to_string(&mut text).unwrap();
            assert_eq!(text, "ok");
        }
    }
}
