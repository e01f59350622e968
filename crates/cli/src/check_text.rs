//! Checks and verdicts as text and JSON, shared by the verbs that print them.

use serde_json::{Value, json};
use varve_archive::CheckId;
use varve_archive::verbs::log::{CheckVerdict, StoredCheck};

use crate::printer::{BAD_STYLE, GOOD_STYLE, STRONG_STYLE, counted, visible};

/// The first eight digits of the id of a check, which are enough to name it.
pub(crate) fn short_check_id(check: &CheckId) -> String {
    check.to_string().chars().take(8).collect()
}

/// Id, time, author, number of URLs by verdict, and message of a check, one line each.
pub(crate) fn describe_check(check: &StoredCheck) -> Vec<String> {
    let StoredCheck { id, time, message, author, counts, .. } = check;
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
    let mut lines = vec![
        format!("{STRONG_STYLE}{id}{STRONG_STYLE:#}"),
        format!("{}{by}, {}: {}", time.for_people(), counted(counts.total(), "URL"), named.join(", ")),
    ];
    lines.extend(message.lines().map(|line| format!("    {}", visible(line))));
    lines
}

/// A check as JSON, without its verdicts.
pub(crate) fn check_json(check: &StoredCheck) -> Value {
    let StoredCheck { id, time, message, author, record, counts, .. } = check;
    json!({
        "check": id, "time": time, "message": message, "author": author, "summary": counts, "record": record,
    })
}

/// The verdict in a column, in colour.
pub(crate) fn verdict_word(row: &CheckVerdict) -> String {
    let verdict = row.verdict.verdict;
    let style = if verdict.is_failure() { BAD_STYLE } else { GOOD_STYLE };
    format!("{style}{verdict:<11}{style:#}")
}

/// Why a verdict is as it is; empty if there is nothing to say.
pub(crate) fn verdict_reason(row: &CheckVerdict) -> String {
    let detail = &row.verdict.detail;
    match (&detail.expected, &detail.got, &detail.warning) {
        (Some(expected), Some(got), _) => format!("expected {expected}; got {got}"),
        (None, Some(got), _) => got.clone(),
        (_, None, Some(warning)) => format!("warning: {warning}"),
        _ => String::new(),
    }
}

/// A verdict as JSON.
pub(crate) fn verdict_json(row: &CheckVerdict) -> Value {
    let CheckVerdict { check, verdict } = row;
    let detail = &verdict.detail;
    json!({
        "url": verdict.url,
        "time": verdict.time,
        "verdict": verdict.verdict,
        "status": verdict.status,
        "expected": detail.expected,
        "got": detail.got,
        "warning": detail.warning,
        "redirects": detail.redirects,
        "capture": detail.evidence.as_ref().map(|evidence| evidence.record),
        "check": check,
    })
}
