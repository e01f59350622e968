//! The deadlines of a page: when loading stops, and when everything must end.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::failed;
use crate::error::{FetchError, FetchErrorKind};
use crate::http1::deadline;

/// How long a page may load, and the deadline of everything that is done for it.
#[derive(Clone, Copy)]
pub(super) struct PageDeadline {
    pub(super) load_timeout: Duration,
    /// When everything must be over.
    pub(super) until: Option<Instant>,
}

impl PageDeadline {
    /// When a page whose navigation starts now is captured as it is.
    pub(super) fn load_deadline(&self) -> Instant {
        let load = deadline(Instant::now(), self.load_timeout);
        self.until.map_or(load, |until| load.min(until))
    }

    /// Whether the deadline of everything has passed.
    pub(super) fn has_passed(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// `time`, or the time until the deadline if that is shorter.
    pub(super) fn at_most(&self, time: Duration) -> Duration {
        self.until.map_or(time, |until| time.min(until.saturating_duration_since(Instant::now())))
    }

    /// Runs `work` with a timeout that ends no later than the deadline.
    pub(super) async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let outcome = timeout(self.at_most(time), work).await;
        outcome.unwrap_or_else(|_| match self.has_passed() {
            true => Err(FetchError::new(FetchErrorKind::Timeout, "the deadline has passed")),
            false => Err(failed("the browser does not respond")),
        })
    }
}
