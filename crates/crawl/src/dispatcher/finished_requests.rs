//! Handles finished requests: whether a request is sent again, its response is stored, or its URL
//! failed or is left for a resumed run.
//!
//! The policy says how often and after which pause a request is retried; the host table of
//! `varve_fetch::politeness` counts.

use std::time::Duration;

use varve_core::url::RequestUrl;
use varve_fetch::FetchErrorKind;
use varve_fetch::politeness::{RequestOutcome, RequestVerdict};

use super::CrawlDispatcher;
use crate::checkpoint::FrontierUpdate;
use crate::error::CrawlError;
use crate::error_chain::error_chain;
use crate::event::CrawlEvent;
use crate::fetch_reason::FetchReason;
use crate::message::FinishedRequest;
use crate::postponed_hosts::requested_wait;
use crate::robots::RobotsFailure;
use crate::skip_rule::SkipRule;
use crate::task::{CrawlTask, TaskMode};
use crate::unreachable::UnansweredTask;

/// Why there is no response.
struct RequestFailure {
    kind: &'static str,
    message: String,
    outcome: RequestOutcome,
    /// Whether all retries were used up.
    is_final: bool,
}

impl RequestFailure {
    fn why(&self) -> (&str, &str) {
        (self.kind, &self.message)
    }
}

