//! The chain of silos: each says what its predecessor was.
//!
//! Inside a silo, checksums and digests cover every record, but not every bit: the padding of a deflate stream, for
//! one, means nothing to anybody. So when a silo is begun, its description gives the SHA-256 of the sealed one before
//! it, and an audit holds the file against that. A silo that was changed in any bit, exchanged or made again does not
//! fit its successor, and a forger would have to forge every silo that follows.

use varve_warc::digest::{Algorithm, Digest};
use varve_warc::fields::Fields;
use varve_warc::source::ReadAt;

/// The field of a description that holds the digest of the silo before.
pub(crate) const PREVIOUS: &str = "varve-previous-silo";

/// How much is read at a time.
const STEP: usize = 1 << 20;

/// The SHA-256 of a whole file.
pub(crate) fn digest_of(source: &dyn ReadAt) -> std::io::Result<Digest> {
    let mut hasher = Algorithm::Sha256.hasher();
    let mut buffer = vec![0; STEP];
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

/// What a description says that the silo before it was.
pub(crate) fn previous(description: &[u8]) -> Option<Digest> {
    let fields = Fields::parse(description, |_, _| {});
    Digest::parse(fields.get(PREVIOUS)?).ok()
}
