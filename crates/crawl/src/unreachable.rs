//! Hosts that do not answer: which of their tasks fail, and which stay for a resumed run.
//!
//! A host that responded in this run and then stopped responding is offline, as is every host when
//! the network is down. Its tasks stay in the frontier, claimed, and a resumed run continues with
//! them. The same holds for a task whose retries were used up before the outage was noticed, unless
//! the run was resumed before. Some pages never respond, and a run that keeps them forever never
//! ends.
//!
//! A host that never gave anything while others answer is dead: its tasks fail, or no run with a
//! dead link would ever finish. While no host at all has answered a resumed run, the two cases look
//! alike; that is decided when everything else is done.

use super::hosts::CrawlHosts;
use super::task::CrawlTask;

/// Whether a host answers.
#[derive(Debug, Default)]
pub(crate) struct Reachability {
    /// Whether the host has answered this process.
    pub(super) has_answered: bool,
    /// Whether the host is not requested any more.
    pub(super) is_given_up: bool,
    /// Why tasks of the host are left for a resumed run.
    pub(super) left: Option<LeftTasks>,
    /// Tasks without a response whose retries are used up. They fail as soon as the host answers.
    pub(super) unanswered: Vec<UnansweredTask>,
}

impl Reachability {
    pub(super) fn is_forgettable(&self) -> bool {
        !self.has_answered && !self.is_given_up && self.left.is_none() && self.unanswered.is_empty()
    }

    /// The host has answered. Returns the tasks that it had not answered.
    pub(super) fn answered(&mut self) -> Vec<UnansweredTask> {
        self.has_answered = true;
        std::mem::take(&mut self.unanswered)
    }
}

/// A task without a response.
#[derive(Debug)]
pub(crate) struct UnansweredTask {
    /// The task.
    pub(crate) task: CrawlTask,
    /// The kind of failure, as a word.
    pub(crate) kind: String,
    /// What happened, as a sentence.
    pub(crate) message: String,
}

/// Why tasks of a host are left for a resumed run.
#[derive(Clone, Debug)]
pub(crate) struct LeftTasks {
    /// The kind of failure, as a word.
    pub(crate) kind: String,
    /// What happened, as a sentence.
    pub(crate) message: String,
    /// Whether it is not certain that the host is offline.
    is_doubtful: bool,
}

/// What may be expected of an origin that does not answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// It gave something in this run and may do so again.
    Offline,
    /// No host has answered yet.
    Unknown,
    /// It never gave anything, and other hosts answer.
    Dead,
}

impl CrawlHosts {
    /// The run was begun by an earlier process.
    pub(crate) fn resume(&mut self) {
        self.is_resumed = true;
    }

    /// Whether a host is not requested any more.
    pub(crate) fn is_given_up(&self, host: &str) -> bool {
        self.table.state(host).is_some_and(|state| state.reachability.is_given_up)
    }

    /// A host is not requested any more.
    pub(crate) fn give_up(&mut self, host: &str) {
        self.table.state_mut(host).reachability.is_given_up = true;
    }

    fn prospect(&self, host: &str, origin: &str) -> Prospect {
        match self.has_captures_of(host, origin) {
            true => Prospect::Offline,
            false if self.is_resumed && !self.has_answers => Prospect::Unknown,
            false => Prospect::Dead,
        }
    }

    fn leave(&mut self, host: &str, (kind, message): (&str, &str), is_doubtful: bool) {
        let left = &mut self.table.state_mut(host).reachability.left;
        let left = left.get_or_insert_with(|| LeftTasks {
            kind: kind.to_owned(),
            message: message.to_owned(),
            is_doubtful,
        });
        left.is_doubtful &= is_doubtful;
    }

    /// Whether tasks of an origin without a response are left for a resumed run; if so, notes why.
    pub(crate) fn is_left(&mut self, host: &str, origin: &str, why: (&str, &str)) -> bool {
        let prospect = self.prospect(host, origin);
        if prospect != Prospect::Dead {
            self.leave(host, why, prospect == Prospect::Unknown);
        }
        prospect != Prospect::Dead
    }

    /// Whether a task without a response is left because it is the first one that a resumed run
    /// requested of a host that had answered before; if so, notes why.
    pub(crate) fn is_left_in_doubt(&mut self, task: &CrawlTask, why: (&str, &str)) -> bool {
        let host = task.url.authority();
        let has_answered = self.table.state(host).is_some_and(|state| state.reachability.has_answered);
        let is_first = self.is_resumed && !has_answered;
        if !is_first || task.no.is_none() || self.prospect(host, task.url.origin()) == Prospect::Dead {
            return false;
        }
        self.leave(host, why, true);
        true
    }

