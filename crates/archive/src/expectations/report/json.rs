//! For programs: one object per URL, then one with the counts. Fields known only to checks in an
//! archive are omitted elsewhere.

use serde::Serialize;
use varve_core::history::VerdictKind;
use varve_expect::UrlHealth;

use super::{CheckSummary, CheckedUrl, ContentComparison};

#[derive(Serialize)]
struct CheckJsonLine<'a> {
    url: &'a str,
    verdict: VerdictKind,
    status: Option<u16>,
    expected: Option<String>,
    got: Option<String>,
    since: Option<&'a str>,
    capture: Option<&'a str>,
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_good: Option<LastGood>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaky: Option<Flaky>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a serde_json::Value>,
}

/// Number of recent failures.
#[derive(Serialize)]
struct Flaky {
    failures: usize,
    checks: usize,
}

#[derive(Serialize)]
struct LastGood {
    capture: String,
    time: String,
    version: Option<String>,
}

#[derive(Serialize)]
struct Closing<'a> {
    summary: &'a CheckSummary,
}

pub(super) fn line(checked: &CheckedUrl) -> String {
    let (expected, got) = checked.verdict.sides();
    text(&CheckJsonLine {
        url: &checked.url,
        verdict: checked.verdict.kind(),
        status: checked.status,
        expected,
        got,
        since: checked.since.as_deref(),
        capture: checked.capture.as_deref(),
        reason: checked.verdict.reason(),
        version: checked.version.map(|version| version.to_string()),
        health: checked.health.as_ref().map(UrlHealth::word),
        comparison: checked.comparison.map(ContentComparison::word),
        last_good: checked.last_good.as_ref().map(|good| LastGood {
            capture: good.id.to_string(),
            time: good.time.to_string(),
            version: checked.good_version().map(|version| version.to_string()),
        }),
        flaky: match checked.health {
            Some(UrlHealth::Flaky { failures, checks }) => Some(Flaky { failures, checks }),
            _ => None,
        },
        difference: checked.difference.as_ref(),
    })
}

pub(super) fn closing(summary: &CheckSummary) -> String {
    text(&Closing { summary })
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values can always be written as JSON") + "\n"
}
