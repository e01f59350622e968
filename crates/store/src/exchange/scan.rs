//! Reads receipts and facts from silos, in the order of writing.
//!
//! Scans all silos on all cores, or, when an archive is opened for writing, the records that the
//! catalog lacks. Rebuild and audit, which read every record anyway, use the same extractor. Only
//! the head of a response and the JSON of a fact are read.

use std::io::{self, BufRead};

use varve_core::RecordId;
use varve_core::receipt::Receipt;
use varve_warc::parallel::{PartOptions, read_parts};
use varve_warc::record::{RecordHeader, RecordType, media_type};
use varve_warc::{Error, Format, Record, WarcReader};
use varve_wire::{HeadCollector, ReadAt};

use super::{is_capture, receipt_of};
use crate::error::StoreError;
use crate::index::SiloPlace;
use crate::record::parse_id;
use crate::silo::{ProgressReporter, SiloError, SiloFiles, next_number};

/// Maximum length of the JSON of a fact.
const MAX_FACT_BYTES: u64 = 1 << 30;
/// The prefix of the media types of facts.
const FACT_TYPE_PREFIX: &[u8] = b"application/vnd.varve.";

/// A record that a catalog needs.
#[derive(Clone, Debug, PartialEq)]
pub enum ScannedRecord {
    /// A capture.
    Capture(Box<Receipt>),
    /// A fact: JSON about history.
    Fact {
        /// The record.
        record: RecordId,
        /// The id or URL that it describes.
        about: String,
        /// Its media type.
        media_type: String,
        /// Its content.
        json: Vec<u8>,
    },
}

/// Scans all silos in order. Passes the number of bytes read to `progress`.
pub fn scan(
    files: &SiloFiles,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    each: &mut dyn FnMut(ScannedRecord) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for number in files.list()?.into_keys() {
        let source = files.open(number)?;
        let mut failure = Ok(());
        let work = |reader: &mut WarcReader<&dyn ReadAt>, until: u64| read_part(reader, until, progress);
        let read = read_parts(&*source, PartOptions { threads, size: None }, &work, &mut |part: Vec<
            ScannedRecord,
        >| {
            for scanned in part {
                if failure.is_ok() {
                    failure = each(scanned);
                }
            }
        });
        match read {
            Err(error) if !is_no_archive(&error) => return Err(StoreError::read(number, error)),
            _ => failure?,
        }
    }
    Ok(())
}

/// The end of the silos, where the next record begins. Lost silos count, because their numbers are
/// not reused.
pub fn end_of(files: &SiloFiles) -> Result<Option<SiloPlace>, StoreError> {
    let next = next_number::next_unused(files)?;
    Ok(match files.list()?.into_values().next_back() {
        Some(last) if last.number + 1 >= next => Some(SiloPlace::new(last.number, last.length)?),
        None if next == 0 => None,
        _ => Some(SiloPlace::new(next, 0)?),
    })
}

/// Scans the silos from a place, where a record begins or the silo ends. Returns their end. A
/// missing silo from there on is an error, because its records are unknown.
pub fn scan_from(
    files: &SiloFiles,
    from: Option<SiloPlace>,
    each: &mut dyn FnMut(ScannedRecord) -> Result<(), StoreError>,
) -> Result<Option<SiloPlace>, StoreError> {
    let first = from.map_or(0, SiloPlace::silo);
    let mut end = from;
    let silos = files.list()?;
    let next = next_number::next_unused(files)?.max(silos.keys().next_back().map_or(0, |last| last + 1));
    if let Some(number) = (first..next).find(|number| !silos.contains_key(number)) {
        return Err(SiloError::Missing { number }.into());
    }
    for (number, silo) in silos.into_iter().filter(|(number, _)| *number >= first) {
        let offset = from.filter(|from| from.silo() == number).map_or(0, SiloPlace::offset);
        let source = files.open(number)?;
        if offset < silo.length {
            scan_silo(&*source, offset, each).map_err(|error| match error {
                ScanError::Read(error) => StoreError::read(number, error),
                ScanError::Given(error) => error,
            })?;
        }
        end = Some(SiloPlace::new(number, silo.length.max(offset))?);
    }
    Ok(end)
}

/// Whether a silo is not an archive file any more. Audit reports it.
fn is_no_archive(error: &Error) -> bool {
    matches!(error, Error::NotAnArchive { .. } | Error::Zip | Error::Packed(_))
}

enum ScanError {
    Read(Error),
    Given(StoreError),
}

