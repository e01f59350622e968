//! `varve doctor`: validates WARC, ARC and WACZ files, and repairs WARC and ARC files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use varve_archive::verbs::doctor::{
    self, DigestCounts, Encoding, Format, InspectReport, PackageSignature, PackageSigner, Rule, RuleSeverity,
    WarcFinding, ZipFinding,
};
use varve_archive::verbs::doctor_package::{self, PackageReport};

use crate::clock;
use crate::error_report::one_line;
use crate::printer::{BAD_STYLE, FAINT_STYLE, GOOD_STYLE, Printer, STRONG_STYLE, WARNING_STYLE, counted};
use crate::session::{SOFTWARE_NAME, Session};
use crate::verb::{Error, ExitStatus, Verb};

/// Findings of one rule that are listed.
const MAX_FINDINGS_PER_RULE: u64 = 8;

/// Validate WARC, ARC and WACZ files, and repair WARC and ARC files
///
/// Reads each file to its end, with any name and compression (none, gzip, zstd), checks every
/// checksum and digest, and reports errors with their offset. After damage, reading continues with
/// the next record.
///
/// `--repair` writes a new WARC/1.1 file, one compressed member per record, with every record that
/// could be read. Blocks are never changed; where a length is wrong, the end of the block is
/// determined again. For each repaired record, a metadata record keeps the findings and the
/// original header. For bytes that belong to no record, it keeps their position and, if they are
/// few, their content.
///
/// Of a WACZ file, each member is checked against its checksum, `datapackage.json` and
/// `datapackage-digest.json`, and each WARC file in it is validated. A signature must be that of the key
/// or the domain that it names, and the certificate of the domain must have been valid at the time
/// of signing that the package gives. Timestamps are not verified.
///
/// With `--json`, prints one object per file, and one more per WARC file in a package: `file`, `format`, `packing`, `records`, `by_type`,
/// `findings`, `digests`, `last_good_offset`, and after a repair `repaired`. A file that could not
/// be examined has an `error`, no `format`, and empty values. `last_good_offset` is the end of the
/// last complete record before the first damage, or the size of an undamaged file.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve doctor crawl.warc.gz
  varve doctor crawl.wacz
  varve doctor --strict --json *.warc.gz > report.jsonl
  varve doctor --repair whole.warc.gz broken.warc
  varve doctor --rules

Exit codes:
  0    every file is clean; notices do not count
  1    there are findings
  2    a file could not be read")]
pub(super) struct DoctorArgs {
    /// The files
    #[arg(required_unless_present = "rules", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Check every rule of ISO 28500, not only those that affect readers
    #[arg(long)]
    strict: bool,

    /// Write a repaired file: a new name, or a folder. `.warc`, `.warc.gz` or `.warc.zst` selects
    /// the compression
    #[arg(long, value_name = "OUT")]
    repair: Option<PathBuf>,

    /// List every finding, not only the first of each rule
    #[arg(long)]
    all: bool,

