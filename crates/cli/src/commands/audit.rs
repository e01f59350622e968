//! `varve audit`: is every byte we hold still what it was?

use std::path::{Path, PathBuf};

use serde::Serialize;
use varve_archive::history::{Kind, kind_of};
use varve_archive::verbs::audit::{
    self, AuditDone, AuditFinding, AuditRequest, AuditSeverity, Paper, Sample,
};
use varve_archive::verbs::audit_site;
use varve_archive::{Archive, ArchiveError, Objects};

use super::{Outcome, Verb, crystal};
use crate::clock;
use crate::error::Error;
use crate::printer::{BAD, GOOD, Printer, WARN, counted, counted_entries};
use crate::session::{SOFTWARE, Session};

const EXAMPLES: &str = "\
Examples:
  varve audit
  varve audit --quick
  varve audit --sample 5% --report audit.txt
  varve audit --since 2026-01-01 --json

Exit codes:
  0    nothing was found
  1    there are findings
  2    the archive could not be audited";

/// So many findings go into a report.
const ON_PAPER: usize = 10_000;

/// Check that everything in the archive is still what it was
///
/// Reads every record of every silo and holds it against its checksums, its digests, the id that follows from its
/// content, the segments it belongs with, the silo that follows, and the index in both directions. Nothing is changed,
/// and an archive that is being written to can be audited.
///
/// `--quick` looks at structure and index, and not at bodies. It goes from record to record by the index and unpacks
/// their headers: each record must be there, be the one that the index means, be known by all of its ids, have the id
/// that follows from its header, and end where the next one begins, by the length that its packed form gives; segments
/// must have their neighbours. So it finds records that are gone or cut, entries without a record and records without
/// an entry. It does not see a change inside a body, does not hold silos against those that follow nor look at the
/// history, and may miss a record without an entry right behind one that takes more than a megabyte and is just as
/// long.
///
/// `--since` and `--sample` look at some silos, for archives that take days; a different sample each day comes to all
/// of them in time. Of an object in segments that begins or lies in those silos, they look whether the segments that
/// belong with it are there; that all of it has the digest it should is checked by a full audit. Versions, and the
/// catalog, are checked by a full audit too.
///
/// Of a Crystal project, rows and bodies are held against each other, as `varve crystal verify --bodies` does it; no
/// row knows a digest, so that a body which can be read is taken for what it was.
///
/// Of a Moku site, every body is held against its name, and rows, bodies, kept diffs and scores, HEAD and working tree against each other. A HEAD
/// or a tree that was left behind is told, and put right by the next verb that writes.
///
/// Of an AardWARC store, every record is held against its digests and its id, and segments against each other; its own
/// index is not looked at.
///
/// With `--json` there is one object for each finding, and a last one with `summary`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Audit {
    /// Look at structure and index, and at no body
    #[arg(long)]
    quick: bool,

    /// Look only at silos that were written since that day, or for so long: `30d`
    #[arg(long, value_name = "DATE", value_parser = clock::parse_day)]
    since: Option<i64>,

    /// Look only at so many of a hundred silos, other ones each day
    #[arg(long, value_name = "N%", value_parser = parse_percent)]
    sample: Option<f64>,

    /// Write a report in plain text, to be printed and signed
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_end_matches('%').trim().parse().map_err(|_| "not a number of percent".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("not between 0% and 100%".to_owned()) }
}

#[derive(Serialize)]
struct Summary {
    summary: AuditDone,
}

#[derive(Serialize)]
struct SiteSummary {
    summary: audit_site::SiteAudited,
}

fn counted_bodies(count: u64) -> String {
    if count == 1 { "1 body".to_owned() } else { format!("{count} bodies") }
}

