//! Keeping content: from bytes, or from anything that can be read, to an object with an id.
//!
//! Content that is here already is not packed again: small content is hashed first, and large content that is a file
//! may be too (see [`NewObject::known`]). What does not fit one silo is cut into segments while it streams.

use std::io::{self, Read, Write};

use varve_warc::date::Date;
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{BlockFacts, Draft, FinishedBlock, PackError, PackedRecord, Packer, id};

use crate::error::StoreError;
use crate::silo::parse_id;
use crate::writer::{StoreWriter, Ticket};

/// Content up to this size is held in memory.
const IN_MEMORY: u64 = 1 << 20;
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

    /// The id that it has with such content, without brackets.
    fn id(&self, content: &Digest) -> String {
        match &self.refers_to {
            Some(refers_to) => id::of_metadata(refers_to, content),
            None => id::of_content(content),
        }
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
        let payload = (object.kind() == PayloadKind::Block).then_some(digest);
        let facts = BlockFacts { length, digest, payload };
        let record = packer.pack_known(&object.draft(&digest), facts, bytes)?;
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
        let mut beginning = Vec::new();
        (&mut *content).take(IN_MEMORY + 1).read_to_end(&mut beginning).map_err(StoreError::Content)?;
        if beginning.len() as u64 <= IN_MEMORY && beginning.len() as u64 <= self.segment_size() {
            return self.store_bytes(packer, object, &beginning);
        }
        let mut all = io::Cursor::new(beginning).chain(content);
        self.store_large(packer, object, &mut all)
    }

    fn already(
        &self,
        object: &NewObject,
        digest: &Digest,
        length: u64,
    ) -> Result<Option<Stored>, StoreError> {
        let Some(id) = parse_id(object.id(digest).as_bytes()) else { return Ok(None) };
        if !self.has(&id)? {
            return Ok(None);
        }
        Ok(Some(Stored { id, new: false, length, ticket: self.last_ticket() }))
    }

    fn keep_one(&self, record: PackedRecord, length: u64) -> Result<Stored, StoreError> {
        let id = parse_id(record.id.as_bytes()).ok_or(StoreError::Stopped)?;
        let kept = self.keep(record)?;
        Ok(Stored { id, new: kept.new, length, ticket: kept.ticket })
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
        let mut whole = Algorithm::Sha256.hasher();
        let mut blocks: Vec<FinishedBlock> = Vec::new();
        let mut tap = Tap { content, whole: &mut whole, at_end: false };
        while !tap.at_end {
            blocks.push(self.pack_segment(packer, object.kind(), &mut tap)?);
        }
        let whole = whole.finish();
        let length = blocks.iter().map(|block| block.facts().length).sum();
        let draft = object.draft(&whole);
        if blocks.len() == 1
            && let Some(block) = blocks.pop()
        {
            return self.keep_one(block.seal(packer, &draft)?, length);
        }
        let records = seal_segments(packer, blocks, &draft, whole, &object.id(&whole), length)?;
        let id = parse_id(object.id(&whole).as_bytes()).ok_or(StoreError::Stopped)?;
        let kept = self.keep_segments(records)?;
        Ok(Stored { id, new: kept.new, length, ticket: kept.ticket })
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

/// Reads content and hashes it on the way.
struct Tap<'a> {
    content: &'a mut dyn Read,
    whole: &'a mut varve_warc::digest::Hasher,
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
        self.whole.update(&buffer[..count]);
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
