//! The quick audit: checks structure and index without reading blocks.
//!
//! The index states where every record begins, and so where the previous one must end. The header
//! of each record is unpacked: the record must match the entries for its place, its id must match
//! its header, and the index must have all of its ids. Its block is not unpacked, but its packed
//! bytes must end where the next record begins. Where any of this fails, and before the first
//! record and after the last, the range up to the next known record is walked record by record.
//!
//! Not detected: a change in a block or a checksum, and an unindexed record right after one of more
//! than a megabyte when both have exactly the same length.
//!
//! Entries are sorted by place first. Memory does not grow with the archive.

use std::iter::Peekable;

use varve_warc::rules::WarcFinding;
use varve_warc::{Encoding, Error, Extent, Format, WarcReader};
use varve_wire::ReadAt;

use super::audit_silo::{AuditedPart, audit_finding, drop_consequences};
use super::check_segments::SegmentFacts;
use super::compare_index::{ScratchFolder, missing_finding, report_stray, stray_finding};
use super::{AuditFinding, AuditKind, AuditRun, SegmentAudit};
use crate::error::StoreError;
use crate::index::{EntriesByPlace, IndexEntry, IndexError, IndexPrefix, PrefixRange, SiloPlace};
use crate::reader::id_matches_header;
use crate::record::index_prefixes;
use crate::silo::{SiloError, SiloFile, name};

/// Index entries that all threads process together.
const ENTRIES_PER_PASS: usize = 1 << 16;

/// An indexed record: its offset and one prefix of its ids.
type IndexedPlace = (u64, IndexPrefix);

/// Audits all selected silos.
pub(super) fn audit_quickly(
    run: &mut AuditRun<'_>,
    silos: &[SiloFile],
    segments: &mut SegmentAudit,
    scratch: &ScratchFolder,
    progress: &(impl Fn(u64) + Sync),
) -> Result<(), StoreError> {
    let mut order = EntriesByPlace::new(scratch.disk(), scratch.path(), run.options.index.sort_limit);
    let store = run.store;
    let left_out: Vec<u32> =
        silos.iter().filter(|silo| !(run.options.chosen)(silo)).map(|silo| silo.number).collect();
    for entry in store.index().entries(PrefixRange::ALL)? {
        let entry = entry?;
        if left_out.binary_search(&entry.place.silo()).is_err() {
            order.push(entry)?;
        }
    }
    let mut entries = order.entries().peekable();
    for silo in silos.iter().filter(|silo| left_out.binary_search(&silo.number).is_err()) {
        while let Some(entry) = next_before(&mut entries, silo.number)? {
            report_stray(run, Some(entry));
        }
        audit_silo_quickly(run, silo, &mut entries, segments, progress)?;
    }
    while let Some(entry) = entries.next().transpose()? {
        report_stray(run, Some(entry));
    }
    Ok(())
}

/// The next entry, if its silo is before `silo`.
fn next_before<I>(entries: &mut Peekable<I>, silo: u32) -> Result<Option<IndexEntry>, IndexError>
where
    I: Iterator<Item = Result<IndexEntry, IndexError>>,
{
    let is_before = |entry: &Result<IndexEntry, _>| {
        entry.as_ref().map_or(true, |entry: &IndexEntry| entry.place.silo() < silo)
    };
    entries.next_if(is_before).transpose()
}

fn audit_silo_quickly<I>(
    run: &mut AuditRun<'_>,
    silo: &SiloFile,
    entries: &mut Peekable<I>,
    segments: &mut SegmentAudit,
    progress: &(impl Fn(u64) + Sync),
) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<IndexEntry, IndexError>>,
{
    let source = match run.store.silo(silo.number) {
        Ok(source) => source,
        // It vanished after the listing.
        Err(SiloError::Missing { .. }) => {
            while let Some(entry) = next_before(entries, silo.number + 1)? {
                report_stray(run, Some(entry));
            }
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let look = QuickSiloAudit { source: &*source, silo };
    let (mut before, mut from) = (None, 0);
    loop {
        let mut known: Vec<IndexedPlace> = Vec::new();
        while let Some(entry) = next_before(entries, silo.number + 1)? {
            known.push((entry.place.offset(), entry.prefix));
            // All entries of a place stay together.
            let next = entries.peek().and_then(|next| next.as_ref().ok()).map(|next| next.place);
            if known.len() >= ENTRIES_PER_PASS && next != Some(entry.place) {
                break;
            }
        }
        let next = entries.peek().and_then(|next| next.as_ref().ok()).map(|next| next.place);
        let until = next.filter(|next| next.silo() == silo.number).map_or(silo.length, SiloPlace::offset);
        let stretch = IndexedRange { before, from, known: &known, until };
        for part in look.with_threads(stretch, run.options.threads)? {
            run.done.records += part.records;
            part.findings.into_iter().for_each(|finding| run.report(finding));
            segments.extend(part.segments);
        }
        progress(until.saturating_sub(from));
        before = known.last().map(|(offset, _)| *offset);
        from = until;
        if next.is_none_or(|next| next.silo() != silo.number) {
            return Ok(());
        }
    }
}

/// A range of a silo between two indexed records, or its beginning or end.
struct IndexedRange<'a> {
    /// The offset of the last indexed record before it.
    before: Option<u64>,
    from: u64,
    known: &'a [IndexedPlace],
    until: u64,
}

impl IndexedRange<'_> {
    /// Splits it after `count` entries, or a few more: all entries of a place stay together.
    fn divide(self, count: usize) -> (Self, Self) {
        let last = self.known[..count].last().map_or(0, |(offset, _)| *offset);
        let (mine, others) = self.known.split_at(self.known.partition_point(|(offset, _)| *offset <= last));
        let cut = others.first().map_or(self.until, |(offset, _)| *offset);
        let one = Self { known: mine, until: cut, ..self };
        (one, Self { before: Some(last), from: cut, known: others, until: self.until })
    }
}

