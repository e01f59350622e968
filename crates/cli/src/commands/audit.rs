//! `varve audit`: verifies that every stored byte is unchanged.

use std::path::{Path, PathBuf};

use varve_archive::verbs::audit::{
    self, AuditDone, AuditFinding, AuditRequest, AuditSeverity, Paper, Sample,
};
use varve_archive::verbs::audit_site;
use varve_archive::{Archive, ArchiveError, Objects};
use varve_archive::{Layout, detect_layout};

use super::crystal;
use crate::clock;
use crate::printer::{BAD_STYLE, GOOD_STYLE, Printer, WARNING_STYLE, counted, counted_entries};
use crate::session::{SOFTWARE_NAME, Session};
use crate::verb::{Error, ExitStatus, Verb};

const AUDIT_EXAMPLES: &str = "\
Examples:
  varve audit
  varve audit --quick
  varve audit --sample 5% --report audit.txt
  varve audit --since 2026-01-01 --json

Exit codes:
  0    everything is intact
  1    there are findings
  2    the archive could not be audited";

/// Findings in a report; the rest is counted.
const MAX_REPORTED_FINDINGS: usize = 10_000;

/// Verify that everything in the archive is intact
///
/// Reads every record of every silo and checks it against its checksums, its digests, its id, its
/// neighbours in a segmented object, the checksum in the next silo, and the index in both
/// directions. Changes nothing. An archive can be audited while another process writes to it.
///
/// `--quick` checks structure and index without reading bodies. It reads the header of each record
/// in the index: the record must exist, match all its index entries, have the id that follows from
/// its header, and end where the next one begins; segments must have their neighbours. It finds
/// missing and truncated records, entries without a record and records without an entry. It does
/// not detect a change inside a body, and does not check silo checksums or the history. It can miss
/// a record without an entry after one of more than 1 MiB with exactly the same length.
///
/// `--since` and `--sample` check some of the silos, for archives that take days. The sample
/// differs each day, so that all silos are checked in time. Of a segmented object they check only
/// that the segments exist. Digests of segmented objects, versions and the catalog need a full
/// audit.
///
/// In a Crystal project, rows and bodies are compared, as `varve crystal verify --bodies` does.
/// Rows contain no digest, so every readable body counts as intact.
///
/// In a Moku site, every body is compared with its name, and rows, bodies, stored diffs and scores,
/// HEAD and working tree with each other. A HEAD or tree that was left behind is reported; the next
/// verb that writes corrects it.
///
/// In an AardWARC store, every record is checked against its digests and its id, and segments
/// against each other; its own index is not checked.
///
/// With `--json`, prints one object per finding, and last one with `summary`.
#[derive(clap::Args)]
#[command(after_help = AUDIT_EXAMPLES)]
pub(super) struct AuditArgs {
    /// Check structure and index only, and no bodies
    #[arg(long)]
    quick: bool,

    /// Check only silos written since this day, or within this time: `30d`
    #[arg(long, value_name = "DATE", value_parser = clock::parse_day)]
    since: Option<i64>,

    /// Check this percentage of the silos, different ones each day
    #[arg(long, value_name = "N%", value_parser = parse_percent)]
    sample: Option<f64>,

    /// Write a plain text report, to print and sign
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').trim().parse().map_err(|_| "not a percentage".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("not between 0% and 100%".to_owned()) }
}

fn counted_bodies(count: u64) -> String {
    if count == 1 { "1 body".to_owned() } else { format!("{count} bodies") }
}

impl Verb for AuditArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let root = session.root()?;
        match detect_layout(&root) {
            Some(Layout::Crystal) => return self.run_on_project(&root, session),
            Some(Layout::Moku) => return self.run_on_site(&root, session),
            Some(Layout::Aardwarc) => return self.run_on_aardwarc(&root, session),
            _ => {}
        }
        let archive = Archive::open_to_audit(&root)?;
        let began = clock::now();
        let sample = self.sample.map(|percent| Sample { percent, seed: clock::day() });
        let request = AuditRequest { quick: self.quick, since: self.since, sample };
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Some(audit::bytes_to_read(&archive)?));
        let mut reported = Vec::new();
        let mut printed = Ok(());
        let done = audit::audit(&archive, &request, &|bytes| bar.inc(bytes), &mut |finding| {
            if printed.is_ok() {
                printed = if self.json { printer.json(&finding) } else { print(&finding, printer) };
            }
            if reported.len() < MAX_REPORTED_FINDINGS {
                reported.push(finding);
            }
        })?;
        printed?;
        if let Some(path) = &self.report {
            let (began, ended) = (began.to_string(), clock::now().to_string());
            let paper =
                Paper { archive: &archive, request, began: &began, ended: &ended, software: SOFTWARE_NAME };
            std::fs::write(path, paper.text(&done, &reported))
                .map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        if self.json {
            printer.json_summary(&done)?;
        } else {
            conclude(&done, printer)?;
        }
        Ok(ExitStatus::of_findings(done.findings))
    }
}

