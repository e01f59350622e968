//! `varve audit` of a Crystal project: the findings of `verify` in the format of an audit.

use std::path::Path;

use serde::Serialize;
use varve_archive::verbs::crystal::verify::{revisions_at_most, verify};
use varve_archive::verbs::crystal::{FindingSeverity, ProjectFinding};

use crate::printer::{BAD_STYLE, Printer, WARNING_STYLE, counted, visible};
use crate::verb::{Error, ExitStatus};

/// A finding in the format of an audit. A project has no silos, so `silo` and `offset` are null.
#[derive(Serialize)]
struct ProjectAuditRow {
    kind: serde_json::Value,
    severity: &'static str,
    silo: Option<u32>,
    offset: Option<u64>,
    id: Option<String>,
    message: String,
}

#[derive(Serialize)]
struct ProjectAuditSummary {
    records: u64,
    bytes: u64,
    findings: u64,
}

/// Audits a project; reads all bodies unless `quick`.
pub(in crate::commands) fn audit(
    path: &Path,
    quick: bool,
    json: bool,
    printer: &mut Printer,
) -> Result<ExitStatus, Error> {
    let bar = printer.progress(Some(revisions_at_most(path)?), "revisions");
    let mut printed = Ok(());
    let mut older = 0;
    let mut done = verify(path, !quick, &|count| bar.inc(count), &mut |finding| {
        // An older schema is not damage.
        if matches!(finding, ProjectFinding::SchemaOlder { .. }) {
            older += 1;
        } else if printed.is_ok() {
            printed = print(&finding, json, printer);
        }
    })?;
    printed?;
    done.findings -= older;
    let seen = format!("{}, {} with bodies", counted(done.revisions, "revision"), done.bodies);
    if !json {
        return printer.verification(done.findings, &seen);
    }
    printer.json_summary(&ProjectAuditSummary {
        records: done.revisions,
        bytes: done.bytes,
        findings: done.findings,
    })?;
    Ok(ExitStatus::of_findings(done.findings))
}

fn print(finding: &ProjectFinding, json: bool, printer: &mut Printer) -> Result<(), Error> {
    let (style, severity) = match finding.severity() {
        FindingSeverity::Damage => (BAD_STYLE, "error"),
        FindingSeverity::Warning | FindingSeverity::Note => (WARNING_STYLE, "warning"),
    };
    let message = finding.to_string();
    if !json {
        return printer.line(format_args!("{style}{severity:<7}{style:#} {}", visible(&message)));
    }
    let mut fields = serde_json::to_value(finding).unwrap_or_default();
    let id = fields.get("revision").map(|id| format!("revision {id}"));
    let kind = fields.get_mut("kind").map(serde_json::Value::take).unwrap_or_default();
    printer.json(&ProjectAuditRow { kind, severity, silo: None, offset: None, id, message })
}
