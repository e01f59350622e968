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

use varve_core::history::{Capture, CaptureOwner, VerdictKind};
use varve_core::{Moment, VersionId};
use varve_expect::{UrlHealth, Verdict};

use super::ProbeFailure;

/// The result of checking one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    /// The URL that was requested.
    pub url: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The status of the response, if there was one.
    pub status: Option<u16>,
    /// How long the deciding response took, if a request was made.
    pub took: Option<Duration>,
    /// Why there was no usable response.
    pub trouble: Option<ProbeFailure>,
    /// The date since which it fails, if earlier checks are known.
    pub since: Option<String>,
    /// The id of the capture that is the evidence, if it was stored.
    pub capture: Option<String>,
    /// The version that contains the evidence.
    pub version: Option<VersionId>,
    /// The file that contains the expectation.
    pub file: Option<PathBuf>,
    /// The line at which the record begins.
    pub line: Option<u64>,
    /// How the body compares with the one in the archive, if it was compared.
    pub comparison: Option<ContentComparison>,
    /// The health of the URL over several checks, if earlier ones are known.
    pub health: Option<UrlHealth>,
    /// The last capture that met the expectation, if this one does not.
    pub last_good: Option<Box<Capture>>,
    /// The capture that is the evidence of a failure.
    pub evidence: Option<Box<Capture>>,
    /// How the two differ, as JSON, if requested.
    pub difference: Option<serde_json::Value>,
}

impl CheckedUrl {
    /// The state of a URL before the request, without any failure.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            verdict: Verdict::Ok,
            status: None,
            took: None,
            trouble: None,
            since: None,
            capture: None,
            version: None,
            file: None,
            line: None,
            comparison: None,
            health: None,
            last_good: None,
            evidence: None,
            difference: None,
        }
    }
}

impl CheckedUrl {
    /// The version that contains the last good capture, if one does.
    pub fn good_version(&self) -> Option<VersionId> {
        match self.last_good.as_ref()?.owner {
            CaptureOwner::Version(version) => Some(version),
            CaptureOwner::Run(_) => None,
        }
    }

    /// The history of a failure in one line; `None` if no history is known.
    fn history(&self) -> Option<String> {
        let since = self.since.as_ref().filter(|_| self.verdict.is_failure())?;
        let place = |version: Option<VersionId>| {
            version.map_or_else(String::new, |version| format!(" in version {}", short(version)))
        };
        let kept = match self.capture {
            Some(_) => format!(", this answer{}", place(self.version)),
            None => String::new(),
        };
        let how = if matches!(self.health, Some(UrlHealth::Gone { .. })) { "gone" } else { "failing" };
        Some(match &self.last_good {
            Some(good) => {
                // The start of the failure is known to the second, so this time is shown to the
                // second as well.
                let time = Moment::from_seconds(good.time.seconds());
                format!("{how} since {since}, last good {time}{}{kept}", place(self.good_version()))
            }
            None => format!("{how} since {since}, never seen good{kept}"),
        })
    }
}

/// A prefix of a version's id, long enough to identify it.
fn short(version: VersionId) -> String {
    let mut text = version.to_string();
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

/// Number of verdicts of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CheckSummary {
    /// As expected.
    pub ok: u64,
    /// Other content, type or redirect than expected.
    pub changed: u64,
    /// An error status where success was expected.
    pub broken: u64,
    /// No complete response.
    pub unreachable: u64,
    /// Not requested.
    pub skipped: u64,
}

impl CheckSummary {
    /// Counts one verdict.
    pub fn count(&mut self, verdict: &Verdict) {
        *match verdict.kind() {
            VerdictKind::Ok => &mut self.ok,
            VerdictKind::Changed => &mut self.changed,
            VerdictKind::Broken => &mut self.broken,
            VerdictKind::Unreachable => &mut self.unreachable,
            VerdictKind::Skipped => &mut self.skipped,
        } += 1;
    }

    /// Number of all verdicts.
    pub fn total(&self) -> u64 {
        self.ok + self.failures() + self.skipped
    }

    /// Number of failures.
    pub fn failures(&self) -> u64 {
        self.changed + self.broken + self.unreachable
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
    summary: CheckSummary,
    /// Buffered, because JUnit puts the count and the total time before the cases.
    cases: String,
    took: Duration,
}

impl CheckReporter {
    /// An empty report in this format.
    pub fn new(format: ReportFormat) -> Self {
        Self { format, summary: CheckSummary::default(), cases: String::new(), took: Duration::ZERO }
    }

    /// Adds one verdict. Returns the text to print for it now, with line ends.
    pub fn add(&mut self, checked: &CheckedUrl) -> String {
        self.summary.count(&checked.verdict);
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
            ReportFormat::Text | ReportFormat::Github => text::closing(&self.summary),
            ReportFormat::Json => json::closing(&self.summary),
            ReportFormat::Junit => junit::suite(&self.summary, self.took, &self.cases),
        }
    }

    /// The counts so far.
    pub fn summary(&self) -> CheckSummary {
        self.summary
    }
}

#[cfg(test)]
mod tests;
