//! Small objects in memory that are stored in batches.
//!
//! The content is hashed first, so one lookup finds which of many objects are stored, and their
//! records are verified in the order of places. The others are packed and appended one by one.

use std::io::{self, Read};

use varve_core::RecordId;
use varve_warc::Extent;
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::write::{HEADER_ROOM, Packer};

use super::StoreWriter;
use super::store_object::{FillResult, NewObject, StoredObject, fill};
use crate::error::StoreError;
use crate::index::{IndexPrefix, SiloPlace};
use crate::reader::IndexCandidate;

/// Maximum length of buffered content.
pub const MAX_BUFFERED_BYTES: usize = 64 << 10;

/// An object whose content is in memory.
pub struct BufferedObject {
    pub(crate) object: NewObject,
    /// Space for the record header, then the content.
    pub(crate) buffer: Vec<u8>,
    pub(crate) length: usize,
    pub(crate) digest: Digest,
}

impl BufferedObject {
    /// Reads at most [`MAX_BUFFERED_BYTES`] bytes of content into a buffer, which may be reused.
    /// More is an error.
    pub fn read(object: NewObject, content: &mut dyn Read, mut buffer: Vec<u8>) -> io::Result<Self> {
        // One byte more, so that the end is seen without growing the buffer.
        buffer.resize(buffer.len().max(HEADER_ROOM + MAX_BUFFERED_BYTES + 1), 0);
        let FillResult::All(length) = fill(content, &mut buffer, 0, MAX_BUFFERED_BYTES)? else {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than was said"));
        };
        let digest = Algorithm::Sha256.digest(&buffer[HEADER_ROOM..][..length]);
        Ok(Self { object, buffer, length, digest })
    }

    /// The buffer, for reuse.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

impl StoreWriter {
    /// Which of the ids are stored, as [`StoreWriter::has`]. Synced records are read in the order
    /// of their places.
    pub fn have(&self, wanted: &[RecordId]) -> Result<Vec<bool>, StoreError> {
        let mut have = self.unindexed(wanted);
        let prefixes: Vec<IndexPrefix> = wanted.iter().map(IndexPrefix::of).collect();
        let mut candidates: Vec<(SiloPlace, usize)> = Vec::new();
        self.index_writer().find_many(&prefixes, |number, place| candidates.push((place, number)))?;
        candidates.sort_unstable();
        let silos = self.silos();
        let mut visitor = silos.random_access();
        for (place, number) in candidates {
            if !have[number]
                && let IndexCandidate::Match(located) =
                    visitor.candidate(&wanted[number], place, Extent::Record)?
            {
                have[number] = silos.is_intact(&located)?;
            }
        }
        Ok(have)
    }

    /// Stores all objects and returns the results in their order.
    pub fn store_buffered(
        &self,
        packer: &mut Packer,
        held: &mut [BufferedObject],
    ) -> Result<Vec<StoredObject>, StoreError> {
        let ids: Vec<RecordId> = held.iter().map(|held| held.object.id(&held.digest)).collect();
        let here = self.have(&ids)?;
        let each = held.iter_mut().zip(ids).zip(here);
        each.map(|((held, id), here)| {
            let length = held.length as u64;
            if here {
                return Ok(StoredObject {
                    id,
                    new: false,
                    mended: false,
                    length,
                    ticket: self.last_ticket(),
                });
            }
            self.store_hashed(packer, &held.object, held.digest, &mut held.buffer, held.length)
        })
        .collect()
    }
}
