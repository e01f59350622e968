//! Walking through a silo, record by record.
//!
//! Two ways: one thread from a given byte, which is how an archive catches up after a crash, and all cores over the
//! whole file, which is how rebuild and audit read archives of any size.

use varve_warc::parts::{Parts, read_parts};
use varve_warc::record::Header;
use varve_warc::rule::{Finding, Rule};
use varve_warc::source::ReadAt;
use varve_warc::{Error, Format, Reader};

use super::entries;
use crate::index::{Entry, Place, PlaceError};

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

/// Walks through a whole silo on all cores and gives the index entries of its records, in order of the file, with the
/// end of the last whole record so far. A file that is no archive at all has no records, and a finding says so.
pub fn walk<S: ReadAt + ?Sized>(
    source: &S,
    number: u32,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
    give: &mut impl FnMut(Vec<Entry>, u64),
) -> Result<Walked, WalkError> {
    let mut walked = Walked { records: 0, good: 0, findings: Vec::new() };
    let mut failure = None;
    let work = |reader: &mut Reader<&S>, until: u64| walk_part(reader, number, until, progress);
    let read = read_parts(source, Parts { threads, size: None }, &work, &mut |part: Result<
        Part,
        PlaceError,
    >| match part {
        Ok(part) => {
            walked.records += part.records;
            walked.good = walked.good.max(part.good);
            walked.findings.extend(part.findings);
            give(part.entries, walked.good);
        }
        Err(error) => failure = Some(error),
    });
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

struct Part {
    records: u64,
    good: u64,
    entries: Vec<Entry>,
    findings: Vec<Finding>,
}

fn walk_part<S: ReadAt>(
    reader: &mut Reader<S>,
    number: u32,
    until: u64,
    progress: &impl Fn(u64),
) -> Result<Result<Part, PlaceError>, Error> {
    let mut part = Part { records: 0, good: 0, entries: Vec::new(), findings: Vec::new() };
    let mut done = reader.position();
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(record) = reader.next_record()? else { break };
        part.records += 1;
        match Place::new(number, record.offset()) {
            Ok(place) => part.entries.extend(entries(record.header(), place)),
            Err(error) => return Ok(Err(error)),
        }
        reader.finish_record()?;
        part.findings.extend(reader.take_findings());
        let position = reader.position();
        progress(position.saturating_sub(done));
        done = position;
    }
    part.findings.extend(reader.take_findings());
    part.good = reader.last_good_offset();
    Ok(Ok(part))
}
