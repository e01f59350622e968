//! `varve log --checks`: lists checks, or the verdicts of checks on a URL.

use serde_json::json;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::cat::check_named;
use varve_archive::verbs::log::{ListCursor, StoredCheck, UrlVerdictRow, checks, verdicts};
use varve_archive::{ArchiveError, CheckId, RepositoryError};

use super::{LogArgs, READ_BATCH_SIZE};
use crate::printer::{BAD_STYLE, FAINT_STYLE, GOOD_STYLE, STRONG_STYLE, counted, visible};
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
    let is_in_time = |row: &&UrlVerdictRow| {
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
    let StoredCheck { id, time, message, author, record, counts, .. } = check;
    if arguments.json {
        return session.printer.json(&json!({
            "check": id, "time": time, "message": message, "author": author, "summary": counts, "record": record,
        }));
    }
    let by = author.as_deref().filter(|author| !author.trim().is_empty());
    let by = by.map(|author| format!(", {}", visible(author))).unwrap_or_default();
    let named = [
        (counts.ok, "ok"),
        (counts.changed, "changed"),
        (counts.broken, "broken"),
        (counts.unreachable, "unreachable"),
        (counts.skipped, "skipped"),
    ];
    let named: Vec<String> =
        named.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    session.printer.line(format_args!("{STRONG_STYLE}{id}{STRONG_STYLE:#}"))?;
    session.printer.line(format_args!(
        "{}{by}, {}: {}",
        time.for_people(),
        counted(counts.total(), "URL"),
        named.join(", ")
    ))?;
    for line in message.lines() {
        session.printer.line(format_args!("    {}", visible(line)))?;
    }
    session.printer.line("")
}

fn print_verdict(arguments: &LogArgs, row: &UrlVerdictRow, session: &mut Session) -> Result<(), Error> {
    let UrlVerdictRow { verdict, detail } = row;
    if arguments.json {
        return session.printer.json(&json!({
            "url": verdict.url,
            "time": verdict.time,
            "verdict": verdict.verdict,
            "status": Some(verdict.status).filter(|status| *status != 0),
            "expected": detail.expected,
            "got": detail.got,
            "warning": detail.warning,
            "redirects": detail.redirects,
            "capture": detail.evidence.as_ref().map(|evidence| evidence.record),
            "check": verdict.check,
        }));
    }
    let style = if verdict.verdict.is_failure() { BAD_STYLE } else { GOOD_STYLE };
    let check: String = verdict.check.to_string().chars().take(8).collect();
    let reason = match (&detail.expected, &detail.got, &detail.warning) {
        (Some(expected), Some(got), _) => format!("  expected {expected}; got {got}"),
        (None, Some(got), _) => format!("  {got}"),
        (_, None, Some(warning)) => format!("  warning: {warning}"),
        _ => String::new(),
    };
    session.printer.line(format_args!(
        "{}  {}  {style}{:<11}{style:#}  {STRONG_STYLE}{check}{STRONG_STYLE:#}{FAINT_STYLE}{}{FAINT_STYLE:#}",
        verdict.time.for_people(),
        status_text(verdict.status),
        verdict.verdict,
        visible(&reason),
    ))
}
