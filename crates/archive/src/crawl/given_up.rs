//! Hosts that are given up while something is still wanted of them: what becomes of that.
//!
//! A host that gave something in this run and then fell silent is away, as is everything when the network is. What was
//! wanted of it since then stays in the frontier as it is, claimed by nobody that lives, and whoever resumes the run goes on with
//! it; so does what was asked for to the end before it was clear that nobody is there, unless the run was resumed before: some pages never
//! answer, and a run that waits for those again and again never ends. A host that never gave anything, while others do, is taken for dead: all that is wanted of it fails, or no run
//! with a dead link in it would ever be finished. While nobody at all has answered a run that was resumed, nobody can tell the two apart;
//! that is decided when the rest is done.

use std::collections::{BTreeMap, HashMap, HashSet};

use varve_fetch::FetchErrorKind;
use varve_fetch::politeness::RequestOutcome;

use super::address::{host_of, origin_of};
use super::dispatcher::Crawl;
use super::event::CrawlEvent;
use super::scope::SkipRule;
use super::task::CrawlTask;
use crate::crawl::error::CrawlError;

/// So many origins are remembered to have given something.
const MOST: usize = 1 << 18;

/// Who answers, and who was given up.
#[derive(Default)]
pub(crate) struct GivenUp {
    /// Whether the run began earlier.
    resumed: bool,
    /// Hosts that answered this process.
    heard: HashSet<Box<str>>,
    /// Origins that something was captured of in this run.
    gave: HashSet<Box<str>>,
    /// Hosts that are not asked any more.
    closed: HashSet<String>,
    /// Hosts of which something is left, and why.
    left: BTreeMap<String, Left>,
    /// What was asked for to the end and has no answer, of hosts that have given none since: has it failed, or are they away?
    silent: HashMap<String, Vec<Silence>>,
}

/// A URL without an answer.
struct Silence {
    task: CrawlTask,
    kind: String,
    message: String,
}

/// Why something is left of a host.
struct Left {
    kind: String,
    message: String,
    /// Whether another look may show that it was no outage.
    doubtful: bool,
}

/// What may be hoped of an origin that does not answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// It gave something in this run: it may do so again.
    Good,
    /// Nobody has answered yet.
    Doubtful,
    /// It never gave anything, and others do.
    None,
}

impl GivenUp {
    /// The run began earlier.
    pub(crate) fn resume(&mut self) {
        self.resumed = true;
    }

    /// Something was captured, now or by an earlier process of the same run.
    pub(crate) fn gave(&mut self, url: &str) {
        let origin = origin_of(url);
        if self.gave.len() < MOST && !self.gave.contains(origin) {
            self.gave.insert(origin.into());
        }
    }

    /// A host answered.
    pub(crate) fn hear(&mut self, host: &str) {
        // Only for a run that goes on can it be in doubt who is there.
        if self.heard.is_empty() || (self.resumed && !self.heard.contains(host)) {
            self.heard.insert(host.into());
        }
    }

    /// The hosts that are not asked any more.
    pub(crate) fn closed_hosts(&self) -> impl Iterator<Item = &str> {
        self.closed.iter().map(String::as_str)
    }

    /// Whether a host is not asked any more.
    pub(crate) fn has(&self, host: &str) -> bool {
        self.closed.contains(host)
    }

    fn prospect(&self, url: &str) -> Prospect {
        match self.gave.contains(origin_of(url)) {
            true => Prospect::Good,
            false if self.resumed && self.heard.is_empty() => Prospect::Doubtful,
            false => Prospect::None,
        }
    }

    fn note(&mut self, host: &str, (kind, message): (&str, &str), doubtful: bool) {
        let left = self.left.entry(host.to_owned()).or_insert_with(|| Left {
            kind: kind.to_owned(),
            message: message.to_owned(),
            doubtful,
        });
        left.doubtful &= doubtful;
    }

    /// How many hosts something is left of.
    pub(crate) fn hosts(&self) -> u64 {
        self.left.len() as u64
    }
}

