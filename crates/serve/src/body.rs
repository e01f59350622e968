//! Response bodies that are read while they are sent.
//!
//! A body is an iterator of chunks that blocks while it makes each chunk. Up to [`HOLD_BACK_BYTES`]
//! are made before the response head is sent: a short body goes out whole, with its length, and a
//! body that turns out to be damaged becomes an error page. After that the client's demand drives
//! the iterator: each chunk is one short job on the blocking pool, and between two jobs no thread
//! belongs to the response, however slowly the client reads.
//!
//! The last chunk is sent only after the iterator has ended without an error. So when damage shows
//! late, the connection is cut before the announced length is reached, and half a body never looks
//! whole.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::Method;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::request::Parts;
use http_body::{Frame, SizeHint};
use tokio::task::JoinHandle;

/// Bodies up to this length are complete before their response head is sent.
const HOLD_BACK_BYTES: usize = 256 << 10;
/// The length of a chunk of a body that is sent as it is stored.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// The chunks of a body. Chunks may be empty; after an error there is no further chunk.
pub(crate) type BodyChunks = Box<dyn Iterator<Item = io::Result<Bytes>> + Send>;

/// Gives `response`, which has no body yet, the body that `chunks` make. `length` is the length
/// that it will have, where that is known. If making the held-back part fails, the response is
/// `on_error`'s instead.
pub(crate) fn stream(
    request: &Parts,
    mut response: Response,
    length: Option<u64>,
    chunks: impl Iterator<Item = io::Result<Bytes>> + Send + 'static,
    on_error: impl FnOnce(&io::Error) -> Response,
) -> Response {
    if let Some(length) = length {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    if request.method == Method::HEAD {
        *response.body_mut() = Body::new(ChunkBody::Omitted);
        return response;
    }
    match ChunkBody::hold_back(Box::new(chunks)) {
        Ok(body) => {
            *response.body_mut() = Body::new(body);
            response
        }
        Err(error) => on_error(&error),
    }
}

/// A body whose chunks are made on demand.
enum ChunkBody {
    /// The whole body, or nothing once it was sent.
    Complete(Bytes),
    /// `ready` is sent when it is known that the chunk after it could be made, or that there is
    /// none.
    Streaming { ready: Bytes, job: ChunkJob },
    /// The body of a response to HEAD: not sent, and of unknown length.
    Omitted,
}

/// Makes one chunk, and returns the iterator for the next.
type ChunkJob = JoinHandle<(Option<io::Result<Bytes>>, BodyChunks)>;

impl ChunkBody {
    /// Makes chunks until the body has ended or [`HOLD_BACK_BYTES`] are reached. Blocks.
    fn hold_back(mut chunks: BodyChunks) -> io::Result<Self> {
        let mut held = BytesMut::new();
        while held.len() <= HOLD_BACK_BYTES {
            match chunks.next() {
                Some(chunk) => held.extend_from_slice(&chunk?),
                None => return Ok(Self::Complete(held.freeze())),
            }
        }
        Ok(Self::Streaming { ready: held.freeze(), job: start(chunks) })
    }
}

fn start(mut chunks: BodyChunks) -> ChunkJob {
    tokio::task::spawn_blocking(move || (chunks.next(), chunks))
}

impl http_body::Body for ChunkBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            let (sent, next) = match &mut *self {
                Self::Omitted => return Poll::Ready(None),
                Self::Complete(bytes) if bytes.is_empty() => return Poll::Ready(None),
                Self::Complete(bytes) => (std::mem::take(bytes), Self::Complete(Bytes::new())),
                Self::Streaming { ready: sent, job } => match ready!(Pin::new(&mut *job).poll(context)) {
                    Ok((Some(Ok(chunk)), chunks)) if chunk.is_empty() => {
                        *job = start(chunks);
                        continue;
                    }
                    Ok((Some(Ok(chunk)), chunks)) => {
                        (std::mem::take(sent), Self::Streaming { ready: chunk, job: start(chunks) })
                    }
                    Ok((None, _)) => (std::mem::take(sent), Self::Complete(Bytes::new())),
                    Ok((Some(Err(error)), _)) => {
                        *self = Self::Complete(Bytes::new());
                        return Poll::Ready(Some(Err(error)));
                    }
                    Err(_) => {
                        *self = Self::Complete(Bytes::new());
                        return Poll::Ready(Some(Err(io::Error::other("making a body panicked"))));
                    }
                },
            };
            *self = next;
            return Poll::Ready(Some(Ok(Frame::data(sent))));
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Complete(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Complete(bytes) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}

/// A reader in chunks of [`CHUNK_BYTES`]. If it is not as long as expected, an error takes the
/// place of its end.
pub(crate) struct ReadChunks<R> {
    reader: R,
    expected: Option<u64>,
    read: u64,
    is_ended: bool,
}

impl<R: Read> ReadChunks<R> {
    /// The chunks of `reader`, which has `expected` bytes where that is known.
    pub(crate) fn new(reader: R, expected: Option<u64>) -> Self {
        Self { reader, expected, read: 0, is_ended: false }
    }

    fn read_chunk(&mut self) -> io::Result<Bytes> {
        let mut chunk = Vec::new();
        self.reader.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
        self.read += chunk.len() as u64;
        self.is_ended = chunk.is_empty();
        match self.expected {
            Some(expected) if self.read > expected || (self.is_ended && self.read < expected) => {
                let message = format!("the body has {} bytes and should have {expected}", self.read);
                Err(io::Error::other(message))
            }
            _ => Ok(Bytes::from(chunk)),
        }
    }
}

impl<R: Read> Iterator for ReadChunks<R> {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let chunk = self.read_chunk();
        self.is_ended |= chunk.is_err();
        match chunk {
            Ok(chunk) if chunk.is_empty() => None,
            chunk => Some(chunk),
        }
    }
}

#[cfg(test)]
mod tests;
