//! A report about one file: its content, its defects, and where its damage begins.
//!
//! Reads each record once and hashes it while the bytes stream by, on the given number of threads.
//! Findings are data; the caller prints them and decides whether they are a failure.

mod seen_ids;

use std::collections::BTreeMap;

use crate::member::Encoding;
use crate::parallel::{PartOptions, read_parts};
use crate::reader::{Error, Format, WarcReader};
use crate::record::{RecordHeader, RecordType};
use crate::rules::{ReportingMode, Rule, WarcFinding};
use crate::validate_record::{CheckedRecord, DigestVerdict, RecordChecker};
use seen_ids::{PartIds, RecordIds};
use varve_wire::ReadAt;

/// How to inspect.
#[derive(Clone, Copy, Debug)]
pub struct InspectOptions {
    /// Report conformance rules too.
    pub strict: bool,
    /// How many threads may read.
    pub threads: usize,
    /// Maximum number of findings that are kept; further ones are only counted.
    pub findings: usize,
    /// The size of the parts that threads read; by default in proportion to the file. The report
    /// does not depend on it, which tests show with small parts.
    pub part_size: Option<u64>,
}

impl Default for InspectOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { strict: false, threads, findings: 10_000, part_size: None }
    }
}

/// Numbers of digests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DigestCounts {
    /// Recomputed and equal.
    pub ok: u64,
    /// Recomputed and different.
    pub bad: u64,
    /// Present, but not of these bytes or not readable: revisits, segments, truncated payloads,
    /// unknown algorithms.
    pub unchecked: u64,
}

impl DigestCounts {
    fn count(&mut self, checked: &CheckedRecord) {
        for verdict in [checked.block, checked.payload] {
            match verdict {
                DigestVerdict::Absent => {}
                DigestVerdict::Right => self.ok += 1,
                DigestVerdict::Wrong => self.bad += 1,
                DigestVerdict::Unchecked => self.unchecked += 1,
            }
        }
    }
}

/// The facts about a file.
#[derive(Clone, Debug)]
pub struct InspectReport {
    /// WARC or ARC.
    pub format: Format,
    /// How it is packed.
    pub encoding: Encoding,
    /// Number of records.
    pub records: u64,
    /// Number of records of each type.
    pub by_type: BTreeMap<String, u64>,
    /// Number of records of each version line.
    pub by_version: BTreeMap<String, u64>,
    /// The findings, in order of the file.
    pub findings: Vec<WarcFinding>,
    /// How often each rule was broken, with findings that were only counted.
    pub by_rule: BTreeMap<Rule, u64>,
    /// Digests.
    pub digests: DigestCounts,
    /// The end of the last complete record before the first lost bytes: bytes that belong to no
    /// record, or to an incomplete one. The size of the file when no bytes are lost.
    pub last_good_offset: u64,
    /// Whether bytes are lost.
    pub has_loss: bool,
    /// Size of the file.
    pub size: u64,
}

/// Inspects all of `source`. Any thread calls `progress` with the number of further bytes that were
/// processed.
pub fn inspect<S: ReadAt + ?Sized>(
    source: &S,
    options: InspectOptions,
    progress: &(impl Fn(u64) + Sync),
) -> Result<InspectReport, Error> {
    let size = source.size().map_err(|source| Error::Io { offset: 0, source })?;
    let mut report: Option<InspectReport> = None;
    let mut ids = RecordIds::default();
    let work = |reader: &mut WarcReader<&S>, until: u64| inspect_part(reader, until, options, progress);
    let parts = PartOptions { threads: options.threads.max(1), size: options.part_size };
    read_parts(source, parts, &work, &mut |part: InspectedPart| match &mut report {
        None => {
            ids.add(part.ids, options);
            report = Some(part.report);
        }
        Some(report) => {
            ids.add(part.ids, options);
            report.add(part.report, options);
        }
    })?;
    let mut report = report.unwrap_or_else(|| InspectReport::empty(Format::Warc, Encoding::Plain));
    report.size = size;
    ids.report(&mut report, options);
    if report.records == 0 {
        let message = if size == 0 { "the file is empty" } else { "the file holds no whole record" };
        report.keep(WarcFinding::new(Rule::NoRecords, 0, message), options);
    }
    report.findings.sort_by_key(|finding| finding.offset);
    Ok(report)
}

struct InspectedPart {
    report: InspectReport,
    /// The ids of its records, in strict mode.
    ids: PartIds,
}

