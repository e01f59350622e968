//! The hosts of a crawl: one [`HostTable`] entry holds everything that the run knows about a host.
//!
//! | part | file |
//! | --- | --- |
//! | queue, delay, back-off, connections | `varve_fetch::politeness` |
//! | `robots.txt` of each origin | `robots` |
//! | a `Retry-After` that is longer than the run waits | `postponed_hosts` |
//! | hosts that do not answer | `unreachable` |

use std::time::Instant;

use varve_core::robots::RobotsRules;
use varve_fetch::politeness::{HostState, HostTable, PolitenessPolicy, RequestOutcome, RequestVerdict};

use super::postponed_hosts::RetryAfterState;
use super::robots::{RobotsDecision, RobotsFailure, RobotsState};
use super::task::CrawlTask;
use super::unreachable::{Reachability, UnansweredTask};

/// Above this number of hosts, `robots.txt` rules of idle hosts are dropped, and fetched again when
/// needed.
const MAX_HOSTS_WITH_RULES: usize = 20_000;
/// Above this number of hosts, the table no longer remembers which of them were captured.
const MAX_HOSTS_WITH_CAPTURES: usize = 1 << 16;
/// The number of hosts that a progress report names.
const MAX_HOSTS_SHOWN: usize = 5;

/// The state of a host in a crawl.
#[derive(Debug, Default)]
pub(crate) struct CrawlHostState {
    /// Tasks of the host that are out of the frontier.
    tasks_out: usize,
    pub(super) retry_after: RetryAfterState,
    pub(super) reachability: Reachability,
    /// The origins of the host, usually one: `http` and `https`.
    origins: Vec<OriginState>,
}

/// The state of an origin in a crawl.
#[derive(Debug)]
struct OriginState {
    origin: Box<str>,
    robots: Option<RobotsState>,
    /// Whether the run has captured something of it.
    has_captures: bool,
}

impl CrawlHostState {
    fn origin_mut(&mut self, origin: &str) -> &mut OriginState {
        let at = match self.origins.iter().position(|known| &*known.origin == origin) {
            Some(at) => at,
            None => {
                self.origins.push(OriginState { origin: origin.into(), robots: None, has_captures: false });
                self.origins.len() - 1
            }
        };
        &mut self.origins[at]
    }

    fn has_captures_of(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known.has_captures && &*known.origin == origin)
    }

    pub(super) fn has_captures(&self) -> bool {
        self.origins.iter().any(|known| known.has_captures)
    }

    /// Whether tasks of the host may be taken out of the frontier.
    fn may_be_claimed(&self, max_tasks: usize) -> bool {
        self.retry_after.postponed_until.is_none()
            && !self.reachability.is_given_up
            && self.tasks_out < max_tasks
    }

    /// Fetches a `robots.txt` that failed again, when something of the host is wanted.
    pub(super) fn reset_failed_robots(&mut self) {
        for origin in &mut self.origins {
            if matches!(origin.robots, Some(RobotsState::Failed(_))) {
                origin.robots = None;
            }
        }
    }
}

impl HostState for CrawlHostState {
    fn is_forgettable(&self) -> bool {
        let has_origins = self.origins.iter().any(|origin| origin.robots.is_some() || origin.has_captures);
        self.tasks_out == 0
            && !has_origins
            && self.retry_after.is_forgettable()
            && self.reachability.is_forgettable()
    }
}

/// The hosts of a crawl.
pub(crate) struct CrawlHosts {
    pub(super) table: HostTable<CrawlTask, CrawlHostState>,
    /// Whether the run was begun by an earlier process.
    pub(super) is_resumed: bool,
    /// Whether any host has answered this process.
    pub(super) has_answers: bool,
    /// Tasks that wait for a `robots.txt`.
    held_for_robots: usize,
    /// Tasks of all hosts that are out of the frontier.
    tasks_out: usize,
}

impl CrawlHosts {
    /// No hosts yet. The same seed gives the same pauses.
    pub(crate) fn new(policy: PolitenessPolicy, seed: u64) -> Self {
        Self {
            table: HostTable::new(policy, seed),
            is_resumed: false,
            has_answers: false,
            held_for_robots: 0,
            tasks_out: 0,
        }
    }

    /// Queues a task for its host.
    pub(crate) fn push(&mut self, task: CrawlTask, now: Instant) {
        let url = task.url.clone();
        self.table.push(url.authority(), task, now);
    }

    /// Queues a request of a page in a browser, or one that such a page waits for.
    pub(crate) fn push_turn(&mut self, task: CrawlTask) {
        let url = task.url.clone();
        self.table.push_turn(url.authority(), task);
    }

