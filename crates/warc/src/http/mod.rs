//! The HTTP messages inside records: head, transfer coding, content codings.
//!
//! Only what an archive needs: bytes go in, bytes come out, nothing is normalised. Two faces of one decoder: *pushed*
//! bytes, for those who hash while a block streams by, and a *reader*, for those who want the payload or the body.
//! Payload is the entity with the transfer coding undone; body is the payload with the content codings undone too.

mod chunked;
mod coding;
mod head;

pub use chunked::{ChunkEnd, Chunked};
pub use coding::{Body, BodyLimits, open_body, whole_block};
pub(crate) use head::is_token;
pub use head::{Head, HeadParser, StartLine};
