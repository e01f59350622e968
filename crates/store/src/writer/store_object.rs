//! Stores content from bytes or a reader as an object with an id.
//!
//! Stored content is not packed again: content that fits a buffer is hashed first, and the caller
//! may hash larger content (see [`NewObject::known`]). Content that exceeds one silo is cut into
//! segments while it streams.

use std::io::{self, Read, Write};

use varve_core::RecordId;
use varve_warc::date::Date;
use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{
    BlockFacts, Draft, FinishedBlock, HEADER_ROOM, PackedRecord, Packer, RecordPackError, RecordUri,
    TRAILER_ROOM,
};

use super::{StoreWriter, Ticket};
use crate::error::{StoreError, parse_record_uri};
use crate::record::record_uri;

/// Content up to this size is always buffered in memory.
const ALWAYS_IN_MEMORY_BYTES: usize = 1 << 20;
/// Content up to this size is buffered in memory while the pool has a free buffer.
const MAX_IN_MEMORY_BYTES: usize = 32 << 20;
/// Size of the first buffer. Most content is smaller.
const FIRST_READ_BYTES: usize = 64 << 10;
/// Bytes of streamed content read at a time.
const READ_CHUNK_BYTES: usize = 64 << 10;
/// Space left in the silo of a segment for its header, the description and the packer's buffer.
const SEGMENT_RESERVE_BYTES: u64 = 256 << 10;

/// An object to store, without its bytes.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// The date of its record.
    pub date: Date,
    /// Its media type.
    pub content_type: String,
    /// For metadata, the record it describes; `None` for a resource.
    pub refers_to: Option<RecordUri>,
    /// The SHA-256 of the content, if the caller knows it. Stored content is then not read.
    pub known: Option<Digest>,
}

/// The result of storing an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Its id.
    pub id: RecordId,
    /// Whether it was new.
    pub new: bool,
    /// Whether the stored object was damaged and has been written again.
    pub mended: bool,
    /// Its length, 0 when it was not read.
    pub length: u64,
    /// To wait for before acknowledging the record.
    pub ticket: Ticket,
}

impl NewObject {
    fn record_type(&self) -> RecordType {
        if self.refers_to.is_some() { RecordType::Metadata } else { RecordType::Resource }
    }

    fn kind(&self) -> PayloadKind {
        if self.refers_to.is_some() { PayloadKind::None } else { PayloadKind::Block }
    }

    /// The id of this object with this content.
    pub(crate) fn id(&self, content: &Digest) -> RecordId {
        let own = match &self.refers_to {
            Some(refers_to) => RecordUri::of_metadata(refers_to.as_str(), content).sha256(),
            None => content.sha256(),
        };
        RecordId::new(own.expect("an id is a SHA-256, and so is the digest of content"))
    }

    fn facts(&self, digest: Digest, length: u64) -> BlockFacts {
        let payload = (self.kind() == PayloadKind::Block).then_some(digest);
        BlockFacts { length, digest, payload }
    }

