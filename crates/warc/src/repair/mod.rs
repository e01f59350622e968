//! A right file from a wrong one.
//!
//! Every record that can be read is written again as WARC/1.1, a member each, with what was wrong put right: lengths,
//! separators, digests that do not fit, brackets, missing ids. Blocks are never changed: what a server sent, and what
//! an earlier tool made of it, stays as it is; only where a block begins and ends is decided anew when its length lies. For
//! each record that had to be mended, a metadata record about it holds the findings and the header as it was; for bytes
//! that belong to no record, one says where they were and, when they are few, what they are. So nothing is hidden by a
//! repair, and the original header can be had back.
//!
//! ARC records become WARC records; their line is kept in the same way.

mod block;
mod header;
mod trace;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::check::Checker;
use crate::date::Date;
use crate::payload::PayloadKind;
use crate::reader::{Error, Reader, Record};
use crate::record::RecordType;
use crate::rule::{Finding, Kind, Rule};
use crate::stray::Stray;
use crate::write::{Draft, PackError, PackedRecord, Packer, Packing, Writer, warc_fields};
use header::{header_text, lossless, printable};
use trace::Trace;
use varve_wire::ReadAt;

/// What the repair is called in the file it makes.
#[derive(Clone, Debug)]
pub struct Repair<'a> {
    /// Name and version of the program.
    pub software: &'a str,
    /// Name of the file that is repaired.
    pub source_name: &'a str,
    /// Name of the file that is made.
    pub target_name: &'a str,
    /// The time of the repair.
    pub date: Date,
    /// How to pack.
    pub packing: Packing,
    /// Where large blocks wait until their header is known.
    pub temporary: Option<PathBuf>,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records that were written again.
    pub records: u64,
    /// Those of them that had to be mended.
    pub mended: u64,
    /// Stretches of bytes that belong to no record, or could not be read.
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
    Pack(#[from] PackError),
    /// The new file could not be written.
    #[error("cannot write the repaired file")]
    Write(#[source] io::Error),
}

impl Repair<'_> {
    /// Reads all of `source` and writes a right file to `output`.
    pub fn run<S: ReadAt>(&self, source: S, output: &mut impl Write) -> Result<Repaired, RepairError> {
        let mut reader = Reader::new(source)?;
        reader.keep_strays();
        let packer = Packer::new(self.packing.clone(), self.temporary.clone()).map_err(PackError::from)?;
        let writer = Writer::new(output, &self.packing).map_err(RepairError::Write)?;
        let mut run = Run {
            repair: self,
            packer,
            writer,
            checker: Checker::default(),
            last_date: header::NO_DATE.to_owned(),
            found_ahead: Vec::new(),
            strays_ahead: Vec::new(),
            repaired: Repaired::default(),
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

struct Run<'a, W> {
    repair: &'a Repair<'a>,
    packer: Packer,
    writer: Writer<&'a mut W>,
    checker: Checker,
    last_date: String,
    /// What was found behind the last record, about the next.
    found_ahead: Vec<Finding>,
    strays_ahead: Vec<Stray>,
    repaired: Repaired,
}

/// A record that was written again, and what was known before its end was.
struct Rewritten {
    id: String,
    offset: u64,
    /// The header, or the ARC line, as it was.
    original: String,
    is_arc: bool,
    findings: Vec<Finding>,
}

impl<W: Write> Run<'_, W> {
    /// The warcinfo that says where the file comes from.
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

    fn rewrite<S: ReadAt>(&mut self, record: &mut Record<'_, S>) -> Result<Rewritten, RepairError> {
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
        Ok(Rewritten { id, offset, original, is_arc, findings })
    }

    /// Leaves a trace of what was mended. The record ends, and others may begin, at `end`.
    fn explain(
        &mut self,
        mut record: Rewritten,
        end: u64,
        found: Vec<Finding>,
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
            if finding.rule.kind() == Kind::Leniency || record.is_arc {
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

    fn count(&mut self, finding: &Finding) {
        *self.repaired.by_rule.entry(finding.rule).or_default() += finding.times;
    }

    fn write_trace(&mut self, record: &Rewritten, unread: &[Stray]) -> Result<(), RepairError> {
        let mut trace = self.trace(record.offset, &record.findings);
        trace.stray = trace::strays(unread);
        let original = Some(record.original.as_str());
        if record.is_arc {
            trace.original_arc_line = original;
        } else {
            trace.original_header = original;
        }
        self.write_metadata(Some(&record.id), &trace)
    }

    /// Says where bytes were that belong to no record, and what they are when they are few.
    fn report_gaps(&mut self, findings: &[Finding], strays: &[Stray]) -> Result<(), RepairError> {
        let Some(first) = findings.first() else { return Ok(()) };
        findings.iter().for_each(|finding| self.count(finding));
        self.repaired.gaps += stretches(findings);
        let mut trace = self.trace(first.offset, findings);
        trace.stray = trace::strays(strays);
        self.write_metadata(None, &trace)
    }

    fn trace<'t>(&self, offset: u64, findings: &'t [Finding]) -> Trace<'t>
    where
        Self: 't,
    {
        Trace::new(self.repair.software, self.repair.source_name, offset, findings)
    }

    fn write_metadata(&mut self, about: Option<&str>, trace: &Trace<'_>) -> Result<(), RepairError> {
        let block = serde_json::to_vec(trace).map_err(|error| PackError::Io(io::Error::other(error)))?;
        let mut draft = Draft::new(RecordType::Metadata, &self.repair.date).content_type("application/json");
        if let Some(id) = about {
            draft = draft.refers_to(id);
        }
        let record = self.packer.pack(&draft, PayloadKind::None, &block)?;
        self.append(record)
    }
}

/// How many stretches of bytes findings between records are about. Where the content of a damaged member could be read and is no record, two are
/// about one; what else is said of a member, such as that it needs another dictionary, is about none.
fn stretches(findings: &[Finding]) -> u64 {
    let told: HashSet<u64> =
        findings.iter().filter(|finding| is_gap(finding.rule)).map(|finding| finding.offset).collect();
    let counts = |finding: &&Finding| {
        is_gap(finding.rule) || finding.rule.loses_bytes() && !told.contains(&finding.offset)
    };
    findings.iter().filter(counts).map(|finding| finding.times).sum()
}

/// Findings that concern no record, only what lies between.
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
