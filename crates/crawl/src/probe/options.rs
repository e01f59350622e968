//! In which manner the web is asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use varve_fetch::FetchLimits;
use varve_fetch::politeness::{Backoff, PolitenessPolicy};

use crate::network_options::NetworkOptions;
use crate::run_description::RunDescription;

/// An answer may take so many times as long as a silence in it.
const TOTAL_TIMEOUT_FACTOR: u32 = 20;
/// Bytes of an answer that nobody promised to be longer: a body without end must not fill a disk.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;
/// So much is read of an answer that is neither kept nor held against a digest.
const BRIEF_RESPONSE_BYTES: u64 = 64 << 10;
/// A host that asks to be left alone for longer is asked again after this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);
/// The pause after failures grows to this at most: who waits for a check waits at a terminal.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How questions are asked.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// Where long answers are put down while they are looked at.
    pub temporary: PathBuf,
    /// Requests under way at a time.
    pub concurrency: usize,
    /// Between two requests to a host. Without any, a host gets as many at a time as there are.
    pub delay: Duration,
    /// For a connection, for the beginning of an answer, and for each silence in it.
    pub timeout: Duration,
    /// Bytes of an answer, unless more are promised.
    pub max_size: u64,
    /// The pause after the first failure of a host; it doubles with each further one in a row.
    pub retry_pause: Duration,
    /// After so many failures in a row a host is given up.
    pub failures_per_host: u32,
    /// Who asks.
    pub user_agent: String,
    /// What may be reached.
    pub network: NetworkOptions,
    /// How many threads the work may take.
    pub threads: usize,
    /// Whether answers are handed over whole, to be kept.
    pub whole: bool,
    /// Raised by whoever wants no more answers.
    pub stop: Option<Arc<AtomicBool>>,
}

impl ProbeOptions {
    /// The usual manner.
    pub fn new(temporary: impl Into<PathBuf>) -> Self {
        Self {
            temporary: temporary.into(),
            concurrency: 16,
            delay: Duration::from_millis(100),
            timeout: Duration::from_secs(30),
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

    /// As it is written down. What people promise is asked whatever robots may: it is no crawl.
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
            // Whoever checks asks again itself, after all others were asked.
            retries: 0,
            failures_per_host: self.failures_per_host.max(1),
            ..PolitenessPolicy::default()
        }
    }

    pub(super) fn limits(&self) -> FetchLimits {
        let timeout = self.timeout;
        let total = timeout.saturating_mul(TOTAL_TIMEOUT_FACTOR);
        let bytes = self.max_size;
        FetchLimits {
            connect: timeout,
            first_byte: timeout,
            idle: timeout,
            total,
            bytes,
            ..FetchLimits::default()
        }
    }

    /// The limits for an answer that is promised to be longer than others may be; none where it is not.
    pub(super) fn limits_for(&self, promised: Option<u64>) -> Option<FetchLimits> {
        // Its head and the frames around its pieces come on top.
        let bytes = promised.map(|length| length.saturating_add(length / 4).saturating_add(1 << 20));
        bytes.filter(|bytes| *bytes > self.max_size).map(|bytes| FetchLimits { bytes, ..self.limits() })
    }

    /// The limits for an answer of which the beginning is enough.
    pub(super) fn brief_limits(&self) -> FetchLimits {
        FetchLimits {
            bytes: BRIEF_RESPONSE_BYTES,
            head_bytes: BRIEF_RESPONSE_BYTES as usize,
            ..self.limits()
        }
    }
}
