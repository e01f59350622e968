//! One host: what waits for it, what is in flight to it, and from when on it may be asked again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{HostState, QueuedRequest, RequestOutcome};

/// The longest time for which a host is left alone. Instants beyond it may not exist.
const MAX_REST: Duration = Duration::from_secs(365 * 86_400);

/// A request in the queue of a host, with the number of attempts before it.
#[derive(Debug)]
pub(super) struct QueuedItem<T> {
    pub(super) item: T,
    pub(super) tries: u32,
}

/// Counts the requests that a host did not answer, as long as it has answered none.
#[derive(Debug, Default)]
pub(super) struct UnansweredRequests {
    /// Attempts, retries included.
    pub(super) attempts: u32,
    /// Distinct requests.
    pub(super) requests: u32,
}

/// A host.
#[derive(Debug)]
pub(super) struct HostEntry<T, S> {
    pub(super) name: Box<str>,
    pub(super) waiting: VecDeque<QueuedItem<T>>,
    /// Single turns that requests in flight wait for.
    pub(super) turns: VecDeque<T>,
    /// Queued requests that were started and have not ended.
    pub(super) in_flight: u32,
    /// Connections in use: by queued requests that take one, and by turns.
    pub(super) connections: u32,
    /// Consecutive failures.
    pub(super) failures: u32,
    /// `None` once the host has answered.
    pub(super) unanswered: Option<UnansweredRequests>,
    pub(super) crawl_delay: Duration,
    /// The host may not be asked before this instant.
    pub(super) not_before: Option<Instant>,
    /// The instant of the host's entry in the queue of hosts.
    pub(super) queued: Option<Instant>,
    /// What the caller keeps about the host.
    pub(super) state: S,
}

impl<T: QueuedRequest, S: HostState> HostEntry<T, S> {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            waiting: VecDeque::new(),
            turns: VecDeque::new(),
            in_flight: 0,
            connections: 0,
            failures: 0,
            unanswered: Some(UnansweredRequests::default()),
            crawl_delay: Duration::ZERO,
            not_before: None,
            queued: None,
            state: S::default(),
        }
    }

    /// When the next queued request may start; `None` while nothing waits or all connections are in
    /// use.
    pub(super) fn ready_at(&self, max_connections: usize, now: Instant) -> Option<Instant> {
        let next = self.waiting.front()?;
        let has_room = (self.in_flight as usize) < max_connections.max(1);
        let has_connection = next.item.takes_turns() || self.has_connection(max_connections);
        (has_room && has_connection).then(|| self.rested_at(now))
    }

    /// When the next turn may start; `None` while none waits or all connections are in use.
    pub(super) fn turn_at(&self, max_connections: usize, now: Instant) -> Option<Instant> {
        (!self.turns.is_empty() && self.has_connection(max_connections)).then(|| self.rested_at(now))
    }

    fn has_connection(&self, max_connections: usize) -> bool {
        (self.connections as usize) < max_connections.max(1)
    }

    fn rested_at(&self, now: Instant) -> Instant {
        self.not_before.map_or(now, |then| then.max(now))
    }

    /// Leaves the host alone for `pause`, or for longer if an earlier pause ends later.
    pub(super) fn rest(&mut self, now: Instant, pause: Duration) {
        let then = now + pause.min(MAX_REST);
        self.not_before = Some(self.not_before.map_or(then, |before| before.max(then)));
    }

    /// Counts a request without an answer, or notes that the host answers.
    pub(super) fn count_answer(&mut self, outcome: RequestOutcome, tries: u32) {
        match (outcome, &mut self.unanswered) {
            (RequestOutcome::Silent, Some(unanswered)) => {
                unanswered.attempts = unanswered.attempts.saturating_add(1);
                unanswered.requests = unanswered.requests.saturating_add(u32::from(tries == 0));
            }
            (RequestOutcome::Answered { .. }, _) => self.unanswered = None,
            _ => {}
        }
    }

    /// Whether the host counts as dead: it answered none of more attempts than one request gets,
    /// for at least two requests. A single URL may be slow on a host that works.
    pub(super) fn is_dead(&self, retries: u32) -> bool {
        let is_dead =
            |unanswered: &UnansweredRequests| unanswered.attempts > retries && unanswered.requests > 1;
        self.unanswered.as_ref().is_some_and(is_dead)
    }

    /// Whether the host has no state that a new entry would not have.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        self.waiting.is_empty()
            && self.turns.is_empty()
            && self.in_flight == 0
            && self.connections == 0
            && self.failures == 0
            && self.unanswered.as_ref().is_none_or(|unanswered| unanswered.attempts == 0)
            && self.crawl_delay.is_zero()
            && self.not_before.is_none_or(|then| then <= now)
            && self.state.is_forgettable()
    }
}
