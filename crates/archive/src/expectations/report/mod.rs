//! Reports of the verdicts of a check: for people, programs and build servers.
//!
//! A [`CheckReporter`] takes one [`CheckedUrl`] after another and returns text; it does no output
//! itself. Control characters in foreign text are escaped.

mod github;
mod json;
mod junit;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use varve_core::history::{Capture, CaptureOwner, VerdictCounts};
use varve_core::{CheckId, Moment, VersionId};
use varve_expect::{Observed, Redirect, UrlHealth, Verdict};

use super::ProbeFailure;

/// The result of checking one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    /// The URL that was requested.
    pub url: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What is wrong although the expectation is met.
    pub warning: Option<String>,
    /// The status of the judged response, if there was one.
    pub status: Option<u16>,
    /// The redirects that were followed.
    pub redirects: FollowedRedirects,
    /// The pages that link to the URL, if links are checked.
    pub referrers: LinkReferrers,
    /// How long the deciding response took, if a request was made.
    pub took: Option<Duration>,
    /// Why there was no usable response.
    pub trouble: Option<ProbeFailure>,
    /// The file that contains the expectation.
    pub file: Option<PathBuf>,
    /// The line at which the record begins.
    pub line: Option<u64>,
    /// How the body compares with the one in the archive, if it was compared.
    pub comparison: Option<ContentComparison>,
    /// What the archive has about it; empty without an archive.
    pub archived: ArchivedEvidence,
}

/// What an archive has about a checked URL: the evidence of this check, and that of earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedEvidence {
    /// The record of the response that is the evidence, if it was stored.
    pub capture: Option<String>,
    /// The check that contains it.
    pub check: Option<CheckId>,
    /// The health of the URL over several checks, if earlier ones are known.
    pub health: Option<UrlHealth>,
    /// The date since which the URL fails, if earlier checks are known.
    pub since: Option<String>,
    /// The last response that met the expectation, if this one does not.
    pub last_good: Option<Box<GoodCapture>>,
    /// The response that is the evidence of a failure.
    pub evidence: Option<Box<Capture>>,
    /// How the last two differ, as JSON, if requested.
    pub difference: Option<serde_json::Value>,
}

impl CheckedUrl {
    /// The state of a URL before the request, without any failure.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            verdict: Verdict::Ok,
            warning: None,
            status: None,
            redirects: FollowedRedirects::default(),
            referrers: LinkReferrers::default(),
            took: None,
            trouble: None,
            file: None,
            line: None,
            comparison: None,
            archived: ArchivedEvidence::default(),
        }
    }
}

/// A response that met an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodCapture {
    /// The response.
    pub capture: Capture,
    /// The check that it is evidence of; otherwise it is a capture.
    pub check: Option<CheckId>,
}

impl GoodCapture {
    /// The version that contains it, if one does.
    pub fn version(&self) -> Option<VersionId> {
        match self.capture.owner {
            CaptureOwner::Version(version) => Some(version),
            CaptureOwner::Run(_) => None,
        }
    }

    /// The id of the check or version that contains it, as `diff` and `cat` take it.
    pub fn holder(&self) -> Option<String> {
        let check = self.check.map(|check| check.to_string());
        check.or_else(|| self.version().map(|version| version.to_string()))
    }

    fn place(&self) -> String {
        match (self.check, self.version()) {
            (Some(check), _) => format!(" in check {}", short(check)),
            (None, Some(version)) => format!(" in version {}", short(version)),
            (None, None) => String::new(),
        }
    }
}

/// Redirects that were followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedRedirects {
    /// Each redirect, first to last.
    pub locations: Vec<Redirect>,
    /// The URL of the last response.
    pub final_url: Option<String>,
    /// The status of the last response.
    pub final_status: Option<u16>,
}

impl FollowedRedirects {
    /// The redirects before a response.
    pub(crate) fn of(last: &Observed) -> Self {
        if last.redirects.is_empty() {
            return Self::default();
        }
        Self {
            locations: last.redirects.clone(),
            final_url: last.final_url.clone(),
            final_status: last.status.filter(|_| last.dead_end.is_none()),
        }
    }

