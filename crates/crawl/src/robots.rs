//! `robots.txt`: one file for each origin, requested before anything else of it.
//!
//! Tasks that wait for the file are held here. A file that cannot be fetched closes the origin, as
//! RFC 9309 says; a file that does not exist opens it.

use std::time::Duration;

use varve_core::robots::{MAX_ROBOTS_BYTES, RobotsRules};
use varve_fetch::FetchLimits;

use super::skip_rule::SkipRule;
use super::task::CrawlTask;

/// The number of redirects of a `robots.txt` that are followed; RFC 9309 asks for at least five.
pub(crate) const MAX_ROBOTS_REDIRECTS: u8 = 5;
/// Twice as much as counts: everything else of the host waits for the file.
const MAX_ROBOTS_RESPONSE_BYTES: u64 = 2 * MAX_ROBOTS_BYTES as u64;
/// The time limit for the file.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(60);

/// The limits for a `robots.txt`, where any response has these.
pub fn robots_limits(usual: FetchLimits) -> FetchLimits {
    FetchLimits {
        bytes: usual.bytes.min(MAX_ROBOTS_RESPONSE_BYTES),
        total: usual.total.min(ROBOTS_TIMEOUT),
        ..usual
    }
}

/// The `robots.txt` of an origin.
#[derive(Debug)]
pub(crate) enum RobotsState {
    /// It was requested; these tasks wait for it.
    Requested(Vec<CrawlTask>),
    /// It was read, or does not exist.
    Read(Box<RobotsRules>),
    /// It could not be fetched.
    Failed(RobotsFailure),
}

/// Why a `robots.txt` could not be fetched.
#[derive(Clone, Debug)]
pub(crate) struct RobotsFailure {
    /// The kind of failure, as a word.
    pub(crate) kind: Box<str>,
    /// What happened, as a sentence.
    pub(crate) message: Box<str>,
    /// Whether tasks of the origin stay in the frontier until the run is resumed.
    pub(crate) is_postponed: bool,
}

/// The decision of a `robots.txt` about a task.
pub(crate) enum RobotsDecision {
    /// It may be fetched.
    Allowed(CrawlTask),
    /// It may not.
    Denied(CrawlTask, SkipRule),
    /// The file could not be fetched.
    Unavailable(CrawlTask, RobotsFailure),
    /// The task waits for the file, which is in flight.
    Held,
    /// The task waits for the file, which has to be requested.
    Request,
}

impl RobotsState {
    /// Decides about a task by the state of its origin's file, or holds the task.
    pub(crate) fn decide(state: &mut Option<Self>, task: CrawlTask) -> RobotsDecision {
        match state {
            Some(Self::Requested(held)) => {
                held.push(task);
                RobotsDecision::Held
            }
            Some(Self::Failed(failure)) => RobotsDecision::Unavailable(task, failure.clone()),
            Some(Self::Read(rules)) => match denied_by(rules, task.url.as_str()) {
                Some(rule) => RobotsDecision::Denied(task, rule),
                None => RobotsDecision::Allowed(task),
            },
            None => {
                *state = Some(Self::Requested(vec![task]));
                RobotsDecision::Request
            }
        }
    }

    /// The tasks that waited for the file.
    pub(crate) fn into_held(self) -> Vec<CrawlTask> {
        match self {
            Self::Requested(held) => held,
            Self::Read(_) | Self::Failed(_) => Vec::new(),
        }
    }
}

fn denied_by(rules: &RobotsRules, url: &str) -> Option<SkipRule> {
    let decision = rules.decide(url);
    (!decision.allowed).then(|| SkipRule::Robots(decision.rule.map(|rule| rule.line)))
}

#[cfg(test)]
mod tests {
    use varve_core::robots::Robots;
    use varve_core::url::RequestUrl;

    use super::super::fetch_reason::FetchReason;
    use super::*;

    fn task(url: &str) -> CrawlTask {
        CrawlTask::new(RequestUrl::parse(url).unwrap(), FetchReason::Page { depth: 1 })
    }

    #[test]
    fn tasks_wait_for_the_file_and_then_follow_its_rules() {
        let mut state = None;
        assert!(matches!(RobotsState::decide(&mut state, task("http://h/a")), RobotsDecision::Request));
        assert!(matches!(RobotsState::decide(&mut state, task("http://h/b")), RobotsDecision::Held));
        let rules = Robots::from_answer(200, b"User-agent: *\nDisallow: /b\n").rules_for("varve");
        let held = state.replace(RobotsState::Read(Box::new(rules))).unwrap().into_held();
        assert_eq!(held.len(), 2);
        let mut decide = |url| RobotsState::decide(&mut state, task(url));
        assert!(matches!(decide("http://h/a"), RobotsDecision::Allowed(_)));
        assert!(matches!(decide("http://h/b"), RobotsDecision::Denied(_, SkipRule::Robots(Some(2)))));
    }
}