impl CrawlDispatcher<'_> {
    /// A request ended. A response that will be retried is not stored: the last one counts.
    pub(super) fn handle_finished(&mut self, finished: FinishedRequest) -> Result<(), CrawlError> {
        self.threads.requests.ended();
        let FinishedRequest { task, tries, outcome, result, browser } = finished;
        let (url, now) = (task.url.clone(), self.now());
        let host = url.authority();
        let wait = requested_wait(outcome).filter(|_| !task.is_urgent());
        let longest = self.context.policy.settings.politeness.policy().longest_retry_after;
        let too_long = wait.filter(|wait| *wait > longest);
        let is_given_up = self.hosts.is_given_up(host);
        if result.is_ok() {
            for unanswered in self.hosts.answered(host) {
                self.record_failure(&unanswered.task, &unanswered.kind, &unanswered.message);
            }
        }
        // Nothing is retried that is left for a later run, or after a limit was reached.
        let is_last =
            too_long.is_some() || (outcome.is_retryable() && (is_given_up || self.reached_limit().is_some()));
        let verdict = match task.is_urgent() {
            true => {
                self.hosts.table.turn_done(host, now);
                RequestVerdict::Done(task)
            }
            false if is_last => self.hosts.done(task, u32::MAX, RequestOutcome::PermanentFailure, now),
            false => self.hosts.done(task, tries, outcome, now),
        };
        let is_host_given_up = matches!(verdict, RequestVerdict::HostGivenUp(_)) || is_given_up;
        let mut tasks = match (verdict, too_long) {
            (RequestVerdict::Done(task) | RequestVerdict::GivenUp(task), Some(wait)) => {
                self.postpone_host(host, task, wait);
                return Ok(());
            }
            (RequestVerdict::Again, _) => {
                self.report_wait(host, wait.unwrap_or_default());
                return Ok(());
            }
            (RequestVerdict::Done(task) | RequestVerdict::GivenUp(task), None) => vec![task].into_iter(),
            (RequestVerdict::HostGivenUp(tasks), _) => tasks.into_iter(),
        };
        let is_final = result.is_err() && tries >= self.context.policy.settings.politeness.retries;
        let (kind, message) = match &result {
            Ok(_) => ("host", format!("`{host}` was given up: it failed too often")),
            Err(error) => (error.kind.word(), error_chain(error)),
        };
        if let Ok(exchange) = result
            && let Some(task) = tasks.next()
        {
            self.take_response(task, exchange, browser)?;
        }
        let failure = RequestFailure { kind, message, outcome, is_final };
        match is_host_given_up {
            true => self.give_up_host(tasks, &failure),
            false => tasks.try_for_each(|task| self.take_failure(task, &failure)),
        }
    }

    /// There is no response to a task.
    fn take_failure(&mut self, task: CrawlTask, failure: &RequestFailure) -> Result<(), CrawlError> {
        let RequestFailure { kind, message, outcome, .. } = failure;
        let is_silent = *outcome == RequestOutcome::Silent || *kind == FetchErrorKind::Guard.word();
        if is_silent && self.hosts.is_left_in_doubt(&task, failure.why()) {
            self.leave_in_frontier(task);
            return Ok(());
        }
        if outcome.is_retryable() && self.reached_limit().is_none() && self.hosts.may_be_offline(&task) {
            self.in_progress.end(&task);
            self.hosts.task_back(task.host());
            let (kind, message) = ((*kind).to_owned(), message.clone());
            self.hosts.hold_unanswered(UnansweredTask { task, kind, message });
            return Ok(());
        }
        self.fail(task, kind, message)
    }

    /// A host failed too often. The task whose retries were used up fails if the run was resumed
    /// before; the others are left for a resumed run, if the host may come back.
    fn give_up_host(
        &mut self,
        tasks: impl Iterator<Item = CrawlTask>,
        failure: &RequestFailure,
    ) -> Result<(), CrawlError> {
        for (at, task) in tasks.enumerate() {
            let url = task.url.clone();
            let has_failed = at == 0 && failure.is_final && self.hosts.is_resumed;
            let is_left = !has_failed
                && task.robots_for.is_none()
                && self.hosts.is_left(url.authority(), url.origin(), failure.why());
            if is_left {
                self.hosts.give_up(url.authority());
                self.leave_in_frontier(task);
            } else {
                self.fail(task, failure.kind, &failure.message)?;
            }
        }
        Ok(())
    }

    /// Leaves a host, the task that was just requested, and its queue for a later run.
    fn postpone_host(&mut self, host: &str, requested: CrawlTask, wait: Duration) {
        let until = self.context.clock.moment_after(wait);
        let queued = self.hosts.postpone(host, until);
        self.reporter.event(CrawlEvent::RetryAfter { host, until, left: true });
        for task in std::iter::once(requested).chain(queued) {
            self.in_progress.end(&task);
            self.postpone(task, until);
        }
    }

    /// Reports that the run waits for a host.
    fn report_wait(&mut self, host: &str, wait: Duration) {
        if self.hosts.reports_wait(host, wait, self.now()) {
            let until = self.context.clock.moment_after(wait);
            self.reporter.event(CrawlEvent::RetryAfter { host, until, left: false });
        }
    }

    /// A task cannot be fetched.
    pub(super) fn fail(&mut self, task: CrawlTask, kind: &str, message: &str) -> Result<(), CrawlError> {
        let task = match task.mode {
            TaskMode::Admission(reply) if kind == SkipRule::GUARD => {
                self.reporter.failed(task.url.as_str(), kind, message);
                reply.deny(SkipRule::Guard);
                return Ok(());
            }
            TaskMode::Admission(reply) => {
                let rule = self.reached_limit().unwrap_or(SkipRule::Robots(None));
                self.reporter.denied(task.url.as_str(), &rule);
                reply.deny(rule);
                return Ok(());
            }
            mode => CrawlTask { mode, ..task },
        };
        // A request that the time limit of the run ended would have a response another day.
        let is_late = kind == FetchErrorKind::Timeout.word() && task.reason != FetchReason::Robots;
        if let Some(rule) = self.reached_limit().filter(|_| is_late) {
            self.skip_in_progress(task, &rule);
            return Ok(());
        }
        self.in_progress.end(&task);
        self.hosts.task_back(task.host());
        match &task.robots_for {
            Some(owner) => self.fail_robots(&owner.clone(), kind, message),
            None => {
                self.record_failure(&task, kind, message);
                Ok(())
            }
        }
    }

    /// Records that a URL cannot be fetched, and reports it.
    fn record_failure(&mut self, task: &CrawlTask, kind: &str, message: &str) {
        self.threads.checkpoints.update(task.no, FrontierUpdate::Failed(format!("{kind}: {message}")));
        self.context.destination.failed(task.url.as_str(), kind, message);
        self.reporter.failed(task.url.as_str(), kind, message);
    }

    /// A `robots.txt` cannot be fetched. The tasks that waited for it fail for the same reason, or
    /// are left.
    fn fail_robots(&mut self, owner: &RequestUrl, kind: &str, message: &str) -> Result<(), CrawlError> {
        let (host, origin) = (owner.authority(), owner.origin());
        let is_postponed = self.hosts.is_left(host, origin, (kind, message));
        let failure = RobotsFailure { kind: kind.into(), message: message.into(), is_postponed };
        for waiting in self.hosts.robots_failed(host, origin, failure) {
            if is_postponed && !waiting.is_admission() {
                self.leave_in_frontier(waiting);
            } else {
                self.fail(waiting, kind, message)?;
            }
        }
        Ok(())
    }

    /// At the end: tasks without a response have failed, unless their host was given up. Whether
    /// there were any.
    pub(super) fn fail_unanswered(&mut self) -> Result<bool, CrawlError> {
        let Some(failed) = self.hosts.take_unanswered() else { return Ok(false) };
        for UnansweredTask { task, kind, message } in failed {
            self.record_failure(&task, &kind, &message);
        }
        self.checkpoint_now()?;
        Ok(true)
    }

    /// Requests the tasks of hosts that turned out not to be offline. Whether there were any.
    pub(super) fn reopen_doubtful_hosts(&mut self) -> Result<bool, CrawlError> {
        let is_reopened = self.hosts.reopen_doubtful();
        if is_reopened {
            self.context.frontier.release()?;
        }
        Ok(is_reopened)
    }
}
