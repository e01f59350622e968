//! The names of varve's own header fields.

/// The SHA-256 of the payload of a chunked answer: the entity without its transfer coding. The standard's own field is left
/// to answers where all tools agree on what it means.
pub const PAYLOAD_DIGEST: &str = "Varve-Payload-Digest";
/// The SHA-256 of the body, where it is not what `WARC-Payload-Digest` says.
pub const BODY_DIGEST: &str = "Varve-Body-Digest";
/// The length of the body.
pub const BODY_LENGTH: &str = "Varve-Body-Length";
/// The run that an exchange belongs to.
pub const RUN: &str = "Varve-Run";
/// The exchange is not the capture of its URL; the value is its method.
pub const ASIDE: &str = "Varve-Aside";
/// What a browser made of the answer: `document=ID screenshot=ID`.
pub const RENDERINGS: &str = "Varve-Renderings";
/// How long each step took.
pub const TIMING: &str = "Varve-Timing";
/// A line that came behind the body, where the protocol does not have it in the block.
pub const TRAILER: &str = "Varve-Trailer";
