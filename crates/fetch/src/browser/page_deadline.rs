//! The deadlines of a page: when it is taken as it is, and when everything must end.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::failed;
use crate::error::{FetchError, FetchErrorKind};
use crate::http1::deadline;

/// How long a page may take to settle, and the deadline of everything that is done for it.
#[derive(Clone, Copy)]
pub(super) struct PageDeadline {
    patience: Duration,
    until: Option<Instant>,
}

impl PageDeadline {
    pub(super) fn new(patience: Duration, until: Option<Instant>) -> Self {
        Self { patience, until }
    }

    /// When a page that sets off now is taken as it is.
    pub(super) fn closing(&self) -> Instant {
        let closing = deadline(Instant::now(), self.patience);
        self.until.map_or(closing, |until| closing.min(until))
    }

    /// How long a page may take to settle.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Until when everything must be over.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Whether that has come.
    pub(super) fn are_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// As much of a time as there is left.
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
        outcome.unwrap_or_else(|_| match self.are_over() {
            true => Err(FetchError::new(FetchErrorKind::Timeout, "the time was over")),
            false => Err(failed("the browser does not answer")),
        })
    }
}
