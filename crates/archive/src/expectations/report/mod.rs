//! How the verdicts of a check are told: to people, to programs, to build servers.
//!
//! A [`Reporter`] is given one [`Checked`] after another and answers with text; it writes nowhere. Text from outside is
//! shown with its control characters spelled out.

mod github;
mod json;
mod junit;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use varve_core::history::{Capture, CaptureOwner};
use varve_core::{Moment, VersionId};
use varve_expect::{Standing, Verdict};

use super::ProbeFailure;

/// What was found of one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    /// The URL that was asked.
    pub url: String,
    /// What was found.
    pub verdict: Verdict,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// How long the answer that decided took, where the web was asked.
    pub took: Option<Duration>,
    /// Why there was no answer, or none worth having.
    pub trouble: Option<ProbeFailure>,
    /// Since when it fails, as a date, where earlier checks are known.
    pub since: Option<String>,
    /// The id of the capture that is the evidence, where it was kept.
    pub capture: Option<String>,
    /// The version that has the evidence.
    pub version: Option<VersionId>,
    /// The file that has the expectation.
    pub file: Option<PathBuf>,
    /// The line of it where the record begins.
    pub line: Option<u64>,
    /// How the body compares with the one in the archive, where it was compared.
    pub comparison: Option<ContentComparison>,
    /// What is to be thought of the URL after many checks, where earlier ones are known.
    pub standing: Option<Standing>,
    /// The last capture that was as promised, where this one is not.
    pub last_good: Option<Box<Capture>>,
    /// The capture that is the evidence of a failure.
    pub evidence: Option<Box<Capture>>,
    /// How the two differ, for programs, where that was asked for.
    pub difference: Option<serde_json::Value>,
}

impl CheckedUrl {
    /// What is known of a URL before it was asked: nothing speaks against it.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            verdict: Verdict::Met,
            status: None,
            took: None,
            trouble: None,
            since: None,
            capture: None,
            version: None,
            file: None,
            line: None,
            comparison: None,
            standing: None,
            last_good: None,
            evidence: None,
            difference: None,
        }
    }
}

impl CheckedUrl {
    /// The version that has the last good capture, where one does.
    pub fn good_version(&self) -> Option<VersionId> {
        match self.last_good.as_ref()?.owner {
            CaptureOwner::Version(version) => Some(version),
            CaptureOwner::Run(_) => None,
        }
    }

    /// What the past says of a failure, in one line; nothing where no past is known.
    fn history(&self) -> Option<String> {
        let since = self.since.as_ref().filter(|_| self.verdict.is_failure())?;
        let place = |version: Option<VersionId>| {
            version.map_or_else(String::new, |version| format!(" in version {}", short(version)))
        };
        let kept = match self.capture {
            Some(_) => format!(", this answer{}", place(self.version)),
            None => String::new(),
        };
        let how = if matches!(self.standing, Some(Standing::Gone { .. })) { "gone" } else { "failing" };
        Some(match &self.last_good {
            Some(good) => {
                // Since when is known to the second, so this is told to the second as well.
                let time = Moment::from_seconds(good.time.seconds());
                format!("{how} since {since}, last good {time}{}{kept}", place(self.good_version()))
            }
            None => format!("{how} since {since}, never seen good{kept}"),
        })
    }
}

/// The beginning of a version's id, long enough to name it.
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
    /// Other bytes, but nothing that counts: nonces, clocks, session ids.
    Noise,
    /// Something else.
    Changed,
    /// Nothing is there any more.
    Gone,
}

impl ContentComparison {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Noise => "noise",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// How many verdicts there were of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CheckSummary {
    /// All as expected.
    pub met: u64,
    /// Not as expected.
    pub drift: u64,
    /// No whole answer.
    pub unreachable: u64,
    /// Not asked.
    pub skipped: u64,
}

impl CheckSummary {
    /// Counts one more.
    pub fn count(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Met => &mut self.met,
            Verdict::Drift(_) => &mut self.drift,
            Verdict::Unreachable(_) => &mut self.unreachable,
            Verdict::Skipped(_) => &mut self.skipped,
        } += 1;
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.met + self.failures() + self.skipped
    }

    /// How many somebody should look at.
    pub fn failures(&self) -> u64 {
        self.drift + self.unreachable
    }
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// A line a URL, for people.
    Text,
    /// An object a line, for programs.
    Json,
    /// The XML that build servers read as test results.
    Junit,
    /// Annotations of GitHub's workflows: failures only.
    Github,
}

/// Makes a report, piece by piece.
#[derive(Debug)]
pub struct CheckReporter {
    format: ReportFormat,
    summary: CheckSummary,
    /// JUnit says how many there are, and how long they took, before it says which.
    cases: String,
    took: Duration,
}

impl CheckReporter {
    /// A report in that form, of nothing yet.
    pub fn new(format: ReportFormat) -> Self {
        Self { format, summary: CheckSummary::default(), cases: String::new(), took: Duration::ZERO }
    }

    /// Takes one verdict; what is to be printed for it now, with its line ends.
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

    /// What is to be printed after the last one.
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

/// `text` with its control characters spelled out.
fn visible(text: &str) -> String {
    let spelled = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(spelled).collect()
}

#[cfg(test)]
mod tests;
