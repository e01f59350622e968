//! `varve crystal verify`: checks the rows and bodies of a project.

use std::path::Path;

use serde::Serialize;
use varve_archive::verbs::crystal::verify::{repair, revisions_at_most, verify};
use varve_archive::verbs::crystal::{
    FindingRepair, FindingSeverity, ProjectFinding, RepairSummary, VerifySummary,
};

use super::{ProjectPathArgs, say_opened};
use crate::printer::{BAD_STYLE, FAINT_STYLE, GOOD_STYLE, Printer, WARNING_STYLE, counted, visible};
use crate::verb::{Error, ExitStatus, Session};

const CRYSTAL_VERIFY_EXAMPLES: &str = "\
Examples:
  varve crystal verify museum.crystalproj
  varve crystal verify museum.crystalproj --bodies --json
  varve crystal verify museum.crystalproj --repair

Exit codes:
  0    no findings, or all of them were repaired
  1    there are findings
  2    the project could not be verified";

/// Check the rows and bodies of a project
///
/// Finds rows without bodies, bodies without rows, unreadable rows and packs, dangling sources and
/// roots, aliases that Crystal rejects, and database damage. Changes nothing without `--repair`.
///
/// `--repair` corrects what needs no guess, and reports for each finding what was done and what is
/// left to do. Nothing is deleted: files without a row and replaced texts are moved to the folder
/// `salvage`. Rows without bodies are deleted only if most rows have bodies, so that an unmounted
/// disk does not cost them.
///
/// With `--json`, prints one object per finding: `kind`, its fields, `severity` (note, warning,
/// damage), `message`, and with `--repair` also `repair` (done, left), `did` and `to_do`. The last
/// object has `summary`.
#[derive(clap::Args)]
#[command(after_help = CRYSTAL_VERIFY_EXAMPLES)]
pub(super) struct CrystalVerifyArgs {
    #[command(flatten)]
    which: ProjectPathArgs,

    /// Correct what needs no guess
    #[arg(long)]
    repair: bool,

    /// Read every body to its end
    #[arg(long, conflicts_with = "repair")]
    bodies: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct VerifyRow<'a> {
    #[serde(flatten)]
    finding: &'a ProjectFinding,
    severity: FindingSeverity,
    message: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    repair: Option<RepairFields<'a>>,
}

#[derive(Serialize)]
struct RepairFields<'a> {
    repair: &'static str,
    did: Option<&'a str>,
    to_do: Option<&'static str>,
}

impl<'a> From<&'a FindingRepair> for RepairFields<'a> {
    fn from(repair: &'a FindingRepair) -> Self {
        let word = if repair.is_done() { "done" } else { "left" };
        Self { repair: word, did: repair.did.as_deref(), to_do: repair.to_do }
    }
}

impl CrystalVerifyArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let path = self.which.path(session)?;
        if self.repair {
            session.require_writable()?;
            return self.repair(&path, &mut session.printer);
        }
        let verified = look(&path, self.bodies, self.json, &mut session.printer)?;
        conclude(&verified, self.json, &mut session.printer)
    }

    fn repair(&self, path: &Path, printer: &mut Printer) -> Result<ExitStatus, Error> {
        let mut printed = Ok(());
        let (repaired, opened) = repair(path, &mut |finding, repair| {
            if printed.is_ok() {
                printed = print(finding, Some(repair), self.json, printer);
            }
        })?;
        printed?;
        say_opened(&opened, printer);
        if self.json {
            printer.json_summary(&repaired)?;
        } else {
            printer.line(repair_summary(&repaired))?;
        }
        Ok(ExitStatus::of_findings(repaired.left))
    }
}

/// Verifies a project and prints the findings.
fn look(path: &Path, bodies: bool, json: bool, printer: &mut Printer) -> Result<VerifySummary, Error> {
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

fn print(
    finding: &ProjectFinding,
    repair: Option<&FindingRepair>,
    json: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    let (severity, message) = (finding.severity(), finding.to_string());
    if json {
        return printer.json(&VerifyRow { finding, severity, message, repair: repair.map(Into::into) });
    }
    let (style, name) = match severity {
        FindingSeverity::Note => (FAINT_STYLE, "note"),
        FindingSeverity::Warning => (WARNING_STYLE, "warning"),
        FindingSeverity::Damage => (BAD_STYLE, "damage"),
    };
    printer.line(format_args!("{style}{name:<7}{style:#} {}", visible(&message)))?;
    let Some(repair) = repair else { return Ok(()) };
    match &repair.did {
        Some(did) => printer.line(format_args!("  {GOOD_STYLE}repaired{GOOD_STYLE:#}  {}", visible(did)))?,
        None => printer.line(format_args!("  {WARNING_STYLE}left{WARNING_STYLE:#}      unchanged"))?,
    }
    match repair.to_do {
        Some(to_do) => printer.line(format_args!("  to do     {to_do}")),
        None => Ok(()),
    }
}

fn conclude(verified: &VerifySummary, json: bool, printer: &mut Printer) -> Result<ExitStatus, Error> {
    let seen = format!("{}, {} with bodies", counted(verified.revisions, "revision"), verified.bodies);
    if !json {
        return printer.verification(verified.findings, &seen);
    }
    printer.json_summary(verified)?;
    Ok(ExitStatus::of_findings(verified.findings))
}

fn repair_summary(repaired: &RepairSummary) -> String {
    if repaired.done + repaired.left == 0 {
        return format!("{GOOD_STYLE}ok{GOOD_STYLE:#}: nothing to repair");
    }
    let left = match repaired.left {
        0 => "none left".to_owned(),
        1 => "1 left".to_owned(),
        left => format!("{left} left"),
    };
    format!("{} repaired; {left}", counted(repaired.done, "finding"))
}