    /// Whether a task without a response waits until it is known whether its host still answers.
    pub(crate) fn may_be_offline(&self, task: &CrawlTask) -> bool {
        !self.is_resumed
            && task.is_plain()
            && self.prospect(task.url.authority(), task.url.origin()) == Prospect::Offline
    }

    /// Holds a task until it is known whether its host still answers.
    pub(crate) fn hold_unanswered(&mut self, unanswered: UnansweredTask) {
        let url = unanswered.task.url.clone();
        self.table.state_mut(url.authority()).reachability.unanswered.push(unanswered);
    }

    /// All held tasks whose hosts were not given up, at the end of the run. Those of the other
    /// hosts stay in the frontier. `None` if no task was held.
    pub(crate) fn take_unanswered(&mut self) -> Option<Vec<UnansweredTask>> {
        let (mut failed, mut any) = (Vec::new(), false);
        for (_, state) in self.table.states_mut() {
            let held = std::mem::take(&mut state.reachability.unanswered);
            any |= !held.is_empty();
            if !state.reachability.is_given_up {
                failed.extend(held);
            }
        }
        failed.sort_by(|one, other| one.task.url.cmp(&other.task.url));
        any.then_some(failed)
    }

    /// Reopens hosts that turned out not to be offline, once everything else is done. Whether there
    /// were any: their tasks are to be requested now.
    pub(crate) fn reopen_doubtful(&mut self) -> bool {
        let (mut reopened, has_answers) = (false, self.has_answers);
        for (_, state) in self.table.states_mut() {
            let is_doubtful = state.reachability.left.as_ref().is_some_and(|left| left.is_doubtful);
            let is_decided = state.reachability.has_answered || (has_answers && !state.has_captures());
            if is_doubtful && is_decided {
                state.reachability.left = None;
                state.reachability.is_given_up = false;
                state.reset_failed_robots();
                reopened = true;
            }
        }
        reopened
    }

    /// The hosts with tasks that are left for a resumed run, sorted.
    pub(crate) fn left_hosts(&self) -> Vec<(String, LeftTasks)> {
        let left = |(host, state): (&str, &super::hosts::CrawlHostState)| {
            Some((host.to_owned(), state.reachability.left.clone()?))
        };
        let mut hosts: Vec<_> = self.table.states().filter_map(left).collect();
        hosts.sort_by(|(one, _), (other, _)| one.cmp(other));
        hosts
    }
}

#[cfg(test)]
mod tests {
    use varve_core::url::RequestUrl;
    use varve_fetch::politeness::PolitenessPolicy;

    use super::super::fetch_reason::FetchReason;
    use super::*;

    fn hosts() -> CrawlHosts {
        CrawlHosts::new(PolitenessPolicy::default(), 1)
    }

    fn task(url: &str) -> CrawlTask {
        let task = CrawlTask::new(RequestUrl::parse(url).unwrap(), FetchReason::Page { depth: 1 });
        CrawlTask { no: Some(1), ..task }
    }

    #[test]
    fn a_host_that_gave_something_is_offline_and_one_that_never_did_is_dead() {
        let mut hosts = hosts();
        let why = ("connect", "no route");
        assert!(!hosts.is_left("dead", "http://dead", why));
        hosts.captured("h", "http://h");
        assert!(hosts.is_left("h", "http://h", why));
        assert_eq!(hosts.left_hosts().len(), 1);
        assert!(!hosts.reopen_doubtful(), "there is no doubt about it");
    }

    #[test]
    fn a_resumed_run_decides_when_some_host_has_answered() {
        let mut hosts = hosts();
        hosts.resume();
        let first = task("http://silent/a");
        assert!(hosts.is_left_in_doubt(&first, ("timeout", "late")));
        hosts.give_up("silent");
        assert!(!hosts.reopen_doubtful(), "no host has answered");
        hosts.answered("other");
        assert!(hosts.reopen_doubtful());
        assert!(!hosts.is_given_up("silent") && hosts.left_hosts().is_empty());
    }

    #[test]
    fn held_tasks_are_returned_when_the_host_answers() {
        let mut hosts = hosts();
        hosts.captured("h", "http://h");
        let late = task("http://h/late");
        assert!(hosts.may_be_offline(&late));
        hosts.hold_unanswered(UnansweredTask {
            task: late,
            kind: "timeout".to_owned(),
            message: String::new(),
        });
        assert_eq!(hosts.answered("h").len(), 1);
        assert!(hosts.take_unanswered().is_none());
    }
}