    /// The draft of its record. A resource is its own target URI.
    fn draft(&self, content: &Digest) -> Draft {
        let draft = Draft::new(self.record_type(), &self.date).content_type(&self.content_type);
        match &self.refers_to {
            Some(refers_to) => draft.refers_to(refers_to.clone()),
            None => draft.target_uri(RecordUri::of_content(content).as_str()),
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
    ) -> Result<StoredObject, StoreError> {
        let digest = Algorithm::Sha256.digest(bytes);
        let length = bytes.len() as u64;
        if let Some(stored) = self.find_stored(object, &digest, length)? {
            return Ok(stored);
        }
        let record = packer.pack_known(&object.draft(&digest), object.facts(digest, length), bytes)?;
        self.keep_one(record, length)
    }

    /// Stores the content of a reader, in bounded memory.
    pub fn store_reader(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        content: &mut dyn Read,
    ) -> Result<StoredObject, StoreError> {
        if let Some(known) = &object.known
            && let Some(stored) = self.find_stored(object, known, 0)?
        {
            return Ok(stored);
        }
        let segment = usize::try_from(self.segment_size()).unwrap_or(usize::MAX);
        let mut buffer = vec![0; HEADER_ROOM + FIRST_READ_BYTES];
        let read = fill(content, &mut buffer, 0, ALWAYS_IN_MEMORY_BYTES.min(segment))
            .map_err(StoreError::Content)?;
        let read = match read {
            FillResult::All(length) => return self.store_in_place(packer, object, &mut buffer, length),
            FillResult::More(read) => read,
        };
        let Some(mut room) = self.rooms().take().filter(|_| object.known.is_none()) else {
            return self.store_large(packer, object, &mut buffer[HEADER_ROOM..][..read].chain(content));
        };
        let held = &mut room.buffer;
        held.resize(held.len().max(buffer.len()), 0);
        held[..buffer.len()].copy_from_slice(&buffer);
        drop(buffer);
        match fill(content, held, read, MAX_IN_MEMORY_BYTES.min(segment)).map_err(StoreError::Content)? {
            FillResult::All(length) => self.store_in_place(packer, object, held, length),
            FillResult::More(read) => {
                self.store_large(packer, object, &mut held[HEADER_ROOM..][..read].chain(content))
            }
        }
    }

    /// Whether content of this length is packed in one call, and so hashed before packing.
    pub fn hashes_first(&self, length: u64) -> bool {
        length <= ALWAYS_IN_MEMORY_BYTES as u64
            || (length <= MAX_IN_MEMORY_BYTES as u64 && self.rooms().is_free())
    }

    /// Stores `length` bytes of a buffer, behind the space for the header.
    fn store_in_place(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        buffer: &mut Vec<u8>,
        length: usize,
    ) -> Result<StoredObject, StoreError> {
        let end = HEADER_ROOM + length;
        let digest = Algorithm::Sha256.digest(&buffer[HEADER_ROOM..end]);
        match self.find_stored(object, &digest, length as u64)? {
            Some(stored) => Ok(stored),
            None => self.store_hashed(packer, object, digest, buffer, length),
        }
    }

    /// Packs and appends buffered content that was hashed and is not stored.
    pub(crate) fn store_hashed(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        digest: Digest,
        buffer: &mut Vec<u8>,
        length: usize,
    ) -> Result<StoredObject, StoreError> {
        let end = HEADER_ROOM + length;
        let facts = object.facts(digest, length as u64);
        buffer.resize(buffer.len().max(end + TRAILER_ROOM), 0);
        let record =
            packer.pack_in_place(&object.draft(&digest), facts, &mut buffer[..end + TRAILER_ROOM])?;
        self.keep_one(record, length as u64)
    }

    fn find_stored(
        &self,
        object: &NewObject,
        digest: &Digest,
        length: u64,
    ) -> Result<Option<StoredObject>, StoreError> {
        let id = object.id(digest);
        if !self.has(&id)? {
            return Ok(None);
        }
        Ok(Some(StoredObject { id, new: false, mended: false, length, ticket: self.last_ticket() }))
    }

    fn keep_one(&self, record: PackedRecord, length: u64) -> Result<StoredObject, StoreError> {
        let id = parse_record_uri(&record.id)?;
        let kept = self.keep(record)?;
        Ok(StoredObject { id, new: kept.new, mended: kept.mended, length, ticket: kept.ticket })
    }

    /// The packed size of one segment.
    fn segment_size(&self) -> u64 {
        let size = self.settings().silo_size;
        size.saturating_sub(SEGMENT_RESERVE_BYTES.min(size / 2)).max(1)
    }

    fn store_large(
        &self,
        packer: &mut Packer,
        object: &NewObject,
        content: &mut dyn Read,
    ) -> Result<StoredObject, StoreError> {
        let mut blocks: Vec<FinishedBlock> = Vec::new();
        let mut tap = HashingReader { content, whole: None, at_end: false };
        while !tap.at_end {
            let block = self.pack_segment(packer, object.kind(), &mut tap)?;
            // At the end of the first segment its hash state is that of the whole.
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
        let records = seal_segments(packer, blocks, &draft, whole, &record_uri(&id), length)?;
        let kept = self.keep_segments(records)?;
        Ok(StoredObject { id, new: kept.new, mended: kept.mended, length, ticket: kept.ticket })
    }

    /// Packs content until one silo is full.
    fn pack_segment(
        &self,
        packer: &mut Packer,
        kind: PayloadKind,
        tap: &mut HashingReader<'_>,
    ) -> Result<FinishedBlock, StoreError> {
        let limit = self.segment_size();
        let step = usize::try_from(limit / 4).unwrap_or(READ_CHUNK_BYTES).clamp(1, READ_CHUNK_BYTES);
        let mut buffer = vec![0; step];
        let mut stream = packer.stream(kind);
        while stream.packed_length() < limit {
            let count = tap.read(&mut buffer).map_err(StoreError::Content)?;
            if count == 0 {
                break;
            }
            stream.write_all(&buffer[..count]).map_err(RecordPackError::from)?;
        }
        Ok(stream.finish().map_err(RecordPackError::from)?)
    }
}

/// The result of filling a buffer.
pub(crate) enum FillResult {
    /// All content is in the buffer; its length.
    All(usize),
    /// The limit is exceeded; the number of bytes read so far, which is the limit plus one.
    More(usize),
}

/// Reads more content into a buffer with header space and `read` bytes of content, until it has
/// more than `most`.
pub(crate) fn fill(
    content: &mut dyn Read,
    buffer: &mut Vec<u8>,
    mut read: usize,
    most: usize,
) -> io::Result<FillResult> {
    while read <= most {
        if HEADER_ROOM + read == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let end = buffer.len().min(HEADER_ROOM + most + 1);
        match content.read(&mut buffer[HEADER_ROOM + read..end]) {
            Ok(0) => return Ok(FillResult::All(read)),
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(FillResult::More(read))
}

/// Reads content and hashes it from the second segment on.
struct HashingReader<'a> {
    content: &'a mut dyn Read,
    whole: Option<Hasher>,
    at_end: bool,
}

impl Read for HashingReader<'_> {
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

/// Completes the records of the segments of one object.
fn seal_segments(
    packer: &mut Packer,
    mut blocks: Vec<FinishedBlock>,
    draft: &Draft,
    whole: Digest,
    origin: &RecordUri,
    length: u64,
) -> Result<Vec<PackedRecord>, StoreError> {
    // The content may end exactly at the end of a segment.
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
