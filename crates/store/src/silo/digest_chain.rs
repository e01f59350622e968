//! The digest chain of silos: each states the digest of its predecessor.
//!
//! Checksums and digests cover every record of a silo, but not every bit: the padding of a deflate
//! stream, for example, is free. Therefore the description of a new silo states the SHA-256 of the
//! sealed silo before it, and an audit verifies it. A silo with any changed bit does not match its
//! successor, and a forger would have to forge every following silo.

use varve_warc::digest::{Algorithm, Digest};
use varve_wire::{Headers, ReadAt};

/// The description field with the digest of the previous silo.
pub(crate) const PREVIOUS_SILO_FIELD: &str = "varve-previous-silo";

/// Bytes read at a time.
const READ_CHUNK_BYTES: usize = 1 << 20;

/// The SHA-256 of a whole file.
pub(crate) fn file_digest(source: &dyn ReadAt) -> std::io::Result<Digest> {
    let mut hasher = Algorithm::Sha256.hasher();
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    let mut offset = 0;
    loop {
        let count = source.read_at(&mut buffer, offset)?;
        if count == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(&buffer[..count]);
        offset += count as u64;
    }
}

/// The digest of the previous silo that a description states.
pub(crate) fn stated_previous_digest(description: &[u8]) -> Option<Digest> {
    let fields = Headers::parse(description, |_, _| {});
    Digest::parse(fields.get(PREVIOUS_SILO_FIELD)?).ok()
}
