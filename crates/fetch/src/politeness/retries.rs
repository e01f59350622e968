//! Retries: what happens to a request that has ended, and how long its host is left alone after a
//! failure.
//!
//! A failed request is retried up to the limit of the policy. After too many failures in a row the
//! host is given up with its queue.

use std::time::Instant;

use super::host_entry::QueuedItem;
use super::{HostState, HostTable, QueuedRequest, RequestOutcome};

/// What happens to a request that has ended.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestVerdict<T> {
    /// It is done.
    Done(T),
    /// It is in the queue again.
    Again,
    /// It failed too often.
    GivenUp(T),
    /// Its host failed too often. Holds the request and everything that waited for the host.
    HostGivenUp(Vec<T>),
}

impl<T: QueuedRequest, S: HostState> HostTable<T, S> {
    /// Takes back what [`HostTable::next`] gave, with the outcome.
    pub fn done(
        &mut self,
        host: &str,
        item: T,
        tries: u32,
        outcome: RequestOutcome,
        now: Instant,
    ) -> RequestVerdict<T> {
        let index = self.index_of(host);
        self.in_flight = self.in_flight.saturating_sub(1);
        let failures = self.end_request(index, item.takes_turns(), outcome, now);
        self.hosts[index].count_answer(outcome, tries);
        let is_dead = outcome == RequestOutcome::Silent && self.hosts[index].is_dead(self.policy.retries);
        let verdict = if is_dead || (failures >= self.policy.failures_per_host && outcome.is_retryable()) {
            self.give_up_host(index, item)
        } else if outcome.is_retryable() && tries < self.policy.retries {
            self.retry(index, QueuedItem { item, tries: tries + 1 }, outcome, now);
            RequestVerdict::Again
        } else if outcome.is_retryable() || outcome == RequestOutcome::PermanentFailure {
            RequestVerdict::GivenUp(item)
        } else {
            RequestVerdict::Done(item)
        };
        self.queue_up(index, now);
        verdict
    }

    /// Queues a failed request again. If the host fails, the request goes in front and serves as
    /// the probe. If only this request fails, the others go first; without others the host pauses.
    fn retry(&mut self, index: usize, next: QueuedItem<T>, outcome: RequestOutcome, now: Instant) {
        let host = &mut self.hosts[index];
        self.waiting += 1;
        if outcome.asks_for_backoff() {
            host.waiting.push_front(next);
            return;
        }
        if host.waiting.is_empty() {
            host.rest(now, self.policy.backoff.pause(next.tries, &mut self.jitter));
        }
        host.waiting.push_back(next);
    }

    /// Frees the connection and sets the pause of the host. Returns its consecutive failures.
    fn end_request(&mut self, index: usize, took_turns: bool, outcome: RequestOutcome, now: Instant) -> u32 {
        let host = &mut self.hosts[index];
        host.in_flight = host.in_flight.saturating_sub(1);
        if !took_turns {
            host.connections = host.connections.saturating_sub(1);
            host.rest(now, self.policy.delay.max(host.crawl_delay));
        }
        if outcome == RequestOutcome::PermanentFailure {
            return host.failures;
        }
        if !outcome.asks_for_backoff() {
            host.failures = 0;
            return 0;
        }
        host.failures = host.failures.saturating_add(1);
        let pause = match outcome.retry_after() {
            Some(asked) => asked.min(self.policy.longest_retry_after),
            None => self.policy.backoff.pause(host.failures, &mut self.jitter),
        };
        host.rest(now, pause);
        host.failures
    }

    fn give_up_host(&mut self, index: usize, item: T) -> RequestVerdict<T> {
        let host = &mut self.hosts[index];
        let waiting = std::mem::take(&mut host.waiting);
        self.waiting -= waiting.len();
        host.failures = 0;
        let all = std::iter::once(item).chain(waiting.into_iter().map(|waiting| waiting.item));
        RequestVerdict::HostGivenUp(all.collect())
    }
}
