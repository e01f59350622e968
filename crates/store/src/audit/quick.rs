//! The quick look: structure and index, without reading what the records hold.
//!
//! The index says where every record begins, and so where the one before it must end. Of each record the header is
//! unpacked: it must be a record that the entries for this place lead to, its id must follow from it, and the index must
//! know all of its ids. Its block is not unpacked; but its packed bytes must end where the next record begins, by what
//! they say of their own length. Where anything speaks against that, and before the first record and behind the last,
//! the stretch up to the next known record is walked through record by record, and what is there is told.
//!
//! What this cannot see: a change in a block, or of a checksum; and a record that the index does not know, right behind
//! one of more than a megabyte, when both have the same length to the byte.
//!
//! Entries come in the order of their ids, so they are sorted by place first. Memory does not grow with the archive.

use std::iter::Peekable;

use varve_warc::rule::Finding;
use varve_warc::source::ReadAt;
use varve_warc::{Encoding, Error, Extent, Format, Reader};

use super::index::{Scratch, missing_at, stray, stray_at};
use super::segments::Segment;
use super::silo::{leave_causes, translated};
use super::{AuditFinding, AuditKind, Run, Segments};
use crate::error::StoreError;
use crate::index::{ByPlace, Entry, IndexError, Place, Prefix, PrefixRange};
use crate::reader::follows;
use crate::record::prefixes;
use crate::silo::{SiloError, SiloFile, name};

/// So many entries are looked at together, by all threads.
const TOGETHER: usize = 1 << 16;

/// A record that the index knows: where, and how its ids begin.
type Known = (u64, Prefix);

/// Looks at all chosen silos.
pub(super) fn look(
    run: &mut Run<'_>,
    silos: &[SiloFile],
    segments: &mut Segments,
    scratch: &Scratch,
    progress: &(impl Fn(u64) + Sync),
) -> Result<(), StoreError> {
    let mut order = ByPlace::new(scratch.disk(), scratch.path(), run.options.index.sort_limit);
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
            stray(run, Some(entry));
        }
        look_at_silo(run, silo, &mut entries, segments, progress)?;
    }
    while let Some(entry) = entries.next().transpose()? {
        stray(run, Some(entry));
    }
    Ok(())
}

type Entries<I> = Peekable<I>;

/// The next entry, if it leads to a silo before that one.
fn next_before<I>(entries: &mut Entries<I>, silo: u32) -> Result<Option<Entry>, IndexError>
where
    I: Iterator<Item = Result<Entry, IndexError>>,
{
    let is_before =
        |entry: &Result<Entry, _>| entry.as_ref().map_or(true, |entry: &Entry| entry.place.silo() < silo);
    entries.next_if(is_before).transpose()
}

