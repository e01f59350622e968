//! Bodies in silos: resources, and the decoded bodies of responses.

use std::io::{self, BufRead, Read};

use varve_core::body::{BodyError, BodySource, BodyStore, StoredBody};
use varve_core::{BodyId, RecordId};
use varve_warc::Extent;
use varve_warc::digest::{Algorithm, Digest};
use varve_warc::record::{RecordHeader, RecordType};
use varve_wire::{DecodeLimits, DecodedBody, HeadCollector, open_body, open_payload};

use super::verified_body::VerifiedBody;
use crate::error::StoreError;
use crate::exchange::{not_modified_head, payload_of};
use crate::index::{IndexPrefix, SiloPlace};
use crate::reader::{ObjectReader, RandomAccessReader, SiloRecord, StoreReader};
use crate::record::field;
use crate::record::{parse_id, record_and_body_ids};
use crate::writer::NewObject;
use crate::writer::StoreWriter;

/// The media type of a body whose type is unknown.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

impl BodySource for StoreReader {
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        let wanted = RecordId::of_body(*id);
        let Some((located, record)) = self.find_open(&wanted).map_err(BodyError::new)? else {
            return Ok(None);
        };
        if located.header.record_type() != RecordType::Response || located.id == wanted {
            return Ok(Some(Box::new(self.read_found(located, record).map_err(BodyError::new)?)));
        }
        let record = match record {
            Some(record) => Some(record),
            None => self.record_at(located.place).map_err(BodyError::new)?,
        };
        let Some(record) = record else { return Ok(None) };
        let body = response_body(record).map_err(BodyError::new)?;
        Ok(Some(Box::new(VerifiedBody::new(body, *id))))
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        let ids: Vec<RecordId> = ids.iter().copied().map(RecordId::of_body).collect();
        self.have(&ids).map_err(BodyError::new)
    }
}

/// Whether the body of a response differs from its payload.
fn is_decoded(header: &RecordHeader) -> bool {
    let body = header.fields.get(field::BODY_DIGEST).and_then(|text| Digest::parse(text).ok());
    body.is_some() && body != payload_of(header)
}

/// Reads and verifies the body with an id in the record at a place. Returns false if it is not there,
/// longer than `most` bytes, segmented or damaged.
fn read_body_at(
    visitor: &mut RandomAccessReader<'_>,
    (id, place): (&BodyId, SiloPlace),
    most: u64,
    into: &mut Vec<u8>,
) -> Result<bool, StoreError> {
    let Some(mut record) = visitor.record(place, Extent::Record)? else { return Ok(false) };
    let header = record.header();
    if header.is_segment() || header.content_length().is_none_or(|length| length > most) {
        return Ok(false);
    }
    let (own, body) = record_and_body_ids(header);
    into.clear();
    let read = if own == Some(RecordId::of_body(*id)) {
        record.read_to_end(into)
    } else if body == Some(*id) && header.record_type() == RecordType::Response {
        let is_decoded = is_decoded(header);
        decoded_body(&mut record, is_decoded).and_then(|body| body.take(most + 1).read_to_end(into))
    } else {
        return Ok(false);
    };
    // `open_body` reports damage in full.
    Ok(read.is_ok()
        && into.len() as u64 <= most
        && Algorithm::Sha256.digest(into).sha256() == Some(*id.as_bytes()))
}

impl StoreReader {
    /// The bytes `start..end` of a segmented body. Segments before `start` are not read, and the
    /// returned bytes are verified. `None` for a body in one record or an absent body.
    pub fn open_segments(
        &self,
        id: &BodyId,
        start: u64,
        end: u64,
    ) -> Result<Option<ObjectReader>, StoreError> {
        match self.object(&RecordId::of_body(*id))? {
            Some(object) if object.segments() > 1 => object.read_range(start, end).map(Some),
            _ => Ok(None),
        }
    }

    /// Reads and verifies a body into `into`, replacing its content. The fastest way to read many
    /// small bodies, best in the order of their places. Returns false when the caller must use
    /// `open_body`: the body is longer than `most` bytes, segmented or damaged.
    pub fn read_body(&self, id: &BodyId, most: u64, into: &mut Vec<u8>) -> Result<bool, StoreError> {
        // `open_body` reports a damaged index.
        let Ok(places) = self.index().find(IndexPrefix::of(&RecordId::of_body(*id))) else {
            return Ok(false);
        };
        let mut alone = places.iter();
        let (Some(place), None) = (alone.next(), alone.next()) else { return Ok(false) };
        read_body_at(&mut self.silos().random_access(), (id, place), most, into)
    }

