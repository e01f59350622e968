//! Reading receipts and facts from silos, in the order in which they were written.
//!
//! Used over everything, on all cores, and by whoever opens an archive for writing over what came after the last thing
//! that the catalog knows; rebuild and audit, which read every record anyway, listen to each. Blocks are passed over
//! except for the head of an answer and the JSON of a fact.

use std::io::{self, BufRead};

use varve_core::RecordId;
use varve_core::receipt::Receipt;
use varve_warc::http::HeadParser;
use varve_warc::parts::{Parts, read_parts};
use varve_warc::record::{Header, RecordType, media_type};
use varve_warc::source::ReadAt;
use varve_warc::{Error, Format, Reader, Record};

use super::{is_capture, receipt_of};
use crate::error::StoreError;
use crate::index::Place;
use crate::record::parse_id;
use crate::silo::{SiloError, SiloFiles, Way, numbers};

/// The JSON of a fact is no longer than this.
const LONGEST_FACT: u64 = 1 << 30;
/// The media types of facts begin with this.
const FACT: &[u8] = b"application/vnd.varve.";

/// Something that a catalog remembers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scanned {
    /// A capture.
    Capture(Box<Receipt>),
    /// A fact: JSON about history.
    Fact {
        /// The record.
        record: RecordId,
        /// What it is about.
        about: String,
        /// Its media type.
        media_type: String,
        /// Its content.
        json: Vec<u8>,
    },
}

