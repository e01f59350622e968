//! Politeness: who may be asked when.
//!
//! Owns the waiting lists of a crawl, one a host, and the rules that say how long a host is left alone: a delay between
//! requests, a budget of connections, `Crawl-delay`, `Retry-After`, back-off after trouble, and an end to retrying.
//! It is a machine over instants that it is given: it never sleeps, asks no clock and makes no request, so that a day of
//! crawling is tested in a millisecond, and the same seed gives the same schedule.
//!
//! What is waiting is the caller's: a row number, a URL. The frontier itself is elsewhere, and hands over as much of
//! itself at a time as it likes.

mod backoff;
mod host_entry;
mod host_table;
mod retry_after;

pub use backoff::Backoff;
pub use host_table::{HostTable, NextRequest, RequestVerdict};
pub use retry_after::retry_after;

use std::time::Duration;

/// The rules of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolitenessPolicy {
    /// Between the end of one request to a host and the beginning of the next.
    pub delay: Duration,
    /// Requests under way to one host at a time.
    pub connections_per_host: usize,
    /// A `Crawl-delay` counts up to this.
    pub longest_crawl_delay: Duration,
    /// A `Retry-After` counts up to this; a host that asks for more is taken at this.
    pub longest_retry_after: Duration,
    /// How the pause after trouble grows.
    pub backoff: Backoff,
    /// How often something that failed is tried again.
    pub retries: u32,
    /// After so many failures in a row a host is given up, with everything that waits for it. One that never answered is given
    /// up sooner: once more requests than one would be tried were met with silence, for two things at least.
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

/// How a request ended, as far as politeness goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// With an answer: its status, and how long its `Retry-After` asks to wait.
    Answered {
        /// The status.
        status: u16,
        /// From [`retry_after()`].
        retry_after: Option<Duration>,
    },
    /// Without an answer, or with one that was cut short, in a way that may pass.
    Failed,
    /// With nothing at all from the host: it has no address, nobody listens there, or nothing came in time.
    Silent,
    /// Without an answer, in a way that will not pass; it says nothing about the host.
    Hopeless,
}

impl RequestOutcome {
    /// An answer without `Retry-After`.
    pub const fn answered(status: u16) -> Self {
        Self::Answered { status, retry_after: None }
    }

    /// Whether the host is in trouble, or asks to be left alone.
    const fn is_trouble(self) -> bool {
        matches!(self, Self::Failed | Self::Silent | Self::Answered { status: 429 | 503, .. })
    }

    /// Whether asking again may give something else.
    pub const fn may_pass(self) -> bool {
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
