//! One silo, every record of it.

use std::io::BufRead;

use varve_warc::check::{Checked, Checker, Verdict};
use varve_warc::digest::Digest;
use varve_warc::parts::{Parts, read_parts};
use varve_warc::record::{Header, RecordType};
use varve_warc::rule::{Finding, Kind, Rule};
use varve_warc::source::ReadAt;
use varve_warc::{Error, Reader, Record};

use super::index::Comparison;
use super::segments::Segment;
use super::{AuditFinding, AuditKind, Run, Segments};
use crate::error::StoreError;
use crate::exchange::{Listener, Scanned};
use crate::index::{Entry, Place};
use crate::reader::Store;
use crate::record::entries;
use crate::record::id_it_should_have;
use crate::silo::{SiloError, SiloFile, Way, chain, name};

/// What a part of a silo came to.
#[derive(Default)]
struct Part {
    records: u64,
    findings: Vec<AuditFinding>,
    entries: Vec<Entry>,
    segments: Vec<Segment>,
    said: Vec<Scanned>,
}

impl Run<'_> {
    /// Reads all records of a silo.
    fn silo(
        &mut self,
        silo: &SiloFile,
        segments: &mut Segments,
        mut comparison: Option<&mut Comparison<'_>>,
        progress: &(impl Fn(u64) + Sync),
    ) -> Result<(), StoreError> {
        let source = self.store.silo(silo.number)?;
        let work = |reader: &mut Reader<&dyn ReadAt>, until: u64| audit_part(reader, silo, until, progress);
        let mut failure = Ok(());
        let parts = Parts { threads: self.options.threads, size: None };
        // Each part is dealt with as it comes, so that none piles up.
        let result = read_parts(&*source, parts, &work, &mut |part: Part| {
            self.done.records += part.records;
            part.findings.into_iter().for_each(|finding| self.report(finding));
            segments.extend(part.segments);
            part.said.into_iter().for_each(&mut *self.told);
            self.note_entries(part.entries, comparison.as_deref_mut(), &mut failure);
        });
        match result {
            Ok(()) => failure,
            Err(Error::Io { offset, source }) => {
                Err(StoreError::read(silo.number, Error::Io { offset, source }))
            }
            Err(error) => {
                self.report(AuditFinding::new(AuditKind::Damaged, error.to_string()).at(silo.number, 0));
                failure
            }
        }
    }

    /// Puts entries aside for the comparison, or looks each up when there is none.
    fn note_entries(
        &mut self,
        found: Vec<Entry>,
        comparison: Option<&mut Comparison<'_>>,
        failure: &mut Result<(), StoreError>,
    ) {
        let all_added = comparison.is_some_and(|comparison| found.iter().all(|entry| comparison.add(*entry)));
        match all_added {
            true => {}
            false if self.options.index_lost.is_none() && failure.is_ok() => {
                *failure = super::index::look_up(self, &found).or_else(|error| self.index_failed(error));
            }
            false => {}
        }
    }

    /// The first record of a silo: does it say that it is this silo?
    pub(super) fn description(&mut self, silo: &SiloFile) -> Result<(), StoreError> {
        match self.store.description_of(silo.number)? {
            Some((header, _)) => {
                if let Some(finding) = wrong_name(&header, silo) {
                    self.report(finding);
                }
            }
            None => {
                let message = format!("silo `{}` does not begin with a record", silo.name());
                self.report(AuditFinding::new(AuditKind::Damaged, message).at(silo.number, 0));
            }
        }
        Ok(())
    }
}

/// What a sealed silo is, and what it was: its successor knows.
pub(super) struct Link {
    found: Digest,
    expected: Digest,
}