fn inspect_part<S: ReadAt>(
    reader: &mut WarcReader<S>,
    until: u64,
    options: InspectOptions,
    progress: &impl Fn(u64),
) -> Result<InspectedPart, Error> {
    let mut part = InspectedPart {
        report: InspectReport::empty(reader.format(), reader.encoding()),
        ids: PartIds::default(),
    };
    let mut checker = RecordChecker::default();
    let mut done = reader.position();
    part.report.keep_all(reader.take_findings(), options);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        part.report.count(record.header());
        if options.strict
            && let Some(id) = record.header().record_id()
        {
            part.ids.push(id, record.offset());
        }
        part.report.digests.count(&checker.check(&mut record, options.strict)?);
        reader.finish_record()?;
        part.report.keep_all(checker.take_findings().chain(reader.take_findings()), options);
        let position = reader.position();
        progress(position.saturating_sub(done));
        done = position;
    }
    part.report.keep_all(reader.take_findings(), options);
    part.report.format = reader.format();
    part.report.last_good_offset = reader.undamaged_until();
    part.report.has_loss = reader.has_loss();
    Ok(part)
}

impl InspectReport {
    fn empty(format: Format, encoding: Encoding) -> Self {
        Self {
            format,
            encoding,
            records: 0,
            by_type: BTreeMap::new(),
            by_version: BTreeMap::new(),
            findings: Vec::new(),
            by_rule: BTreeMap::new(),
            digests: DigestCounts::default(),
            last_good_offset: 0,
            has_loss: false,
            size: 0,
        }
    }

    fn count(&mut self, header: &RecordHeader) {
        self.records += 1;
        let name = match header.record_type() {
            RecordType::Other => {
                let name = header.fields.get("WARC-Type").filter(|name| !name.is_empty());
                crate::rules::shown(name.unwrap_or(b"(none)")).to_ascii_lowercase()
            }
            known => known.name().to_owned(),
        };
        increase(&mut self.by_type, name, 1);
        increase(&mut self.by_version, format!("{}.{}", header.version.major, header.version.minor), 1);
    }

    fn keep_all(&mut self, findings: impl IntoIterator<Item = WarcFinding>, options: InspectOptions) {
        findings.into_iter().for_each(|finding| self.keep(finding, options));
    }

    fn keep(&mut self, finding: WarcFinding, options: InspectOptions) {
        if finding.rule.kind() == ReportingMode::Conformance && !options.strict {
            return;
        }
        *self.by_rule.entry(finding.rule).or_default() += finding.times;
        if self.findings.len() < options.findings {
            self.findings.push(finding);
        }
    }

    /// Adds the result of the next part of the file.
    fn add(&mut self, part: InspectReport, options: InspectOptions) {
        self.records += part.records;
        part.by_type.into_iter().for_each(|(name, count)| increase(&mut self.by_type, name, count));
        part.by_version.into_iter().for_each(|(name, count)| increase(&mut self.by_version, name, count));
        self.digests.ok += part.digests.ok;
        self.digests.bad += part.digests.bad;
        self.digests.unchecked += part.digests.unchecked;
        if !self.has_loss {
            self.last_good_offset = self.last_good_offset.max(part.last_good_offset);
            self.has_loss = part.has_loss;
        }
        let mut beyond = part.by_rule;
        beyond.retain(|rule, _| !(REPORTED_ONCE.contains(rule) && self.by_rule.contains_key(rule)));
        for finding in part.findings {
            if let Some(count) = beyond.get_mut(&finding.rule) {
                *count -= finding.times;
                self.keep(finding, options);
            }
        }
        for (rule, count) in beyond.into_iter().filter(|(_, count)| *count > 0) {
            *self.by_rule.entry(rule).or_default() += count;
        }
    }
}

/// Rules that readers report once a file.
const REPORTED_ONCE: [Rule; 4] =
    [Rule::RecordsShareMember, Rule::RecordSpansMembers, Rule::FrameUnchecked, Rule::DictionaryMissing];

/// Maximum number of names that are counted separately.
const MAX_COUNTED_NAMES: usize = 100;
/// The name under which all others are counted.
const OTHER_NAMES: &str = "(others)";

/// Counts a name. A file may hold any number of names; the first in alphabetical order are kept, so
/// that the result does not depend on the order of the parts.
fn increase(counts: &mut BTreeMap<String, u64>, name: String, more: u64) {
    *counts.entry(name).or_default() += more;
    if counts.len() > MAX_COUNTED_NAMES + usize::from(counts.contains_key(OTHER_NAMES)) {
        let last = counts.keys().rev().find(|name| *name != OTHER_NAMES).cloned();
        let count = last.and_then(|name| counts.remove(&name)).unwrap_or(0);
        *counts.entry(OTHER_NAMES.to_owned()).or_default() += count;
    }
}
