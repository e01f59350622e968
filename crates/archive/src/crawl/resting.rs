//! Hosts that ask to be left alone (`Retry-After`): for how long they are waited for, and what is left for another day.
//!
//! A wait that people would notice is told. One that is longer than the run will wait is not waited for: what would be asked of the
//! host stays in the frontier, with the instant at which it may be asked for again, and whoever resumes the run goes on from there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use varve_core::Moment;
use varve_fetch::politeness::RequestOutcome;

use super::dispatcher::{Crawl, FrontierUpdate};
use super::event::CrawlEvent;
use super::scope::SkipRule;
use super::task::CrawlTask;

/// A shorter wait is not worth a word.
const WORTH_TELLING: Duration = Duration::from_secs(5);

/// The hosts that asked to be left alone.
#[derive(Default)]
pub(crate) struct Resting {
    /// Those that are not asked any more in this share of the run, and until when.
    left: HashMap<String, Moment>,
    /// Until when it was said that others are waited for.
    told: HashMap<String, Instant>,
}

impl Resting {
    /// The hosts that are not asked any more in this share of the run.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.left.keys().map(String::as_str)
    }

    /// Until when a host is not asked, if it is left for another day.
    pub(crate) fn until(&self, host: &str) -> Option<Moment> {
        self.left.get(host).copied()
    }
}

impl Crawl<'_> {
    /// How long an answer asks to be waited for, if it does.
    pub(super) fn asked_to_wait(outcome: RequestOutcome) -> Option<Duration> {
        match outcome {
            RequestOutcome::Answered { status: 429 | 503, retry_after } => retry_after,
            _ => None,
        }
    }

    /// Whether that is longer than this run waits.
    pub(super) fn is_too_long(&self, wait: Duration) -> bool {
        wait > self.context.plan.settings.policy().longest_retry_after
    }

    /// Says that a host is waited for, once for each wait.
    pub(super) fn tell_wait(&mut self, host: &str, wait: Duration) {
        let now = Instant::now();
        let is_told = self.resting.told.get(host).is_some_and(|until| *until > now);
        if wait < WORTH_TELLING || is_told {
            return;
        }
        self.resting.told.insert(host.to_owned(), now + wait);
        let until = after(self.context.destination.present(), wait);
        (self.context.report)(CrawlEvent::RetryAfter { host, until, left: false });
    }

    /// Leaves a host, what was just asked of it, and what waits for it, for another day.
    pub(super) fn leave_host(&mut self, host: &str, asked: CrawlTask, wait: Duration) {
        let until = after(self.context.destination.present(), wait);
        self.resting.left.insert(host.to_owned(), until);
        (self.context.report)(CrawlEvent::RetryAfter { host, until, left: true });
        let waiting = self.agenda.withdraw(|task| task.host == host);
        for task in std::iter::once(asked).chain(waiting) {
            self.no_longer_busy(&task);
            self.leave(task, until);
        }
    }

    /// Leaves something for another day. What waits for a file for robots has to wait with it.
    pub(super) fn leave(&mut self, task: CrawlTask, until: Moment) {
        if let Some(reply) = task.reply {
            return self.turn_away(&task.url, SkipRule::RetryAfter, reply);
        }
        self.came_back(&task);
        if let Some(origin) = &task.origin {
            let why = format!("`{}` asks to be left alone until {until}", task.host);
            for waiting in self.robots.unreachable(origin, ("robots", &why), false) {
                if waiting.reply.is_none() {
                    self.no_longer_busy(&waiting);
                }
                self.leave(waiting, until);
            }
        }
        self.settled.extend(task.no.map(|no| (no, FrontierUpdate::Again(until))));
    }
}

fn after(now: Moment, wait: Duration) -> Moment {
    let micros = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
    Moment::from_micros(now.micros().saturating_add(micros))
}
