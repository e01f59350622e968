//! The agenda of a crawl: hosts in the order in which they may be asked.
//!
//! A heap holds one entry a host that could be asked, by the instant from which it may be. Entries are not searched and
//! removed when a host's instant changes: an entry that no longer says what the host says is dropped when it comes up.
//! So every step costs the logarithm of the number of hosts, and a host costs a couple of hundred bytes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use super::backoff::Jitter;
use super::host_entry::{HostEntry, QueuedItem};
use super::{PolitenessPolicy, RequestOutcome};

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum NextRequest<T> {
    /// Ask for this now, and tell [`Agenda::done`] how it went.
    Ask {
        /// The host.
        host: Box<str>,
        /// What was handed in.
        item: T,
        /// How often it was tried before.
        tries: u32,
    },
    /// No host may be asked before this instant, unless a request under way ends first.
    Wait(Instant),
    /// Everything that is left waits for requests under way.
    UnderWay,
    /// Nothing is left.
    Empty,
}

/// What becomes of something that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestVerdict<T> {
    /// It is done.
    Done(T),
    /// It waits again, and will come up by itself.
    Again,
    /// It failed too often.
    GivenUp(T),
    /// Its host failed too often: it, and everything that waited for the host.
    HostGivenUp(Vec<T>),
}

/// Hosts and what waits for them.
#[derive(Debug)]
pub struct HostTable<T> {
    policy: PolitenessPolicy,
    chance: Jitter,
    hosts: Vec<HostEntry<T>>,
    /// Places in `hosts` that are free.
    free: Vec<usize>,
    by_name: HashMap<Box<str>, usize>,
    queue: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    /// Numbers the entries of the queue, so that hosts that are ready at the same instant take turns.
    turn: u64,
    waiting: usize,
    under_way: usize,
}

impl<T> HostTable<T> {
    /// An empty agenda. The same seed gives the same pauses.
    pub fn new(policy: PolitenessPolicy, seed: u64) -> Self {
        Self {
            policy,
            chance: Jitter::new(seed),
            hosts: Vec::new(),
            free: Vec::new(),
            by_name: HashMap::new(),
            queue: BinaryHeap::new(),
            turn: 0,
            waiting: 0,
            under_way: 0,
        }
    }

    /// Adds something to ask of a host, behind what waits for it already.
    pub fn push(&mut self, host: &str, item: T, now: Instant) {
        let place = self.place_of(host);
        self.hosts[place].waiting.push_back(QueuedItem { item, tries: 0 });
        self.waiting += 1;
        self.queue_up(place, now);
    }

    /// The `Crawl-delay` of a host, which counts up to the policy's limit, and only if it is longer than its delay.
    pub fn set_crawl_delay(&mut self, host: &str, delay: Duration) {
        let delay = delay.min(self.policy.longest_crawl_delay);
        let place = self.place_of(host);
        self.hosts[place].crawl_delay = delay;
    }

    /// What to do at an instant.
    pub fn next(&mut self, now: Instant) -> NextRequest<T> {
        while let Some(&Reverse((then, turn, place))) = self.queue.peek() {
            let host = &mut self.hosts[place];
            if host.queued != Some(then) {
                self.queue.pop();
                continue;
            }
            let ready = host.ready_at(self.policy.connections_per_host, then);
            if ready != Some(then) {
                self.queue.pop();
                host.queued = None;
                self.queue_up(place, now);
                continue;
            }
            if then > now {
                return NextRequest::Wait(then);
            }
            debug_assert!(turn <= self.turn, "turns are numbered upwards");
            self.queue.pop();
            host.queued = None;
            return self.start(place, now);
        }
        if self.under_way > 0 { NextRequest::UnderWay } else { NextRequest::Empty }
    }

    fn start(&mut self, place: usize, now: Instant) -> NextRequest<T> {
        let host = &mut self.hosts[place];
        let waiting = host.waiting.pop_front().expect("a host is ready only while something waits for it");
        host.under_way += 1;
        self.waiting -= 1;
        self.under_way += 1;
        let delay = self.policy.delay.max(host.crawl_delay);
        host.rest(now, delay);
        let name = host.name.clone();
        self.queue_up(place, now);
        NextRequest::Ask { host: name, item: waiting.item, tries: waiting.tries }
    }

