//! `varve audit`: verifies that every stored byte is unchanged.

use std::path::{Path, PathBuf};

use varve_archive::history::HistoryReader;
use varve_archive::verbs::audit::{
    self, AuditFinding, AuditReport, AuditRequest, AuditSeverity, AuditSubject, AuditWork, CheckedItems,
    PrintedAudit, Sample,
};
use varve_archive::{ArchiveError, Layout, detect_layout};

use crate::clock;
use crate::printer::{
    BAD_STYLE, GOOD_STYLE, Printer, WARNING_STYLE, counted, counted_bodies, counted_entries, visible,
};
use crate::session::SOFTWARE_NAME;
use crate::verb::{Error, ExitStatus, Session, Verb};

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
/// In WARC, ARC and WACZ files, every record is checked against its digests, and every member of a
/// package against its checksum and the digests of the package. `--quick` reports only what was
/// found when the files were first read.
///
/// With `--json`, prints one object per finding, and last one with `summary`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve audit
  varve audit --quick
  varve audit --sample 5% --report audit.txt
  varve audit --since 2026-01-01 --json
  varve -C crawl.wacz audit

Exit codes:
  0    everything is intact
  1    there are findings
  2    the archive could not be audited")]
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

impl Verb for AuditArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let root = session.root()?;
        let subject = match detect_layout(&root) {
            Some(Layout::WebArchive) => match session.open_reader()? {
                HistoryReader::WebArchive(archive) => AuditSubject::WebArchive(Box::new(archive)),
                _ => AuditSubject::open(&root)?,
            },
            _ => AuditSubject::open(&root)?,
        };
        if self.report.is_some() && !matches!(subject, AuditSubject::Archive(_)) {
            return Err(ArchiveError::AuditedWhole(root).into());
        }
        let began = clock::now().to_string();
        let sample = self.sample.map(|percent| Sample { percent, seed: clock::day() });
        let request = AuditRequest { quick: self.quick, since: self.since, sample };
        let printer = &mut session.printer;
        let bar = match subject.work()? {
            AuditWork::Bytes(bytes) => printer.progress_bytes(bytes),
            AuditWork::Revisions(revisions) => printer.progress(Some(revisions), "revisions"),
        };
        let mut reported = Vec::new();
        let mut printed = Ok(());
        let done = subject.audit(&request, &|more| bar.inc(more), &mut |finding| {
            if printed.is_ok() {
                printed = if self.json { printer.json(&finding) } else { print(&finding, printer) };
            }
            if reported.len() < MAX_REPORTED_FINDINGS {
                reported.push(finding);
            }
        });
        printer.end_progress();
        let done = done?;
        printed?;
        if let (Some(path), AuditSubject::Archive(archive)) = (&self.report, &subject) {
            let (began, ended) = (&began, &clock::now().to_string());
            let report = PrintedAudit { archive, request, began, ended, software: SOFTWARE_NAME };
            write(path, &report.text(&done, &reported))?;
        }
        if self.json {
            printer.json_summary(&done)?
        } else {
            conclude(&done, printer)?
        }
        Ok(ExitStatus::of_findings(done.findings))
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn print(finding: &AuditFinding, printer: &mut Printer) -> Result<(), Error> {
    let (style, name) = match finding.severity {
        AuditSeverity::Error => (BAD_STYLE, "error"),
        AuditSeverity::Warning => (WARNING_STYLE, "warning"),
    };
    printer.finding(style, name, &visible(&audit::line(finding)))
}

/// Prints the number of checked records and bytes, and the number of findings.
fn conclude(done: &AuditReport, printer: &mut Printer) -> Result<(), Error> {
    let (silos, left_out) = match done.checked {
        CheckedItems::Archive { silos, silos_left_out, .. } => (silos, silos_left_out),
        _ => (0, 0),
    };
    let checked = checked(done);
    match (done.findings, silos, left_out) {
        (0, 0, 1..) => {
            printer.line(format_args!("{WARNING_STYLE}nothing was checked{WARNING_STYLE:#}: {checked}"))
        }
        (0, _, 1..) => {
            printer.line(format_args!("{GOOD_STYLE}ok, as far as checked{GOOD_STYLE:#}: {checked}"))
        }
        _ => printer.verification(done.findings, &checked).map(|_| ()),
    }
}

fn checked(done: &AuditReport) -> String {
    let records = |noun| counted(done.records, noun);
    match done.checked {
        CheckedItems::Archive { silos, silos_left_out: 0, entries } => {
            format!("{}, {}, {}", counted(silos, "silo"), records("record"), counted_entries(entries))
        }
        CheckedItems::Archive { silos, silos_left_out, entries } => format!(
            "{} ({} skipped), {}, {}",
            counted(silos, "silo"),
            counted(silos_left_out, "silo"),
            records("record"),
            counted_entries(entries)
        ),
        CheckedItems::Aardwarc { silos } => format!("{}, {}", counted(silos, "silo"), records("record")),
        CheckedItems::Site { versions, bodies } => {
            format!("{}, {}, {}", counted(versions, "version"), records("capture"), counted_bodies(bodies))
        }
        CheckedItems::WebArchive { files } => format!("{}, {}", counted(files, "file"), records("record")),
        CheckedItems::Project { bodies } => format!("{}, {bodies} with bodies", records("revision")),
    }
}
