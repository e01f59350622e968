//! `varve crystal verify`: is everything in a project as it should be?

use std::path::Path;

use serde::Serialize;
use varve_archive::verbs::crystal::verify::{repair, revisions_at_most, verify};
use varve_archive::verbs::crystal::{Finding, Repair, Repaired, Severity, Verified};

use super::super::Outcome;
use super::{Which, say_opened};
use crate::error::Error;
use crate::printer::{BAD, FAINT, GOOD, Printer, WARN, counted, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve crystal verify museum.crystalproj
  varve crystal verify museum.crystalproj --bodies --json
  varve crystal verify museum.crystalproj --repair

Exit codes:
  0    nothing was found, or all of it was repaired
  1    there are findings
  2    the project could not be verified";

/// Check that rows and bodies of a project are as they should be
///
/// Finds rows without bodies and bodies without rows, rows and packs that cannot be read, sources and roots that lead
/// nowhere, aliases that Crystal refuses, and damage of the database. Nothing is changed without `--repair`.
///
/// `--repair` puts right what needs no guessing, and says of each finding what was done and what is left for a person to do.
/// Nothing is thrown away: files that no row names and texts that are replaced go to the folder `salvage`. Rows without
/// bodies are deleted only where bodies are the rule: a disk that is not mounted must not cost them.
///
/// With `--json` there is one object for each finding: `kind`, what it is about, `severity` (note, warning, damage),
/// `message`, and with `--repair` also `repair` (done, left), `did` and `to_do`, in words. The last one has `summary`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    #[command(flatten)]
    which: Which,

    /// Put right what can be put right without guessing
    #[arg(long)]
    repair: bool,

    /// Read every body to its end
    #[arg(long, conflicts_with = "repair")]
    bodies: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    severity: Severity,
    message: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    repair: Option<RepairLine<'a>>,
}

#[derive(Serialize)]
struct RepairLine<'a> {
    repair: &'static str,
    did: Option<&'a str>,
    to_do: Option<&'static str>,
}

impl<'a> From<&'a Repair> for RepairLine<'a> {
    fn from(repair: &'a Repair) -> Self {
        let word = if repair.is_done() { "done" } else { "left" };
        Self { repair: word, did: repair.did.as_deref(), to_do: repair.to_do }
    }
}

#[derive(Serialize)]
struct Summary<T> {
    summary: T,
}

impl Verify {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let path = self.which.path(session)?;
        if self.repair {
            session.must_write()?;
            return self.repair(&path, &mut session.printer);
        }
        let verified = look(&path, self.bodies, self.json, &mut session.printer)?;
        conclude(&verified, self.json, &mut session.printer)
    }

    fn repair(&self, path: &Path, printer: &mut Printer) -> Result<Outcome, Error> {
        let mut printed = Ok(());
        let (repaired, opened) = repair(path, &mut |finding, repair| {
            if printed.is_ok() {
                printed = print(finding, Some(repair), self.json, printer);
            }
        })?;
        printed?;
        say_opened(&opened, printer);
        if self.json {
            printer.json(&Summary { summary: repaired })?;
        } else {
            printer.line(said(&repaired))?;
        }
        Ok(if repaired.left > 0 { Outcome::Findings } else { Outcome::Done })
    }
}

/// Looks at a project and prints what it finds.
fn look(path: &Path, bodies: bool, json: bool, printer: &mut Printer) -> Result<Verified, Error> {
    let bar = printer.progress(Some(revisions_at_most(path)?), "revisions");
    let mut printed = Ok(());
    let verified = verify(path, bodies, &|count| bar.inc(count), &mut |finding| {
        if printed.is_ok() {
            printed = print(&finding, None, json, printer);
        }
    })?;
    printed?;
    Ok(verified)
}

fn print(finding: &Finding, repair: Option<&Repair>, json: bool, printer: &mut Printer) -> Result<(), Error> {
    let (severity, message) = (finding.severity(), finding.to_string());
    if json {
        return printer.json(&Line { finding, severity, message, repair: repair.map(Into::into) });
    }
    let (style, name) = match severity {
        Severity::Note => (FAINT, "note"),
        Severity::Warning => (WARN, "warning"),
        Severity::Damage => (BAD, "damage"),
    };
    printer.line(format_args!("{style}{name:<7}{style:#} {}", visible(&message)))?;
    let Some(repair) = repair else { return Ok(()) };
    match &repair.did {
        Some(did) => printer.line(format_args!("  {GOOD}repaired{GOOD:#}  {}", visible(did)))?,
        None => printer.line(format_args!("  {WARN}left{WARN:#}      as it is: nothing was changed"))?,
    }
    match repair.to_do {
        Some(to_do) => printer.line(format_args!("  to do     {to_do}")),
        None => Ok(()),
    }
}

fn conclude(verified: &Verified, json: bool, printer: &mut Printer) -> Result<Outcome, Error> {
    let seen = format!("{}, {} with bodies", counted(verified.revisions, "revision"), verified.bodies);
    if json {
        printer.json(&Summary { summary: verified })?;
    } else if verified.findings == 0 {
        printer.line(format_args!("{GOOD}sound{GOOD:#}: {seen}"))?;
    } else {
        printer.line(format_args!("{} in {seen}", counted(verified.findings, "finding")))?;
    }
    Ok(if verified.findings > 0 { Outcome::Findings } else { Outcome::Done })
}

fn said(repaired: &Repaired) -> String {
    if repaired.done + repaired.left == 0 {
        return format!("{GOOD}sound{GOOD:#}: nothing to repair");
    }
    let left = match repaired.left {
        0 => "nothing is left".to_owned(),
        1 => "1 is left as it is".to_owned(),
        left => format!("{left} are left as they are"),
    };
    format!("{} repaired; {left}", counted(repaired.done, "finding"))
}
