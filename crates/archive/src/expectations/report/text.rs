//! For people: the verdict, the URL, and why.

use super::{Checked, Summary, visible};

pub(super) fn line(checked: &Checked) -> String {
    let mut line = format!("{:<11}  {}", checked.verdict.word(), visible(&checked.url));
    if let Some(reason) = checked.verdict.reason() {
        line.push_str(&format!(": {}", visible(&reason)));
    }
    if let Some(since) = &checked.since {
        line.push_str(&format!(" (since {since})"));
    }
    if let Some(capture) = &checked.capture {
        line.push_str(&format!(" [{capture}]"));
    }
    line + "\n"
}

pub(super) fn closing(summary: &Summary) -> String {
    let Summary { met, drift, unreachable, skipped } = summary;
    let total = summary.total();
    let noun = if total == 1 { "URL" } else { "URLs" };
    format!("{total} {noun}: {met} met, {drift} drift, {unreachable} unreachable, {skipped} skipped\n")
}
