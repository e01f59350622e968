//! `varve crystal verify`: checks the rows and bodies of a project.

use std::path::Path;

use serde_json::json;
use varve_archive::verbs::crystal::verify::{repair, revisions_at_most, verify};
use varve_archive::verbs::crystal::{FindingRepair, FindingSeverity, ProjectFinding, RepairSummary};

use super::{ProjectPathArgs, say_opened};
use crate::printer::{
    BAD_STYLE, FAINT_STYLE, GOOD_STYLE, Printer, WARNING_STYLE, counted, visible, with_fields,
};
use crate::verb::{Error, ExitStatus, Session};

/// Check the rows and bodies of a project
///
/// Finds rows without bodies, bodies without rows, unreadable rows and packs, dangling sources and
/// roots, aliases that Crystal rejects, and database damage. Changes nothing without `--repair`.
/// An older schema is a note and does not count as a finding: varve and Crystal upgrade it when
/// they open the project for writing.
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
#[command(after_help = "\
Examples:
  varve crystal verify museum.crystalproj
  varve crystal verify museum.crystalproj --bodies --json
  varve crystal verify museum.crystalproj --repair

Exit codes:
  0    no findings, or all of them were repaired
  1    there are findings
  2    the project could not be verified")]
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

impl CrystalVerifyArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let path = self.which.path(session)?;
        if self.repair {
            session.require_writable()?;
            return self.repair(&path, &mut session.printer);
        }
        self.verify(&path, &mut session.printer)
    }

    /// Verifies a project and prints the findings.
    fn verify(&self, path: &Path, printer: &mut Printer) -> Result<ExitStatus, Error> {
        let bar = printer.progress(Some(revisions_at_most(path)?), "revisions");
        let mut printed = Ok(());
        let verified = verify(path, self.bodies, &|count| bar.inc(count), &mut |finding| {
            if printed.is_ok() {
                printed = print(&finding, None, self.json, printer);
            }
        })?;
        printed?;
        if self.json {
            printer.json_summary(&verified)?;
            return Ok(ExitStatus::of_findings(verified.findings));
        }
        let seen = format!("{}, {} with bodies", counted(verified.revisions, "revision"), verified.bodies);
        printer.verification(verified.findings, &seen)
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

fn print(
    finding: &ProjectFinding,
    repair: Option<&FindingRepair>,
    json: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    let (severity, message) = (finding.severity(), finding.to_string());
    if json {
        let mut row = serde_json::to_value(finding).unwrap_or_default();
        row = with_fields(row, &json!({ "severity": severity, "message": message }));
        if let Some(repair) = repair {
            let word = if repair.is_done() { "done" } else { "left" };
            row = with_fields(row, &json!({ "repair": word, "did": repair.did, "to_do": repair.to_do }));
        }
        return printer.json(&row);
    }
    let (style, name) = match severity {
        FindingSeverity::Note => (FAINT_STYLE, "note"),
        FindingSeverity::Warning => (WARNING_STYLE, "warning"),
        FindingSeverity::Damage => (BAD_STYLE, "damage"),
    };
    printer.finding(style, name, &visible(&message))?;
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

fn repair_summary(repaired: &RepairSummary) -> String {
    if repaired.done + repaired.left == 0 {
        return format!("{GOOD_STYLE}ok{GOOD_STYLE:#}: nothing to repair");
    }
    let left = if repaired.left == 0 { "none".to_owned() } else { repaired.left.to_string() };
    format!("{} repaired; {left} left", counted(repaired.done, "finding"))
}