    /// The redirects in one line: `301 to /a, 302 to /b, then 200`.
    fn line(&self) -> Option<String> {
        let steps: Vec<String> =
            self.locations.iter().map(|step| format!("{} to {}", step.status, step.location)).collect();
        let end = self.final_status.map_or_else(String::new, |status| format!(", then {status}"));
        (!steps.is_empty()).then(|| format!("{}{end}", steps.join(", ")))
    }
}

/// The pages that link to a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkReferrers {
    /// The first of them.
    pub pages: Vec<String>,
    /// The number of all.
    pub count: u64,
}

impl LinkReferrers {
    /// The pages in one line.
    fn line(&self) -> Option<String> {
        let more = self.count.saturating_sub(self.pages.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!self.pages.is_empty()).then(|| format!("linked from {}{more}", self.pages.join(", ")))
    }
}

impl CheckedUrl {
    /// Whether a report for people leaves it out: it is as expected, and there is no warning.
    pub fn is_plain_success(&self) -> bool {
        self.verdict == Verdict::Ok && self.warning.is_none()
    }

    /// The history of a failure in one line; `None` if no history is known.
    fn history(&self) -> Option<String> {
        let since = self.archived.since.as_ref().filter(|_| self.verdict.is_failure())?;
        let kept = match self.archived.check {
            Some(check) => format!(", this answer in check {}", short(check)),
            None => String::new(),
        };
        let how =
            if matches!(self.archived.health, Some(UrlHealth::Gone { .. })) { "gone" } else { "failing" };
        Some(match &self.archived.last_good {
            Some(good) => {
                // The start of the failure is known to the second, so this time is shown to the
                // second as well.
                let time = Moment::from_seconds(good.capture.time.seconds());
                format!("{how} since {since}, last good {time}{}{kept}", good.place())
            }
            None => format!("{how} since {since}, never seen good{kept}"),
        })
    }

    /// What is known beyond the verdict, a line each.
    fn details(&self) -> Vec<String> {
        let redirects = self.redirects.line().map(|line| format!("redirects: {line}"));
        [redirects, self.referrers.line(), self.history()].into_iter().flatten().collect()
    }
}

/// A prefix of an id, long enough to identify it.
fn short(id: impl std::fmt::Display) -> String {
    let mut text = id.to_string();
    text.truncate(8);
    text
}

/// How a page of the live web compares with the one in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentComparison {
    /// The same bytes.
    Unchanged,
    /// Different bytes, but only noise: nonces, clocks, session ids.
    Noise,
    /// A different page.
    Changed,
    /// The page no longer exists.
    Gone,
}

impl ContentComparison {
    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Noise => "noise",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// One line per URL, for people.
    Text,
    /// One JSON object per line, for programs.
    Json,
    /// The XML that build servers read as test results.
    Junit,
    /// Annotations for GitHub workflows: failures only.
    Github,
}

/// Makes a report incrementally.
#[derive(Debug)]
pub struct CheckReporter {
    format: ReportFormat,
    summary: VerdictCounts,
    /// The number of warnings.
    warnings: u64,
    /// Buffered, because JUnit puts the count and the total time before the cases.
    cases: String,
    took: Duration,
}

impl CheckReporter {
    /// An empty report in this format.
    pub fn new(format: ReportFormat) -> Self {
        Self {
            format,
            summary: VerdictCounts::default(),
            warnings: 0,
            cases: String::new(),
            took: Duration::ZERO,
        }
    }

    /// Adds one verdict. Returns the text to print for it now, with line ends.
    pub fn add(&mut self, checked: &CheckedUrl) -> String {
        self.summary.add(checked.verdict.kind());
        self.warnings += u64::from(checked.warning.is_some());
        match self.format {
            ReportFormat::Text => text::line(checked),
            ReportFormat::Json => json::line(checked),
            ReportFormat::Github => github::line(checked),
            ReportFormat::Junit => {
                self.cases.push_str(&junit::case(checked));
                self.took += checked.took.unwrap_or_default();
                String::new()
            }
        }
    }

    /// The text to print after the last verdict.
    pub fn close(&self) -> String {
        match self.format {
            ReportFormat::Text | ReportFormat::Github => text::closing(&self.summary, self.warnings),
            ReportFormat::Json => json::closing(&self.summary, self.warnings),
            ReportFormat::Junit => junit::suite(&self.summary, self.took, &self.cases),
        }
    }

    /// The counts so far.
    pub fn summary(&self) -> VerdictCounts {
        self.summary
    }
}

#[cfg(test)]
mod tests;
