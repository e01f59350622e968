//! A body whose digest is verified when it was read to its end.

use std::io::{self, Read};

use varve_core::BodyId;
use varve_warc::digest::{Algorithm, Hasher};

use crate::record::body_of_digest;

/// Reads a body. The end of a body with another digest than its id is an error.
pub(super) struct VerifiedBody<R> {
    body: R,
    hasher: Option<Hasher>,
    id: BodyId,
}

impl<R: Read> VerifiedBody<R> {
    pub(super) fn new(body: R, id: BodyId) -> Self {
        Self { body, hasher: Some(Algorithm::Sha256.hasher()), id }
    }
}

impl<R: Read> Read for VerifiedBody<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        if count > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
        } else if !buffer.is_empty()
            && let Some(hasher) = self.hasher.take()
        {
            let found = hasher.finish();
            if body_of_digest(&found) != Some(self.id) {
                let message = format!("body {} is damaged: its digest is {found}", self.id);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(count)
    }
}
