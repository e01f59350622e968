//! An HTTP message as bytes.
//!
//! This crate owns the one parser of message heads, the header list, the framing of bodies and the
//! content codings. It also owns [`ReadAt`], because the bytes of a message, of a silo and of a
//! WARC file are all read at an offset. It knows no URL, no storage, no socket and no other crate
//! of the workspace.
//!
//! Parsing is lenient and total: it accepts what servers really send, never panics, and never
//! changes a byte that it passes on. Three levels of a message have names: the *block* is the
//! message as received, the *payload* is what follows the head with the transfer coding removed,
//! and the *body* is the payload with the content codings removed.

mod chunked;
mod content_coding;
mod framing;
mod head;
mod headers;
mod message_bytes;
mod read_at;

pub use chunked::{ChunkEnd, ChunkedDecoder};
pub use content_coding::{DecodeLimits, DecodedBody, open_body, open_payload};
pub use framing::{FramingEnd, HeadLimits, ResponseFramer, TruncationReason};
pub use head::{HeadCollector, HttpVersion, MAX_HEAD_BYTES, MessageHead, ResponseHead, StartLine};
pub use headers::{HeaderDefect, Headers, decode_header_text, end_of_lines, is_token, is_valid_header};
pub use message_bytes::MessageBytes;
pub use read_at::{ReadAt, ReadAtCursor};
