//! For programs: one object a URL, then one with the counts. Every field is always there.

use serde::Serialize;
use varve_core::expectation::{Departure, Verdict};

use super::{Checked, Summary};

#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    verdict: &'a str,
    status: Option<u16>,
    expected: Option<String>,
    got: Option<String>,
    since: Option<&'a str>,
    capture: Option<&'a str>,
    reason: Option<String>,
}

#[derive(Serialize)]
struct Closing<'a> {
    summary: &'a Summary,
}

pub(super) fn line(checked: &Checked) -> String {
    let (expected, got) = match &checked.verdict {
        Verdict::Drift(departures) => {
            (Some(joined(departures, Departure::expected)), Some(joined(departures, Departure::got)))
        }
        Verdict::Unreachable(reason) => (None, Some(reason.clone())),
        Verdict::Met | Verdict::Skipped(_) => (None, None),
    };
    text(&Line {
        url: &checked.url,
        verdict: checked.verdict.word(),
        status: checked.status,
        expected,
        got,
        since: checked.since.as_deref(),
        capture: checked.capture.as_deref(),
        reason: checked.verdict.reason(),
    })
}

pub(super) fn closing(summary: &Summary) -> String {
    text(&Closing { summary })
}

fn joined(departures: &[Departure], part: impl Fn(&Departure) -> String) -> String {
    departures.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values can always be written as JSON") + "\n"
}