    /// List the rules, with their clause in the standard
    #[arg(long, conflicts_with_all = ["files", "repair", "strict"])]
    rules: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for DoctorArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let printer = &mut session.printer;
        if self.rules {
            return print_rules(self.json, printer);
        }
        let total = self.files.iter().map(|path| doctor::size(path)).sum();
        let progress = printer.progress_bytes(Some(total));
        let mut outcome = ExitStatus::Done;
        for path in &self.files {
            match self.examine(path, &|bytes| progress.inc(bytes), printer) {
                Ok(found) => outcome = outcome.worse(found),
                Err(failure @ Error::Doctor(_)) => {
                    if self.json {
                        printer.json(&unreadable_json(path, &failure))?;
                    }
                    printer.report(&failure);
                    outcome = ExitStatus::Incomplete;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(outcome)
    }
}

impl DoctorArgs {
    /// Examines a file, and repairs it if asked. Checks the name of the repaired file first,
    /// because reading a large file takes long.
    fn examine(
        &self,
        path: &Path,
        progress: &(impl Fn(u64) + Sync),
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        if self.repair.is_none() && doctor_package::is_package(path)? {
            return self.examine_package(path, progress, printer);
        }
        let several = self.files.len() > 1;
        let target = self.repair.as_deref().map(|target| doctor::repaired_path(path, target, several));
        let target = target.transpose()?;
        let report = doctor::examine(path, doctor::options(self.strict), progress)?;
        if !self.json {
            print(path, &report, self.all, printer)?;
        }
        let repaired = target.map(|target| write_repaired(path, &target, printer)).transpose()?;
        if self.json {
            // Last: if the repair fails, the file still has one object.
            printer.json(&report_json(path, &report, repaired))?;
        }
        Ok(if doctor::complaints(&report) > 0 { ExitStatus::Findings } else { ExitStatus::Done })
    }
}

impl DoctorArgs {
    /// Examines a WACZ file.
    fn examine_package(
        &self,
        path: &Path,
        progress: &(impl Fn(u64) + Sync),
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        let report = doctor_package::examine_package(path, doctor::options(self.strict), progress)?;
        let PackageReport { version, members, signature, findings, records } = &report;
        if self.json {
            printer.json(&package_json(path, &report))?;
        } else {
            printer.line(format_args!(
                "{STRONG_STYLE}{}{STRONG_STYLE:#}: WACZ {}, {}, {} of records",
                path.display(),
                version.as_deref().unwrap_or("without a version"),
                counted(*members, "member"),
                counted(records.len() as u64, "file"),
            ))?;
            if let Some(PackageSignature { signer, created }) = signature {
                let signer = match signer {
                    PackageSigner::Key(key) => format!("the key {key}"),
                    PackageSigner::Domain(domain) => format!("the domain {domain}"),
                };
                printer.line(format_args!(
                    "  {GOOD_STYLE}signed{GOOD_STYLE:#} by {signer}, as it says at {created}"
                ))?;
            }
            for ZipFinding { rule, offset, message } in findings {
                printer.line(format_args!(
                    "  {BAD_STYLE}error  {BAD_STYLE:#} {} at byte {offset}: {message}",
                    rule.name()
                ))?;
            }
        }
        let mut complaints = findings.len() as u64;
        for (name, report) in records {
            let member = PathBuf::from(format!("{}!{name}", path.display()));
            complaints += doctor::complaints(report);
            if self.json {
                printer.json(&report_json(&member, report, None))?;
            } else {
                print(&member, report, self.all, printer)?;
            }
        }
        Ok(ExitStatus::of_findings(complaints))
    }
}

/// A package as JSON. Its files of records have objects of their own.
fn package_json(path: &Path, report: &PackageReport) -> Value {
    let finding = |ZipFinding { rule, offset, message }: &ZipFinding| {
        json!({
            "rule": rule.name(),
            "offset": offset,
            "severity": RuleSeverity::Error,
            "message": message,
            "clause": "WACZ 1.1.1",
        })
    };
    let signature = report.signature.as_ref().map(|PackageSignature { signer, created }| match signer {
        PackageSigner::Key(key) => json!({ "key": key, "created": created }),
        PackageSigner::Domain(domain) => json!({ "domain": domain, "created": created }),
    });
    json!({
        "file": path.to_string_lossy(),
        "format": "wacz",
        "signature": signature,
        "records": 0,
        "by_type": {},
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "findings_total": report.findings.len(),
        "digests": DigestCounts::default(),
        "last_good_offset": 0,
    })
}

/// Prints the format and the findings of a file.
pub(super) fn print(
    path: &Path,
    report: &InspectReport,
    all: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    printer.line(format_args!(
        "{STRONG_STYLE}{}{STRONG_STYLE:#}: {}, {}, {}{}",
        path.display(),
        format_name(report).to_uppercase(),
        packing_name(report.encoding),
        counted(report.records, "record"),
        by_type(&report.by_type),
    ))?;
    let DigestCounts { ok, bad, unchecked } = report.digests;
    printer.line(format_args!("  digests: {ok} ok, {bad} wrong, {unchecked} not checked"))?;
    let mut listed: BTreeMap<Rule, u64> = BTreeMap::new();
    for finding in &report.findings {
        let count = listed.entry(finding.rule).or_default();
        *count += finding.times;
        if all || *count <= MAX_FINDINGS_PER_RULE {
            print_finding(finding, printer)?;
        }
    }
    for (rule, total) in &report.by_rule {
        let shown =
            if all { listed.get(rule).copied().unwrap_or(0) } else { MAX_FINDINGS_PER_RULE.min(*total) };
        if *total > shown {
            printer.line(format_args!(
                "  {FAINT_STYLE}{} and {} more{FAINT_STYLE:#}",
                rule.code(),
                total - shown
            ))?;
        }
    }
    print_verdict(report, printer)
}

fn write_repaired(path: &Path, target: &Path, printer: &mut Printer) -> Result<Value, Error> {
    let repaired = doctor::repair(path, target, SOFTWARE_NAME, clock::now())?;
    printer.say(format_args!(
        "  wrote {}: {}, {} of them repaired, {} of stray or unreadable bytes left out",
        target.display(),
        counted(repaired.records, "record"),
        repaired.mended,
        counted(repaired.gaps, "stretch"),
    ));
    Ok(json!({
        "file": target.to_string_lossy(),
        "records": repaired.records,
        "mended": repaired.mended,
        "gaps": repaired.gaps,
    }))
}

fn print_finding(finding: &WarcFinding, printer: &mut Printer) -> Result<(), Error> {
    let (style, name) = match finding.rule.severity() {
        RuleSeverity::Error => (BAD_STYLE, "error"),
        RuleSeverity::Warning => (WARNING_STYLE, "warning"),
        RuleSeverity::Notice => (FAINT_STYLE, "notice"),
    };
    printer.line(format_args!(
        "  {style}{name:<7}{style:#} {} at byte {}: {}",
        finding.rule.code(),
        finding.offset,
        finding.message
    ))
}

fn print_verdict(report: &InspectReport, printer: &mut Printer) -> Result<(), Error> {
    let count = |severity| {
        let rules = report.by_rule.iter().filter(|(rule, _)| rule.severity() == severity);
        rules.map(|(_, count)| count).sum::<u64>()
    };
    let (errors, warnings) = (count(RuleSeverity::Error), count(RuleSeverity::Warning));
    if errors + warnings == 0 {
        return printer.line(format_args!("  {GOOD_STYLE}clean{GOOD_STYLE:#}, all {} bytes", report.size));
    }
    printer.line(format_args!(
        "  {} and {}; whole records up to byte {} of {}",
        counted(errors, "error"),
        counted(warnings, "warning"),
        report.last_good_offset,
        report.size
    ))
}

fn print_rules(json: bool, printer: &mut Printer) -> Result<ExitStatus, Error> {
    for rule in Rule::ALL {
        if json {
            let (severity, clause, text) = (rule.severity(), rule.clause(), rule.title());
            let rule = rule.code();
            printer.json(&json!({ "rule": rule, "severity": severity, "clause": clause, "text": text }))?;
        } else {
            printer.line(format_args!(
                "{STRONG_STYLE}{}{STRONG_STYLE:#} {} {FAINT_STYLE}({}){FAINT_STYLE:#}",
                rule.code(),
                rule.title(),
                rule.clause()
            ))?;
        }
    }
    Ok(ExitStatus::Done)
}

fn format_name(report: &InspectReport) -> &'static str {
    match report.format {
        Format::Warc => "warc",
        Format::Arc { .. } => "arc",
    }
}

fn packing_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Plain => "uncompressed",
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
fn report_json(path: &Path, report: &InspectReport, repaired: Option<Value>) -> Value {
    let finding = |WarcFinding { rule, offset, message, .. }: &WarcFinding| {
        json!({
            "rule": rule.code(),
            "offset": offset,
            "severity": rule.severity(),
            "message": message,
            "clause": rule.clause(),
        })
    };
    let mut row = json!({
        "file": path.to_string_lossy(),
        "format": format_name(report),
        "packing": report.encoding,
        "records": report.records,
        "by_type": report.by_type,
        "by_version": report.by_version,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        // Including those that are not listed.
        "findings_total": report.by_rule.values().sum::<u64>(),
        "digests": report.digests,
        "last_good_offset": report.last_good_offset,
        "size": report.size,
    });
    if let Some(repaired) = repaired {
        row["repaired"] = repaired;
    }
    row
}

/// A file that could not be examined, as JSON.
fn unreadable_json(path: &Path, failure: &Error) -> Value {
    json!({
        "file": path.to_string_lossy(),
        "format": null,
        "records": 0,
        "by_type": {},
        "findings": [],
        "digests": DigestCounts::default(),
        "last_good_offset": 0,
        "error": one_line(failure),
    })
}