    /// Reads and verifies many small bodies at once, which costs far less than one by one if they lie
    /// near each other. `None` for a body that the caller must read with `open_body`.
    pub fn read_bodies(&self, ids: &[BodyId], most: u64) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let prefixes: Vec<IndexPrefix> =
            ids.iter().map(|id| IndexPrefix::of(&RecordId::of_body(*id))).collect();
        let mut places = Vec::with_capacity(ids.len());
        let mut bodies = vec![None; ids.len()];
        // `open_body` reports a damaged index.
        if self.index().find_many(&prefixes, |number, place| places.push((place, number))).is_err() {
            return Ok(bodies);
        }
        places.sort_unstable();
        let mut visitor = self.silos().random_access();
        for (place, number) in places {
            let mut body = Vec::new();
            if bodies[number].is_none() && read_body_at(&mut visitor, (&ids[number], place), most, &mut body)?
            {
                bodies[number] = Some(body);
            }
        }
        Ok(bodies)
    }

    /// Sort keys that order bodies by their places in the silos, where reading is fastest.
    pub fn order_of(&self, bodies: &[BodyId]) -> Result<Vec<u64>, StoreError> {
        let prefixes: Vec<IndexPrefix> =
            bodies.iter().map(|body| IndexPrefix::of(&RecordId::of_body(*body))).collect();
        let mut order = vec![u64::MAX; bodies.len()];
        self.index()
            .find_many(&prefixes, |number, place| order[number] = order[number].min(place.number()))?;
        Ok(order)
    }

    /// The body of a response by its record id, complete or truncated, not verified. `None` when
    /// the record is not a response.
    pub fn response_body(&self, record: &RecordId) -> Result<Option<impl Read + Send + use<>>, StoreError> {
        let Some(found) = self.response(record)? else { return Ok(None) };
        response_body(found).map(Some).map_err(StoreError::Content)
    }

    /// The payload of a response by its record id, with its content codings, not verified. The
    /// payload of a revisit comes from the record it refers to. `None` when there is no such
    /// response.
    pub fn response_payload(
        &self,
        record: &RecordId,
    ) -> Result<Option<impl Read + Send + use<>>, StoreError> {
        let Some(mut found) = self.response(record)? else { return Ok(None) };
        let original = found.header().reference("WARC-Refers-To").and_then(parse_id);
        if found.header().record_type() == RecordType::Revisit {
            let Some(original) = original else { return Ok(None) };
            let Some(holder) = self.response(&original)? else { return Ok(None) };
            found = holder;
        }
        decoded_body(found, false).map(Some).map_err(StoreError::Content)
    }

    /// The head of a response as received; `None` when the record is neither a response nor a
    /// revisit.
    pub fn response_head(&self, record: &RecordId) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(mut found) = self.response(record)? else { return Ok(None) };
        if let Some(head) = not_modified_head(found.header()) {
            return Ok(Some(head));
        }
        let collector = read_head(&mut found).map_err(StoreError::Content)?;
        let length = collector.head().map_or(0, |head| head.length);
        Ok(Some(collector.bytes()[..length].to_vec()))
    }

    /// A response as received, head included, not verified; `None` when the record is neither a
    /// response nor a revisit. The body of a revisit comes from the record it refers to.
    pub fn response_block(&self, record: &RecordId) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        let Some(mut found) = self.response(record)? else { return Ok(None) };
        if found.header().record_type() != RecordType::Revisit {
            return Ok(Some(Box::new(found)));
        }
        if let Some(head) = not_modified_head(found.header()) {
            return Ok(Some(Box::new(io::Cursor::new(head))));
        }
        let original = found.header().reference("WARC-Refers-To").and_then(parse_id);
        let head = read_head(&mut found).map_err(StoreError::Content)?;
        let start = io::Cursor::new(head.bytes().to_vec()).chain(found);
        let has_body = head.head().is_none_or(|head| head.status() != Some(304));
        let holder = match original.filter(|_| has_body) {
            Some(original) => self.response(&original)?,
            None => None,
        };
        let Some(mut holder) = holder else { return Ok(Some(Box::new(start))) };
        read_head(&mut holder).map_err(StoreError::Content)?;
        Ok(Some(Box::new(start.chain(holder))))
    }

    fn response(&self, record: &RecordId) -> Result<Option<SiloRecord>, StoreError> {
        let Some(located) = self.find(record)? else { return Ok(None) };
        let is_answer = matches!(located.header.record_type(), RecordType::Response | RecordType::Revisit);
        if is_answer { self.record_at(located.place) } else { Ok(None) }
    }
}

/// The body of the HTTP response in a record. Content codings are decoded where the record states a
/// body other than the payload; elsewhere decoding failed when it was written.
fn response_body(record: SiloRecord) -> io::Result<impl Read + Send + use<>> {
    let is_decoded = is_decoded(record.header());
    decoded_body(record, is_decoded)
}

/// The body of the HTTP response in a block, with content codings decoded if `is_decoded`. For a
/// block that is not HTTP, the whole block.
fn decoded_body<'a>(mut record: impl BufRead + Send + 'a, is_decoded: bool) -> io::Result<DecodedBody<'a>> {
    let parser = read_head(&mut record)?;
    let Some(head) = parser.head() else {
        return Ok(DecodedBody::verbatim(io::Cursor::new(parser.bytes().to_vec()).chain(record)));
    };
    match is_decoded {
        true => open_body(&head.headers, record, DecodeLimits::default()),
        false => open_payload(&head.headers, record, DecodeLimits::default()),
    }
}

/// Reads to the end of a message head.
pub(crate) fn read_head(record: &mut impl BufRead) -> io::Result<HeadCollector> {
    let mut parser = HeadCollector::new();
    loop {
        let bytes = record.fill_buf()?;
        if bytes.is_empty() {
            return Ok(parser);
        }
        let (taken, complete) = parser.push(bytes);
        record.consume(taken);
        if complete {
            return Ok(parser);
        }
    }
}

impl BodySource for StoreWriter {
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        // Records that are not synced are not in the index yet.
        self.sync().map_err(BodyError::new)?;
        self.reader().open_body(id)
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        self.sync().map_err(BodyError::new)?;
        self.reader().have_bodies(ids)
    }
}

impl BodyStore for StoreWriter {
    fn keep_body(&self, content: &mut dyn Read) -> Result<StoredBody, BodyError> {
        let mut packer = self.packer().map_err(BodyError::new)?;
        let date = (self.settings().clock)();
        let object =
            NewObject { date, content_type: UNKNOWN_MEDIA_TYPE.to_owned(), refers_to: None, known: None };
        let stored = self.store_reader(&mut packer, &object, content).map_err(BodyError::new)?;
        Ok(StoredBody { id: stored.id.body(), length: stored.length, new: stored.new })
    }

    fn sync_bodies(&self) -> Result<(), BodyError> {
        self.sync().map_err(BodyError::new)
    }
}
