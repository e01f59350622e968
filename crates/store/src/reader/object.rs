//! An object: the content stored under one id, joined from its segments.
//!
//! Reading the whole object verifies it: a block that ends early or has a wrong digest is an error,
//! never a short read. A range is returned only after the records that contain it were read and
//! verified.

use std::io::{self, Read};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use varve_core::RecordId;
use varve_warc::digest::{Algorithm, Digest, Hasher};
use varve_warc::record::{RecordHeader, RecordType};

use super::{LocatedRecord, OpenSilos, SiloRecord};
use crate::error::StoreError;
use crate::index::SiloPlace;
use crate::record::parse_id;

/// An object, open for reading.
pub struct Object {
    silos: Arc<OpenSilos>,
    located: LocatedRecord,
    segments: Vec<ObjectSegment>,
}

/// One segment of an object.
#[derive(Clone, Copy, Debug)]
struct ObjectSegment {
    place: SiloPlace,
    length: u64,
    /// The length of the object, on its last segment.
    total: Option<u64>,
}

impl Object {
    pub(crate) fn open(silos: Arc<OpenSilos>, located: LocatedRecord) -> Result<Self, StoreError> {
        let length = located.header.content_length().unwrap_or(0);
        let mut segments = vec![ObjectSegment { place: located.place, length, total: None }];
        if is_first_segment(&located.header) {
            find_segments(&silos, &located, &mut segments)?;
        }
        Ok(Self { silos, located, segments })
    }

    /// The header of its record.
    pub fn header(&self) -> &RecordHeader {
        &self.located.header
    }

    /// Its id.
    pub fn id(&self) -> RecordId {
        self.located.id
    }

    /// The place of its record.
    pub fn place(&self) -> SiloPlace {
        self.located.place
    }

    /// Its length.
    pub fn length(&self) -> u64 {
        self.segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.length))
    }

    /// Why the lengths of its segments are inconsistent, if they are.
    pub(crate) fn length_problem(&self) -> Option<String> {
        let total = self.segments.last()?.total?;
        let sum = self.length();
        (sum != total).then(|| format!("its segments have {sum} bytes, and its last one says {total}"))
    }

    /// The number of its segments.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The places of its segments.
    pub(crate) fn places(&self) -> impl Iterator<Item = SiloPlace> + '_ {
        self.segments.iter().map(|segment| segment.place)
    }

    /// Reads all of it and verifies its digest at the end.
    pub fn read(&self) -> Result<ObjectReader, StoreError> {
        self.reader(0, self.length(), true)
    }

    /// Reads the bytes `start..end`. A range has no digest of its own, so the segments that contain
    /// it are read and verified first.
    pub fn read_range(&self, start: u64, end: u64) -> Result<ObjectReader, StoreError> {
        let end = end.min(self.length());
        let checked = start == 0 && end == self.length();
        let start = start.min(end);
        if !checked {
            self.check_touched(start, end)?;
        }
        self.reader(start, end, checked)
    }

    /// Reads and verifies the segments that contain a range. Verified places are cached.
    fn check_touched(&self, start: u64, end: u64) -> Result<(), StoreError> {
        let mut from = 0;
        for segment in &self.segments {
            let until = from + segment.length;
            if from < end
                && start < until
                && start < end
                && let Some(message) = self.silos.corruption(segment.place)?
            {
                let (silo, offset) = (segment.place.silo(), segment.place.offset());
                let id = HEXLOWER.encode(self.located.id.as_bytes());
                return Err(StoreError::Damaged { id, silo, offset, message, misdirected: false });
            }
            from = until;
        }
        Ok(())
    }

    fn reader(&self, start: u64, end: u64, checked: bool) -> Result<ObjectReader, StoreError> {
        let mut skip = start;
        let mut waiting = Vec::new();
        for segment in &self.segments {
            if skip >= segment.length && segment.length > 0 {
                skip -= segment.length;
            } else {
                waiting.push((*segment, std::mem::take(&mut skip)));
            }
        }
        waiting.reverse();
        let expected = if checked { self.expected_digest() } else { None };
        let hasher = expected.map(|expected| expected.algorithm().hasher());
        Ok(ObjectReader {
            silos: Arc::clone(&self.silos),
            id: HEXLOWER.encode(self.located.id.as_bytes()),
            waiting,
            current: None,
            remaining: end - start,
            expected,
            hasher,
        })
    }

    /// The expected digest of all bytes.
    fn expected_digest(&self) -> Option<Digest> {
        let header = &self.located.header;
        let digest = if is_first_segment(header) { header.payload_digest() } else { header.block_digest() };
        digest.and_then(Result::ok).filter(|digest| digest.algorithm() == Algorithm::Sha256)
    }
}

/// Whether a record is the first of several segments. A continuation, found by its own id, is an
/// object of its own.
fn is_first_segment(header: &RecordHeader) -> bool {
    header.is_segment() && header.record_type() != RecordType::Continuation
}

