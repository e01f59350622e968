//! For people: the verdict, the URL, and the reason.

use varve_expect::UrlHealth;

use super::{CheckSummary, CheckedUrl, ContentComparison};
use crate::text::visible;

pub(super) fn line(checked: &CheckedUrl) -> String {
    let mut line = format!("{:<11}  {}", checked.verdict.kind(), visible(&checked.url));
    if let Some(reason) = checked.verdict.reason() {
        line.push_str(&format!(": {}", visible(&reason)));
    }
    if checked.comparison == Some(ContentComparison::Noise) {
        line.push_str(" (noise only)");
    }
    if let Some(UrlHealth::Flaky { failures, checks }) = checked.health {
        line.push_str(&format!(" (flaky: {failures} of the last {checks} checks failed)"));
    }
    if let Some(history) = checked.history() {
        line.push_str(&format!("\n{:<11}  {history}", ""));
    }
    line + "\n"
}

pub(super) fn closing(summary: &CheckSummary) -> String {
    let CheckSummary { ok, changed, broken, unreachable, skipped } = summary;
    let total = summary.total();
    let noun = if total == 1 { "URL" } else { "URLs" };
    format!(
        "{total} {noun}: {ok} ok, {changed} changed, {broken} broken, {unreachable} unreachable, \
         {skipped} skipped\n"
    )
}
