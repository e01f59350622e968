//! The standing of a URL after many checks: fine, flaky, failing, or gone.
//!
//! One failure may be due to the network, so the standing considers the last checks together.
//! Skipped checks do not count.

use varve_core::history::VerdictKind;

use super::verdict::{Departure, Verdict};

/// How many of the last checks decide whether a URL is flaky.
const RECENT_CHECKS: usize = 10;
/// Fewest consecutive failures that count as a lasting one.
const IN_A_ROW: usize = 3;
/// Shortest time of consecutive failures after which a URL counts as gone: seven days.
const MIN_GONE_SECONDS: i64 = 7 * 24 * 60 * 60;

/// The outcome of one check, as far as the standing depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The response was as expected.
    Ok,
    /// There was a response, and it was not as expected.
    Different,
    /// There was no response, or a 404.
    Absent,
    /// The server answered 410 Gone.
    Removed,
    /// It was not requested.
    Skipped,
}

/// One earlier check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When, in seconds since 1970.
    pub time: i64,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The standing of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As expected in all recent checks.
    Ok,
    /// Sometimes as expected and sometimes not.
    Flaky {
        /// How many of the last checks failed.
        failures: usize,
        /// Of how many.
        checks: usize,
    },
    /// Not as expected.
    Failing {
        /// The first of the failures in a row.
        since: i64,
    },
    /// Removed, or absent for a long time.
    Gone {
        /// The first of the failures in a row.
        since: i64,
    },
}

impl From<&Verdict> for Outcome {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Ok,
            Verdict::Skipped(_) => Self::Skipped,
            Verdict::Unreachable(_) => Self::Absent,
            Verdict::Changed(_) => Self::Different,
            Verdict::Broken(departures) => match departures.first() {
                Some(Departure::Status { got: 410, .. }) => Self::Removed,
                Some(Departure::Status { got: 404, .. }) => Self::Absent,
                _ => Self::Different,
            },
        }
    }
}

impl Outcome {
    /// The outcome of a stored verdict, of which only the kind and the status are known.
    pub fn recalled(verdict: VerdictKind, status: Option<u16>) -> Self {
        match (verdict, status) {
            (VerdictKind::Ok, _) => Self::Ok,
            (VerdictKind::Broken, Some(410)) => Self::Removed,
            (VerdictKind::Broken, Some(404)) | (VerdictKind::Unreachable, _) => Self::Absent,
            (VerdictKind::Changed | VerdictKind::Broken, _) => Self::Different,
            (VerdictKind::Skipped, _) => Self::Skipped,
        }
    }
}

impl Standing {
    /// Since when it fails, if it does.
    pub fn since(&self) -> Option<i64> {
        match self {
            Self::Failing { since } | Self::Gone { since } => Some(*since),
            Self::Ok | Self::Flaky { .. } => None,
        }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Flaky { .. } => "flaky",
            Self::Failing { .. } => "failing",
            Self::Gone { .. } => "gone",
        }
    }
}

/// The standing after these checks, oldest first. Without any check it is `Ok`.
pub fn standing(checks: impl IntoIterator<Item = Seen>) -> Standing {
    let mut past = Past::default();
    checks.into_iter().filter(|seen| seen.outcome != Outcome::Skipped).for_each(|seen| past.add(seen));
    past.judge()
}

/// The checks so far, as far as they matter.
#[derive(Default)]
struct Past {
    /// Whether each of the last ones failed, oldest first.
    window: std::collections::VecDeque<bool>,
    /// The failures in a row at the end.
    row: Row,
}

#[derive(Default)]
struct Row {
    length: usize,
    first: i64,
    last: i64,
    /// There was a response that differs from the expectation.
    found: bool,
    removed: bool,
}