/// One silo.
struct QuickSiloAudit<'a> {
    source: &'a dyn ReadAt,
    silo: &'a SiloFile,
}

impl<'a> QuickSiloAudit<'a> {
    /// Audits a range of the silo on several threads. Returns their results in order.
    fn with_threads(
        &self,
        stretch: IndexedRange<'_>,
        threads: usize,
    ) -> Result<Vec<AuditedPart>, StoreError> {
        let share = stretch.known.len().div_ceil(threads.max(1)).max(1);
        let mut shares = Vec::new();
        let mut rest = stretch;
        while rest.known.len() > share {
            let (mine, others) = rest.divide(share);
            shares.push(mine);
            rest = others;
        }
        shares.push(rest);
        std::thread::scope(|scope| {
            let looking: Vec<_> =
                shares.into_iter().map(|share| scope.spawn(move || self.stretch(share))).collect();
            looking
                .into_iter()
                .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<_, _>>()
                .map_err(|error| StoreError::read(self.silo.number, error))
        })
    }

    fn stretch(
        &self,
        IndexedRange { before, from, known, until }: IndexedRange<'_>,
    ) -> Result<AuditedPart, Error> {
        let mut part = AuditedPart::default();
        let mut reader = WarcReader::visiting(self.source)?;
        let mut rest = known;
        let first = known.first().map_or(until, |(offset, _)| *offset);
        let mut reached = first;
        if from < first {
            reached = self.walk(from, &[], first, &mut part)?;
        } else if let Some(before) = before.filter(|_| reader.visit(first, Extent::Header).is_err()) {
            // No record begins here: walk from the previous record to see whether one is lost.
            reached = self.walk(before, &[], first, &mut AuditedPart::default())?;
        }
        while let Some((offset, _)) = rest.first() {
            let (here, others) = rest.split_at(rest.partition_point(|(other, _)| other <= offset));
            let end = others.first().map_or(until, |(offset, _)| *offset);
            if *offset < reached {
                // Another record covers this offset.
                self.add_strays(*offset, here, &mut part);
            } else if !self.fits(&mut reader, *offset, here, end, &mut part)? {
                reached = self.walk(*offset, here, end, &mut part)?;
            }
            rest = others;
        }
        Ok(part)
    }

    /// Whether the record at an offset is the indexed one, has all its ids in the index and ends at
    /// `end`. Adds it to `part` if so.
    fn fits(
        &self,
        reader: &mut WarcReader<&'a dyn ReadAt>,
        offset: u64,
        known: &[IndexedPlace],
        end: u64,
        part: &mut AuditedPart,
    ) -> Result<bool, Error> {
        match reader.visit(offset, Extent::Header) {
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(_) => return Ok(false),
            Ok(()) => {}
        }
        let Some(record) = reader.next_record()? else { return Ok(false) };
        let odd_member = self.silo.ending == name::GZIP_EXTENSION && !record.has_our_gzip_header();
        let header = record.header();
        let segment =
            SiloPlace::new(self.silo.number, offset).ok().and_then(|place| SegmentFacts::of(header, place));
        let is_named = RecordPrefixes::of(header).is_known_as(known);
        if odd_member || !is_named || !id_matches_header(header) || !reader.may_end_at(end)? {
            return Ok(false);
        }
        if !reader.take_findings().is_empty() {
            return Ok(false);
        }
        part.records += 1;
        part.segments.extend(segment);
        Ok(true)
    }

