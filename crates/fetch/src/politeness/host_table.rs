//! The one table of hosts: a queue of requests, the pace, and the caller's state for each host.
//!
//! A heap holds one entry for each host that could be asked, ordered by the instant from which it
//! may be asked. A stale entry is dropped when it reaches the top, so each step costs the logarithm
//! of the number of hosts. A host costs a few hundred bytes. Requests that have ended are handled in
//! `retries`.
//!
//! A queued request takes a connection of its host while it is in flight. A request that [takes
//! turns](QueuedRequest::takes_turns), a page in a browser, takes none: each of its own requests
//! waits for a turn with [`HostTable::push_turn`]. Both kinds share the delay and the connections
//! of the host, so politeness is enforced here and nowhere else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use super::backoff::Jitter;
use super::host_entry::{HostEntry, QueuedItem};
use super::{HostState, PolitenessPolicy, QueuedRequest};

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum NextRequest<T> {
    /// Send this request now, and call [`HostTable::done`] when it ends.
    Send {
        /// The host.
        host: Box<str>,
        /// The request, as it was pushed.
        item: T,
        /// The number of attempts before this one.
        tries: u32,
    },
    /// No host may be asked before this instant, unless a request in flight ends first.
    Wait(Instant),
    /// Everything that is left waits for requests in flight.
    InFlight,
    /// Nothing is left.
    Empty,
}

/// A turn at a host.
#[derive(Debug, PartialEq, Eq)]
pub enum NextTurn<T> {
    /// The request may be sent now; call [`HostTable::turn_done`] when it ends.
    Send {
        /// The host.
        host: Box<str>,
        /// What waited for the turn.
        item: T,
    },
    /// No turn starts before this instant, unless a request in flight ends first.
    Wait(Instant),
    /// No turn is wanted, or all that are wanted wait for requests in flight.
    None,
}

/// Hosts, what waits for them, and what the caller knows about them.
#[derive(Debug)]
pub struct HostTable<T, S = ()> {
    pub(super) policy: PolitenessPolicy,
    pub(super) jitter: Jitter,
    pub(super) hosts: Vec<HostEntry<T, S>>,
    /// Unused indices of `hosts`.
    free: Vec<usize>,
    by_name: HashMap<Box<str>, usize>,
    queue: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    /// Indices of hosts with turns in their queue.
    with_turns: Vec<usize>,
    /// Numbers the entries of the queue, so that hosts that are ready at the same instant
    /// alternate.
    sequence: u64,
    pub(super) waiting: usize,
    pub(super) in_flight: usize,
}

impl<T: QueuedRequest, S: HostState> HostTable<T, S> {
    /// An empty table. The same seed gives the same pauses.
    pub fn new(policy: PolitenessPolicy, seed: u64) -> Self {
        Self {
            policy,
            jitter: Jitter::new(seed),
            hosts: Vec::new(),
            free: Vec::new(),
            by_name: HashMap::new(),
            queue: BinaryHeap::new(),
            with_turns: Vec::new(),
            sequence: 0,
            waiting: 0,
            in_flight: 0,
        }
    }

    /// Adds a request at the end of the queue of a host.
    pub fn push(&mut self, host: &str, item: T, now: Instant) {
        let index = self.index_of(host);
        self.hosts[index].waiting.push_back(QueuedItem { item, tries: 0 });
        self.waiting += 1;
        self.queue_up(index, now);
    }

    /// Queues a request made by a page that is already in flight. It occupies one connection of its
    /// host.
    pub fn push_turn(&mut self, host: &str, item: T) {
        let index = self.index_of(host);
        self.hosts[index].turns.push_back(item);
        if !self.with_turns.contains(&index) {
            self.with_turns.push(index);
        }
    }

    /// Sets the `Crawl-delay` of a host. It counts up to the policy's limit, and only if it is
    /// longer than the delay of the policy.
    pub fn set_crawl_delay(&mut self, host: &str, delay: Duration) {
        let delay = delay.min(self.policy.longest_crawl_delay);
        let index = self.index_of(host);
        self.hosts[index].crawl_delay = delay;
    }

    /// What the caller keeps about a host, if the host is known.
    pub fn state(&self, host: &str) -> Option<&S> {
        self.by_name.get(host).map(|index| &self.hosts[*index].state)
    }

    /// What the caller keeps about a host. Makes an entry for a host that is not known.
    pub fn state_mut(&mut self, host: &str) -> &mut S {
        let index = self.index_of(host);
        &mut self.hosts[index].state
    }

    /// All hosts with what the caller keeps about them, in no order.
    pub fn states(&self) -> impl Iterator<Item = (&str, &S)> {
        let named = self.hosts.iter().filter(|host| !host.name.is_empty());
        named.map(|host| (&*host.name, &host.state))
    }