/// Gives all that the silos say, in order. `progress` is told of bytes that were read.
pub fn scan(
    files: &SiloFiles,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    each: &mut dyn FnMut(Scanned) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for number in files.list()?.into_keys() {
        let source = files.open(number)?;
        let mut failure = Ok(());
        let work = |reader: &mut Reader<&dyn ReadAt>, until: u64| read_part(reader, until, progress);
        let read = read_parts(&*source, Parts { threads, size: None }, &work, &mut |part: Vec<Scanned>| {
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

/// Where the silos end: where the next record will begin. Those that are lost count, as their numbers are not used again.
pub fn end_of(files: &SiloFiles) -> Result<Option<Place>, StoreError> {
    let next = numbers::next_unused(files)?;
    Ok(match files.list()?.into_values().next_back() {
        Some(last) if last.number + 1 >= next => Some(Place::new(last.number, last.length)?),
        None if next == 0 => None,
        _ => Some(Place::new(next, 0)?),
    })
}

/// Gives what the silos say from a place on, where a record begins or the silo ends. Returns the place where they end. A silo
/// that is missing from there on is an error: nobody knows what it says.
pub fn scan_from(
    files: &SiloFiles,
    from: Option<Place>,
    each: &mut dyn FnMut(Scanned) -> Result<(), StoreError>,
) -> Result<Option<Place>, StoreError> {
    let first = from.map_or(0, Place::silo);
    let mut end = from;
    let silos = files.list()?;
    let next = numbers::next_unused(files)?.max(silos.keys().next_back().map_or(0, |last| last + 1));
    if let Some(number) = (first..next).find(|number| !silos.contains_key(number)) {
        return Err(SiloError::Missing { number }.into());
    }
    for (number, silo) in silos.into_iter().filter(|(number, _)| *number >= first) {
        let offset = from.filter(|from| from.silo() == number).map_or(0, Place::offset);
        let source = files.open(number)?;
        if offset < silo.length {
            scan_silo(&*source, offset, each).map_err(|error| match error {
                ScanError::Read(error) => StoreError::read(number, error),
                ScanError::Given(error) => error,
            })?;
        }
        end = Some(Place::new(number, silo.length.max(offset))?);
    }
    Ok(end)
}

/// A silo that is none any more says nothing; audit names it.
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
    each: &mut dyn FnMut(Scanned) -> Result<(), StoreError>,
) -> Result<(), ScanError> {
    let mut reader = match Reader::resume(source, offset, Format::Warc) {
        Ok(reader) => reader,
        Err(error) if is_no_archive(&error) => return Ok(()),
        Err(error) => return Err(ScanError::Read(error)),
    };
    loop {
        let Some(mut record) = reader.next_record().map_err(ScanError::Read)? else { return Ok(()) };
        let scanned = listen_to(&mut record);
        let scanned = scanned.map_err(|source| failed(&reader, source)).map_err(ScanError::Read)?;
        reader.finish_record().map_err(ScanError::Read)?;
        if let Some(scanned) = scanned {
            each(scanned).map_err(ScanError::Given)?;
        }
    }
}

fn read_part(
    reader: &mut Reader<&dyn ReadAt>,
    until: u64,
    progress: &impl Fn(u64),
) -> Result<Vec<Scanned>, Error> {
    let mut found = Vec::new();
    let mut way = Way::new(reader.position(), progress);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        let scanned = listen_to(&mut record);
        found.extend(scanned.map_err(|source| failed(reader, source))?);
        reader.finish_record()?;
        way.go(reader.position());
    }
    Ok(found)
}

fn failed<S: ReadAt>(reader: &Reader<S>, source: io::Error) -> Error {
    Error::Io { offset: reader.position(), source }
}

/// As [`listen_to`], where whoever reads on will find that the disk failed.
pub(crate) fn look_at<S: ReadAt>(record: &mut Record<'_, S>) -> Option<Scanned> {
    listen_to(record).ok().flatten()
}

/// What a record says to a catalog. A record that is damaged says nothing: audit names it. That the disk failed is no damage.
fn listen_to<S: ReadAt>(record: &mut Record<'_, S>) -> io::Result<Option<Scanned>> {
    let mut listener = Listener::new(record.header());
    while listener.is_listening() {
        let bytes = record.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        listener.hear(bytes);
        let length = bytes.len();
        record.consume(length);
    }
    Ok(listener.said(record.header()))
}

/// Listens to the block of a record, as it is read, for what a catalog remembers.
pub(crate) enum Listener {
    /// An answer, whose head matters.
    Head {
        /// What was heard of it.
        parser: HeadParser,
        /// Whether that is all of it.
        complete: bool,
    },
    /// A fact, which matters whole.
    Fact {
        /// What was heard of it.
        json: Vec<u8>,
    },
    /// Nothing that a catalog remembers.
    Deaf,
}

impl Listener {
    /// Knows from a header what to listen for.
    pub(crate) fn new(header: &Header) -> Self {
        if is_capture(header) {
            Self::Head { parser: HeadParser::new(), complete: false }
        } else if is_fact(header) {
            Self::Fact { json: Vec::new() }
        } else {
            Self::Deaf
        }
    }

    /// Whether more of the block matters.
    fn is_listening(&self) -> bool {
        matches!(self, Self::Head { complete: false, .. } | Self::Fact { .. })
    }

    /// Takes in the next bytes of the block.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
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
            Self::Deaf => {}
        }
    }

    /// What the record says.
    pub(crate) fn said(self, header: &Header) -> Option<Scanned> {
        match self {
            Self::Head { parser, .. } => {
                receipt_of(header, parser.head().as_ref()).map(Box::new).map(Scanned::Capture)
            }
            Self::Fact { json } => fact(header, json),
            Self::Deaf => None,
        }
    }
}

fn fact_type(header: &Header) -> &[u8] {
    media_type(header.fields.get("Content-Type").unwrap_or_default())
}

/// Whether a record says something about history.
pub(crate) fn is_fact(header: &Header) -> bool {
    header.record_type() == RecordType::Metadata
        && !header.is_segment()
        && fact_type(header).starts_with(FACT)
        && header.content_length().is_some_and(|length| length <= LONGEST_FACT)
}

/// A fact that was heard to its end: half of one would be another.
fn fact(header: &Header, json: Vec<u8>) -> Option<Scanned> {
    let record = header.record_id().and_then(parse_id)?;
    let about = header.reference("WARC-Refers-To")?;
    (header.content_length() == Some(json.len() as u64)).then(|| Scanned::Fact {
        record: RecordId::new(record),
        about: String::from_utf8_lossy(about).into_owned(),
        media_type: String::from_utf8_lossy(fact_type(header)).into_owned(),
        json,
    })
}
