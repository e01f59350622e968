//! Walks a silo record by record.
//!
//! Recovery walks on one thread from a given offset; rebuild and audit walk the whole file on all
//! cores.

use varve_warc::parallel::{PartOptions, read_parts};
use varve_warc::record::RecordHeader;
use varve_warc::rules::{Rule, WarcFinding};
use varve_warc::{Error, Format, Record, WarcReader};
use varve_wire::ReadAt;

use crate::index::{IndexEntry, PlaceError, SiloPlace};
use crate::record::index_entries;

/// The result of a walk.
#[derive(Debug)]
pub struct SiloWalk {
    /// The number of complete records.
    pub records: u64,
    /// The end of the last complete record.
    pub good: u64,
    /// Damage and violations.
    pub findings: Vec<WarcFinding>,
}

/// Walks on one thread from `offset`, where a record must begin, and passes each header and its
/// offset to `seen`.
pub fn walk_from<S: ReadAt>(
    source: S,
    offset: u64,
    mut seen: impl FnMut(&RecordHeader, u64),
) -> Result<SiloWalk, Error> {
    let size = source.size().map_err(|source| Error::Io { offset, source })?;
    let mut walked = SiloWalk { records: 0, good: offset, findings: Vec::new() };
    if offset >= size {
        return Ok(walked);
    }
    let mut reader = match WarcReader::resume(source, offset, Format::Warc) {
        Ok(reader) => reader,
        // The bytes at `offset` are not a record: nothing valid follows.
        Err(Error::NotAnArchive { .. } | Error::Zip | Error::Packed(_)) => return Ok(walked),
        Err(error) => return Err(error),
    };
    while let Some(record) = reader.next_record()? {
        let (header, offset) = (record.header().clone(), record.offset());
        reader.finish_record()?;
        walked.findings.extend(reader.take_findings());
        walked.good = walked.good.max(reader.last_good_offset());
        // A record without a valid end is not complete.
        if walked.good > offset {
            walked.records += 1;
            seen(&header, offset);
        }
    }
    walked.findings.extend(reader.take_findings());
    Ok(walked)
}

/// Reports progress through a silo at intervals: a report per record would cost more than reading a
/// small one.
pub(crate) struct ProgressReporter<'a, P: Fn(u64)> {
    reported: u64,
    here: u64,
    progress: &'a P,
}

impl<'a, P: Fn(u64)> ProgressReporter<'a, P> {
    /// Bytes between two reports.
    const REPORT_INTERVAL_BYTES: u64 = 256 << 10;

    pub(crate) fn new(here: u64, progress: &'a P) -> Self {
        Self { reported: here, here, progress }
    }

    /// Records that reading has reached this offset.
    pub(crate) fn reached(&mut self, here: u64) {
        self.here = here;
        if here.saturating_sub(self.reported) >= Self::REPORT_INTERVAL_BYTES {
            self.report();
        }
    }

    fn report(&mut self) {
        (self.progress)(self.here.saturating_sub(self.reported));
        self.reported = self.here;
    }
}

impl<P: Fn(u64)> Drop for ProgressReporter<'_, P> {
    fn drop(&mut self) {
        self.report();
    }
}

/// The records of a walked part of a silo.
pub struct WalkedRecords<T> {
    /// The index entries of its records.
    pub entries: Vec<IndexEntry>,
    /// The values that the callback returned, each with its record's offset.
    pub seen: Vec<(u64, T)>,
    /// The end of the last complete record so far.
    pub good: u64,
}

/// Walks a whole silo on all cores. Passes the index entries of its records and the values that
/// `look` returned to `give`, in file order. A file that is not an archive yields no records and
/// one finding.
pub fn walk<'a, S: ReadAt + ?Sized, T: Send>(
    source: &'a S,
    number: u32,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    look: &(impl Fn(&mut Record<'_, &'a S>) -> Option<T> + Sync),
    give: &mut impl FnMut(WalkedRecords<T>),
) -> Result<SiloWalk, WalkError> {
    let mut walked = SiloWalk { records: 0, good: 0, findings: Vec::new() };
    let mut failure = None;
    let work = |reader: &mut WarcReader<&'a S>, until: u64| walk_part(reader, number, until, progress, look);
    let mut take = |part: Result<WalkedPart<T>, PlaceError>| match part {
        Ok(WalkedPart { records, findings, mut stretch }) => {
            walked.records += records;
            walked.good = walked.good.max(stretch.good);
            walked.findings.extend(findings);
            stretch.good = walked.good;
            give(stretch);
        }
        Err(error) => failure = Some(error),
    };
    let read = read_parts(source, PartOptions { threads, size: None }, &work, &mut take);
    match read {
        Err(error @ (Error::NotAnArchive { .. } | Error::Zip | Error::Packed(_))) => {
            walked.findings.push(WarcFinding::new(Rule::MemberDamaged, 0, error.to_string()));
        }
        read => read?,
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(walked),
    }
}

/// Why a silo could not be walked.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// Its length or number exceeds what an index entry can hold.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

struct WalkedPart<T> {
    records: u64,
    findings: Vec<WarcFinding>,
    stretch: WalkedRecords<T>,
}

fn walk_part<S: ReadAt, T>(
    reader: &mut WarcReader<S>,
    number: u32,
    until: u64,
    progress: &impl Fn(u64),
    look: &impl Fn(&mut Record<'_, S>) -> Option<T>,
) -> Result<Result<WalkedPart<T>, PlaceError>, Error> {
    let stretch = WalkedRecords { entries: Vec::new(), seen: Vec::new(), good: 0 };
    let mut part = WalkedPart { records: 0, findings: Vec::new(), stretch };
    let mut way = ProgressReporter::new(reader.position(), progress);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        part.records += 1;
        match SiloPlace::new(number, record.offset()) {
            Ok(place) => part.stretch.entries.extend(index_entries(record.header(), place)),
            Err(error) => return Ok(Err(error)),
        }
        let offset = record.offset();
        part.stretch.seen.extend(look(&mut record).map(|seen| (offset, seen)));
        reader.finish_record()?;
        part.findings.extend(reader.take_findings());
        way.reached(reader.position());
    }
    part.findings.extend(reader.take_findings());
    part.stretch.good = reader.last_good_offset();
    Ok(Ok(part))
}