impl Past {
    fn add(&mut self, Seen { time, outcome }: Seen) {
        let failed = outcome != Outcome::Ok;
        if self.window.len() == RECENT_CHECKS {
            self.window.pop_front();
        }
        self.window.push_back(failed);
        if !failed {
            self.row = Row::default();
            return;
        }
        if self.row.length == 0 {
            self.row.first = time;
        }
        self.row.length += 1;
        self.row.last = time;
        self.row.found |= outcome == Outcome::Different;
        self.row.removed = outcome == Outcome::Removed;
    }

    fn judge(&self) -> Standing {
        let failures = self.window.iter().filter(|failed| **failed).count();
        let flaky = Standing::Flaky { failures, checks: self.window.len() };
        let Row { length, first, last, found, removed } = self.row;
        let long = length >= IN_A_ROW && last.saturating_sub(first) >= MIN_GONE_SECONDS;
        match length {
            0 if failures == 0 => Standing::Ok,
            0 => flaky,
            _ if removed || (long && !found) => Standing::Gone { since: first },
            // It failed before, recovered, and fails again: too early to call it failing.
            _ if failures > length && length < IN_A_ROW => flaky,
            _ => Standing::Failing { since: first },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Absent, Different, Ok, Removed, Skipped};

    const DAY: i64 = 24 * 60 * 60;

    /// A check a day.
    fn after(outcomes: &[Outcome]) -> Standing {
        let days = (0..).map(|day| day * DAY);
        standing(days.zip(outcomes).map(|(time, outcome)| Seen { time, outcome: *outcome }))
    }

    #[test]
    fn many_checks_give_one_standing() {
        assert_eq!(after(&[]), Standing::Ok);
        assert_eq!(after(&[Ok, Ok, Skipped]), Standing::Ok);
        assert_eq!(after(&[Ok, Different]), Standing::Failing { since: DAY });
        assert_eq!(after(&[Ok, Absent, Ok]), Standing::Flaky { failures: 1, checks: 3 });
        assert_eq!(after(&[Absent, Ok, Absent]), Standing::Flaky { failures: 2, checks: 3 });
        assert_eq!(after(&[Absent, Ok, Absent, Absent, Absent]), Standing::Failing { since: 2 * DAY });
        assert_eq!(after(&[Ok, Absent, Skipped, Absent]), Standing::Failing { since: DAY });
    }

    #[test]
    fn a_stored_verdict_has_the_outcome_of_the_original() {
        let status = |got| Verdict::of(vec![Departure::Status { expected: "HTTP 2xx", got }]);
        let length = Verdict::of(vec![Departure::Length { expected: 1, got: 2 }]);
        let gone = Verdict::Unreachable("timed out".to_owned());
        let cases = [
            (Verdict::Ok, 200),
            (status(404), 404),
            (status(410), 410),
            (status(500), 500),
            (length, 200),
            (gone, 0),
        ];
        for (verdict, status) in cases {
            let status = Some(status).filter(|status| *status != 0);
            assert_eq!(Outcome::recalled(verdict.kind(), status), Outcome::from(&verdict), "{verdict:?}");
        }
        assert_eq!(Outcome::recalled(VerdictKind::Skipped, None), Skipped);
    }

    #[test]
    fn an_old_failure_is_forgotten() {
        let mut outcomes = vec![Absent];
        outcomes.extend([Ok; RECENT_CHECKS]);
        assert_eq!(after(&outcomes), Standing::Ok);
    }

    #[test]
    fn a_url_is_gone_when_removed_or_absent_for_long() {
        assert_eq!(after(&[[Ok].as_slice(), &[Absent; 7]].concat()), Standing::Failing { since: DAY });
        assert_eq!(after(&[[Ok].as_slice(), &[Absent; 8]].concat()), Standing::Gone { since: DAY });
        assert_eq!(after(&[[Ok].as_slice(), &[Different; 30]].concat()), Standing::Failing { since: DAY });
        assert_eq!(after(&[Ok, Absent, Removed]), Standing::Gone { since: DAY });
        assert_eq!(after(&[Ok, Removed, Ok]), Standing::Flaky { failures: 1, checks: 3 });
    }
}
