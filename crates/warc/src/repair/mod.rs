//! Repairs a file: writes a conforming file from a defective one.
//!
//! Every readable record is written again as WARC/1.1, in its own member, with corrected lengths,
//! separators, digests, brackets and ids. Blocks are never changed; only where a block ends is
//! decided again when its length is wrong. For each corrected record, a metadata record holds the
//! findings and the original header. For bytes that belong to no record, one holds their offset
//! and, if they are few, the bytes. So a repair hides nothing, and the original header can be
//! restored.
//!
//! ARC records become WARC records; their line is kept in the same way.

mod block;
mod header;
mod repair_record;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use crate::date::Date;
use crate::payload::PayloadKind;
use crate::reader::{Error, Record, WarcReader};
use crate::record::RecordType;
use crate::rules::{ReportingMode, Rule, WarcFinding};
use crate::stray_bytes::Stray;
use crate::validate_record::RecordChecker;
use crate::write::{
    Draft, PackedRecord, Packer, Packing, RecordPackError, RecordUri, WarcWriter, warc_fields,
};
use header::{header_text, lossless, printable};
use repair_record::Trace;
use varve_file::TemporaryFolder;
use varve_wire::ReadAt;

/// The options of a repair.
#[derive(Clone, Debug)]
pub struct WarcRepair<'a> {
    /// Name and version of the program.
    pub software: &'a str,
    /// Name of the defective file.
    pub source_name: &'a str,
    /// Name of the new file.
    pub target_name: &'a str,
    /// The time of the repair.
    pub date: Date,
    /// How to pack.
    pub packing: Packing,
    /// The folder for large blocks until their header is known.
    pub temporary: Option<TemporaryFolder>,
}

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Number of records written.
    pub records: u64,
    /// Number of them that were corrected.
    pub mended: u64,
    /// Number of byte ranges that belong to no record or could not be read.
    pub gaps: u64,
    /// How often each rule was broken.
    pub by_rule: BTreeMap<Rule, u64>,
    /// Bytes written.
    pub bytes: u64,
}

/// Why a repair failed.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// A record could not be packed.
    #[error(transparent)]
    Pack(#[from] RecordPackError),
    /// The new file could not be written.
    #[error("cannot write the repaired file")]
    Write(#[source] io::Error),
}

impl WarcRepair<'_> {
    /// Reads all of `source` and writes a conforming file to `output`.
    pub fn run<S: ReadAt>(&self, source: S, output: &mut impl Write) -> Result<RepairReport, RepairError> {
        let mut reader = WarcReader::new(source)?;
        reader.keep_strays();
        let packer =
            Packer::new(self.packing.clone(), self.temporary.clone()).map_err(RecordPackError::from)?;
        let writer = WarcWriter::new(output, &self.packing).map_err(RepairError::Write)?;
        let mut run = RepairRun {
            repair: self,
            packer,
            writer,
            checker: RecordChecker::default(),
            last_date: header::NO_DATE.to_owned(),
            found_ahead: Vec::new(),
            strays_ahead: Vec::new(),
            repaired: RepairReport::default(),
        };
        run.introduce()?;
        while let Some(mut record) = reader.next_record()? {
            let rewritten = run.rewrite(&mut record)?;
            reader.finish_record()?;
            let end = reader.record_end();
            run.explain(rewritten, end, reader.take_findings(), reader.take_strays())?;
        }
        let mut gaps = std::mem::take(&mut run.found_ahead);
        gaps.extend(reader.take_findings());
        let mut strays = std::mem::take(&mut run.strays_ahead);
        strays.extend(reader.take_strays());
        run.report_gaps(&gaps, &strays)?;
        run.repaired.bytes = run.writer.offset();
        Ok(run.repaired)
    }
}

struct RepairRun<'a, W> {
    repair: &'a WarcRepair<'a>,
    packer: Packer,
    writer: WarcWriter<&'a mut W>,
    checker: RecordChecker,
    last_date: String,
    /// Findings after the last record that are about the next.
    found_ahead: Vec<WarcFinding>,
    strays_ahead: Vec<Stray>,
    repaired: RepairReport,
}

/// A record that is written again, with what is known before its end.
struct RewrittenRecord {
    id: RecordUri,
    offset: u64,
    /// The original header or ARC line.
    original: String,
    is_arc: bool,
    findings: Vec<WarcFinding>,
}

