//! What each host asks of robots, as far as this run has heard.
//!
//! The file of a host is asked for before anything else of it, once; what waits for it is held here meanwhile. A file
//! that cannot be had closes the host, as RFC 9309 says; one that is not there opens it.

use std::collections::HashMap;
use std::time::Duration;

use varve_core::robots::{LONGEST, Rules};
use varve_fetch::Limits;

use super::address::{host_of, origin_of};
use super::scope::SkipRule;
use super::task::CrawlTask;

/// RFC 9309 wants at least five redirects to be followed.
pub(crate) const MAX_ROBOTS_REDIRECTS: u8 = 5;
/// Hosts are forgotten, to be asked again, when there are more.
const MAX_ROBOTS_HOSTS: usize = 20_000;

/// So much of a file is taken in, twice of what counts: everything else that is wanted of its host waits for it.
const MAX_ROBOTS_BYTES: u64 = 2 * LONGEST as u64;
/// And for so long.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(60);

/// How much a file may take, where any answer may take so much.
pub(crate) fn robots_limits(usual: Limits) -> Limits {
    Limits { bytes: usual.bytes.min(MAX_ROBOTS_BYTES), total: usual.total.min(ROBOTS_TIMEOUT), ..usual }
}

/// The files of all hosts that were met.
#[derive(Default)]
pub(crate) struct RobotsTable {
    known: HashMap<Box<str>, RobotsState>,
    /// How much waits for files.
    held: usize,
}

enum RobotsState {
    /// Asked for; these wait.
    Asked(Vec<CrawlTask>),
    /// Read.
    Read(Box<Rules>),
    /// It could not be had.
    Unreachable(RobotsFailure),
}

/// Why a file could not be had.
#[derive(Clone)]
pub(crate) struct RobotsFailure {
    /// The sort of failure, as a word.
    pub(crate) kind: Box<str>,
    /// What happened, as a sentence.
    pub(crate) why: Box<str>,
    /// Whether what waits for it is left for whoever resumes the run.
    pub(crate) waits: bool,
}

/// What a host's file means for a task.
pub(crate) enum RobotsDecision {
    /// Ask for it.
    Go(CrawlTask),
    /// Do not.
    No(CrawlTask, SkipRule),
    /// The host cannot be reached at all.
    Lost(CrawlTask, RobotsFailure),
    /// The file was asked for, and the task waits for it. The address of the file if it is to be asked for now.
    Wait(Option<String>),
}

impl RobotsTable {
    /// What the file of its host says about a task.
    pub(crate) fn judge(&mut self, task: CrawlTask) -> RobotsDecision {
        let origin = origin_of(&task.url);
        match self.known.get_mut(origin) {
            Some(RobotsState::Asked(waiting)) => {
                waiting.push(task);
                self.held += 1;
                RobotsDecision::Wait(None)
            }
            Some(RobotsState::Unreachable(lost)) => RobotsDecision::Lost(task, lost.clone()),
            Some(RobotsState::Read(rules)) => match verdict(rules, &task.url) {
                Some(rule) => RobotsDecision::No(task, rule),
                None => RobotsDecision::Go(task),
            },
            None => {
                self.make_room();
                let (key, file) = (Box::from(origin), format!("{origin}/robots.txt"));
                self.known.insert(key, RobotsState::Asked(vec![task]));
                self.held += 1;
                RobotsDecision::Wait(Some(file))
            }
        }
    }

    /// The file came, or was found not to be there. Gives what waited for it.
    pub(crate) fn answered(&mut self, origin: &str, rules: Rules) -> Vec<CrawlTask> {
        self.release(origin, RobotsState::Read(Box::new(rules)))
    }

    /// The file cannot be had because nobody answers. Gives what waited for it.
    pub(crate) fn unreachable(
        &mut self,
        origin: &str,
        (kind, why): (&str, &str),
        waits: bool,
    ) -> Vec<CrawlTask> {
        self.release(
            origin,
            RobotsState::Unreachable(RobotsFailure { kind: kind.into(), why: why.into(), waits }),
        )
    }

    /// The files of a host that could not be had are asked for again.
    pub(crate) fn forget_unreachable(&mut self, host: &str) {
        self.known.retain(|origin, state| {
            !(matches!(state, RobotsState::Unreachable(_)) && host_of(origin) == host)
        });
    }

    fn release(&mut self, origin: &str, state: RobotsState) -> Vec<CrawlTask> {
        let waiting = match self.known.insert(origin.into(), state) {
            Some(RobotsState::Asked(waiting)) => waiting,
            _ => Vec::new(),
        };
        self.held -= waiting.len();
        waiting
    }

    /// How much waits for files.
    pub(crate) fn waiting(&self) -> usize {
        self.held
    }

    fn make_room(&mut self) {
        if self.known.len() >= MAX_ROBOTS_HOSTS {
            self.known.retain(|_, state| matches!(state, RobotsState::Asked(_)));
        }
    }
}

fn verdict(rules: &Rules, url: &str) -> Option<SkipRule> {
    let decision = rules.decide(url);
    (!decision.allowed).then(|| SkipRule::Robots(decision.rule.map(|rule| rule.line)))
}
