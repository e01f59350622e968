//! Audits every record of one silo.

use varve_warc::parallel::{PartOptions, read_parts};
use varve_warc::record::RecordHeader;
use varve_warc::rules::{ReportingMode, Rule, WarcFinding};
use varve_warc::validate_record::{CheckedRecord, DigestVerdict, RecordChecker};
use varve_warc::{Error, Record, WarcReader};
use varve_wire::ReadAt;

use super::check_segments::SegmentFacts;
use super::compare_index::IndexComparison;
use super::{AuditFinding, AuditKind, AuditRun, SegmentAudit};
use crate::error::StoreError;
use crate::exchange::{RecordExtractor, ScannedRecord};
use crate::index::{IndexEntry, SiloPlace};
use crate::record::expected_record_id;
use crate::record::index_entries;
use crate::silo::{ProgressReporter, SiloFile, name};
use crate::verify_silo_chain::{ChainBreak, check_description, check_digest};

/// The result for a part of a silo.
#[derive(Default)]
pub(super) struct AuditedPart {
    pub(super) records: u64,
    pub(super) findings: Vec<AuditFinding>,
    entries: Vec<IndexEntry>,
    pub(super) segments: Vec<SegmentFacts>,
    scanned: Vec<ScannedRecord>,
}

impl AuditRun<'_> {
    /// Reads and checks all records of a silo.
    fn silo(
        &mut self,
        silo: &SiloFile,
        segments: &mut SegmentAudit,
        mut comparison: Option<&mut IndexComparison<'_>>,
        progress: &(impl Fn(u64) + Sync),
    ) -> Result<(), StoreError> {
        let source = self.store.silo(silo.number)?;
        let work =
            |reader: &mut WarcReader<&dyn ReadAt>, until: u64| audit_part(reader, silo, until, progress);
        let mut failure = Ok(());
        let parts = PartOptions { threads: self.options.threads, size: None };
        // Each part is processed as it arrives, so that memory stays bounded.
        let result = read_parts(&*source, parts, &work, &mut |part: AuditedPart| {
            self.done.records += part.records;
            part.findings.into_iter().for_each(|finding| self.report(finding));
            segments.extend(part.segments);
            part.scanned.into_iter().for_each(&mut *self.scanned);
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

    /// Adds entries to the comparison, or looks each up when there is none.
    fn note_entries(
        &mut self,
        found: Vec<IndexEntry>,
        comparison: Option<&mut IndexComparison<'_>>,
        failure: &mut Result<(), StoreError>,
    ) {
        let all_added = comparison.is_some_and(|comparison| found.iter().all(|entry| comparison.add(*entry)));
        match all_added {
            true => {}
            false if self.options.index_lost.is_none() && failure.is_ok() => {
                *failure = super::compare_index::look_up_each(self, &found);
            }
            false => {}
        }
    }

    /// Checks that the first record of a silo describes this silo.
    pub(super) fn check_description(&mut self, silo: &SiloFile) -> Result<(), StoreError> {
        match self.store.description_of(silo.number)? {
            Some((header, _)) => {
                if let Some(renamed) = check_description(&header, silo) {
                    self.report(chain_finding(&renamed));
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

impl AuditRun<'_> {
    /// Audits the records of a silo and, concurrently, its digest.
    pub(super) fn audit_silo(
        &mut self,
        (silo, next): (&SiloFile, Option<&SiloFile>),
        segments: &mut SegmentAudit,
        comparison: Option<&mut IndexComparison<'_>>,
        progress: &(impl Fn(u64) + Sync),
    ) -> Result<(), StoreError> {
        let store = self.store;
        let link = std::thread::scope(|scope| {
            let link = scope.spawn(|| check_digest(store.silos(), silo, next));
            self.silo(silo, segments, comparison, progress)?;
            link.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        if let Some(changed) = link {
            self.report(chain_finding(&changed));
        }
        Ok(())
    }
}

fn chain_finding(link: &ChainBreak) -> AuditFinding {
    let kind = if link.is_renamed() { AuditKind::SiloName } else { AuditKind::Damaged };
    AuditFinding::new(kind, link.to_string()).at(link.silo, 0)
}

fn audit_part<S: ReadAt>(
    reader: &mut WarcReader<S>,
    silo: &SiloFile,
    until: u64,
    progress: &impl Fn(u64),
) -> Result<AuditedPart, Error> {
    let mut part = AuditedPart::default();
    let mut checker = RecordChecker::default();
    let mut way = ProgressReporter::new(reader.position(), progress);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        // No checksum covers a gzip member header, but all of them are equal.
        let odd_member = silo.ending == name::GZIP_EXTENSION && !record.has_our_gzip_header();
        let first = part.findings.len();
        audit_record(&mut record, silo, &mut checker, &mut part)?;
        let offset = record.offset();
        reader.finish_record()?;
        let findings: Vec<WarcFinding> = checker.take_findings().chain(reader.take_findings()).collect();
        if odd_member || !findings.is_empty() {
            part.note(findings, silo, offset, odd_member, reader.header().record_id());
        }
        part.name_url(first, offset, reader.header());
        way.reached(reader.position());
    }
    part.findings
        .extend(reader.take_findings().iter().filter_map(|finding| audit_finding(finding, silo, None)));
    Ok(part)
}

impl AuditedPart {
    /// Names the URL of the record at `offset` in its findings, which begin at `first`.
    fn name_url(&mut self, first: usize, offset: u64, header: &RecordHeader) {
        if self.findings.len() == first {
            return;
        }
        let url = header.fields.get("WARC-Target-URI").map(|url| String::from_utf8_lossy(url).into_owned());
        let own = self.findings[first..].iter_mut().filter(|finding| finding.offset == Some(offset));
        own.for_each(|finding| finding.url.clone_from(&url));
    }

    /// Adds the findings in and after the record at `offset`.
    fn note(
        &mut self,
        mut findings: Vec<WarcFinding>,
        silo: &SiloFile,
        offset: u64,
        odd_member: bool,
        id: Option<&[u8]>,
    ) {
        drop_consequences(&mut findings, offset);
        // A finding after the record does not get its id.
        let whose = |finding: &WarcFinding| if finding.offset == offset { id } else { None };
        self.findings
            .extend(findings.iter().filter_map(|finding| audit_finding(finding, silo, whose(finding))));
        if odd_member {
            let message = "the header of a gzip member is not as varve writes it";
            self.findings.push(AuditFinding::new(AuditKind::Damaged, message).at(silo.number, offset).of(id));
        }
    }
}

/// Removes findings that are consequences of another finding on the same record.
pub(super) fn drop_consequences(findings: &mut Vec<WarcFinding>, offset: u64) {
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
    checker: &mut RecordChecker,
    part: &mut AuditedPart,
) -> Result<(), Error> {
    let offset = record.offset();
    let mut listener = RecordExtractor::new(record.header());
    checker.begin(record, true);
    let read = record.for_each_piece(|bytes| {
        checker.push(bytes);
        listener.push(bytes);
    });
    read.map_err(|source| Error::Io { offset, source })?;
    let checked = checker.finish(record);
    let header = record.header();
    part.records += 1;
    part.scanned.extend(listener.finish(header));
    if let Some(message) = wrong_id(header, &checked) {
        part.findings
            .push(AuditFinding::new(AuditKind::Id, message).at(silo.number, offset).of(header.record_id()));
    }
    if let Ok(place) = SiloPlace::new(silo.number, offset) {
        part.entries.extend(index_entries(header, place));
        part.segments.extend(SegmentFacts::of(header, place));
    }
    Ok(())
}

/// Why a record's id is wrong. With a wrong block the digest is reported instead.
fn wrong_id(header: &RecordHeader, checked: &CheckedRecord) -> Option<String> {
    header.record_id()?;
    if checked.block != DigestVerdict::Right {
        return (checked.block == DigestVerdict::Absent)
            .then(|| "there is no WARC-Block-Digest to hold the id against".to_owned());
    }
    let block = header.block_digest()?.ok()?;
    let expected = expected_record_id(header, &block)?;
    Some(format!("the id of this record should be `{expected}`"))
}

/// Converts a finding of the WARC reader to an audit finding.
pub(super) fn audit_finding(
    finding: &WarcFinding,
    silo: &SiloFile,
    id: Option<&[u8]>,
) -> Option<AuditFinding> {
    let kind = match finding.rule {
        Rule::BlockDigest | Rule::PayloadDigest => AuditKind::Digest,
        // Properties of the server's response, not damage.
        Rule::NotHttp | Rule::NotChunked | Rule::ChunksCut => return None,
        rule if rule.kind() == ReportingMode::Conformance => AuditKind::Form,
        _ => AuditKind::Damaged,
    };
    let message = format!("{} ({})", finding.message, finding.rule.code());
    Some(AuditFinding::new(kind, message).at(silo.number, finding.offset).of(id))
}
