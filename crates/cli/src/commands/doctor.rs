//! `varve doctor`: what is in WARC and ARC files, and what is wrong with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use varve_archive::verbs::doctor::{
    self, Digests, DoctorError, Encoding, Finding, Format, Report, Rule, Severity,
};

use super::{Outcome, Verb};
use crate::clock;
use crate::error::{self, Error};
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG, WARN, counted};
use crate::session::{SOFTWARE, Session};

const EXAMPLES: &str = "\
Examples:
  varve doctor crawl.warc.gz
  varve doctor --strict --json *.warc.gz > report.jsonl
  varve doctor --repair whole.warc.gz broken.warc
  varve doctor --rules

Exit codes:
  0    every file is clean; notices do not count
  1    there are findings
  2    a file could not be read";

/// So many findings of one rule are listed.
const LISTED: u64 = 8;

/// Look into WARC and ARC files, and repair them
///
/// Reads each file to its end, whatever it is called and however it is packed (plain, gzip, zstd), checks every
/// checksum and digest, and says what is wrong and where. Damage ends nothing: reading goes on at the next record.
///
/// `--repair` writes a new file, WARC/1.1 with a compressed member for each record, holding every record that could
/// be read. Blocks are never changed; where one ends is decided anew when its length lies. For each record that had to
/// be mended, a metadata record keeps what was wrong and the header as it was, and for bytes that belong to no record,
/// where they were and, when they are few, what they are.
///
/// With `--json` there is one object a file, with `file`, `format`, `packing`, `records`, `by_type`, `findings`,
/// `digests` and `last_good_offset`, and after a repair `repaired`. A file that could not be dealt with has an `error` as
/// well, no `format`, and nothing in the others. `last_good_offset` is the end of the last whole record before the first bytes that are lost, because
/// they belong to no record or to one that is not whole; the size of the file when none are.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    /// The files
    #[arg(required_unless_present = "rules", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Check every rule of ISO 28500, not only what readers stumble over
    #[arg(long)]
    strict: bool,

    /// Write a repaired file: a new name, or a folder. `.warc`, `.warc.gz` and `.warc.zst` decide how it is packed
    #[arg(long, value_name = "OUT")]
    repair: Option<PathBuf>,

    /// List every finding, not only the first of each kind
    #[arg(long)]
    all: bool,

    /// Print the rules, with the clause that each rests on
    #[arg(long, conflicts_with_all = ["files", "repair", "strict"])]
    rules: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Doctor {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let printer = &mut session.printer;
        if self.rules {
            return print_rules(self.json, printer);
        }
        let total = self.files.iter().map(|path| doctor::size(path)).sum();
        let progress = printer.progress_bytes(Some(total));
        let mut outcome = Outcome::Done;
        for path in &self.files {
            match self.treat(path, &|bytes| progress.inc(bytes), printer) {
                Ok(found) => outcome = outcome.worse(found),
                Err(failure @ Error::Doctor(_)) => {
                    if self.json {
                        printer.json(&Unreadable {
                            file: &path.to_string_lossy(),
                            format: None,
                            records: 0,
                            by_type: BTreeMap::new(),
                            findings: [],
                            digests: Digests::default(),
                            last_good_offset: 0,
                            error: error::report(&failure).one_line(),
                        })?;
                    }
                    printer.report(&error::report(&failure));
                    outcome = Outcome::Incomplete;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(outcome)
    }
}

impl Doctor {
    /// Examines one file, and repairs it when asked to. That the repaired file can have its name is made sure first:
    /// reading a large file takes long.
    fn treat(
        &self,
        path: &Path,
        progress: &(impl Fn(u64) + Sync),
        printer: &mut Printer,
    ) -> Result<Outcome, Error> {
        let several = self.files.len() > 1;
        let target = self.repair.as_deref().map(|target| doctor::repaired_path(path, target, several));
        let target = target.transpose()?;
        let report = doctor::examine(path, doctor::options(self.strict), progress)?;
        if !self.json {
            print(path, &report, self.all, printer)?;
        }
        let repaired = target.map(|target| mend(path, &target, printer)).transpose()?;
        if self.json {
            // Last, so that a repair that fails does not make it two objects for one file.
            printer.json(&Examined::new(path, &report, repaired))?;
        }
        Ok(if doctor::complaints(&report) > 0 { Outcome::Findings } else { Outcome::Done })
    }
}

/// Prints what a file is and what was found in it: all of it, or the first of each kind.
pub(super) fn print(path: &Path, report: &Report, all: bool, printer: &mut Printer) -> Result<(), Error> {
    printer.line(format_args!(
        "{STRONG}{}{STRONG:#}: {}, {}, {}{}",
        path.display(),
        format_name(report).to_uppercase(),
        packing_name(report.encoding),
        counted(report.records, "record"),
        by_type(&report.by_type),
    ))?;
    let Digests { ok, bad, unchecked } = report.digests;
    printer.line(format_args!("  digests: {ok} right, {bad} wrong, {unchecked} not checked"))?;
    let mut listed: BTreeMap<Rule, u64> = BTreeMap::new();
    for finding in &report.findings {
        let count = listed.entry(finding.rule).or_default();
        *count += finding.times;
        if all || *count <= LISTED {
            print_finding(finding, printer)?;
        }
    }
    for (rule, total) in &report.by_rule {
        let shown = if all { listed.get(rule).copied().unwrap_or(0) } else { LISTED.min(*total) };
        if *total > shown {
            printer.line(format_args!("  {FAINT}{} and {} more{FAINT:#}", rule.code(), total - shown))?;
        }
    }
    print_verdict(report, printer)
}

fn mend(path: &Path, target: &Path, printer: &mut Printer) -> Result<Mended, Error> {
    let repaired = doctor::repair(path, target, SOFTWARE, clock::now())?;
    printer.say(format_args!(
        "  wrote {}: {}, {} of them mended, {} of stray or unreadable bytes left out",
        target.display(),
        counted(repaired.records, "record"),
        repaired.mended,
        counted(repaired.gaps, "stretch"),
    ));
    let file = target.to_string_lossy().into_owned();
    Ok(Mended { file, records: repaired.records, mended: repaired.mended, gaps: repaired.gaps })
}

fn print_finding(finding: &Finding, printer: &mut Printer) -> Result<(), Error> {
    let (style, name) = match finding.rule.severity() {
        Severity::Error => (BAD, "error"),
        Severity::Warning => (WARN, "warning"),
        Severity::Notice => (FAINT, "notice"),
    };
    printer.line(format_args!(
        "  {style}{name:<7}{style:#} {} at byte {}: {}",
        finding.rule.code(),
        finding.offset,
        finding.message
    ))
}

fn print_verdict(report: &Report, printer: &mut Printer) -> Result<(), Error> {
    let count = |severity| {
        let rules = report.by_rule.iter().filter(|(rule, _)| rule.severity() == severity);
        rules.map(|(_, count)| count).sum::<u64>()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors + warnings == 0 {
        return printer.line(format_args!("  {GOOD}clean{GOOD:#}, all {} bytes", report.size));
    }
    printer.line(format_args!(
        "  {} and {}; whole records up to byte {} of {}",
        counted(errors, "error"),
        counted(warnings, "warning"),
        report.last_good_offset,
        report.size
    ))
}

fn print_rules(json: bool, printer: &mut Printer) -> Result<Outcome, Error> {
    for rule in Rule::ALL {
        if json {
            printer.json(&Rules {
                rule: rule.code(),
                severity: rule.severity(),
                clause: rule.clause(),
                text: rule.title(),
            })?;
        } else {
            printer.line(format_args!(
                "{STRONG}{}{STRONG:#} {} {FAINT}({}){FAINT:#}",
                rule.code(),
                rule.title(),
                rule.clause()
            ))?;
        }
    }
    Ok(Outcome::Done)
}

fn format_name(report: &Report) -> &'static str {
    match report.format {
        Format::Warc => "warc",
        Format::Arc { .. } => "arc",
    }
}

fn packing_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Plain => "not packed",
        Encoding::Gzip => "gzip",
        Encoding::Zstd => "zstd",
    }
}

