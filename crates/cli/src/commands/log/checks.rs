//! `varve log --checks`: lists checks, or the verdicts of checks on a URL.

use varve_archive::history::HistoryReader;
use varve_archive::verbs::cat::check_named;
use varve_archive::verbs::log::{CheckVerdict, ListCursor, StoredCheck, checks, verdicts};
use varve_archive::{ArchiveError, CheckId, RepositoryError};

use super::{LogArgs, READ_BATCH_SIZE};
use crate::check_text::{
    check_json, describe_check, short_check_id, verdict_json, verdict_reason, verdict_word,
};
use crate::printer::{FAINT_STYLE, STRONG_STYLE, visible};
use crate::verb::{Error, Session};
use crate::version_text::status_text;

/// Lists checks, newest first.
pub(super) fn list(arguments: &LogArgs, history: &HistoryReader, session: &mut Session) -> Result<(), Error> {
    let mut after = arguments.after.as_deref().map(|text| resolve_check(history, text)).transpose()?;
    let mut left = arguments.limit.unwrap_or(usize::MAX);
    let mut shown = 0;
    while left > 0 {
        let found = checks(history, ListCursor { after, limit: READ_BATCH_SIZE })?;
        for check in found.iter().filter(|check| takes(arguments, check)).take(left) {
            print_check(arguments, check, session)?;
            (left, shown) = (left - 1, shown + 1);
        }
        match found.last() {
            Some(last) if found.len() == READ_BATCH_SIZE => after = Some(last.id),
            _ => break,
        }
    }
    if shown == 0 && arguments.limit != Some(0) && arguments.after.is_none() {
        session.printer.say("no check is recorded here, or none matches");
    }
    Ok(())
}

/// Lists the verdicts on a URL, newest first.
pub(super) fn list_verdicts(
    arguments: &LogArgs,
    history: &HistoryReader,
    url: &str,
    session: &mut Session,
) -> Result<(), Error> {
    let limit = arguments.limit.unwrap_or(usize::MAX);
    let is_in_time = |row: &&CheckVerdict| {
        let time = row.verdict.time;
        arguments.since.is_none_or(|since| time >= since) && arguments.until.is_none_or(|until| time <= until)
    };
    let found = verdicts(history, url, usize::MAX)?;
    let mut shown = 0;
    for row in found.iter().filter(is_in_time).take(limit) {
        print_verdict(arguments, row, session)?;
        shown += 1;
    }
    if shown == 0 && limit > 0 {
        session.printer.say(format_args!("no check of {} is recorded here", visible(url)));
    }
    Ok(())
}

fn resolve_check(history: &HistoryReader, text: &str) -> Result<CheckId, Error> {
    let unknown = || ArchiveError::from(RepositoryError::NoCheck { text: text.to_owned() });
    Ok(check_named(history, text)?.ok_or_else(unknown)?)
}

fn takes(arguments: &LogArgs, check: &StoredCheck) -> bool {
    let contains = |part: &Option<String>, text: &str| {
        part.as_ref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
    };
    arguments.since.is_none_or(|since| check.time >= since)
        && arguments.until.is_none_or(|until| check.time <= until)
        && contains(&arguments.message, &check.message)
        && contains(&arguments.author, check.author.as_deref().unwrap_or_default())
}

fn print_check(arguments: &LogArgs, check: &StoredCheck, session: &mut Session) -> Result<(), Error> {
    if arguments.json {
        return session.printer.json(&check_json(check));
    }
    for line in describe_check(check) {
        session.printer.line(line)?;
    }
    session.printer.line("")
}

fn print_verdict(arguments: &LogArgs, row: &CheckVerdict, session: &mut Session) -> Result<(), Error> {
    if arguments.json {
        return session.printer.json(&verdict_json(row));
    }
    let check = short_check_id(&row.check);
    let reason = Some(verdict_reason(row)).filter(|reason| !reason.is_empty());
    let reason = reason.map_or_else(String::new, |reason| format!("  {reason}"));
    session.printer.line(format_args!(
        "{}  {}  {}  {STRONG_STYLE}{check}{STRONG_STYLE:#}{FAINT_STYLE}{}{FAINT_STYLE:#}",
        row.verdict.time.for_people(),
        status_text(row.verdict.status.unwrap_or_default()),
        verdict_word(row),
        visible(&reason),
    ))
}
