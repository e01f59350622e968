//! The health of a URL after many checks: ok, flaky, failing, or gone.
//!
//! One failure may be due to the network, so the last checks decide together.
//! Skipped checks do not count.

use varve_core::history::VerdictKind;

use super::verdict::{Departure, Verdict};

/// How many of the last checks decide whether a URL is flaky.
const RECENT_CHECKS: usize = 10;
/// Fewest consecutive failures that count as a lasting one.
const IN_A_ROW: usize = 3;
/// Shortest time of consecutive failures after which a URL counts as gone: seven days.
const MIN_GONE_SECONDS: i64 = 7 * 24 * 60 * 60;

/// The outcome of one check, as far as the health of its URL depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
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
pub struct PastCheck {
    /// When, in seconds since 1970.
    pub time: i64,
    /// Its outcome.
    pub outcome: CheckOutcome,
}

/// The health of a URL over several checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlHealth {
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

impl From<&Verdict> for CheckOutcome {
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

impl CheckOutcome {
    /// The outcome of a stored verdict, of which only the kind and the status are known.
    pub fn of_stored_verdict(verdict: VerdictKind, status: Option<u16>) -> Self {
        match (verdict, status) {
            (VerdictKind::Ok, _) => Self::Ok,
            (VerdictKind::Broken, Some(410)) => Self::Removed,
            (VerdictKind::Broken, Some(404)) | (VerdictKind::Unreachable, _) => Self::Absent,
            (VerdictKind::Changed | VerdictKind::Broken, _) => Self::Different,
            (VerdictKind::Skipped, _) => Self::Skipped,
        }
    }
}

impl UrlHealth {
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

/// The health of a URL after these checks, oldest first. Without any check it is `Ok`.
pub fn health_after(checks: impl IntoIterator<Item = PastCheck>) -> UrlHealth {
    let mut past = PastChecks::default();
    checks
        .into_iter()
        .filter(|check| check.outcome != CheckOutcome::Skipped)
        .for_each(|check| past.add(check));
    past.judge()
}

/// The checks so far, as far as they matter for the health of the URL.
#[derive(Default)]
struct PastChecks {
    /// Whether each of the last ones failed, oldest first.
    window: std::collections::VecDeque<bool>,
    /// The consecutive failures at the end.
    streak: FailureStreak,
}

#[derive(Default)]
struct FailureStreak {
    length: usize,
    first: i64,
    last: i64,
    /// There was a response that differs from the expectation.
    found: bool,
    removed: bool,
}

impl PastChecks {
    fn add(&mut self, PastCheck { time, outcome }: PastCheck) {
        let failed = outcome != CheckOutcome::Ok;
        if self.window.len() == RECENT_CHECKS {
            self.window.pop_front();
        }
        self.window.push_back(failed);
        if !failed {
            self.streak = FailureStreak::default();
            return;
        }
        if self.streak.length == 0 {
            self.streak.first = time;
        }
        self.streak.length += 1;
        self.streak.last = time;
        self.streak.found |= outcome == CheckOutcome::Different;
        self.streak.removed = outcome == CheckOutcome::Removed;
    }

    fn judge(&self) -> UrlHealth {
        let failures = self.window.iter().filter(|failed| **failed).count();
        let flaky = UrlHealth::Flaky { failures, checks: self.window.len() };
        let FailureStreak { length, first, last, found, removed } = self.streak;
        let long = length >= IN_A_ROW && last.saturating_sub(first) >= MIN_GONE_SECONDS;
        match length {
            0 if failures == 0 => UrlHealth::Ok,
            0 => flaky,
            _ if removed || (long && !found) => UrlHealth::Gone { since: first },
            // It failed before, recovered, and fails again: too early to call it failing.
            _ if failures > length && length < IN_A_ROW => flaky,
            _ => UrlHealth::Failing { since: first },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CheckOutcome::{Absent, Different, Ok, Removed, Skipped};

    const DAY: i64 = 24 * 60 * 60;

    /// A check a day.
    fn after(outcomes: &[CheckOutcome]) -> UrlHealth {
        let days = (0..).map(|day| day * DAY);
        health_after(days.zip(outcomes).map(|(time, outcome)| PastCheck { time, outcome: *outcome }))
    }

    #[test]
    fn the_last_checks_decide_together() {
        assert_eq!(after(&[]), UrlHealth::Ok);
        assert_eq!(after(&[Ok, Ok, Skipped]), UrlHealth::Ok);
        assert_eq!(after(&[Ok, Different]), UrlHealth::Failing { since: DAY });
        assert_eq!(after(&[Ok, Absent, Ok]), UrlHealth::Flaky { failures: 1, checks: 3 });
        assert_eq!(after(&[Absent, Ok, Absent]), UrlHealth::Flaky { failures: 2, checks: 3 });
        assert_eq!(after(&[Absent, Ok, Absent, Absent, Absent]), UrlHealth::Failing { since: 2 * DAY });
        assert_eq!(after(&[Ok, Absent, Skipped, Absent]), UrlHealth::Failing { since: DAY });
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
            assert_eq!(
                CheckOutcome::of_stored_verdict(verdict.kind(), status),
                CheckOutcome::from(&verdict),
                "{verdict:?}"
            );
        }
        assert_eq!(CheckOutcome::of_stored_verdict(VerdictKind::Skipped, None), Skipped);
    }

    #[test]
    fn an_old_failure_is_forgotten() {
        let mut outcomes = vec![Absent];
        outcomes.extend([Ok; RECENT_CHECKS]);
        assert_eq!(after(&outcomes), UrlHealth::Ok);
    }

    #[test]
    fn a_url_is_gone_when_removed_or_absent_for_long() {
        assert_eq!(after(&[[Ok].as_slice(), &[Absent; 7]].concat()), UrlHealth::Failing { since: DAY });
        assert_eq!(after(&[[Ok].as_slice(), &[Absent; 8]].concat()), UrlHealth::Gone { since: DAY });
        assert_eq!(after(&[[Ok].as_slice(), &[Different; 30]].concat()), UrlHealth::Failing { since: DAY });
        assert_eq!(after(&[Ok, Absent, Removed]), UrlHealth::Gone { since: DAY });
        assert_eq!(after(&[Ok, Removed, Ok]), UrlHealth::Flaky { failures: 1, checks: 3 });
    }
}