fn scan_silo(
    source: &dyn ReadAt,
    offset: u64,
    each: &mut dyn FnMut(ScannedRecord) -> Result<(), StoreError>,
) -> Result<(), ScanError> {
    let mut reader = match WarcReader::resume(source, offset, Format::Warc) {
        Ok(reader) => reader,
        Err(error) if is_no_archive(&error) => return Ok(()),
        Err(error) => return Err(ScanError::Read(error)),
    };
    loop {
        let Some(mut record) = reader.next_record().map_err(ScanError::Read)? else { return Ok(()) };
        let scanned = extract(&mut record);
        let scanned = scanned.map_err(|source| failed(&reader, source)).map_err(ScanError::Read)?;
        reader.finish_record().map_err(ScanError::Read)?;
        if let Some(scanned) = scanned {
            each(scanned).map_err(ScanError::Given)?;
        }
    }
}

fn read_part(
    reader: &mut WarcReader<&dyn ReadAt>,
    until: u64,
    progress: &impl Fn(u64),
) -> Result<Vec<ScannedRecord>, Error> {
    let mut found = Vec::new();
    let mut way = ProgressReporter::new(reader.position(), progress);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        let scanned = extract(&mut record);
        found.extend(scanned.map_err(|source| failed(reader, source))?);
        reader.finish_record()?;
        way.reached(reader.position());
    }
    Ok(found)
}

fn failed<S: ReadAt>(reader: &WarcReader<S>, source: io::Error) -> Error {
    Error::Io { offset: reader.position(), source }
}

/// As [`extract`], without the I/O error, which the caller meets when it reads on.
pub(crate) fn extract_lossy<S: ReadAt>(record: &mut Record<'_, S>) -> Option<ScannedRecord> {
    extract(record).ok().flatten()
}

/// The catalog's view of a record; `None` for a damaged one, which audit reports. A disk error is
/// an error.
fn extract<S: ReadAt>(record: &mut Record<'_, S>) -> io::Result<Option<ScannedRecord>> {
    let mut listener = RecordExtractor::new(record.header());
    while listener.wants_more() {
        let bytes = record.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        listener.push(bytes);
        let length = bytes.len();
        record.consume(length);
    }
    Ok(listener.finish(record.header()))
}

/// Extracts the data for a catalog from the block of a record while it is read.
pub(crate) enum RecordExtractor {
    /// A response, of which the head is parsed.
    Head {
        /// The bytes so far.
        parser: HeadCollector,
        /// Whether the head is complete.
        complete: bool,
    },
    /// A fact, which is read whole.
    Fact {
        /// The bytes so far.
        json: Vec<u8>,
    },
    /// A record that a catalog does not need.
    Skip,
}

impl RecordExtractor {
    /// Decides from a header what to extract.
    pub(crate) fn new(header: &RecordHeader) -> Self {
        if is_capture(header) {
            Self::Head { parser: HeadCollector::new(), complete: false }
        } else if is_fact(header) {
            Self::Fact { json: Vec::new() }
        } else {
            Self::Skip
        }
    }

    /// Whether more of the block is needed.
    fn wants_more(&self) -> bool {
        matches!(self, Self::Head { complete: false, .. } | Self::Fact { .. })
    }

    /// Adds the next bytes of the block.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Head { parser, complete } => {
                let mut rest = bytes;
                while !*complete && !rest.is_empty() {
                    let (taken, ended) = parser.push(rest);
                    rest = &rest[taken..];
                    *complete = ended;
                }
            }
            Self::Fact { json } => json.extend_from_slice(bytes),
            Self::Skip => {}
        }
    }

    /// The extracted record.
    pub(crate) fn finish(self, header: &RecordHeader) -> Option<ScannedRecord> {
        match self {
            Self::Head { parser, .. } => {
                receipt_of(header, parser.head().as_ref()).map(Box::new).map(ScannedRecord::Capture)
            }
            Self::Fact { json } => fact(header, json),
            Self::Skip => None,
        }
    }
}

fn fact_type(header: &RecordHeader) -> &[u8] {
    media_type(header.fields.get("Content-Type").unwrap_or_default())
}

/// Whether a record is a fact about history.
pub(crate) fn is_fact(header: &RecordHeader) -> bool {
    header.record_type() == RecordType::Metadata
        && !header.is_segment()
        && fact_type(header).starts_with(FACT_TYPE_PREFIX)
        && header.content_length().is_some_and(|length| length <= MAX_FACT_BYTES)
}

/// The fact, if it is complete.
fn fact(header: &RecordHeader, json: Vec<u8>) -> Option<ScannedRecord> {
    let record = header.record_id().and_then(parse_id)?;
    let about = header.reference("WARC-Refers-To")?;
    (header.content_length() == Some(json.len() as u64)).then(|| ScannedRecord::Fact {
        record,
        about: String::from_utf8_lossy(about).into_owned(),
        media_type: String::from_utf8_lossy(fact_type(header)).into_owned(),
        json,
    })
}