impl Verb for Audit {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let root = session.root()?;
        match kind_of(&root) {
            Some(Kind::Crystal) => return self.run_on_project(&root, session),
            Some(Kind::Moku) => return self.run_on_site(&root, session),
            Some(Kind::Aardwarc) => return self.run_on_aardwarc(&root, session),
            _ => {}
        }
        let archive = Archive::open_to_audit(&root)?;
        let began = clock::now();
        let sample = self.sample.map(|percent| Sample { percent, seed: clock::day() });
        let request = AuditRequest { quick: self.quick, since: self.since, sample };
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Some(audit::bytes_to_read(&archive)?));
        let mut on_paper = Vec::new();
        let mut printed = Ok(());
        let done = audit::audit(&archive, &request, &|bytes| bar.inc(bytes), &mut |finding| {
            if printed.is_ok() {
                printed = if self.json { printer.json(&finding) } else { print(&finding, printer) };
            }
            if on_paper.len() < ON_PAPER {
                on_paper.push(finding);
            }
        })?;
        printed?;
        if let Some(path) = &self.report {
            let (began, ended) = (began.to_string(), clock::now().to_string());
            let paper =
                Paper { archive: &archive, request, began: &began, ended: &ended, software: SOFTWARE };
            std::fs::write(path, paper.text(&done, &on_paper))
                .map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        if self.json {
            printer.json(&Summary { summary: done })?;
        } else {
            conclude(&done, printer)?;
        }
        Ok(if done.findings > 0 { Outcome::Findings } else { Outcome::Done })
    }
}

impl Audit {
    fn run_on_site(&self, root: &Path, session: &mut Session) -> Result<Outcome, Error> {
        self.refuse_parts(root)?;
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
        match (self.json, done.findings) {
            (true, _) => printer.json(&SiteSummary { summary: done })?,
            (false, 0) => printer.line(format_args!("{GOOD}sound{GOOD:#}: {seen}"))?,
            (false, count) => printer.line(format_args!("{} in {seen}", counted(count, "finding")))?,
        }
        Ok(if done.findings > 0 { Outcome::Findings } else { Outcome::Done })
    }

    fn run_on_aardwarc(&self, root: &Path, session: &mut Session) -> Result<Outcome, Error> {
        self.refuse_parts(root)?;
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
        match (self.json, done.findings) {
            (true, _) => printer.json(&Summary { summary: done })?,
            (false, 0) => printer.line(format_args!("{GOOD}sound{GOOD:#}: {seen}"))?,
            (false, count) => printer.line(format_args!("{} in {seen}", counted(count, "finding")))?,
        }
        Ok(if done.findings > 0 { Outcome::Findings } else { Outcome::Done })
    }

    /// What only archives have.
    fn refuse_parts(&self, root: &Path) -> Result<(), Error> {
        if self.report.is_some() || self.since.is_some() || self.sample.is_some() {
            return Err(ArchiveError::AuditedWhole { path: root.to_owned() }.into());
        }
        Ok(())
    }

    fn run_on_project(&self, root: &Path, session: &mut Session) -> Result<Outcome, Error> {
        self.refuse_parts(root)?;
        crystal::audit::audit(root, self.quick, self.json, &mut session.printer)
    }
}

pub(super) fn print(finding: &AuditFinding, printer: &mut Printer) -> Result<(), Error> {
    let (style, name) = match finding.severity {
        AuditSeverity::Error => (BAD, "error"),
        AuditSeverity::Warning => (WARN, "warning"),
    };
    printer.line(format_args!("{style}{name:<7}{style:#} {}", audit::line(finding)))
}

pub(super) fn conclude(done: &AuditDone, printer: &mut Printer) -> Result<(), Error> {
    let left_out = match done.silos_left_out {
        0 => String::new(),
        count => format!(" ({} left out)", counted(count, "silo")),
    };
    let seen = format!(
        "{}{left_out}, {}, {}",
        counted(done.silos, "silo"),
        counted(done.records, "record"),
        counted_entries(done.entries),
    );
    match (done.findings, done.silos, done.silos_left_out) {
        (0, 0, 1..) => return printer.line(format_args!("{WARN}nothing was looked at{WARN:#}: {seen}")),
        (0, _, 1..) => {
            return printer.line(format_args!("{GOOD}sound, as far as was looked{GOOD:#}: {seen}"));
        }
        (0, ..) => return printer.line(format_args!("{GOOD}sound{GOOD:#}: {seen}")),
        _ => {}
    }
    printer.line(format_args!("{} in {seen}", counted(done.findings, "finding")))
}