    /// All hosts with the mutable state of the caller, in no order.
    pub fn states_mut(&mut self) -> impl Iterator<Item = (&str, &mut S)> {
        let named = self.hosts.iter_mut().filter(|host| !host.name.is_empty());
        named.map(|host| (&*host.name, &mut host.state))
    }

    /// The next queued request that may be sent at an instant.
    pub fn next(&mut self, now: Instant) -> NextRequest<T> {
        while let Some(&Reverse((then, _, index))) = self.queue.peek() {
            let host = &mut self.hosts[index];
            if host.queued != Some(then) {
                self.queue.pop();
                continue;
            }
            let ready = host.ready_at(self.policy.connections_per_host, then);
            if ready != Some(then) {
                self.queue.pop();
                host.queued = None;
                self.queue_up(index, now);
                continue;
            }
            if then > now {
                return NextRequest::Wait(then);
            }
            self.queue.pop();
            host.queued = None;
            return self.start(index, now);
        }
        if self.in_flight > 0 { NextRequest::InFlight } else { NextRequest::Empty }
    }

    fn start(&mut self, index: usize, now: Instant) -> NextRequest<T> {
        let host = &mut self.hosts[index];
        let next = host.waiting.pop_front().expect("a host is ready only while something waits for it");
        host.in_flight += 1;
        self.waiting -= 1;
        self.in_flight += 1;
        if !next.item.takes_turns() {
            host.connections += 1;
            host.rest(now, self.policy.delay.max(host.crawl_delay));
        }
        let name = host.name.clone();
        self.queue_up(index, now);
        NextRequest::Send { host: name, item: next.item, tries: next.tries }
    }

    /// The next turn that may start at an instant.
    pub fn next_turn(&mut self, now: Instant) -> NextTurn<T> {
        let mut earliest: Option<Instant> = None;
        for place in 0..self.with_turns.len() {
            let host = &mut self.hosts[self.with_turns[place]];
            let Some(then) = host.turn_at(self.policy.connections_per_host, now) else { continue };
            if then > now {
                earliest = Some(earliest.map_or(then, |earliest| earliest.min(then)));
                continue;
            }
            let item = host.turns.pop_front().expect("a turn is ready only while one is wanted");
            host.connections += 1;
            host.rest(now, self.policy.delay.max(host.crawl_delay));
            let name = host.name.clone();
            // Hosts alternate, and those without turns leave the list.
            let index = self.with_turns.remove(place);
            if !self.hosts[index].turns.is_empty() {
                self.with_turns.push(index);
            }
            return NextTurn::Send { host: name, item };
        }
        earliest.map_or(NextTurn::None, NextTurn::Wait)
    }

    /// Ends a turn that [`HostTable::next_turn`] gave.
    pub fn turn_done(&mut self, host: &str, now: Instant) {
        let index = self.index_of(host);
        let host = &mut self.hosts[index];
        host.connections = host.connections.saturating_sub(1);
        host.rest(now, self.policy.delay.max(host.crawl_delay));
        self.queue_up(index, now);
    }

    /// Removes the queued requests that `unwanted` names. Turns stay.
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

    /// The number of queued requests of all hosts.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The number of queued requests that were started and have not ended.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The number of known hosts.
    pub fn hosts(&self) -> usize {
        self.by_name.len()
    }

    /// Removes hosts without any state.
    pub fn forget_idle_hosts(&mut self, now: Instant) {
        let (hosts, free) = (&mut self.hosts, &mut self.free);
        self.by_name.retain(|_, index| {
            let forget = hosts[*index].is_forgettable(now);
            if forget {
                hosts[*index] = HostEntry::new("");
                free.push(*index);
            }
            !forget
        });
    }

    pub(super) fn index_of(&mut self, name: &str) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let host = HostEntry::new(name);
        let index = match self.free.pop() {
            Some(index) => {
                self.hosts[index] = host;
                index
            }
            None => {
                self.hosts.push(host);
                self.hosts.len() - 1
            }
        };
        self.by_name.insert(name.into(), index);
        index
    }

    /// Makes sure that a host that could be asked has an entry in the queue, with the instant.
    pub(super) fn queue_up(&mut self, index: usize, now: Instant) {
        let host = &mut self.hosts[index];
        let Some(then) = host.ready_at(self.policy.connections_per_host, now) else { return };
        // An entry that is too early is corrected when it comes up; a later one needs an earlier
        // one.
        if host.queued.is_some_and(|queued| queued <= then) {
            return;
        }
        host.queued = Some(then);
        self.sequence += 1;
        self.queue.push(Reverse((then, self.sequence, index)));
    }
}