/// ` (3 request, 2 response)`, the most frequent first.
fn by_type(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let parts: Vec<String> = sorted.iter().map(|(name, count)| format!("{count} {name}")).collect();
    format!(" ({})", parts.join(", "))
}

/// One file as JSON.
#[derive(Serialize)]
struct Examined<'a> {
    file: String,
    format: &'static str,
    packing: Encoding,
    records: u64,
    by_type: &'a BTreeMap<String, u64>,
    by_version: &'a BTreeMap<String, u64>,
    findings: Vec<ExaminedFinding<'a>>,
    /// All of them, also those beyond what is listed.
    findings_total: u64,
    digests: Digests,
    last_good_offset: u64,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Mended>,
}

/// The repaired file as JSON.
#[derive(Serialize)]
struct Mended {
    file: String,
    records: u64,
    mended: u64,
    gaps: u64,
}

#[derive(Serialize)]
struct ExaminedFinding<'a> {
    rule: &'static str,
    offset: u64,
    severity: Severity,
    message: &'a str,
    clause: &'static str,
}

#[derive(Serialize)]
struct Unreadable<'a> {
    file: &'a str,
    format: Option<&'static str>,
    records: u64,
    by_type: BTreeMap<String, u64>,
    findings: [ExaminedFinding<'a>; 0],
    digests: Digests,
    last_good_offset: u64,
    error: String,
}

#[derive(Serialize)]
struct Rules {
    rule: &'static str,
    severity: Severity,
    clause: &'static str,
    text: &'static str,
}

impl<'a> Examined<'a> {
    fn new(path: &Path, report: &'a Report, repaired: Option<Mended>) -> Self {
        let finding = |finding: &'a Finding| ExaminedFinding {
            rule: finding.rule.code(),
            offset: finding.offset,
            severity: finding.rule.severity(),
            message: &finding.message,
            clause: finding.rule.clause(),
        };
        Self {
            file: path.to_string_lossy().into_owned(),
            format: format_name(report),
            packing: report.encoding,
            records: report.records,
            by_type: &report.by_type,
            by_version: &report.by_version,
            findings: report.findings.iter().map(finding).collect(),
            findings_total: report.by_rule.values().sum(),
            digests: report.digests,
            last_good_offset: report.last_good_offset,
            size: report.size,
            repaired,
        }
    }
}

/// What to do about a file that could not be dealt with.
pub(crate) fn hint(failure: &DoctorError) -> Option<&'static str> {
    match failure {
        DoctorError::Folder { .. } => {
            Some("name the files in it, for example `varve doctor FOLDER/*.warc.gz`")
        }
        DoctorError::Exists { .. } => Some("choose a new name: doctor never overwrites"),
        DoctorError::Ending { .. } => {
            Some("the ending decides how it is packed; a folder must be there already")
        }
        DoctorError::NoFolder { .. } => Some("make the folder first"),
        DoctorError::NotAFolder { .. } => Some("make the folder first, or repair one file at a time"),
        DoctorError::Read { source, .. } if source.is_zip() => {
            Some("unpack it and look at the files in its `archive` folder")
        }
        _ => None,
    }
}