impl AuditArgs {
    fn run_on_site(&self, root: &Path, session: &mut Session) -> Result<ExitStatus, Error> {
        self.reject_archive_options(root)?;
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Some(audit_site::bytes_to_read(root)?));
        let mut printed = Ok(());
        let done = audit_site::audit_site(root, self.quick, &|bytes| bar.inc(bytes), &mut |finding| {
            if printed.is_ok() {
                printed = if self.json { printer.json(&finding) } else { print(&finding, printer) };
            }
        })?;
        printed?;
        let seen = format!(
            "{}, {}, {}",
            counted(done.versions, "version"),
            counted(done.records, "capture"),
            counted_bodies(done.bodies)
        );
        if !self.json {
            return printer.verification(done.findings, &seen);
        }
        printer.json_summary(&done)?;
        Ok(ExitStatus::of_findings(done.findings))
    }

    fn run_on_aardwarc(&self, root: &Path, session: &mut Session) -> Result<ExitStatus, Error> {
        self.reject_archive_options(root)?;
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Objects::bytes_to_read(root)?);
        let mut printed = Ok(());
        let done = audit::audit_aardwarc(root, self.quick, &|bytes| bar.inc(bytes), &mut |finding| {
            if printed.is_ok() {
                printed = if self.json { printer.json(&finding) } else { print(&finding, printer) };
            }
        })?;
        printed?;
        let seen = format!("{}, {}", counted(done.silos, "silo"), counted(done.records, "record"));
        if !self.json {
            return printer.verification(done.findings, &seen);
        }
        printer.json_summary(&done)?;
        Ok(ExitStatus::of_findings(done.findings))
    }

    /// Rejects options that only archives support.
    fn reject_archive_options(&self, root: &Path) -> Result<(), Error> {
        if self.report.is_some() || self.since.is_some() || self.sample.is_some() {
            return Err(ArchiveError::AuditedWhole { path: root.to_owned() }.into());
        }
        Ok(())
    }

    fn run_on_project(&self, root: &Path, session: &mut Session) -> Result<ExitStatus, Error> {
        self.reject_archive_options(root)?;
        crystal::audit::audit(root, self.quick, self.json, &mut session.printer)
    }
}

pub(super) fn print(finding: &AuditFinding, printer: &mut Printer) -> Result<(), Error> {
    let (style, name) = match finding.severity {
        AuditSeverity::Error => (BAD_STYLE, "error"),
        AuditSeverity::Warning => (WARNING_STYLE, "warning"),
    };
    printer.line(format_args!("{style}{name:<7}{style:#} {}", audit::line(finding)))
}

pub(super) fn conclude(done: &AuditDone, printer: &mut Printer) -> Result<(), Error> {
    let left_out = match done.silos_left_out {
        0 => String::new(),
        count => format!(" ({} skipped)", counted(count, "silo")),
    };
    let seen = format!(
        "{}{left_out}, {}, {}",
        counted(done.silos, "silo"),
        counted(done.records, "record"),
        counted_entries(done.entries),
    );
    match (done.findings, done.silos, done.silos_left_out) {
        (0, 0, 1..) => {
            printer.line(format_args!("{WARNING_STYLE}nothing was checked{WARNING_STYLE:#}: {seen}"))
        }
        (0, _, 1..) => printer.line(format_args!("{GOOD_STYLE}ok, as far as checked{GOOD_STYLE:#}: {seen}")),
        _ => printer.verification(done.findings, &seen).map(|_| ()),
    }
}
