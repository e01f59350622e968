//! For people: the verdict, the URL, and the reason.

use varve_expect::UrlHealth;

use super::{CheckedUrl, ContentComparison, VerdictCounts};
use crate::text::visible;

pub(super) fn line(checked: &CheckedUrl) -> String {
    let mut line = format!("{:<11}  {}", checked.verdict.kind(), visible(&checked.url));
    if let Some(reason) = checked.verdict.reason() {
        line.push_str(&format!(": {}", visible(&reason)));
    }
    if checked.comparison == Some(ContentComparison::Noise) {
        line.push_str(" (noise only)");
    }
    if let Some(UrlHealth::Flaky { failures, checks }) = checked.archived.health {
        line.push_str(&format!(" (flaky: {failures} of the last {checks} checks failed)"));
    }
    if let Some(warning) = &checked.warning {
        line.push_str(&format!(" (warning: {})", visible(warning)));
    }
    for detail in checked.details() {
        line.push_str(&format!("\n{:<11}  {}", "", visible(&detail)));
    }
    line + "\n"
}

pub(super) fn closing(summary: &VerdictCounts, warnings: u64) -> String {
    let VerdictCounts { ok, changed, broken, unreachable, skipped } = summary;
    let total = summary.total();
    let noun = if total == 1 { "URL" } else { "URLs" };
    let warnings = match warnings {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        _ => format!(", {warnings} warnings"),
    };
    format!(
        "{total} {noun}: {ok} ok, {changed} changed, {broken} broken, {unreachable} unreachable, \
         {skipped} skipped{warnings}\n"
    )
}
