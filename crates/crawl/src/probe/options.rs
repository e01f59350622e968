//! The options of the requests that a check sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use varve_fetch::FetchLimits;
use varve_fetch::politeness::{Backoff, PolitenessPolicy};
use varve_file::TemporaryFolder;

use super::redirect_chain::RedirectChain;
use crate::network_options::NetworkOptions;
use crate::run_description::RunDescription;

/// Additional time for a response with an expected length, in bytes per second.
const EXPECTED_BYTES_PER_SECOND: u64 = 1 << 20;
/// Time that a request has at least, after the redirects before it.
const MIN_REQUEST_TIMEOUT: Duration = Duration::from_millis(1);
/// Maximum size of a response without a longer expected length, in bytes: an endless body must not
/// fill the disk.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;
/// Bytes read of a response that is neither stored nor compared with a digest.
const BRIEF_RESPONSE_BYTES: u64 = 64 << 10;
/// Maximum wait for `Retry-After`: a host that asks for more is requested again after this time.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);
/// Maximum delay after failures: a user of a check waits at a terminal.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The options of the requests that a check sends.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// The directory for long responses while they are read.
    pub temporary: TemporaryFolder,
    /// The maximum number of requests in flight.
    pub concurrency: usize,
    /// The delay between two requests to a host. If it is zero, a host gets up to `concurrency`
    /// requests at a time.
    pub delay: Duration,
    /// The time that the requests of a URL may take in all, redirects included. A response with an
    /// expected length gets one more second for each MiB.
    pub timeout: Duration,
    /// The maximum size of a response in bytes, unless a longer one is expected.
    pub max_size: u64,
    /// The delay after the first failure of a host; it doubles with each further failure in a row.
    pub retry_pause: Duration,
    /// The number of failures in a row after which a host is given up.
    pub failures_per_host: u32,
    /// The `User-Agent`.
    pub user_agent: String,
    /// The network options.
    pub network: NetworkOptions,
    /// The maximum number of threads.
    pub threads: usize,
    /// Whether whole exchanges are returned, so that the caller can store them.
    pub whole: bool,
    /// Set by the caller to stop the requests.
    pub stop: Option<Arc<AtomicBool>>,
}

impl ProbeOptions {
    /// The default options.
    pub fn new(temporary: impl Into<TemporaryFolder>) -> Self {
        Self {
            temporary: temporary.into(),
            concurrency: 16,
            delay: Duration::from_millis(100),
            timeout: Duration::from_secs(60),
            max_size: DEFAULT_MAX_BYTES,
            retry_pause: Duration::from_millis(250),
            failures_per_host: 5,
            user_agent: varve_fetch::user_agent(None),
            network: NetworkOptions::default(),
            threads: 2,
            whole: false,
            stop: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    pub(super) fn per_host(&self) -> usize {
        if self.delay.is_zero() { self.concurrency.max(1) } else { 1 }
    }

    /// The description for the silos. Expected URLs are requested regardless of `robots.txt`: a
    /// check is not a crawl.
    pub(super) fn run_description(&self) -> RunDescription {
        RunDescription {
            robots: false,
            user_agent: self.user_agent.clone(),
            scope: None,
            delay: self.delay,
            per_host: self.per_host(),
            concurrency: self.concurrency.max(1),
            retries: 0,
            proxy: self.network.proxies_shown(),
        }
    }

    pub(super) fn policy(&self) -> PolitenessPolicy {
        PolitenessPolicy {
            delay: self.delay,
            connections_per_host: self.per_host(),
            longest_retry_after: MAX_RETRY_AFTER,
            backoff: Backoff { first: self.retry_pause, longest: MAX_BACKOFF.max(self.retry_pause) },
            // The checker retries by itself, after it has requested all other URLs.
            retries: 0,
            failures_per_host: self.failures_per_host.max(1),
            ..PolitenessPolicy::default()
        }
    }

    /// The limits of a request without a chain of redirects before it.
    pub(super) fn limits(&self) -> FetchLimits {
        self.limits_within(self.timeout, self.max_size)
    }

    fn limits_within(&self, time: Duration, bytes: u64) -> FetchLimits {
        FetchLimits {
            connect: time,
            first_byte: time,
            idle: time,
            total: time,
            bytes,
            ..FetchLimits::default()
        }
    }

    /// The limits of the next request of a chain: the time that is left of the whole, and the size
    /// that matters.
    pub(super) fn limits_of(&self, chain: &RedirectChain) -> FetchLimits {
        let more = Duration::from_secs(chain.length.unwrap_or(0) / EXPECTED_BYTES_PER_SECOND);
        let time = (self.timeout + more).saturating_sub(chain.spent()).max(MIN_REQUEST_TIMEOUT);
        if !chain.content && !self.whole {
            let head_bytes = BRIEF_RESPONSE_BYTES as usize;
            return FetchLimits { head_bytes, ..self.limits_within(time, BRIEF_RESPONSE_BYTES) };
        }
        // The response head and the chunk framing add to the length of the body.
        let promised =
            chain.length.map_or(0, |length| length.saturating_add(length / 4).saturating_add(1 << 20));
        self.limits_within(time, chain.max_bytes.unwrap_or(self.max_size).max(promised))
    }
}