/// Reads a silo as a file, to hold it against what its successor says of it; none when there is none.
pub(super) fn link(store: &Store, silo: &SiloFile) -> Result<Option<Link>, StoreError> {
    let next = silo.number + 1;
    let expected = match store.files().open(next) {
        Ok(_) => store.description_of(next)?.and_then(|(_, block)| chain::previous(&block)),
        Err(SiloError::Missing { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(expected) = expected else { return Ok(None) };
    let failed = |source| StoreError::read(silo.number, Error::Io { offset: 0, source });
    let found = chain::digest_of(&*store.silo(silo.number)?).map_err(failed)?;
    Ok(Some(Link { found, expected }))
}

impl Run<'_> {
    /// Reads a silo as records and, beside that, as the file that was sealed.
    pub(super) fn silo_and_link(
        &mut self,
        silo: &SiloFile,
        segments: &mut Segments,
        comparison: Option<&mut Comparison<'_>>,
        progress: &(impl Fn(u64) + Sync),
    ) -> Result<(), StoreError> {
        let store = self.store;
        let link = std::thread::scope(|scope| {
            let link = scope.spawn(|| link(store, silo));
            self.silo(silo, segments, comparison, progress)?;
            link.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        if let Some(Link { found, expected }) = link.filter(|link| link.found != link.expected) {
            let message = format!(
                "silo `{}` is not the file that was sealed: its digest is {found}, the next silo says {expected}",
                silo.name()
            );
            self.report(AuditFinding::new(AuditKind::Damaged, message).at(silo.number, 0));
        }
        Ok(())
    }
}

fn wrong_name(header: &Header, silo: &SiloFile) -> Option<AuditFinding> {
    let expected = name::file_name(silo.number, silo.ending);
    let stated = header.fields.get("WARC-Filename").map(String::from_utf8_lossy);
    if header.record_type() == RecordType::Warcinfo && stated.as_deref() == Some(expected.as_str()) {
        return None;
    }
    let message = match stated {
        Some(stated) => format!("silo `{}` says that it is `{stated}`", silo.name()),
        None => format!("silo `{}` does not begin with its description", silo.name()),
    };
    Some(AuditFinding::new(AuditKind::SiloName, message).at(silo.number, 0))
}

fn audit_part<S: ReadAt>(
    reader: &mut Reader<S>,
    silo: &SiloFile,
    until: u64,
    progress: &impl Fn(u64),
) -> Result<Part, Error> {
    let mut part = Part::default();
    let mut checker = Checker::default();
    let mut way = Way::new(reader.position(), progress);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        // No checksum covers the header of a member; but all are the same.
        let odd_member = silo.ending == name::GZIP && !record.has_our_gzip_header();
        audit_record(&mut record, silo, &mut checker, &mut part)?;
        let offset = record.offset();
        reader.finish_record()?;
        let findings: Vec<Finding> = checker.take_findings().chain(reader.take_findings()).collect();
        if odd_member || !findings.is_empty() {
            part.note(findings, silo, offset, odd_member, reader.header().record_id());
        }
        way.go(reader.position());
    }
    part.findings.extend(reader.take_findings().iter().filter_map(|finding| translated(finding, silo, None)));
    Ok(part)
}

impl Part {
    /// What was found in and behind the record at `offset`.
    fn note(
        &mut self,
        mut findings: Vec<Finding>,
        silo: &SiloFile,
        offset: u64,
        odd_member: bool,
        id: Option<&[u8]>,
    ) {
        leave_causes(&mut findings, offset);
        // What is wrong behind the record is not the record's.
        let whose = |finding: &Finding| if finding.offset == offset { id } else { None };
        self.findings.extend(findings.iter().filter_map(|finding| translated(finding, silo, whose(finding))));
        if odd_member {
            let message = "the header of a gzip member is not as varve writes it";
            self.findings.push(AuditFinding::new(AuditKind::Damaged, message).at(silo.number, offset).of(id));
        }
    }
}

/// Leaves out what follows from something else that is said of the same record.
pub(super) fn leave_causes(findings: &mut Vec<Finding>, offset: u64) {
    let says = |rules: &[Rule]| {
        findings.iter().any(|finding| finding.offset == offset && rules.contains(&finding.rule))
    };
    let member_damaged = says(&[Rule::MemberDamaged, Rule::MemberCut]);
    let member_cut = says(&[Rule::MemberCut]);
    let block_wrong = says(&[Rule::BlockDigest]);
    findings.retain(|finding| match finding.rule {
        _ if finding.offset != offset => true,
        Rule::PayloadDigest => !block_wrong,
        Rule::BlockDigest => !member_cut,
        Rule::NotARecord | Rule::Separator | Rule::BlockShort => !member_damaged,
        _ => true,
    });
}

fn audit_record<S: ReadAt>(
    record: &mut Record<'_, S>,
    silo: &SiloFile,
    checker: &mut Checker,
    part: &mut Part,
) -> Result<(), Error> {
    let offset = record.offset();
    let mut listener = Listener::new(record.header());
    checker.begin(record, true);
    loop {
        let bytes = record.fill_buf().map_err(|source| Error::Io { offset, source })?;
        if bytes.is_empty() {
            break;
        }
        checker.push(bytes);
        listener.hear(bytes);
        let length = bytes.len();
        record.consume(length);
    }
    let checked = checker.finish(record);
    let header = record.header();
    part.records += 1;
    part.said.extend(listener.said(header));
    if let Some(message) = wrong_id(header, &checked) {
        part.findings
            .push(AuditFinding::new(AuditKind::Id, message).at(silo.number, offset).of(header.record_id()));
    }
    if let Ok(place) = Place::new(silo.number, offset) {
        part.entries.extend(entries(header, place));
        part.segments.extend(Segment::of(header, place));
    }
    Ok(())
}

/// Why a record's id does not follow from it. Where the block is wrong its digest says so, and the id is not judged.
fn wrong_id(header: &Header, checked: &Checked) -> Option<String> {
    header.record_id()?;
    if checked.block != Verdict::Right {
        return (checked.block == Verdict::Absent)
            .then(|| "there is no WARC-Block-Digest to hold the id against".to_owned());
    }
    let block = header.block_digest()?.ok()?;
    let expected = id_it_should_have(header, &block)?;
    Some(format!("the id of this record should be `{expected}`"))
}

/// A finding of the WARC room in the words of an audit.
pub(super) fn translated(finding: &Finding, silo: &SiloFile, id: Option<&[u8]>) -> Option<AuditFinding> {
    let kind = match finding.rule {
        Rule::BlockDigest | Rule::PayloadDigest => AuditKind::Digest,
        // Facts about what a server sent, not about how it was kept.
        Rule::NotHttp | Rule::NotChunked | Rule::ChunksCut => return None,
        rule if rule.kind() == Kind::Conformance => AuditKind::Form,
        _ => AuditKind::Damaged,
    };
    let message = format!("{} ({})", finding.message, finding.rule.code());
    Some(AuditFinding::new(kind, message).at(silo.number, finding.offset).of(id))
}
