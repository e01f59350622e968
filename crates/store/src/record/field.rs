//! The names of varve's own header fields.

/// The SHA-256 of the payload of a chunked response: the entity without its transfer coding. Tools
/// disagree on the standard's field for chunked responses, so it is not written there.
pub const PAYLOAD_DIGEST: &str = "Varve-Payload-Digest";
/// The SHA-256 of the body, where it differs from `WARC-Payload-Digest`.
pub const BODY_DIGEST: &str = "Varve-Body-Digest";
/// The length of the body.
pub const BODY_LENGTH: &str = "Varve-Body-Length";
/// The run that an exchange belongs to.
pub const RUN_ID: &str = "Varve-Run";
/// The check that an exchange is evidence of, by its run. Such an exchange has no `Varve-Run`, and
/// is no capture of a version.
pub const CHECK_RUN_ID: &str = "Varve-Check";
/// Marks an exchange that is not a capture of its URL; the value is the request method.
pub const NON_CAPTURE_METHOD: &str = "Varve-Non-Capture";
/// The renderings that a browser made of the response: `document=ID screenshot=ID`.
pub const RENDERING_IDS: &str = "Varve-Renderings";
/// The duration of each step of the request.
pub const FETCH_TIMING: &str = "Varve-Timing";
/// The head of a 304 response, percent-encoded. The block of its revisit is empty.
pub const NOT_MODIFIED_HEAD: &str = "Varve-Not-Modified";
/// The header that an imported record has in its source, percent-encoded.
pub const SOURCE_HEADER: &str = "Varve-Source-Header";
/// A trailer line, where the protocol sends it outside the block.
pub const TRAILER_LINE: &str = "Varve-Trailer";
