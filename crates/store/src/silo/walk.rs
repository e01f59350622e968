//! Walking through a silo, record by record.
//!
//! Two ways: one thread from a given byte, which is how an archive catches up after a crash, and all cores over the
//! whole file, which is how rebuild and audit read archives of any size.

use varve_warc::parts::{Parts, read_parts};
use varve_warc::record::Header;
use varve_warc::rule::{Finding, Rule};
use varve_warc::source::ReadAt;
use varve_warc::{Error, Format, Reader, Record};

use crate::index::{Entry, Place, PlaceError};
use crate::record::entries;

/// What a walk came to.
#[derive(Debug)]
pub struct Walked {
    /// Whole records seen.
    pub records: u64,
    /// The end of the last whole record.
    pub good: u64,
    /// What was not as it should be.
    pub findings: Vec<Finding>,
}

/// Walks on one thread from `offset`, where a record must begin, telling `seen` each header and where it lies.
pub fn walk_from<S: ReadAt>(
    source: S,
    offset: u64,
    mut seen: impl FnMut(&Header, u64),
) -> Result<Walked, Error> {
    let size = source.size().map_err(|source| Error::Io { offset, source })?;
    let mut walked = Walked { records: 0, good: offset, findings: Vec::new() };
    if offset >= size {
        return Ok(walked);
    }
    let mut reader = match Reader::resume(source, offset, Format::Warc) {
        Ok(reader) => reader,
        // Bytes that are no archive at all, where a record should begin: nothing good from here on.
        Err(Error::NotAnArchive { .. } | Error::Zip | Error::Packed(_)) => return Ok(walked),
        Err(error) => return Err(error),
    };
    while let Some(record) = reader.next_record()? {
        let (header, offset) = (record.header().clone(), record.offset());
        reader.finish_record()?;
        walked.findings.extend(reader.take_findings());
        walked.good = walked.good.max(reader.last_good_offset());
        // A record whose end is not good is not whole.
        if walked.good > offset {
            walked.records += 1;
            seen(&header, offset);
        }
    }
    walked.findings.extend(reader.take_findings());
    Ok(walked)
}

/// The way through a silo, told now and then: to tell of every record would cost more than to read a small one.
pub(crate) struct Way<'a, P: Fn(u64)> {
    told: u64,
    here: u64,
    progress: &'a P,
}

impl<'a, P: Fn(u64)> Way<'a, P> {
    /// So much is read before it is told.
    const STEP: u64 = 256 << 10;

    pub(crate) fn new(here: u64, progress: &'a P) -> Self {
        Self { told: here, here, progress }
    }

    /// Reading has come to this byte.
    pub(crate) fn go(&mut self, here: u64) {
        self.here = here;
        if here.saturating_sub(self.told) >= Self::STEP {
            self.tell();
        }
    }

    fn tell(&mut self) {
        (self.progress)(self.here.saturating_sub(self.told));
        self.told = self.here;
    }
}

impl<P: Fn(u64)> Drop for Way<'_, P> {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Part of a silo, walked through.
pub struct Stretch<T> {
    /// The index entries of its records.
    pub entries: Vec<Entry>,
    /// What was seen in them, and at which byte.
    pub seen: Vec<(u64, T)>,
    /// The end of the last whole record so far.
    pub good: u64,
}

/// Walks through a whole silo on all cores and gives the index entries of its records and what `look` saw in them, in
/// order of the file. A file that is no archive at all has no records, and a finding says so.
pub fn walk<'a, S: ReadAt + ?Sized, T: Send>(
    source: &'a S,
    number: u32,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    look: &(impl Fn(&mut Record<'_, &'a S>) -> Option<T> + Sync),
    give: &mut impl FnMut(Stretch<T>),
) -> Result<Walked, WalkError> {
    let mut walked = Walked { records: 0, good: 0, findings: Vec::new() };
    let mut failure = None;
    let work = |reader: &mut Reader<&'a S>, until: u64| walk_part(reader, number, until, progress, look);
    let mut take = |part: Result<Part<T>, PlaceError>| match part {
        Ok(Part { records, findings, mut stretch }) => {
            walked.records += records;
            walked.good = walked.good.max(stretch.good);
            walked.findings.extend(findings);
            stretch.good = walked.good;
            give(stretch);
        }
        Err(error) => failure = Some(error),
    };
    let read = read_parts(source, Parts { threads, size: None }, &work, &mut take);
    match read {
        Err(error @ (Error::NotAnArchive { .. } | Error::Zip | Error::Packed(_))) => {
            walked.findings.push(Finding::new(Rule::MemberDamaged, 0, error.to_string()));
        }
        read => read?,
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(walked),
    }
}

/// Why a silo could not be walked through.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// It is larger, or its number greater, than an entry can hold.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

struct Part<T> {
    records: u64,
    findings: Vec<Finding>,
    stretch: Stretch<T>,
}

fn walk_part<S: ReadAt, T>(
    reader: &mut Reader<S>,
    number: u32,
    until: u64,
    progress: &impl Fn(u64),
    look: &impl Fn(&mut Record<'_, S>) -> Option<T>,
) -> Result<Result<Part<T>, PlaceError>, Error> {
    let stretch = Stretch { entries: Vec::new(), seen: Vec::new(), good: 0 };
    let mut part = Part { records: 0, findings: Vec::new(), stretch };
    let mut way = Way::new(reader.position(), progress);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        part.records += 1;
        match Place::new(number, record.offset()) {
            Ok(place) => part.stretch.entries.extend(entries(record.header(), place)),
            Err(error) => return Ok(Err(error)),
        }
        let offset = record.offset();
        part.stretch.seen.extend(look(&mut record).map(|seen| (offset, seen)));
        reader.finish_record()?;
        part.findings.extend(reader.take_findings());
        way.go(reader.position());
    }
    part.findings.extend(reader.take_findings());
    part.stretch.good = reader.last_good_offset();
    Ok(Ok(part))
}