impl Crawl<'_> {
    /// Whether what waits for an origin without an answer is left for whoever resumes; if so, that is noted.
    pub(super) fn waits_for(&mut self, url: &str, why: (&str, &str)) -> bool {
        let prospect = self.given_up.prospect(url);
        if prospect != Prospect::None {
            self.given_up.note(host_of(url), why, prospect == Prospect::Doubtful);
        }
        prospect != Prospect::None
    }

    /// Whether something that has no answer is left, because it is the first that was asked of a host which answered this run
    /// before.
    pub(super) fn may_be_away(
        &mut self,
        task: &CrawlTask,
        outcome: RequestOutcome,
        why: (&str, &str),
    ) -> bool {
        let is_silent = outcome == RequestOutcome::Silent || why.0 == FetchErrorKind::Guard.word();
        let is_first = self.given_up.resumed && !self.given_up.heard.contains(task.host.as_str());
        let may_be = is_silent && is_first && task.no.is_some();
        if !may_be || self.given_up.prospect(&task.url) == Prospect::None {
            return false;
        }
        self.given_up.note(&task.host, why, true);
        true
    }

    /// Whether something that has no answer is put aside until it is known whether its host is still there; if so, `task` is taken.
    pub(super) fn put_aside(
        &mut self,
        task: CrawlTask,
        outcome: RequestOutcome,
        why: (&str, &str),
    ) -> Option<CrawlTask> {
        let is_plain = task.no.is_some() && task.reply.is_none() && task.origin.is_none();
        let may_be_away = outcome.may_pass() && self.given_up.prospect(&task.url) == Prospect::Good;
        if !is_plain || !may_be_away || self.given_up.resumed || self.limit().is_some() {
            return Some(task);
        }
        self.no_longer_busy(&task);
        self.came_back(&task);
        let silence = Silence { kind: why.0.to_owned(), message: why.1.to_owned(), task };
        self.given_up.silent.entry(silence.task.host.clone()).or_default().push(silence);
        None
    }

    /// A host has answered: what it gave no answer to has failed.
    pub(super) fn host_is_there(&mut self, host: &str) {
        for Silence { task, kind, message } in self.given_up.silent.remove(host).unwrap_or_default() {
            self.settle_failure(&task, &kind, &message);
        }
    }

    /// At the end: what has no answer has failed, unless its host was given up. Whether there was any.
    pub(super) fn settle_silences(&mut self) -> Result<bool, CrawlError> {
        let hosts: Vec<String> = self.given_up.silent.keys().cloned().collect();
        if hosts.is_empty() {
            return Ok(false);
        }
        for host in &hosts {
            match self.given_up.has(host) {
                true => _ = self.given_up.silent.remove(host),
                false => self.host_is_there(host),
            }
        }
        self.checkpoint()?;
        Ok(true)
    }

    /// A host failed too often. What was asked for to the end has failed, if the run was resumed before; the rest of it is left, if there is
    /// hope.
    pub(super) fn give_host_up(
        &mut self,
        tasks: impl Iterator<Item = CrawlTask>,
        asked_to_the_end: bool,
        why: (&str, &str),
    ) -> Result<(), CrawlError> {
        for (at, task) in tasks.enumerate() {
            let has_failed = at == 0 && asked_to_the_end && self.given_up.resumed;
            if has_failed || task.origin.is_some() || !self.waits_for(&task.url, why) {
                self.fail(task, why.0, why.1)?;
                continue;
            }
            self.given_up.closed.insert(task.host.clone());
            self.leave_in_frontier(task);
        }
        Ok(())
    }

    /// Leaves something as it is: claimed, and ready again for whoever resumes.
    pub(super) fn leave_in_frontier(&mut self, task: CrawlTask) {
        self.no_longer_busy(&task);
        self.came_back(&task);
        if let Some(reply) = task.reply {
            self.turn_away(&task.url, SkipRule::RetryAfter, reply);
        }
    }

    /// Looks again at what was left in doubt, once the rest is done; whether there is something to do now.
    pub(super) fn look_again_at_doubts(&mut self) -> Result<bool, CrawlError> {
        let GivenUp { heard, gave, left, closed, .. } = &mut self.given_up;
        let gives = |host: &str| gave.iter().any(|origin| host_of(origin) == host);
        let is_cleared = |host: &String| heard.contains(host.as_str()) || (!heard.is_empty() && !gives(host));
        let cleared: Vec<String> = left
            .iter()
            .filter(|(host, left)| left.doubtful && is_cleared(host))
            .map(|(host, _)| host.clone())
            .collect();
        for host in &cleared {
            left.remove(host);
            closed.remove(host);
            self.robots.forget_unreachable(host);
        }
        if !cleared.is_empty() {
            self.context.frontier.release()?;
        }
        Ok(!cleared.is_empty())
    }

    /// Says of which hosts something is left.
    pub(super) fn tell_given_up(&mut self) {
        self.tally.unreachable_hosts = self.given_up.hosts();
        for (host, Left { kind, message, .. }) in &self.given_up.left {
            (self.context.report)(CrawlEvent::HostUnreachable { host, kind, message });
        }
    }
}
