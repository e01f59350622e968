//! Keeping content: from bytes, or from anything that can be read, to an object with an id.
//!
//! Content that is here already is not packed again: what fits a buffer is hashed first, and larger content that is a
//! file may be too (see [`NewObject::known`]). What does not fit one silo is cut into segments while it streams.

use std::io::{self, Read, Write};

use varve_warc::date::Date;
use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{
    BlockFacts, Draft, FinishedBlock, HEADER_ROOM, PackError, PackedRecord, Packer, TRAILER_ROOM, id,
};

use super::{StoreWriter, Ticket};
use crate::error::StoreError;
use crate::record::parse_id;

/// Content up to this size is always held in memory.
const SMALL: usize = 1 << 20;
/// Content up to this size is held in memory as long as there is room.
const LARGEST_IN_MEMORY: usize = 32 << 20;
/// So much is read at first: most content is smaller.
const FIRST_READ: usize = 64 << 10;
/// Larger content is read in steps of this size.
const STEP: usize = 64 << 10;
/// Room that is left in a silo of a segment, for its header, the description and what the packer holds back.
const RESERVE: u64 = 256 << 10;

/// What is to be stored, apart from its bytes.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// The date of its record.
    pub date: Date,
    /// Its media type.
    pub content_type: String,
    /// For metadata, the id of what it is about, without brackets; none for a resource.
    pub refers_to: Option<String>,
    /// The SHA-256 of the bytes to come, when their giver knows it: if they are here, they are not read.
    pub known: Option<Digest>,
}

/// What was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its id.
    pub id: [u8; 32],
    /// Whether it was new.
    pub new: bool,
    /// It was here already, but could not be read any more: it was written anew.
    pub mended: bool,
    /// Its length, 0 when it was not read.
    pub length: u64,
    /// To be waited for before anything is promised.
    pub ticket: Ticket,
}

impl NewObject {
    fn record_type(&self) -> RecordType {
        if self.refers_to.is_some() { RecordType::Metadata } else { RecordType::Resource }
    }

    fn kind(&self) -> PayloadKind {
        if self.refers_to.is_some() { PayloadKind::None } else { PayloadKind::Block }
    }

    /// The id that it has with such content.
    pub(crate) fn id(&self, content: &Digest) -> [u8; 32] {
        let own = match &self.refers_to {
            Some(refers_to) => parse_id(id::of_metadata(refers_to, content).as_bytes()),
            None => content.bytes().try_into().ok(),
        };
        own.expect("an id is a SHA-256, and so is the digest of content")
    }

    fn facts(&self, digest: Digest, length: u64) -> BlockFacts {
        let payload = (self.kind() == PayloadKind::Block).then_some(digest);
        BlockFacts { length, digest, payload }
    }

    /// The record of it. What was not fetched from anywhere has itself as target.
    fn draft(&self, content: &Digest) -> Draft {
        let draft = Draft::new(self.record_type(), &self.date).content_type(&self.content_type);
        match &self.refers_to {
            Some(refers_to) => draft.refers_to(refers_to),
            None => draft.target_uri(&id::of_content(content)),
        }
    }
}

impl StoreWriter {
    /// Stores bytes.
    pub fn store_bytes(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        bytes: &[u8],
    ) -> Result<Stored, StoreError> {
        let digest = Algorithm::Sha256.digest(bytes);
        let length = bytes.len() as u64;
        if let Some(stored) = self.already(object, &digest, length)? {
            return Ok(stored);
        }
        let record = packer.pack_known(&object.draft(&digest), object.facts(digest, length), bytes)?;
        self.keep_one(record, length)
    }

    /// Stores all that can be read, in memory of fixed size.
    pub fn store_reader(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        content: &mut dyn Read,
    ) -> Result<Stored, StoreError> {
        if let Some(known) = &object.known
            && let Some(stored) = self.already(object, known, 0)?
        {
            return Ok(stored);
        }
        let segment = usize::try_from(self.segment_size()).unwrap_or(usize::MAX);
        let mut buffer = vec![0; HEADER_ROOM + FIRST_READ];
        let read = fill(content, &mut buffer, 0, SMALL.min(segment)).map_err(StoreError::Content)?;
        let read = match read {
            Filled::All(length) => return self.store_in_place(packer, object, &mut buffer, length),
            Filled::More(read) => read,
        };
        let Some(mut room) = self.rooms().take().filter(|_| object.known.is_none()) else {
            return self.store_large(packer, object, &mut buffer[HEADER_ROOM..][..read].chain(content));
        };
        let held = &mut room.buffer;
        held.resize(held.len().max(buffer.len()), 0);
        held[..buffer.len()].copy_from_slice(&buffer);
        drop(buffer);
        match fill(content, held, read, LARGEST_IN_MEMORY.min(segment)).map_err(StoreError::Content)? {
            Filled::All(length) => self.store_in_place(packer, object, held, length),
            Filled::More(read) => {
                self.store_large(packer, object, &mut held[HEADER_ROOM..][..read].chain(content))
            }
        }
    }

    /// Whether content of that length would be packed in one go, and so hashed before it is packed.
    pub fn hashes_first(&self, length: u64) -> bool {
        length <= SMALL as u64 || (length <= LARGEST_IN_MEMORY as u64 && self.rooms().is_free())
    }

    /// Stores `length` bytes that stand in a buffer behind the room for their header.
    fn store_in_place(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        buffer: &mut Vec<u8>,
        length: usize,
    ) -> Result<Stored, StoreError> {
        let end = HEADER_ROOM + length;
        let digest = Algorithm::Sha256.digest(&buffer[HEADER_ROOM..end]);
        match self.already(object, &digest, length as u64)? {
            Some(stored) => Ok(stored),
            None => self.store_hashed(packer, object, digest, buffer, length),
        }
    }

