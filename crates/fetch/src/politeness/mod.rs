//! Politeness: when a request may be sent to a host.
//!
//! Owns one queue for each host and the rules that decide how long a host is left alone: a delay
//! between requests, a number of connections, `Crawl-delay`, `Retry-After`, back-off after
//! failures, and the end of retries. It is a state machine over instants that the caller gives: it
//! never sleeps, reads no clock and sends no request. So a day of crawling is tested in a
//! millisecond, and the same seed gives the same schedule.
//!
//! A *turn* is permission to send one request of a browser page to a host.
//!
//! The queued values are the caller's. The frontier is elsewhere and hands over a part of itself at
//! a time.

mod backoff;
mod host_entry;
mod host_table;
mod parse_retry_after;
mod retries;

pub use backoff::Backoff;
pub use host_table::{HostTable, NextRequest, NextTurn};
pub use parse_retry_after::parse_retry_after;
pub use retries::RequestVerdict;

use std::time::Duration;

/// A request that waits in the queue of a host.
pub trait QueuedRequest {
    /// Whether the request makes several requests of its own, each of which takes a turn at its
    /// host. It then takes no connection itself.
    fn takes_turns(&self) -> bool {
        false
    }
}

impl QueuedRequest for u32 {}

/// What a caller keeps about a host.
pub trait HostState: Default {
    /// Whether nothing is lost when the state is dropped.
    fn is_forgettable(&self) -> bool {
        true
    }
}

impl HostState for () {}

/// The rules of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolitenessPolicy {
    /// The pause between the end of one request to a host and the start of the next.
    pub delay: Duration,
    /// Requests in flight to one host at a time.
    pub connections_per_host: usize,
    /// The maximum of a `Crawl-delay`.
    pub longest_crawl_delay: Duration,
    /// The maximum of a `Retry-After`.
    pub longest_retry_after: Duration,
    /// How the pause after failures grows.
    pub backoff: Backoff,
    /// The number of retries of a request.
    pub retries: u32,
    /// After this number of consecutive failures a host is given up, with its queue. A host that
    /// never answered is given up sooner: after more attempts than one request gets, for at least
    /// two requests.
    pub failures_per_host: u32,
}

impl Default for PolitenessPolicy {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(500),
            connections_per_host: 1,
            longest_crawl_delay: Duration::from_secs(30),
            longest_retry_after: Duration::from_secs(3600),
            backoff: Backoff::default(),
            retries: 3,
            failures_per_host: 20,
        }
    }
}

/// The outcome of a request, for politeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// A response: its status, and the wait that its `Retry-After` asks for.
    Answered {
        /// The status.
        status: u16,
        /// From [`parse_retry_after()`].
        retry_after: Option<Duration>,
    },
    /// No response, or a truncated one, for a reason that may be temporary.
    Failed,
    /// Nothing from the host: it has no address, refuses connections, or did not answer in time.
    Silent,
    /// No response, for a reason that a retry would meet again and that says nothing about the
    /// host.
    PermanentFailure,
}

impl RequestOutcome {
    /// A response without `Retry-After`.
    pub const fn answered(status: u16) -> Self {
        Self::Answered { status, retry_after: None }
    }

    /// Whether the host should be left alone for a while: it fails, or answered 429 or 503.
    const fn asks_for_backoff(self) -> bool {
        matches!(self, Self::Failed | Self::Silent | Self::Answered { status: 429 | 503, .. })
    }

    /// Whether a retry may succeed.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Silent | Self::Answered { status: 408 | 429 | 500 | 502 | 503 | 504, .. }
        )
    }

    const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Answered { retry_after, .. } => retry_after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
