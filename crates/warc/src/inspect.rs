//! Everything that can be said about one file: what it holds, what is wrong with it, where it stops being good.
//!
//! Reads each record once, hashing while the bytes stream by, on as many threads as it is given. Findings are data;
//! printing them, and deciding whether they are a failure, is for others.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::BufRead;

use crate::check::{Checker, Verdict};
use crate::member::Encoding;
use crate::parts::{Parts, read_parts};
use crate::reader::{Error, Format, Reader, Record};
use crate::record::{Header, RecordType};
use crate::rule::{Finding, Kind, Rule};
use crate::source::ReadAt;

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
    /// The end of the last record that was whole.
    pub last_good_offset: u64,
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
            let mut first = part.report;
            ids.check(&part.ids, &mut first, options);
            report = Some(first);
        }
        Some(report) => {
            report.add(part.report, options);
            ids.check(&part.ids, report, options);
        }
    })?;
    let mut report = report.unwrap_or_else(|| Report::empty(Format::Warc, Encoding::Plain));
    report.size = size;
    if report.records == 0 {
        let message = if size == 0 { "the file is empty" } else { "the file holds no whole record" };
        report.keep(Finding::new(Rule::NoRecords, 0, message), options);
    }
    report.findings.sort_by_key(|finding| finding.offset);
    Ok(report)
}

struct Part {
    report: Report,
    /// Hashes and places of record ids, in strict mode.
    ids: Vec<(u64, u64)>,
}

fn inspect_part<S: ReadAt>(
    reader: &mut Reader<S>,
    until: u64,
    options: Options,
    progress: &impl Fn(u64),
) -> Result<Part, Error> {
    let mut part = Part { report: Report::empty(reader.format(), reader.encoding()), ids: Vec::new() };
    let mut checker = Checker::default();
    let mut done = reader.position();
    let unmoved = reader.last_good_offset();
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        part.report.count(record.header());
        if options.strict
            && let Some(id) = record.header().record_id()
        {
            part.ids.push((RecordIds::hash(id), record.offset()));
        }
        check_record(&mut checker, &mut record, options.strict, &mut part.report.digests)?;
        reader.finish_record()?;
        for finding in checker.take_findings().chain(reader.take_findings()) {
            part.report.keep(finding, options);
        }
        let position = reader.position();
        progress(position.saturating_sub(done));
        done = position;
    }
    for finding in reader.take_findings() {
        part.report.keep(finding, options);
    }
    part.report.format = reader.format();
    // Where a part begins is good only if the part before it says so.
    part.report.last_good_offset =
        Some(reader.last_good_offset()).filter(|good| *good != unmoved).unwrap_or(0);
    Ok(part)
}

fn check_record<S: ReadAt>(
    checker: &mut Checker,
    record: &mut Record<'_, S>,
    strict: bool,
    digests: &mut Digests,
) -> Result<(), Error> {
    let offset = record.offset();
    checker.begin(record, strict);
    loop {
        let bytes = record.fill_buf().map_err(|source| Error::Io { offset, source })?;
        if bytes.is_empty() {
            break;
        }
        checker.push(bytes);
        let length = bytes.len();
        record.consume(length);
    }
    let checked = checker.finish(record);
    for verdict in [checked.block, checked.payload] {
        match verdict {
            Verdict::Absent => {}
            Verdict::Right => digests.ok += 1,
            Verdict::Wrong => digests.bad += 1,
            Verdict::Unchecked => digests.unchecked += 1,
        }
    }
    Ok(())
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
            size: 0,
        }
    }

    fn count(&mut self, header: &Header) {
        self.records += 1;
        let name = match header.record_type() {
            RecordType::Other => {
                crate::rule::shown(header.fields.get("WARC-Type").unwrap_or(b"(none)")).to_ascii_lowercase()
            }
            known => known.name().to_owned(),
        };
        increment(&mut self.by_type, name);
        increment(&mut self.by_version, format!("{}.{}", header.version.major, header.version.minor));
    }

    fn keep(&mut self, finding: Finding, options: Options) {
        if finding.rule.kind() == Kind::Conformance && !options.strict {
            return;
        }
        *self.by_rule.entry(finding.rule).or_default() += 1;
        if self.findings.len() < options.findings {
            self.findings.push(finding);
        }
    }

    /// Adds what the next part of the file gave.
    fn add(&mut self, part: Report, options: Options) {
        self.records += part.records;
        for (name, count) in part.by_type {
            *self.by_type.entry(name).or_default() += count;
        }
        for (name, count) in part.by_version {
            *self.by_version.entry(name).or_default() += count;
        }
        self.digests.ok += part.digests.ok;
        self.digests.bad += part.digests.bad;
        self.digests.unchecked += part.digests.unchecked;
        self.last_good_offset = self.last_good_offset.max(part.last_good_offset);
        let mut beyond = part.by_rule;
        for finding in part.findings {
            if let Some(count) = beyond.get_mut(&finding.rule) {
                *count -= 1;
            }
            if !(SAID_ONCE.contains(&finding.rule) && self.by_rule.contains_key(&finding.rule)) {
                self.keep(finding, options);
            }
        }
        for (rule, count) in beyond {
            if count > 0 {
                *self.by_rule.entry(rule).or_default() += count;
            }
        }
    }
}

/// Rules that readers report once a file.
const SAID_ONCE: [Rule; 4] =
    [Rule::RecordsShareMember, Rule::RecordSpansMembers, Rule::FrameUnchecked, Rule::DictionaryMissing];

fn increment(counts: &mut BTreeMap<String, u64>, name: String) {
    *counts.entry(name).or_default() += 1;
}

/// The record ids seen, as hashes, as many as fit in bounded memory.
#[derive(Default)]
struct RecordIds {
    seen: HashSet<u64>,
}

impl RecordIds {
    /// About 16 MB.
    const MOST: usize = 1 << 20;

    fn hash(id: &[u8]) -> u64 {
        // One key for the process: hashes from different threads must agree, and must not be foreseeable.
        static KEY: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
        KEY.get_or_init(RandomState::new).hash_one(id)
    }

    fn check(&mut self, ids: &[(u64, u64)], report: &mut Report, options: Options) {
        for (hash, offset) in ids {
            if self.seen.contains(hash) {
                let message = "an earlier record has the same WARC-Record-ID";
                report.keep(Finding::new(Rule::RecordIdRepeated, *offset, message), options);
            } else if self.seen.len() < Self::MOST {
                self.seen.insert(*hash);
            }
        }
    }
}
