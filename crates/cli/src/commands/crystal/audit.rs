//! `varve audit` of a Crystal project: what `verify` finds, in the words of an audit.

use std::path::Path;

use serde::Serialize;
use varve_archive::verbs::crystal::verify::{revisions_at_most, verify};
use varve_archive::verbs::crystal::{Finding, Severity};

use super::super::Outcome;
use crate::error::Error;
use crate::printer::{BAD, GOOD, Printer, WARN, counted, visible};

/// A finding as an audit of any layout has it. What there are no silos for has no place in one.
#[derive(Serialize)]
struct Line {
    kind: serde_json::Value,
    severity: &'static str,
    silo: Option<u32>,
    offset: Option<u64>,
    id: Option<String>,
    message: String,
}

#[derive(Serialize)]
struct Last {
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    records: u64,
    bytes: u64,
    findings: u64,
}

/// Audits a project: everything is read, unless it is to be quick.
pub(in crate::commands) fn audit(
    path: &Path,
    quick: bool,
    json: bool,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let bar = printer.progress(Some(revisions_at_most(path)?), "revisions");
    let mut printed = Ok(());
    let mut older = 0;
    let mut done = verify(path, !quick, &|count| bar.inc(count), &mut |finding| {
        // What newer projects have besides is nothing that this one lost.
        if matches!(finding, Finding::SchemaOlder { .. }) {
            older += 1;
        } else if printed.is_ok() {
            printed = print(&finding, json, printer);
        }
    })?;
    printed?;
    done.findings -= older;
    let seen = format!("{}, {} with bodies", counted(done.revisions, "revision"), done.bodies);
    if json {
        let summary = Summary { records: done.revisions, bytes: done.bytes, findings: done.findings };
        printer.json(&Last { summary })?;
    } else if done.findings == 0 {
        printer.line(format_args!("{GOOD}sound{GOOD:#}: {seen}"))?;
    } else {
        printer.line(format_args!("{} in {seen}", counted(done.findings, "finding")))?;
    }
    Ok(if done.findings > 0 { Outcome::Findings } else { Outcome::Done })
}

fn print(finding: &Finding, json: bool, printer: &mut Printer) -> Result<(), Error> {
    let (style, severity) = match finding.severity() {
        Severity::Damage => (BAD, "error"),
        Severity::Warning | Severity::Note => (WARN, "warning"),
    };
    let message = finding.to_string();
    if !json {
        return printer.line(format_args!("{style}{severity:<7}{style:#} {}", visible(&message)));
    }
    let mut fields = serde_json::to_value(finding).unwrap_or_default();
    let id = fields.get("revision").map(|id| format!("revision {id}"));
    let kind = fields.get_mut("kind").map(serde_json::Value::take).unwrap_or_default();
    printer.json(&Line { kind, severity, silo: None, offset: None, id, message })
}