impl<W: Write> RepairRun<'_, W> {
    /// Writes the warcinfo record that names the defective file.
    fn introduce(&mut self) -> Result<(), RepairError> {
        let description = format!("the records of {}, repaired", self.repair.source_name);
        let block = warc_fields([
            ("software", self.repair.software),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
            ("description", &description),
        ]);
        let draft = Draft::new(RecordType::Warcinfo, &self.repair.date)
            .field("WARC-Filename", &printable(self.repair.target_name))
            .content_type("application/warc-fields");
        let record = self.packer.pack(&draft, PayloadKind::None, &block)?;
        self.append(record)
    }

    fn append(&mut self, record: PackedRecord) -> Result<(), RepairError> {
        self.writer.append(record).map_err(RepairError::Write)?;
        Ok(())
    }

    fn rewrite<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> Result<RewrittenRecord, RepairError> {
        let header = record.header().clone();
        let is_arc = !record.arc_line().is_empty();
        let original = if is_arc { lossless(record.arc_line()) } else { header_text(&header) };
        let draft = header::draft(&header, &mut self.last_date);
        let offset = record.offset();
        let packed = block::pack(&mut self.packer, &mut self.checker, draft, &header, record)?;
        let id = packed.id.clone();
        self.append(packed)?;
        self.repaired.records += 1;
        let findings = self.checker.take_findings().collect();
        Ok(RewrittenRecord { id, offset, original, is_arc, findings })
    }

    /// Writes a record of the corrections. The record ends, and others may begin, at `end`.
    fn explain(
        &mut self,
        mut record: RewrittenRecord,
        end: u64,
        found: Vec<WarcFinding>,
        strays: Vec<Stray>,
    ) -> Result<(), RepairError> {
        let mut gaps = Vec::new();
        for finding in std::mem::take(&mut self.found_ahead).into_iter().chain(found) {
            if is_gap(finding.rule) || finding.offset < record.offset {
                gaps.push(finding);
            } else if finding.offset < end || finding.offset == record.offset {
                record.findings.push(finding);
            } else {
                self.found_ahead.push(finding);
            }
        }
        for finding in &record.findings {
            if finding.rule.kind() == ReportingMode::Leniency || record.is_arc {
                self.count(finding);
            }
        }
        let (mut between, mut unread) = (Vec::new(), Vec::new());
        for stray in std::mem::take(&mut self.strays_ahead).into_iter().chain(strays) {
            if stray.offset < record.offset || gaps.iter().any(|gap| gap.offset == stray.offset) {
                between.push(stray);
            } else if stray.offset < end {
                unread.push(stray);
            } else {
                self.strays_ahead.push(stray);
            }
        }
        if !record.findings.is_empty() || !unread.is_empty() || record.is_arc {
            self.repaired.mended += u64::from(!record.findings.is_empty());
            self.repaired.gaps += unread.len() as u64;
            self.write_trace(&record, &unread)?;
        }
        self.report_gaps(&gaps, &between)
    }

    fn count(&mut self, finding: &WarcFinding) {
        *self.repaired.by_rule.entry(finding.rule).or_default() += finding.times;
    }

    fn write_trace(&mut self, record: &RewrittenRecord, unread: &[Stray]) -> Result<(), RepairError> {
        let mut trace = self.trace(record.offset, &record.findings);
        trace.stray = repair_record::strays(unread);
        let original = Some(record.original.as_str());
        if record.is_arc {
            trace.original_arc_line = original;
        } else {
            trace.original_header = original;
        }
        self.write_metadata(Some(&record.id), &trace)
    }

    /// Writes a record with the offset of bytes that belong to no record and, if they are few, the
    /// bytes.
    fn report_gaps(&mut self, findings: &[WarcFinding], strays: &[Stray]) -> Result<(), RepairError> {
        let Some(first) = findings.first() else { return Ok(()) };
        findings.iter().for_each(|finding| self.count(finding));
        self.repaired.gaps += stretches(findings);
        let mut trace = self.trace(first.offset, findings);
        trace.stray = repair_record::strays(strays);
        self.write_metadata(None, &trace)
    }

    fn trace<'t>(&self, offset: u64, findings: &'t [WarcFinding]) -> Trace<'t>
    where
        Self: 't,
    {
        Trace::new(self.repair.software, self.repair.source_name, offset, findings)
    }

    fn write_metadata(&mut self, about: Option<&RecordUri>, trace: &Trace<'_>) -> Result<(), RepairError> {
        let block =
            serde_json::to_vec(trace).map_err(|error| RecordPackError::Io(io::Error::other(error)))?;
        let mut draft = Draft::new(RecordType::Metadata, &self.repair.date).content_type("application/json");
        if let Some(id) = about {
            draft = draft.refers_to(id.clone());
        }
        let record = self.packer.pack(&draft, PayloadKind::None, &block)?;
        self.append(record)
    }
}

/// The number of byte ranges that findings between records are about. When the content of a damaged
/// member could be read and is no record, two findings are about one range. A finding such as a
/// missing dictionary is about none.
fn stretches(findings: &[WarcFinding]) -> u64 {
    let told: HashSet<u64> =
        findings.iter().filter(|finding| is_gap(finding.rule)).map(|finding| finding.offset).collect();
    let counts = |finding: &&WarcFinding| {
        is_gap(finding.rule) || finding.rule.loses_bytes() && !told.contains(&finding.offset)
    };
    findings.iter().filter(counts).map(|finding| finding.times).sum()
}

/// Findings that concern no record, only the bytes between records.
fn is_gap(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::NotARecord
            | Rule::JunkBetweenMembers
            | Rule::HeaderCut
            | Rule::HeaderTooLarge
            | Rule::ArcLine
            | Rule::EmptyMember
    )
}