    /// Takes back what [`Agenda::next`] gave out, with how it went.
    pub fn done(
        &mut self,
        host: &str,
        item: T,
        tries: u32,
        outcome: RequestOutcome,
        now: Instant,
    ) -> RequestVerdict<T> {
        let place = self.place_of(host);
        self.under_way = self.under_way.saturating_sub(1);
        let failures = self.settle(place, outcome, now);
        self.hosts[place].hear(outcome, tries);
        let is_dead = outcome == RequestOutcome::Silent && self.hosts[place].is_dead(self.policy.retries);
        let verdict = if is_dead || (failures >= self.policy.failures_per_host && outcome.may_pass()) {
            self.give_up_host(place, item)
        } else if outcome.may_pass() && tries < self.policy.retries {
            self.try_again(place, QueuedItem { item, tries: tries + 1 }, outcome, now);
            RequestVerdict::Again
        } else if outcome.may_pass() || outcome == RequestOutcome::Hopeless {
            RequestVerdict::GivenUp(item)
        } else {
            RequestVerdict::Done(item)
        };
        self.queue_up(place, now);
        verdict
    }

    /// Puts back what failed. When the host is in trouble it goes in front: it is as good a probe as any. When only this
    /// one is, the others go first, and if there are none it waits by itself.
    fn try_again(&mut self, place: usize, waiting: QueuedItem<T>, outcome: RequestOutcome, now: Instant) {
        let host = &mut self.hosts[place];
        self.waiting += 1;
        if outcome.is_trouble() {
            host.waiting.push_front(waiting);
            return;
        }
        if host.waiting.is_empty() {
            host.rest(now, self.policy.backoff.pause(waiting.tries, &mut self.chance));
        }
        host.waiting.push_back(waiting);
    }

    /// Decides how long the host rests; gives its failures in a row.
    fn settle(&mut self, place: usize, outcome: RequestOutcome, now: Instant) -> u32 {
        let host = &mut self.hosts[place];
        host.under_way = host.under_way.saturating_sub(1);
        host.rest(now, self.policy.delay.max(host.crawl_delay));
        if outcome == RequestOutcome::Hopeless {
            return host.failures;
        }
        if !outcome.is_trouble() {
            host.failures = 0;
            return 0;
        }
        host.failures = host.failures.saturating_add(1);
        let pause = match outcome.retry_after() {
            Some(asked) => asked.min(self.policy.longest_retry_after),
            None => self.policy.backoff.pause(host.failures, &mut self.chance),
        };
        host.rest(now, pause);
        host.failures
    }

    fn give_up_host(&mut self, place: usize, item: T) -> RequestVerdict<T> {
        let host = &mut self.hosts[place];
        let waiting = std::mem::take(&mut host.waiting);
        self.waiting -= waiting.len();
        host.failures = 0;
        let all = std::iter::once(item).chain(waiting.into_iter().map(|waiting| waiting.item));
        RequestVerdict::HostGivenUp(all.collect())
    }

    /// Takes out what waits and is not wanted any more.
    pub fn withdraw(&mut self, mut unwanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut withdrawn = Vec::new();
        for host in self.hosts.iter_mut().filter(|host| !host.waiting.is_empty()) {
            let waiting = std::mem::take(&mut host.waiting).into_iter();
            let (out, left): (Vec<_>, Vec<_>) = waiting.partition(|waiting| unwanted(&waiting.item));
            host.waiting = left.into();
            withdrawn.extend(out.into_iter().map(|waiting| waiting.item));
        }
        self.waiting -= withdrawn.len();
        withdrawn
    }

    /// How much waits, for all hosts together.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many requests are under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// How many hosts are known.
    pub fn hosts(&self) -> usize {
        self.by_name.len()
    }

    /// Forgets hosts about which there is nothing to remember.
    pub fn forget_idle_hosts(&mut self, now: Instant) {
        let (hosts, free) = (&mut self.hosts, &mut self.free);
        self.by_name.retain(|_, place| {
            let forget = hosts[*place].is_forgettable(now);
            if forget {
                hosts[*place] = HostEntry::new("");
                free.push(*place);
            }
            !forget
        });
    }

    fn place_of(&mut self, name: &str) -> usize {
        if let Some(place) = self.by_name.get(name) {
            return *place;
        }
        let host = HostEntry::new(name);
        let place = match self.free.pop() {
            Some(place) => {
                self.hosts[place] = host;
                place
            }
            None => {
                self.hosts.push(host);
                self.hosts.len() - 1
            }
        };
        self.by_name.insert(name.into(), place);
        place
    }

    /// Makes sure that a host which could be asked has an entry that says from when.
    fn queue_up(&mut self, place: usize, now: Instant) {
        let host = &mut self.hosts[place];
        let Some(then) = host.ready_at(self.policy.connections_per_host, now) else { return };
        // An entry that is too early is put right when it comes up; one that is too late must be overtaken.
        if host.queued.is_some_and(|queued| queued <= then) {
            return;
        }
        host.queued = Some(then);
        self.turn += 1;
        self.queue.push(Reverse((then, self.turn, place)));
    }
}