    /// Packs and keeps what stands in a buffer, is hashed and was not here.
    pub(crate) fn store_hashed(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        digest: Digest,
        buffer: &mut Vec<u8>,
        length: usize,
    ) -> Result<Stored, StoreError> {
        let end = HEADER_ROOM + length;
        let facts = object.facts(digest, length as u64);
        buffer.resize(buffer.len().max(end + TRAILER_ROOM), 0);
        let record =
            packer.pack_in_place(&object.draft(&digest), facts, &mut buffer[..end + TRAILER_ROOM])?;
        self.keep_one(record, length as u64)
    }

    fn already(
        &self,
        object: &NewObject,
        digest: &Digest,
        length: u64,
    ) -> Result<Option<Stored>, StoreError> {
        let id = object.id(digest);
        if !self.has(&id)? {
            return Ok(None);
        }
        Ok(Some(Stored { id, new: false, mended: false, length, ticket: self.last_ticket() }))
    }

    fn keep_one(&self, record: PackedRecord, length: u64) -> Result<Stored, StoreError> {
        let id = parse_id(record.id.as_bytes()).ok_or(StoreError::Stopped)?;
        let kept = self.keep(record)?;
        Ok(Stored { id, new: kept.new, mended: kept.mended, length, ticket: kept.ticket })
    }

    /// Packed bytes of one segment.
    fn segment_size(&self) -> u64 {
        let size = self.settings().silo_size;
        size.saturating_sub(RESERVE.min(size / 2)).max(1)
    }

    fn store_large(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        content: &mut dyn Read,
    ) -> Result<Stored, StoreError> {
        let mut blocks: Vec<FinishedBlock> = Vec::new();
        let mut tap = Tap { content, whole: None, at_end: false };
        while !tap.at_end {
            let block = self.pack_segment(packer, object.kind(), &mut tap)?;
            // Up to the end of the first segment its digest is that of all.
            tap.whole.get_or_insert_with(|| block.hasher().clone());
            blocks.push(block);
        }
        let whole = tap.whole.unwrap_or_else(|| Algorithm::Sha256.hasher()).finish();
        let length = blocks.iter().map(|block| block.facts().length).sum();
        let draft = object.draft(&whole);
        if blocks.len() == 1
            && let Some(block) = blocks.pop()
        {
            return self.keep_one(block.seal(packer, &draft)?, length);
        }
        let id = object.id(&whole);
        let origin = format!("urn:sha256:{}", data_encoding::HEXLOWER.encode(&id));
        let records = seal_segments(packer, blocks, &draft, whole, &origin, length)?;
        let kept = self.keep_segments(records)?;
        Ok(Stored { id, new: kept.new, mended: kept.mended, length, ticket: kept.ticket })
    }

    /// Packs as much as fits one silo.
    fn pack_segment(
        &self,
        packer: &mut Packer,
        kind: PayloadKind,
        tap: &mut Tap<'_>,
    ) -> Result<FinishedBlock, StoreError> {
        let limit = self.segment_size();
        let step = usize::try_from(limit / 4).unwrap_or(STEP).clamp(1, STEP);
        let mut buffer = vec![0; step];
        let mut stream = packer.stream(kind);
        while stream.packed_length() < limit {
            let count = tap.read(&mut buffer).map_err(StoreError::Content)?;
            if count == 0 {
                break;
            }
            stream.write_all(&buffer[..count]).map_err(PackError::from)?;
        }
        Ok(stream.finish().map_err(PackError::from)?)
    }
}

/// What came of filling a buffer.
pub(crate) enum Filled {
    /// All content is in it: so many bytes.
    All(usize),
    /// So many bytes are in it, one more than there should be at most; maybe there are others.
    More(usize),
}

/// Reads on into a buffer that has room for a header and `read` bytes of content, until there are more than `most`.
pub(crate) fn fill(
    content: &mut dyn Read,
    buffer: &mut Vec<u8>,
    mut read: usize,
    most: usize,
) -> io::Result<Filled> {
    while read <= most {
        if HEADER_ROOM + read == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let end = buffer.len().min(HEADER_ROOM + most + 1);
        match content.read(&mut buffer[HEADER_ROOM + read..end]) {
            Ok(0) => return Ok(Filled::All(read)),
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Filled::More(read))
}

/// Reads content and hashes it on the way, from its second segment on.
struct Tap<'a> {
    content: &'a mut dyn Read,
    whole: Option<Hasher>,
    at_end: bool,
}

impl Read for Tap<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            match self.content.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if let Some(whole) = &mut self.whole {
            whole.update(&buffer[..count]);
        }
        self.at_end = count == 0;
        Ok(count)
    }
}

/// Heads for the segments of one object.
fn seal_segments(
    packer: &mut Packer,
    mut blocks: Vec<FinishedBlock>,
    draft: &Draft,
    whole: Digest,
    origin: &str,
    length: u64,
) -> Result<Vec<PackedRecord>, StoreError> {
    // The end of the content may have coincided with the end of a segment.
    if blocks.len() > 1 && blocks.last().is_some_and(|block| block.facts().length == 0) {
        blocks.pop();
    }
    let count = blocks.len();
    let mut records = Vec::with_capacity(count);
    for (index, block) in blocks.into_iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let segment = match (index, count) {
            (_, 1) => draft.clone(),
            (0, _) => draft.clone().first_segment(whole),
            _ => draft.next_segment(number, origin, (index + 1 == count).then_some(length)),
        };
        records.push(block.seal(packer, &segment)?);
    }
    Ok(records)
}
