//! Many small objects, stored together.
//!
//! Content that is held in memory is hashed before anything else is done with it; so which of many are here already can be
//! looked up at once, and what is here is read in the order in which it lies. The rest is packed and kept one by one.

use std::io::{self, Read};

use varve_warc::Extent;
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::write::{HEADER_ROOM, Packer};

use super::StoreWriter;
use super::store_object::{Filled, NewObject, Stored, fill};
use crate::error::StoreError;
use crate::index::{Place, Prefix};
use crate::reader::Candidate;

/// Content that is held is no longer than this.
pub const LARGEST_HELD: usize = 64 << 10;

/// Content in memory, with what is said of it.
pub struct Held {
    pub(crate) object: NewObject,
    /// The content stands behind the room for its header.
    pub(crate) buffer: Vec<u8>,
    pub(crate) length: usize,
    pub(crate) digest: Digest,
}

impl Held {
    /// Reads content of [`LARGEST_HELD`] bytes at most, into a buffer that may have been used before. More is an error.
    pub fn read(object: NewObject, content: &mut dyn Read, mut buffer: Vec<u8>) -> io::Result<Self> {
        // Room for one byte more, so that the end is seen without another look for room.
        buffer.resize(buffer.len().max(HEADER_ROOM + LARGEST_HELD + 1), 0);
        let Filled::All(length) = fill(content, &mut buffer, 0, LARGEST_HELD)? else {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than was said"));
        };
        let digest = Algorithm::Sha256.digest(&buffer[HEADER_ROOM..][..length]);
        Ok(Self { object, buffer, length, digest })
    }

    /// The buffer, to be used again.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

impl StoreWriter {
    /// Which of many ids are here, as [`StoreWriter::has`] says it of one: looked up together, and what is synced is read in
    /// the order in which it lies.
    pub fn have(&self, wanted: &[[u8; 32]]) -> Result<Vec<bool>, StoreError> {
        let mut have = self.unindexed(wanted);
        let prefixes: Vec<Prefix> = wanted.iter().map(Prefix::of).collect();
        let mut candidates: Vec<(Place, usize)> = Vec::new();
        self.index_writer().find_many(&prefixes, |number, place| candidates.push((place, number)))?;
        candidates.sort_unstable();
        let silos = self.silos();
        let mut visitor = silos.visitor();
        for (place, number) in candidates {
            if !have[number]
                && let Candidate::Match(located) =
                    visitor.candidate(&wanted[number], place, Extent::Record)?
            {
                have[number] = silos.is_sound(&located)?;
            }
        }
        Ok(have)
    }

    /// Stores all of them: what became of each, in their order.
    pub fn store_held(&self, packer: &mut Packer, held: &mut [Held]) -> Result<Vec<Stored>, StoreError> {
        let ids: Vec<[u8; 32]> = held.iter().map(|held| held.object.id(&held.digest)).collect();
        let here = self.have(&ids)?;
        let each = held.iter_mut().zip(ids).zip(here);
        each.map(|((held, id), here)| {
            let length = held.length as u64;
            if here {
                return Ok(Stored { id, new: false, mended: false, length, ticket: self.last_ticket() });
            }
            self.store_hashed(packer, &held.object, held.digest, &mut held.buffer, held.length)
        })
        .collect()
    }
}
