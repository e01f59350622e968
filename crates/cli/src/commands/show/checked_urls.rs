//! `varve show CHECK`: shows one check, URL by URL.

use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::CheckVerdict;
use varve_archive::verbs::show::{check, verdicts};
use varve_archive::{CheckId, VerdictKind};

use super::ShowArgs;
use crate::check_text::{
    check_json, describe_check, short_check_id, verdict_json, verdict_reason, verdict_word,
};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::printer::{FAINT_STYLE, Printer, visible};
use crate::version_text::status_text;

impl ShowArgs {
    /// Prints a check and its verdicts, in text only those that are no success unless all are wanted.
    pub(super) fn print_check(
        &self,
        history: &HistoryReader,
        id: &CheckId,
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        let check = check(history, id)?;
        if self.json {
            printer.json(&check_json(&check))?;
            verdicts(history, &check, |row| printer.json(&verdict_json(&row)))?;
            return Ok(ExitStatus::Done);
        }
        for line in describe_check(&check) {
            printer.line(line)?;
        }
        printer.line("")?;
        let mut has_evidence = false;
        verdicts(history, &check, |row| {
            if !self.all && is_plain_success(&row) {
                return Ok(());
            }
            has_evidence |= row.verdict.detail.evidence.is_some();
            print_verdict(&row, printer)
        })?;
        if has_evidence {
            printer.say(format_args!("`varve cat URL --at {}` prints a response", short_check_id(id)));
        }
        Ok(ExitStatus::Done)
    }
}

/// Whether a URL answered as expected, and there is nothing to warn of.
fn is_plain_success(row: &CheckVerdict) -> bool {
    row.verdict.verdict == VerdictKind::Ok && row.verdict.detail.warning.is_none()
}

/// Prints a verdict, and the record of the response below it.
fn print_verdict(row: &CheckVerdict, printer: &mut Printer) -> Result<(), Error> {
    let verdict = &row.verdict;
    let reason = Some(verdict_reason(row)).filter(|reason| !reason.is_empty());
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", visible(&reason)));
    printer.line(format_args!(
        "{}  {}  {}{reason}",
        verdict_word(row),
        status_text(verdict.status.unwrap_or_default()),
        visible(&verdict.url)
    ))?;
    match &verdict.detail.evidence {
        Some(evidence) => {
            printer.line(format_args!("{:<11}  {FAINT_STYLE}{}{FAINT_STYLE:#}", "", evidence.record))
        }
        None => Ok(()),
    }
}
