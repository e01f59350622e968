//! Hosts that sent `Retry-After`: which waits are reported, and which hosts are postponed to a later
//! run. Retries of single requests are in `dispatcher::retries`.
//!
//! A wait that the user would notice is reported. The run does not wait longer than its limit. The
//! tasks of the host then stay in the frontier with the instant from which they may be requested,
//! and a resumed run continues there.

use std::time::{Duration, Instant};

use varve_core::Moment;
use varve_fetch::politeness::RequestOutcome;

use super::hosts::CrawlHosts;

/// Shorter waits are not reported.
const MIN_REPORTED_WAIT: Duration = Duration::from_secs(5);

/// The wait that a host required with `Retry-After`.
#[derive(Debug, Default)]
pub(crate) struct RetryAfterState {
    /// The host is not requested any more by this process; its tasks are due at this instant.
    pub(super) postponed_until: Option<Moment>,
    /// The end of the wait that was reported last.
    reported_until: Option<Instant>,
}

impl RetryAfterState {
    pub(super) fn is_forgettable(&self) -> bool {
        self.postponed_until.is_none()
    }

    /// Whether a wait that begins now is worth a report: each is reported once.
    fn is_reported_now(&mut self, wait: Duration, now: Instant) -> bool {
        let was_reported = self.reported_until.is_some_and(|until| until > now);
        let is_reported = wait >= MIN_REPORTED_WAIT && !was_reported;
        if is_reported {
            self.reported_until = Some(now + wait);
        }
        is_reported
    }
}

/// How long a response asks the client to wait, if it does.
pub(crate) fn requested_wait(outcome: RequestOutcome) -> Option<Duration> {
    match outcome {
        RequestOutcome::Answered { status: 429 | 503, retry_after } => retry_after,
        _ => None,
    }
}

impl CrawlHosts {
    /// The instant at which tasks of a host are due, if the host is left for a later run.
    pub(crate) fn postponed_until(&self, host: &str) -> Option<Moment> {
        self.table.state(host).and_then(|state| state.retry_after.postponed_until)
    }

    /// Leaves a host for a later run. Returns the tasks that waited for it.
    pub(crate) fn postpone(&mut self, host: &str, until: Moment) -> Vec<super::task::CrawlTask> {
        self.table.state_mut(host).retry_after.postponed_until = Some(until);
        self.table.withdraw(|task| task.url.authority() == host)
    }

    /// Whether a wait for a host is worth a report.
    pub(crate) fn reports_wait(&mut self, host: &str, wait: Duration, now: Instant) -> bool {
        self.table.state_mut(host).retry_after.is_reported_now(wait, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualTime;

    #[test]
    fn each_noticeable_wait_is_reported_once() {
        let (mut state, now) = (RetryAfterState::default(), ManualTime::new().instant());
        let wait = Duration::from_secs(60);
        assert!(!state.is_reported_now(Duration::from_secs(1), now));
        assert!(state.is_reported_now(wait, now));
        assert!(!state.is_reported_now(wait, now + Duration::from_secs(59)));
        assert!(state.is_reported_now(wait, now + Duration::from_secs(61)));
    }
}