    /// A request has ended.
    pub(crate) fn done(
        &mut self,
        task: CrawlTask,
        tries: u32,
        outcome: RequestOutcome,
        now: Instant,
    ) -> RequestVerdict<CrawlTask> {
        let url = task.url.clone();
        self.table.done(url.authority(), task, tries, outcome, now)
    }

    /// Counts a task that is out of the frontier.
    pub(crate) fn task_out(&mut self, host: &str) {
        self.tasks_out += 1;
        self.table.state_mut(host).tasks_out += 1;
    }

    /// Counts a task that is done.
    pub(crate) fn task_back(&mut self, host: &str) {
        self.tasks_out -= 1;
        self.table.state_mut(host).tasks_out -= 1;
    }

    /// The number of tasks that are out of the frontier.
    pub(crate) fn tasks_out(&self) -> usize {
        self.tasks_out
    }

    /// The hosts whose tasks may not be taken out of the frontier now.
    pub(crate) fn excluded_hosts(&self, max_tasks: usize) -> Vec<&str> {
        let excluded = self.table.states().filter(|(_, state)| !state.may_be_claimed(max_tasks));
        excluded.map(|(host, _)| host).collect()
    }

    /// Whether no task waits for its host or for a `robots.txt`.
    pub(crate) fn is_idle(&self) -> bool {
        self.table.waiting() == 0 && self.held_for_robots == 0
    }

    /// Some hosts with tasks out of the frontier.
    pub(crate) fn active_hosts(&self) -> Vec<String> {
        let active = self.table.states().filter(|(_, state)| state.tasks_out > 0);
        active.take(MAX_HOSTS_SHOWN).map(|(host, _)| host.to_owned()).collect()
    }

    /// Drops what need not be remembered.
    pub(crate) fn sweep(&mut self, now: Instant) {
        self.table.forget_idle_hosts(now);
        let hosts = self.table.hosts();
        if hosts <= MAX_HOSTS_WITH_RULES {
            return;
        }
        for (_, state) in self.table.states_mut().filter(|(_, state)| state.tasks_out == 0) {
            for origin in &mut state.origins {
                origin.has_captures &= hosts <= MAX_HOSTS_WITH_CAPTURES;
                if matches!(origin.robots, Some(RobotsState::Read(_))) {
                    origin.robots = None;
                }
            }
        }
        self.table.forget_idle_hosts(now);
    }
}

/// `robots.txt`.
impl CrawlHosts {
    /// The decision of the `robots.txt` of its origin about a task.
    pub(crate) fn decide_by_robots(&mut self, task: CrawlTask) -> RobotsDecision {
        let url = task.url.clone();
        let origin = self.table.state_mut(url.authority()).origin_mut(url.origin());
        let decision = RobotsState::decide(&mut origin.robots, task);
        if matches!(decision, RobotsDecision::Held | RobotsDecision::Request) {
            self.held_for_robots += 1;
        }
        decision
    }

    /// The `robots.txt` of an origin was read, or does not exist. Returns what waited for it.
    pub(crate) fn robots_read(&mut self, host: &str, origin: &str, rules: RobotsRules) -> Vec<CrawlTask> {
        if let Some(delay) = rules.delay() {
            self.table.set_crawl_delay(host, delay);
        }
        self.set_robots(host, origin, RobotsState::Read(Box::new(rules)))
    }

    /// The `robots.txt` of an origin cannot be fetched. Returns what waited for it.
    pub(crate) fn robots_failed(
        &mut self,
        host: &str,
        origin: &str,
        failure: RobotsFailure,
    ) -> Vec<CrawlTask> {
        self.set_robots(host, origin, RobotsState::Failed(failure))
    }

    fn set_robots(&mut self, host: &str, origin: &str, robots: RobotsState) -> Vec<CrawlTask> {
        let before = self.table.state_mut(host).origin_mut(origin).robots.replace(robots);
        let held = before.map(RobotsState::into_held).unwrap_or_default();
        self.held_for_robots -= held.len();
        held
    }
}

/// Which origins give something.
impl CrawlHosts {
    /// Something of an origin was captured, by this process or an earlier one of the run.
    pub(crate) fn captured(&mut self, host: &str, origin: &str) {
        self.table.state_mut(host).origin_mut(origin).has_captures = true;
    }

    /// Whether something of an origin was captured in this run.
    pub(super) fn has_captures_of(&self, host: &str, origin: &str) -> bool {
        self.table.state(host).is_some_and(|state| state.has_captures_of(origin))
    }

    /// A host has answered. Returns the tasks that it had not answered.
    pub(crate) fn answered(&mut self, host: &str) -> Vec<UnansweredTask> {
        self.has_answers = true;
        self.table.state_mut(host).reachability.answered()
    }
}