    /// Walks the records between two offsets and adds findings. Returns the offset of the first
    /// record at or after `until`, if known.
    fn walk(
        &self,
        from: u64,
        known: &[IndexedPlace],
        until: u64,
        part: &mut AuditedPart,
    ) -> Result<u64, Error> {
        let found = self.first_record(from, until)?;
        let begins = found.as_ref().and_then(WarcReader::next_offset);
        if !known.is_empty() && begins != Some(from) {
            let message = "no record begins here, and one was known to";
            part.findings.push(AuditFinding::new(AuditKind::Damaged, message).at(self.silo.number, from));
            self.add_strays(from, known, part);
        }
        let Some(mut reader) = found else { return Ok(until) };
        while reader.next_offset().is_none_or(|offset| offset < until) {
            let Some(record) = reader.next_record()? else { break };
            let offset = record.offset();
            if offset >= until {
                self.add_findings(reader.take_findings(), from, until, None, part);
                return Ok(offset);
            }
            let here = if offset == from { known } else { &[] };
            let odd_member = self.silo.ending == name::GZIP_EXTENSION && !record.has_our_gzip_header();
            reader.finish_record()?;
            let findings = reader.take_findings();
            self.note(&reader, offset, here, odd_member, part);
            self.add_findings(findings, offset, until, reader.header().record_id(), part);
        }
        self.add_findings(reader.take_findings(), from, until, None, part);
        Ok(reader.next_offset().unwrap_or(until))
    }

    /// A reader at the record at `from`, or at the first record found between there and `until`.
    fn first_record(&self, from: u64, until: u64) -> Result<Option<WarcReader<&'a dyn ReadAt>>, Error> {
        let encoding = if self.silo.ending == name::GZIP_EXTENSION { Encoding::Gzip } else { Encoding::Zstd };
        match WarcReader::at(self.source, from) {
            Ok(_) => WarcReader::resume(self.source, from, Format::Warc).map(Some),
            Err(error @ Error::Io { .. }) => Err(error),
            Err(_) => WarcReader::find(self.source, encoding, Format::Warc, from, until),
        }
    }

    /// Compares a walked record with the index entries of its place.
    fn note(
        &self,
        reader: &WarcReader<&'a dyn ReadAt>,
        offset: u64,
        known: &[IndexedPlace],
        odd_member: bool,
        part: &mut AuditedPart,
    ) {
        let (number, header) = (self.silo.number, reader.header());
        let id = header.record_id();
        let Ok(place) = SiloPlace::new(number, offset) else { return };
        let damaged =
            |message: &str| AuditFinding::new(AuditKind::Damaged, message).at(number, offset).of(id);
        part.records += 1;
        part.segments.extend(SegmentFacts::of(header, place));
        let named = RecordPrefixes::of(header);
        if !named.are_all_in(known) {
            part.findings.push(missing_finding(place, id));
        }
        let others: Vec<IndexedPlace> =
            known.iter().filter(|(_, prefix)| !named.has(*prefix)).copied().collect();
        self.add_strays(offset, &others, part);
        if odd_member {
            part.findings.push(damaged("the header of a gzip member is not as varve writes it"));
        }
        if header.block_digest().is_some() && !id_matches_header(header) {
            let message = "the id of this record does not follow from its header";
            part.findings.push(AuditFinding::new(AuditKind::Id, message).at(number, offset).of(id));
        }
    }

    /// Adds a finding for each entry without a matching record.
    fn add_strays(&self, offset: u64, known: &[IndexedPlace], part: &mut AuditedPart) {
        let Ok(place) = SiloPlace::new(self.silo.number, offset) else { return };
        part.findings
            .extend(known.iter().map(|(_, prefix)| stray_finding(IndexEntry { prefix: *prefix, place })));
    }

    /// Adds the findings before `until`. Later ones belong to the next range.
    fn add_findings(
        &self,
        mut findings: Vec<WarcFinding>,
        offset: u64,
        until: u64,
        id: Option<&[u8]>,
        part: &mut AuditedPart,
    ) {
        drop_consequences(&mut findings, offset);
        for finding in findings.iter().filter(|finding| finding.offset < until) {
            let id = if finding.offset == offset { id } else { None };
            part.findings.extend(audit_finding(finding, self.silo, id));
        }
    }
}

/// The index prefixes of a record.
struct RecordPrefixes(Vec<IndexPrefix>);

impl RecordPrefixes {
    fn of(header: &varve_warc::record::RecordHeader) -> Self {
        Self(index_prefixes(header).collect())
    }

    fn has(&self, prefix: IndexPrefix) -> bool {
        self.0.contains(&prefix)
    }

    fn are_all_in(&self, known: &[IndexedPlace]) -> bool {
        self.0.iter().all(|prefix| known.iter().any(|(_, other)| other == prefix))
    }

    /// Whether the index has exactly these prefixes for the record.
    fn is_known_as(&self, known: &[IndexedPlace]) -> bool {
        self.are_all_in(known) && known.iter().all(|(_, prefix)| self.has(*prefix))
    }
}