/// Finds the further segments of an object: each follows the description of the next silo.
fn find_segments(
    silos: &OpenSilos,
    located: &LocatedRecord,
    segments: &mut Vec<ObjectSegment>,
) -> Result<(), StoreError> {
    let id = HEXLOWER.encode(located.id.as_bytes());
    loop {
        let number = u32::try_from(segments.len() + 1).unwrap_or(u32::MAX);
        let silo = located.place.silo().saturating_add(number - 1);
        let missing = || StoreError::SegmentMissing { id: id.clone(), number, silo };
        let (place, header) = first_record(silos, silo)?.ok_or_else(missing)?;
        let origin = header.reference("WARC-Segment-Origin-ID").and_then(parse_id);
        let stated =
            header.fields.get("WARC-Segment-Number").map(|text| String::from_utf8_lossy(text).into_owned());
        if origin != Some(located.id) || stated.as_deref() != Some(number.to_string().as_str()) {
            return Err(missing());
        }
        let total = header.fields.get("WARC-Segment-Total-Length").map(|text| {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
        });
        segments.push(ObjectSegment { place, length: header.content_length().unwrap_or(0), total });
        if total.is_some() {
            return Ok(());
        }
    }
}

/// The record behind a silo's description.
pub(crate) fn first_record(
    silos: &OpenSilos,
    silo: u32,
) -> Result<Option<(SiloPlace, RecordHeader)>, StoreError> {
    let Some(source) = silos.present_silo(silo)? else { return Ok(None) };
    let failed = |error| StoreError::read(silo, error);
    let mut reader = match varve_warc::WarcReader::at(source, 0) {
        Ok(reader) => reader,
        Err(error @ varve_warc::Error::Io { .. }) => return Err(failed(error)),
        Err(_) => return Ok(None),
    };
    reader.next_record().map_err(failed)?;
    let Some(record) = reader.next_record().map_err(failed)? else { return Ok(None) };
    let place = SiloPlace::new(silo, record.offset())?;
    Ok(Some((place, record.header().clone())))
}

/// Reads an object.
pub struct ObjectReader {
    silos: Arc<OpenSilos>,
    id: String,
    /// The remaining segments in reverse order, each with the number of bytes to skip.
    waiting: Vec<(ObjectSegment, u64)>,
    current: Option<OpenSegment>,
    remaining: u64,
    expected: Option<Digest>,
    hasher: Option<Hasher>,
}

struct OpenSegment {
    record: SiloRecord,
    segment: ObjectSegment,
    left: u64,
}

impl ObjectReader {
    /// Starts with the open, unread record of the first segment.
    pub(crate) fn beginning_with(mut self, record: SiloRecord) -> Self {
        if let Some((segment, 0)) = self.waiting.last().copied() {
            self.waiting.pop();
            self.current = Some(OpenSegment { record, segment, left: segment.length });
        }
        self
    }

    /// Opens the next segment. Returns false when there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let Some((segment, skip)) = self.waiting.pop() else { return Ok(false) };
        let record = self.silos.record_at(segment.place).map_err(io::Error::other)?;
        let record = record.ok_or_else(|| self.damaged(segment, "no record begins here"))?;
        let mut current = OpenSegment { record, segment, left: segment.length - skip };
        let passed = io::copy(&mut (&mut current.record).take(skip), &mut io::sink())?;
        if passed < skip {
            return Err(self.damaged(segment, "its block ends early"));
        }
        self.current = Some(current);
        Ok(true)
    }

    fn damaged(&self, segment: ObjectSegment, message: &str) -> io::Error {
        io::Error::other(StoreError::Damaged {
            id: self.id.clone(),
            silo: segment.place.silo(),
            offset: segment.place.offset(),
            message: message.to_owned(),
            misdirected: false,
        })
    }

    /// Verifies the digest after the last byte.
    fn check_digest(&mut self, segment: Option<ObjectSegment>) -> io::Result<()> {
        let (Some(expected), Some(hasher)) = (self.expected.take(), self.hasher.take()) else {
            return Ok(());
        };
        let found = hasher.finish();
        match segment {
            Some(segment) if found != expected => {
                Err(self.damaged(segment, &format!("its digest is {found}, not {expected}")))
            }
            _ => Ok(()),
        }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.remaining > 0 {
            let Some(current) = &mut self.current else {
                if !self.advance()? {
                    break;
                }
                continue;
            };
            let most =
                usize::try_from(current.left.min(self.remaining)).unwrap_or(usize::MAX).min(buffer.len());
            let count = if most == 0 { 0 } else { current.record.read(&mut buffer[..most])? };
            let segment = current.segment;
            if count == 0 && current.left > 0 {
                return Err(self.damaged(segment, "its block ends early"));
            }
            current.left -= count as u64;
            if current.left == 0 {
                self.current = None;
            }
            self.remaining -= count as u64;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
            if self.remaining == 0 {
                self.check_digest(Some(segment))?;
            }
            if count > 0 {
                return Ok(count);
            }
        }
        Ok(0)
    }
}
