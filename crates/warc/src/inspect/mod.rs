//! Everything that can be said about one file: what it holds, what is wrong with it, where it stops being good.
//!
//! Reads each record once, hashing while the bytes stream by, on as many threads as it is given. Findings are data;
//! printing them, and deciding whether they are a failure, is for others.

mod ids;

use std::collections::BTreeMap;

use crate::check::{Checked, Checker, Verdict};
use crate::member::Encoding;
use crate::parts::{Parts, read_parts};
use crate::reader::{Error, Format, Reader};
use crate::record::{Header, RecordType};
use crate::rule::{Finding, Kind, Rule};
use ids::{PartIds, RecordIds};
use varve_wire::ReadAt;

/// How to inspect.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Report conformance rules too.
    pub strict: bool,
    /// How many threads may read.
    pub threads: usize,
    /// Most findings that are kept; the rest is only counted.
    pub findings: usize,
    /// How large the parts are that threads read; by default in proportion to the file. The report does not depend on
    /// it, which is what tests show with small ones.
    pub part_size: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { strict: false, threads, findings: 10_000, part_size: None }
    }
}

/// How many digests agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Digests {
    /// Recomputed and equal.
    pub ok: u64,
    /// Recomputed and different.
    pub bad: u64,
    /// There, but not of these bytes or not readable: revisits, segments, truncated payloads, unknown algorithms.
    pub unchecked: u64,
}

impl Digests {
    fn count(&mut self, checked: &Checked) {
        for verdict in [checked.block, checked.payload] {
            match verdict {
                Verdict::Absent => {}
                Verdict::Right => self.ok += 1,
                Verdict::Wrong => self.bad += 1,
                Verdict::Unchecked => self.unchecked += 1,
            }
        }
    }
}

/// What a file is.
#[derive(Clone, Debug)]
pub struct Report {
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
    /// What was found, in order of the file.
    pub findings: Vec<Finding>,
    /// How often each rule was broken, also beyond what is kept.
    pub by_rule: BTreeMap<Rule, u64>,
    /// Digests.
    pub digests: Digests,
    /// The end of the last whole record before the first bytes that are lost: that belong to no record, or to one that is
    /// not whole. The size of the file when none are.
    pub last_good_offset: u64,
    /// Whether bytes are lost.
    pub has_loss: bool,
    /// Size of the file.
    pub size: u64,
}

/// Inspects all of `source`. `progress` is told, from any thread, how many more bytes were dealt with.
pub fn inspect<S: ReadAt + ?Sized>(
    source: &S,
    options: Options,
    progress: &(impl Fn(u64) + Sync),
) -> Result<Report, Error> {
    let size = source.size().map_err(|source| Error::Io { offset: 0, source })?;
    let mut report: Option<Report> = None;
    let mut ids = RecordIds::default();
    let work = |reader: &mut Reader<&S>, until: u64| inspect_part(reader, until, options, progress);
    let parts = Parts { threads: options.threads.max(1), size: options.part_size };
    read_parts(source, parts, &work, &mut |part: Part| match &mut report {
        None => {
            ids.add(part.ids, options);
            report = Some(part.report);
        }
        Some(report) => {
            ids.add(part.ids, options);
            report.add(part.report, options);
        }
    })?;
    let mut report = report.unwrap_or_else(|| Report::empty(Format::Warc, Encoding::Plain));
    report.size = size;
    ids.report(&mut report, options);
    if report.records == 0 {
        let message = if size == 0 { "the file is empty" } else { "the file holds no whole record" };
        report.keep(Finding::new(Rule::NoRecords, 0, message), options);
    }
    report.findings.sort_by_key(|finding| finding.offset);
    Ok(report)
}

struct Part {
    report: Report,
    /// The ids of its records, in strict mode.
    ids: PartIds,
}

fn inspect_part<S: ReadAt>(
    reader: &mut Reader<S>,
    until: u64,
    options: Options,
    progress: &impl Fn(u64),
) -> Result<Part, Error> {
    let mut part =
        Part { report: Report::empty(reader.format(), reader.encoding()), ids: PartIds::default() };
    let mut checker = Checker::default();
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

impl Report {
    fn empty(format: Format, encoding: Encoding) -> Self {
        Self {
            format,
            encoding,
            records: 0,
            by_type: BTreeMap::new(),
            by_version: BTreeMap::new(),
            findings: Vec::new(),
            by_rule: BTreeMap::new(),
            digests: Digests::default(),
            last_good_offset: 0,
            has_loss: false,
            size: 0,
        }
    }

    fn count(&mut self, header: &Header) {
        self.records += 1;
        let name = match header.record_type() {
            RecordType::Other => {
                let name = header.fields.get("WARC-Type").filter(|name| !name.is_empty());
                crate::rule::shown(name.unwrap_or(b"(none)")).to_ascii_lowercase()
            }
            known => known.name().to_owned(),
        };
        increase(&mut self.by_type, name, 1);
        increase(&mut self.by_version, format!("{}.{}", header.version.major, header.version.minor), 1);
    }

    fn keep_all(&mut self, findings: impl IntoIterator<Item = Finding>, options: Options) {
        findings.into_iter().for_each(|finding| self.keep(finding, options));
    }

    fn keep(&mut self, finding: Finding, options: Options) {
        if finding.rule.kind() == Kind::Conformance && !options.strict {
            return;
        }
        *self.by_rule.entry(finding.rule).or_default() += finding.times;
        if self.findings.len() < options.findings {
            self.findings.push(finding);
        }
    }

    /// Adds what the next part of the file gave.
    fn add(&mut self, part: Report, options: Options) {
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
        beyond.retain(|rule, _| !(SAID_ONCE.contains(rule) && self.by_rule.contains_key(rule)));
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
const SAID_ONCE: [Rule; 4] =
    [Rule::RecordsShareMember, Rule::RecordSpansMembers, Rule::FrameUnchecked, Rule::DictionaryMissing];

/// So many names are told apart.
const MOST_NAMES: usize = 100;
/// What is counted of all others.
const OTHERS: &str = "(others)";

/// Counts a name. A file may hold any number of names; the first in order of the alphabet are kept, so that the outcome
/// does not depend on the order in which they come.
fn increase(counts: &mut BTreeMap<String, u64>, name: String, more: u64) {
    *counts.entry(name).or_default() += more;
    if counts.len() > MOST_NAMES + usize::from(counts.contains_key(OTHERS)) {
        let last = counts.keys().rev().find(|name| *name != OTHERS).cloned();
        let count = last.and_then(|name| counts.remove(&name)).unwrap_or(0);
        *counts.entry(OTHERS.to_owned()).or_default() += count;
    }
}
