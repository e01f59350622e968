//! For programs: one object per URL, then one with the counts. Fields known only to checks in an
//! archive are omitted elsewhere.

use serde::Serialize;
use varve_core::history::VerdictKind;
use varve_expect::{Redirect, UrlHealth};

use crate::json_text::json_text;

use super::{ArchivedEvidence, CheckedUrl, ContentComparison, VerdictCounts};

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
    warning: Option<&'a str>,
    #[serde(flatten)]
    redirects: RedirectsJson<'a>,
    #[serde(flatten)]
    referrers: ReferrersJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a str>,
    #[serde(flatten)]
    archived: ArchivedJson<'a>,
}

/// The redirects that were followed.
#[derive(Serialize)]
struct RedirectsJson<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redirects: Vec<RedirectJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_status: Option<u16>,
}

/// The pages that link to the URL.
#[derive(Serialize)]
struct ReferrersJson<'a> {
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    referrers: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    referrer_count: Option<u64>,
}

/// What the archive has about the URL, without the fields that every line has.
#[derive(Serialize)]
struct ArchivedJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_good: Option<LastGood>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaky: Option<Flaky>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a serde_json::Value>,
}

#[derive(Serialize)]
struct RedirectJson<'a> {
    status: u16,
    location: &'a str,
}

/// Number of recent failures.
#[derive(Serialize)]
struct Flaky {
    failures: usize,
    checks: usize,
}

#[derive(Serialize)]
struct LastGood {
    capture: Option<String>,
    time: String,
    version: Option<String>,
    check: Option<String>,
}

#[derive(Serialize)]
struct Closing<'a> {
    summary: SummaryJson<'a>,
}

#[derive(Serialize)]
struct SummaryJson<'a> {
    #[serde(flatten)]
    counts: &'a VerdictCounts,
    warnings: u64,
}

pub(super) fn line(checked: &CheckedUrl) -> String {
    let (expected, got) = checked.verdict.sides();
    text(&CheckJsonLine {
        url: &checked.url,
        verdict: checked.verdict.kind(),
        status: checked.status,
        expected,
        got,
        since: checked.archived.since.as_deref(),
        capture: checked.archived.capture.as_deref(),
        reason: checked.verdict.reason(),
        warning: checked.warning.as_deref(),
        redirects: RedirectsJson {
            redirects: checked.redirects.locations.iter().map(redirect_json).collect(),
            final_url: checked.redirects.final_url.as_deref(),
            final_status: checked.redirects.final_status,
        },
        referrers: ReferrersJson {
            referrers: &checked.referrers.pages,
            referrer_count: Some(checked.referrers.count).filter(|count| *count > 0),
        },
        comparison: checked.comparison.map(ContentComparison::word),
        archived: archived_json(&checked.archived),
    })
}

fn archived_json(archived: &ArchivedEvidence) -> ArchivedJson<'_> {
    ArchivedJson {
        check: archived.check.map(|check| check.to_string()),
        health: archived.health.as_ref().map(UrlHealth::word),
        last_good: archived.last_good.as_ref().map(|good| LastGood {
            capture: good.capture.record.map(|record| record.to_string()),
            time: good.capture.time.to_string(),
            version: good.version().map(|version| version.to_string()),
            check: good.check.map(|check| check.to_string()),
        }),
        flaky: match archived.health {
            Some(UrlHealth::Flaky { failures, checks }) => Some(Flaky { failures, checks }),
            _ => None,
        },
        difference: archived.difference.as_ref(),
    }
}

fn redirect_json(step: &Redirect) -> RedirectJson<'_> {
    RedirectJson { status: step.status, location: &step.location }
}

pub(super) fn closing(counts: &VerdictCounts, warnings: u64) -> String {
    text(&Closing { summary: SummaryJson { counts, warnings } })
}

fn text(value: &impl Serialize) -> String {
    json_text(value).expect("plain values can always be written as JSON") + "\n"
}
