//! One host: what waits for it, what is under way to it, and until when it is left alone.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::RequestOutcome;

/// No crawl waits for longer; instants beyond it may not exist.
const MAX_REST: Duration = Duration::from_secs(365 * 86_400);

/// Something that waits, and how often it was tried.
#[derive(Debug)]
pub(super) struct QueuedItem<T> {
    pub(super) item: T,
    pub(super) tries: u32,
}

/// How often a host that never answered was silent.
#[derive(Debug, Default)]
pub(super) struct UnansweredRequests {
    /// So many requests.
    pub(super) requests: u32,
    /// For so many different things.
    pub(super) things: u32,
}

/// A host.
#[derive(Debug)]
pub(super) struct HostEntry<T> {
    pub(super) name: Box<str>,
    pub(super) waiting: VecDeque<QueuedItem<T>>,
    pub(super) under_way: u32,
    /// Failures in a row.
    pub(super) failures: u32,
    /// What is known of its silence; nothing once it has answered.
    pub(super) silence: Option<UnansweredRequests>,
    pub(super) crawl_delay: Duration,
    /// Not to be asked before this.
    pub(super) not_before: Option<Instant>,
    /// Whether it has an entry in the queue of hosts, and for when.
    pub(super) queued: Option<Instant>,
}

impl<T> HostEntry<T> {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            waiting: VecDeque::new(),
            under_way: 0,
            failures: 0,
            silence: Some(UnansweredRequests::default()),
            crawl_delay: Duration::ZERO,
            not_before: None,
            queued: None,
        }
    }

    /// When it may be asked again; none while nothing waits or its connections are all in use.
    pub(super) fn ready_at(&self, connections: usize, now: Instant) -> Option<Instant> {
        let has_room = (self.under_way as usize) < connections.max(1);
        (has_room && !self.waiting.is_empty()).then(|| self.not_before.map_or(now, |then| then.max(now)))
    }

    /// Leaves it alone for so long, or for longer if that was said before.
    pub(super) fn rest(&mut self, now: Instant, pause: Duration) {
        let then = now + pause.min(MAX_REST);
        self.not_before = Some(self.not_before.map_or(then, |before| before.max(then)));
    }

    /// Notes how a request ended, as far as silence goes.
    pub(super) fn hear(&mut self, outcome: RequestOutcome, tries: u32) {
        match (outcome, &mut self.silence) {
            (RequestOutcome::Silent, Some(silence)) => {
                silence.requests = silence.requests.saturating_add(1);
                silence.things = silence.things.saturating_add(u32::from(tries == 0));
            }
            (RequestOutcome::Answered { .. }, _) => self.silence = None,
            _ => {}
        }
    }

    /// Whether it is taken for dead: silence is all that came of more requests than one thing is worth. One thing alone may
    /// be slow where others are not.
    pub(super) fn is_dead(&self, retries: u32) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.requests > retries && silence.things > 1)
    }

    /// Whether forgetting it changes nothing.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        self.waiting.is_empty()
            && self.under_way == 0
            && self.failures == 0
            && self.silence.as_ref().is_none_or(|silence| silence.requests == 0)
            && self.crawl_delay.is_zero()
            && self.not_before.is_none_or(|then| then <= now)
    }
}