fn look_at_silo<I>(
    run: &mut Run<'_>,
    silo: &SiloFile,
    entries: &mut Entries<I>,
    segments: &mut Segments,
    progress: &(impl Fn(u64) + Sync),
) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<Entry, IndexError>>,
{
    let source = match run.store.silo(silo.number) {
        Ok(source) => source,
        // It vanished since it was listed.
        Err(SiloError::Missing { .. }) => {
            while let Some(entry) = next_before(entries, silo.number + 1)? {
                stray(run, Some(entry));
            }
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let look = Look { source: &*source, silo };
    let (mut before, mut from) = (None, 0);
    loop {
        let mut known: Vec<Known> = Vec::new();
        while let Some(entry) = next_before(entries, silo.number + 1)? {
            known.push((entry.place.offset(), entry.prefix));
            // All entries of a place stay together.
            let next = entries.peek().and_then(|next| next.as_ref().ok()).map(|next| next.place);
            if known.len() >= TOGETHER && next != Some(entry.place) {
                break;
            }
        }
        let next = entries.peek().and_then(|next| next.as_ref().ok()).map(|next| next.place);
        let until = next.filter(|next| next.silo() == silo.number).map_or(silo.length, Place::offset);
        let stretch = Stretch { before, from, known: &known, until };
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

/// What a part of a silo came to.
#[derive(Default)]
struct Part {
    records: u64,
    findings: Vec<AuditFinding>,
    segments: Vec<Segment>,
}

/// A stretch of a silo, from where a record is known to begin, or the beginning, to where another is, or the end.
struct Stretch<'a> {
    /// Where the last record before it is known to begin.
    before: Option<u64>,
    from: u64,
    known: &'a [Known],
    until: u64,
}

impl Stretch<'_> {
    /// Cuts it in two behind so many entries, or a few more: all entries of a place stay together.
    fn divide(self, count: usize) -> (Self, Self) {
        let last = self.known[..count].last().map_or(0, |(offset, _)| *offset);
        let (mine, others) = self.known.split_at(self.known.partition_point(|(offset, _)| *offset <= last));
        let cut = others.first().map_or(self.until, |(offset, _)| *offset);
        let one = Self { known: mine, until: cut, ..self };
        (one, Self { before: Some(last), from: cut, known: others, until: self.until })
    }
}

/// One silo.
struct Look<'a> {
    source: &'a dyn ReadAt,
    silo: &'a SiloFile,
}

impl<'a> Look<'a> {
    /// Looks at a stretch of the silo on several threads: what each came to, in order.
    fn with_threads(&self, stretch: Stretch<'_>, threads: usize) -> Result<Vec<Part>, StoreError> {
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

    fn stretch(&self, Stretch { before, from, known, until }: Stretch<'_>) -> Result<Part, Error> {
        let mut part = Part::default();
        let mut reader = Reader::visiting(self.source)?;
        let mut rest = known;
        let first = known.first().map_or(until, |(offset, _)| *offset);
        let mut reached = first;
        if from < first {
            reached = self.walk(from, &[], first, &mut part)?;
        } else if let Some(before) = before.filter(|_| reader.visit(first, Extent::Header).is_err()) {
            // Nothing begins here: is it a record that is lost, or did nothing ever begin here?
            reached = self.walk(before, &[], first, &mut Part::default())?;
        }
        while let Some((offset, _)) = rest.first() {
            let (here, others) = rest.split_at(rest.partition_point(|(other, _)| other <= offset));
            let end = others.first().map_or(until, |(offset, _)| *offset);
            if *offset < reached {
                // Another record lies here.
                self.strays(*offset, here, &mut part);
            } else if !self.fits(&mut reader, *offset, here, end, &mut part)? {
                reached = self.walk(*offset, here, end, &mut part)?;
            }
            rest = others;
        }
        Ok(part)
    }

    /// Whether the record that should be at a place is, is known by all of its ids, and ends where it should; notes it if so.
    fn fits(
        &self,
        reader: &mut Reader<&'a dyn ReadAt>,
        offset: u64,
        known: &[Known],
        end: u64,
        part: &mut Part,
    ) -> Result<bool, Error> {
        match reader.visit(offset, Extent::Header) {
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(_) => return Ok(false),
            Ok(()) => {}
        }
        let Some(record) = reader.next_record()? else { return Ok(false) };
        let odd_member = self.silo.ending == name::GZIP && !record.has_our_gzip_header();
        let header = record.header();
        let segment = Place::new(self.silo.number, offset).ok().and_then(|place| Segment::of(header, place));
        let is_named = Named::of(header).is_known_as(known);
        if odd_member || !is_named || !follows(header) || !reader.may_end_at(end)? {
            return Ok(false);
        }
        if !reader.take_findings().is_empty() {
            return Ok(false);
        }
        part.records += 1;
        part.segments.extend(segment);
        Ok(true)
    }

    /// Walks through what is between two places, and tells what is there. Where the next record begins that does not begin
    /// before `until`, as far as that is known.
    fn walk(&self, from: u64, known: &[Known], until: u64, part: &mut Part) -> Result<u64, Error> {
        let found = self.first_record(from, until)?;
        let begins = found.as_ref().and_then(Reader::next_offset);
        if !known.is_empty() && begins != Some(from) {
            let message = "no record begins here, and one was known to";
            part.findings.push(AuditFinding::new(AuditKind::Damaged, message).at(self.silo.number, from));
            self.strays(from, known, part);
        }
        let Some(mut reader) = found else { return Ok(until) };
        while reader.next_offset().is_none_or(|offset| offset < until) {
            let Some(record) = reader.next_record()? else { break };
            let offset = record.offset();
            if offset >= until {
                self.tell(reader.take_findings(), from, until, None, part);
                return Ok(offset);
            }
            let here = if offset == from { known } else { &[] };
            let odd_member = self.silo.ending == name::GZIP && !record.has_our_gzip_header();
            reader.finish_record()?;
            let findings = reader.take_findings();
            self.note(&reader, offset, here, odd_member, part);
            self.tell(findings, offset, until, reader.header().record_id(), part);
        }
        self.tell(reader.take_findings(), from, until, None, part);
        Ok(reader.next_offset().unwrap_or(until))
    }

    /// A reader at the record that begins at `from`, or else at the first that is found behind it and before `until`.
    fn first_record(&self, from: u64, until: u64) -> Result<Option<Reader<&'a dyn ReadAt>>, Error> {
        let encoding = if self.silo.ending == name::GZIP { Encoding::Gzip } else { Encoding::Zstd };
        match Reader::at(self.source, from) {
            Ok(_) => Reader::resume(self.source, from, Format::Warc).map(Some),
            Err(error @ Error::Io { .. }) => Err(error),
            Err(_) => Reader::find(self.source, encoding, Format::Warc, from, until),
        }
    }

    /// A record that was walked through, against what the index knows of its place.
    fn note(
        &self,
        reader: &Reader<&'a dyn ReadAt>,
        offset: u64,
        known: &[Known],
        odd_member: bool,
        part: &mut Part,
    ) {
        let (number, header) = (self.silo.number, reader.header());
        let id = header.record_id();
        let Ok(place) = Place::new(number, offset) else { return };
        let damaged =
            |message: &str| AuditFinding::new(AuditKind::Damaged, message).at(number, offset).of(id);
        part.records += 1;
        part.segments.extend(Segment::of(header, place));
        let named = Named::of(header);
        if !named.are_all_in(known) {
            part.findings.push(missing_at(place, id));
        }
        let others: Vec<Known> = known.iter().filter(|(_, prefix)| !named.has(*prefix)).copied().collect();
        self.strays(offset, &others, part);
        if odd_member {
            part.findings.push(damaged("the header of a gzip member is not as varve writes it"));
        }
        if header.block_digest().is_some() && !follows(header) {
            let message = "the id of this record does not follow from its header";
            part.findings.push(AuditFinding::new(AuditKind::Id, message).at(number, offset).of(id));
        }
    }

    /// Entries that lead to no record of theirs.
    fn strays(&self, offset: u64, known: &[Known], part: &mut Part) {
        let Ok(place) = Place::new(self.silo.number, offset) else { return };
        part.findings.extend(known.iter().map(|(_, prefix)| stray_at(Entry { prefix: *prefix, place })));
    }

    /// Tells what was found up to `until`; what is wrong behind that is told by who looks there.
    fn tell(&self, mut findings: Vec<Finding>, offset: u64, until: u64, id: Option<&[u8]>, part: &mut Part) {
        leave_causes(&mut findings, offset);
        for finding in findings.iter().filter(|finding| finding.offset < until) {
            let id = if finding.offset == offset { id } else { None };
            part.findings.extend(translated(finding, self.silo, id));
        }
    }
}

/// How the ids of a record begin.
struct Named(Vec<Prefix>);

impl Named {
    fn of(header: &varve_warc::record::Header) -> Self {
        Self(prefixes(header).collect())
    }

    fn has(&self, prefix: Prefix) -> bool {
        self.0.contains(&prefix)
    }

    fn are_all_in(&self, known: &[Known]) -> bool {
        self.0.iter().all(|prefix| known.iter().any(|(_, other)| other == prefix))
    }

    /// Whether the index knows the record by all of these and by no other.
    fn is_known_as(&self, known: &[Known]) -> bool {
        self.are_all_in(known) && known.iter().all(|(_, prefix)| self.has(*prefix))
    }
}
