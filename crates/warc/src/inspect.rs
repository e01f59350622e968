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
            ids.check(&part.ids, options);
            report = Some(part.report);
        }
        Some(report) => {
            ids.check(&part.ids, options);
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
    part.report.keep_all(reader.take_findings(), options);
    while reader.next_offset().is_none_or(|offset| offset < until) {
        let Some(mut record) = reader.next_record()? else { break };
        part.report.count(record.header());
        if options.strict
            && part.ids.len() < RecordIds::MOST
            && let Some(id) = record.header().record_id()
        {
            part.ids.push((RecordIds::hash(id), record.offset()));
        }
        check_record(&mut checker, &mut record, options.strict, &mut part.report.digests)?;
        reader.finish_record()?;
        part.report.keep_all(checker.take_findings().chain(reader.take_findings()), options);
        let position = reader.position();
        progress(position.saturating_sub(done));
        done = position;
    }
    part.report.keep_all(reader.take_findings(), options);
    part.report.format = reader.format();
    part.report.last_good_offset = reader.last_good_offset();
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
        *self.by_rule.entry(finding.rule).or_default() += 1;
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
        self.last_good_offset = self.last_good_offset.max(part.last_good_offset);
        let mut beyond = part.by_rule;
        beyond.retain(|rule, _| !(SAID_ONCE.contains(rule) && self.by_rule.contains_key(rule)));
        for finding in part.findings {
            if let Some(count) = beyond.get_mut(&finding.rule) {
                *count -= 1;
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

/// The record ids seen, as hashes, as many as fit in bounded memory.
#[derive(Default)]
struct RecordIds {
    seen: HashSet<u64>,
    repeated: Vec<u64>,
    count: u64,
}

impl RecordIds {
    /// About 16 MB.
    const MOST: usize = 1 << 20;

    fn hash(id: &[u8]) -> u64 {
        // One key for the process: hashes from different threads must agree, and must not be foreseeable.
        static KEY: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
        KEY.get_or_init(RandomState::new).hash_one(id)
    }

    fn check(&mut self, ids: &[(u64, u64)], options: Options) {
        for (hash, offset) in ids {
            if self.seen.contains(hash) {
                self.count += 1;
                if self.repeated.len() < options.findings {
                    self.repeated.push(*offset);
                }
            } else if self.seen.len() < Self::MOST {
                self.seen.insert(*hash);
            }
        }
    }

    fn report(self, report: &mut Report, options: Options) {
        let beyond = self.count - self.repeated.len() as u64;
        for offset in self.repeated {
            let message = "an earlier record has the same WARC-Record-ID";
            report.keep(Finding::new(Rule::RecordIdRepeated, offset, message), options);
        }
        if beyond > 0 {
            *report.by_rule.entry(Rule::RecordIdRepeated).or_default() += beyond;
        }
    }
}
