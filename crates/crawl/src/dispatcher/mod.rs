//! The dispatcher: the one thread that decides. It owns the frontier, sends the requests that hosts
//! permit, and acknowledges URLs only after their captures are durable.
//!
//! Requests, writers and checkpoints run on other threads and only send messages. Everything that
//! waits is bounded, so memory does not grow with the size of a crawl: the rest stays in the
//! frontier.
//!
//! | file | decides |
//! | --- | --- |
//! | `admission` | whether a URL of the frontier is requested |
//! | `start` | what a run begins with: seeds, members of groups, and the state of an earlier process |
//! | `finished_requests` | whether a request that ended is retried, has failed, or is left for a resumed run |
//! | `handle_response` | what follows from a response |
//! | `browser_responses` | which exchanges of a page in a browser are captures, and what it may request |

mod admission;
mod browser_responses;
mod finished_requests;
mod handle_response;
mod start;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use varve_catalog::{ClaimRequest, Frontier};
use varve_core::RunId;
use varve_core::exchange::Exchange;
use varve_core::trap::{TrapDetector, TrapLimits};
use varve_core::url::RequestUrl;
use varve_fetch::politeness::NextTurn;

use super::checkpoint::{CheckpointPhase, Checkpoints, FrontierUpdate, push_entries};
use super::claim_lease::{ClaimLease, LEASE_DURATION};
use super::clock::RunClock;
use super::crawl_policy::CrawlPolicy;
use super::destination::Destination;
use super::discovered_link::UnfollowedLink;
use super::event::{CrawlEvent, CrawlProgress, CrawlTally};
use super::fetchers::CrawlFetchers;
use super::hosts::CrawlHosts;
use super::link_backlog::LinkBacklog;
use super::message::CrawlMessage;
use super::past_captures::{PastLookup, PastQuery, SpellingMatch};
use super::reporter::CrawlReporter;
use super::request_loop::RequestLoop;
use super::run_coverage::RunGaps;
use super::seen_urls::SeenUrls;
use super::task::{CrawlTask, HostTurn, TaskMode};
use super::unfollowed_links::UnfollowedLinks;
use super::urls_in_progress::UrlsInProgress;
use super::writer_pool::WriterQueue;
use crate::error::CrawlError;

/// Tasks that are out of the frontier at most.
const MAX_TASKS_OUT: usize = 2048;
/// Tasks of one host that are claimed at once.
const TASKS_PER_HOST_CLAIM: usize = 256;
/// Messages that are handled before anything else.
const MESSAGES_PER_ROUND: usize = 256;
/// Links that were not followed and are looked up at once when the run ends.
const UNFOLLOWED_PER_LOOKUP: usize = 1024;
/// Delay before an empty frontier is queried again.
const EMPTY_FRONTIER_PAUSE: Duration = Duration::from_millis(50);
/// How long a stopped run waits for responses in flight, as long as they arrive.
const STOP_GRACE_PERIOD: Duration = Duration::from_secs(1);
/// A stopped run waits no longer when none arrived for this time.
const STOP_IDLE_TIMEOUT: Duration = Duration::from_millis(400);
/// How often hosts without state are dropped.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// How the part of a run that this process did has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnding {
    /// Nothing is left.
    Finished,
    /// The caller stopped it.
    Stopped,
    /// Only tasks of hosts are left that asked for a longer wait or do not answer.
    Left,
}

/// The input of a run.
#[derive(Clone, Copy)]
pub(crate) struct CrawlContext<'a> {
    /// Where responses are stored.
    pub(crate) destination: &'a dyn Destination,
    /// The URLs that are still to be requested.
    pub(crate) frontier: &'a dyn Frontier,
    /// The rules.
    pub(crate) policy: &'a CrawlPolicy,
    /// The run.
    pub(crate) run: RunId,
    /// The clock.
    pub(crate) clock: RunClock<'a>,
    /// Set by the caller to stop the run.
    pub(crate) stop: &'a AtomicBool,
}

/// The channels and threads around the dispatcher.
pub(crate) struct CrawlThreads<'a> {
    /// Requests and messages.
    pub(crate) requests: RequestLoop<CrawlMessage>,
    /// Who sends the requests.
    pub(crate) fetchers: CrawlFetchers,
    /// The writers.
    pub(crate) writers: WriterQueue,
    /// The links that wait for the dispatcher.
    pub(crate) backlog: &'a LinkBacklog,
    /// The checkpoints.
    pub(crate) checkpoints: Checkpoints,
}

/// The items that wait for the next checkpoint.
#[derive(Default)]
struct AwaitingCheckpoint {
    /// Tasks whose URL is in progress.
    tasks: Vec<CrawlTask>,
    /// Responses to URLs that were in progress when they arrived. Whether they are captures is
    /// known later.
    exchanges: Vec<Exchange>,
}

/// When something was done last.
struct DispatchTimes {
    began: Instant,
    swept: Instant,
    /// When the frontier last had nothing to give.
    empty_since: Option<Instant>,
}

/// The dispatcher of a run.
pub(crate) struct CrawlDispatcher<'a> {
    context: CrawlContext<'a>,
    threads: CrawlThreads<'a>,
    hosts: CrawlHosts,
    in_progress: UrlsInProgress,
    awaiting: AwaitingCheckpoint,
    seen: SeenUrls,
    traps: TrapDetector,
    sitemaps: u32,
    unfollowed: UnfollowedLinks,
    reporter: CrawlReporter<'a>,
    times: DispatchTimes,
    lease: ClaimLease,
}

impl<'a> CrawlDispatcher<'a> {
    /// A run that begins now.
    pub(crate) fn new(
        context: CrawlContext<'a>,
        threads: CrawlThreads<'a>,
        report: &'a mut dyn FnMut(CrawlEvent<'_>),
    ) -> Self {
        let now = context.clock.instant();
        let year = context.clock.moment().utc().format("%Y").to_string().parse().unwrap_or(2026);
        let seed =
            context.run.as_bytes().iter().fold(0u64, |seed, byte| seed.rotate_left(8) ^ u64::from(*byte));
        Self {
            hosts: CrawlHosts::new(context.policy.settings.politeness.policy(), seed),
            in_progress: UrlsInProgress::default(),
            awaiting: AwaitingCheckpoint::default(),
            seen: SeenUrls::new(context.policy.settings.scope.depth),
            traps: TrapDetector::new(TrapLimits::for_year(year)),
            sitemaps: 0,
            unfollowed: UnfollowedLinks::default(),
            reporter: CrawlReporter::new(report, now),
            times: DispatchTimes { began: now, swept: now, empty_since: None },
            lease: ClaimLease::new(now),
            context,
            threads,
        }
    }

    /// The totals.
    pub(crate) fn tally(&self) -> CrawlTally {
        self.reporter.tally
    }

    /// What the run did not see.
    pub(crate) fn take_gaps(&mut self) -> RunGaps {
        std::mem::take(&mut self.reporter.gaps)
    }

    /// Runs until nothing is left, or until the caller stops it.
    pub(crate) fn run(&mut self) -> Result<RunEnding, CrawlError> {
        loop {
            if self.context.stop.load(Ordering::Relaxed) {
                return self.stop();
            }
            self.lease.renew_if_due(self.context.frontier, self.context.clock)?;
            self.fill()?;
            let until = self.dispatch()?;
            self.advance_checkpoint();
            if self.is_idle() {
                if self.run_idle()? {
                    return self.end();
                }
                continue;
            }
            self.handle_messages(until)?;
            let has_waiting = !self.awaiting.tasks.is_empty() || !self.awaiting.exchanges.is_empty();
            if self.threads.checkpoints.is_due(has_waiting, self.now()) {
                self.request_checkpoint();
            }
            self.report_progress(until);
        }
    }

    /// Nothing is in flight: claims more, or ends the run. Whether nothing is left.
    fn run_idle(&mut self) -> Result<bool, CrawlError> {
        // Skipped tasks alone need no checkpoint.
        if self.awaiting.tasks.is_empty() && !self.threads.checkpoints.has_many_updates() && self.claim()? > 0
        {
            return Ok(false);
        }
        let had_waiting = !self.awaiting.tasks.is_empty();
        self.checkpoint_now()?;
        let is_done = !had_waiting
            && self.is_idle()
            && self.hosts.tasks_out() == 0
            && self.awaiting.exchanges.is_empty()
            && self.claim()? == 0;
        Ok(is_done && !self.fail_unanswered()? && !self.reopen_doubtful_hosts()?)
    }

    /// Stops. Responses that are about to arrive are waited for, so that nothing is requested
    /// twice; a resumed run requests the others.
    fn stop(&mut self) -> Result<RunEnding, CrawlError> {
        let end = self.now() + STOP_GRACE_PERIOD;
        let mut until = self.now() + STOP_IDLE_TIMEOUT;
        while self.threads.requests.in_flight() > 0 && self.now() < until.min(end) {
            let in_flight = self.threads.requests.in_flight();
            self.handle_messages(Some(until))?;
            if self.threads.requests.in_flight() < in_flight {
                until = self.now() + STOP_IDLE_TIMEOUT;
            }
        }
        self.threads.requests.abort();
        self.checkpoint_now()?;
        while !self.threads.writers.is_empty() {
            self.checkpoint_now()?;
        }
        self.report_end()?;
        Ok(RunEnding::Stopped)
    }

    /// Says how the run ended, when there is nothing more to do.
    fn end(&mut self) -> Result<RunEnding, CrawlError> {
        self.report_end()?;
        let counts = self.context.frontier.counts()?;
        let left = counts.ready + counts.claimed + counts.waiting > 0;
        Ok(if left { RunEnding::Left } else { RunEnding::Finished })
    }

    /// Whether nothing is in flight and nothing waits for a host.
    fn is_idle(&self) -> bool {
        self.threads.requests.in_flight() == 0
            && self.threads.writers.is_empty()
            && self.threads.checkpoints.phase() == CheckpointPhase::Idle
            && !self.threads.requests.has_postponed()
            && self.hosts.is_idle()
            && self.threads.checkpoints.pending.entries.is_empty()
    }

    fn now(&self) -> Instant {
        self.context.clock.instant()
    }

    /// Takes more tasks out of the frontier, if there is room.
    fn fill(&mut self) -> Result<(), CrawlError> {
        let is_hungry = self.hosts.table.waiting() < self.context.policy.settings.politeness.concurrency * 2;
        if self.threads.checkpoints.has_many_entries() || is_hungry {
            self.push_entries()?;
        }
        let clock = self.context.clock;
        let pauses = |since: Instant| clock.elapsed(since) < EMPTY_FRONTIER_PAUSE;
        if is_hungry && !self.times.empty_since.is_some_and(pauses) && self.hosts.tasks_out() < MAX_TASKS_OUT
        {
            self.claim()?;
        }
        Ok(())
    }

    /// Pushes the pending links into the frontier.
    fn push_entries(&mut self) -> Result<(), CrawlError> {
        let entries = std::mem::take(&mut self.threads.checkpoints.pending.entries);
        if push_entries(self.context.frontier, &entries)? {
            self.times.empty_since = None;
        }
        Ok(())
    }

    /// Takes tasks out of the frontier; returns their number.
    fn claim(&mut self) -> Result<usize, CrawlError> {
        let room = MAX_TASKS_OUT.saturating_sub(self.hosts.tasks_out());
        let claimed = self.context.frontier.claim(&ClaimRequest {
            limit: room,
            per_host: TASKS_PER_HOST_CLAIM,
            now: self.context.clock.moment(),
            lease: LEASE_DURATION,
            excluded_hosts: &self.hosts.excluded_hosts(TASKS_PER_HOST_CLAIM),
        })?;
        self.times.empty_since = claimed.is_empty().then(|| self.now());
        let count = claimed.len();
        let policy = self.context.policy;
        let mut tasks = Vec::with_capacity(count);
        for claimed in claimed {
            match CrawlTask::claimed(&claimed, |text| policy.stored_url(text)) {
                Some(task) => tasks.push(task),
                None => {
                    let unreadable = FrontierUpdate::Skipped("unreadable".to_owned());
                    self.threads.checkpoints.update(Some(claimed.no), unreadable);
                }
            }
        }
        self.consider(tasks)?;
        Ok(count)
    }

    /// Starts the turns and requests that may start now; returns when the next one may.
    fn dispatch(&mut self) -> Result<Option<Instant>, CrawlError> {
        self.skip_queued_at_limit()?;
        let now = self.now();
        let until = self.start_turns(now);
        while self.threads.writers.has_room() {
            match self.threads.requests.next_ready(&mut self.hosts.table, now) {
                Ok(ready) => self.send(ready.item, ready.tries),
                Err(state) => return Ok(until.into_iter().chain(state.wait_until()).min()),
            }
        }
        Ok(until)
    }

    fn start_turns(&mut self, now: Instant) -> Option<Instant> {
        loop {
            match self.hosts.table.next_turn(now) {
                NextTurn::Send { host, item } => self.start_turn(host, item),
                NextTurn::Wait(until) => return Some(until),
                NextTurn::None => return None,
            }
        }
    }

    fn start_turn(&mut self, host: Box<str>, mut task: CrawlTask) {
        match std::mem::take(&mut task.mode) {
            TaskMode::Admission(reply) => {
                let sender = self.threads.requests.sender();
                let end = move || drop(sender.send(CrawlMessage::TurnEnded(host)));
                // A page that is gone drops its turn, which ends it.
                drop(reply.turn.send(HostTurn::new(end)));
            }
            mode => self.send(CrawlTask { mode, ..task }, 0),
        }
    }

    /// Sends the request of a task.
    fn send(&mut self, task: CrawlTask, tries: u32) {
        let request = self.threads.fetchers.fetch(task, tries, self.deadline());
        self.threads.requests.start(request);
    }

    /// Waits for messages, and handles them.
    fn handle_messages(&mut self, until: Option<Instant>) -> Result<(), CrawlError> {
        let Some(first) = self.threads.requests.receive(until, self.now()) else { return Ok(()) };
        self.handle(first)?;
        for _ in 0..MESSAGES_PER_ROUND {
            let Some(message) = self.threads.requests.try_receive() else { break };
            self.handle(message)?;
        }
        Ok(())
    }

    fn handle(&mut self, message: CrawlMessage) -> Result<(), CrawlError> {
        match message {
            CrawlMessage::Fetched(finished) => self.handle_finished(*finished),
            CrawlMessage::Stored(stored) => self.handle_stored(*stored),
            CrawlMessage::Admission(url, reply) => self.handle_admission(url, reply),
            CrawlMessage::Lookup(url, reply) => self.handle_lookup(&url, reply),
            CrawlMessage::TurnEnded(host) => {
                let now = self.now();
                self.hosts.table.turn_done(&host, now);
                Ok(())
            }
            CrawlMessage::Checkpointed(saved) => self.handle_checkpointed(saved?),
        }
    }

    fn report_progress(&mut self, until: Option<Instant>) {
        let now = self.now();
        if !self.reporter.progress_is_due(now) {
            return;
        }
        if now.saturating_duration_since(self.times.swept) > SWEEP_INTERVAL {
            self.times.swept = now;
            self.hosts.sweep(now);
        }
        let queued = self.context.frontier.counts().map_or(0, |counts| counts.ready + counts.claimed);
        let in_flight = self.threads.requests.in_flight();
        let is_waiting = in_flight == 0 && self.threads.writers.is_empty();
        let idle_for = until.filter(|_| is_waiting).map(|until| until.saturating_duration_since(now));
        let hosts = self.hosts.active_hosts();
        let tally = self.reporter.tally;
        self.reporter.progress(&CrawlProgress { tally, queued, in_flight, hosts, idle_for });
    }

    /// Reports links that were not followed, and hosts with tasks that are left.
    fn report_end(&mut self) -> Result<(), CrawlError> {
        self.reporter.gaps.has_skipped_links |= self.unfollowed.is_full();
        let mut unfollowed = self.unfollowed.take();
        unfollowed.retain(|link| !self.seen.has_page(&link.identity));
        for links in unfollowed.chunks(UNFOLLOWED_PER_LOOKUP) {
            self.report_unfollowed(links)?;
        }
        self.reporter.gaps.unfollowed.extend(unfollowed.into_iter().map(|link| link.identity));
        let left = self.hosts.left_hosts();
        self.reporter.tally.unreachable_hosts = left.len() as u64;
        for (host, left) in &left {
            let (kind, message) = (&left.kind, &left.message);
            self.reporter.event(CrawlEvent::HostUnreachable { host, kind, message });
        }
        Ok(())
    }

    /// Reports links that were not followed, except those to pages that this run has captured in
    /// any spelling.
    fn report_unfollowed(&mut self, links: &[UnfollowedLink]) -> Result<(), CrawlError> {
        let urls: Vec<Option<RequestUrl>> =
            links.iter().map(|link| RequestUrl::verbatim(&link.url)).collect();
        let query = |url| PastQuery { url, spelling: SpellingMatch::Any };
        let queries: Vec<PastQuery<'_>> = urls.iter().flatten().map(query).collect();
        let mut found = self.context.destination.past(self.context.run, &queries)?.into_iter();
        for (link, url) in links.iter().zip(&urls) {
            let past = url.as_ref().and_then(|_| found.next());
            if !matches!(past, Some(PastLookup::ThisRun(_) | PastLookup::Fresh(_))) {
                self.reporter.skipped_link(&link.url, &link.rule);
            }
        }
        Ok(())
    }
}

/// Checkpoints.
impl CrawlDispatcher<'_> {
    /// Wants a checkpoint as soon as the writers are idle.
    fn request_checkpoint(&mut self) {
        self.threads.checkpoints.request();
        self.threads.writers.pause();
        self.advance_checkpoint();
    }

    /// Begins to save when the writers are idle.
    fn advance_checkpoint(&mut self) {
        let is_waiting = self.threads.checkpoints.phase() == CheckpointPhase::WaitingForWriters;
        if is_waiting && self.threads.writers.is_idle() {
            self.threads.checkpoints.begin_saving();
        }
    }

    /// Makes everything durable that is pending now.
    fn checkpoint_now(&mut self) -> Result<(), CrawlError> {
        self.finish_checkpoint()?;
        self.request_checkpoint();
        self.finish_checkpoint()
    }

    /// Waits for the checkpoint in progress, if there is one. Other messages are handled later.
    fn finish_checkpoint(&mut self) -> Result<(), CrawlError> {
        while self.threads.checkpoints.phase() != CheckpointPhase::Idle {
            let wanted = self.threads.requests.receive_only(|message| match message {
                CrawlMessage::Stored(_) | CrawlMessage::Checkpointed(_) => Ok(message),
                other => Err(other),
            });
            if let Some(message) = wanted {
                self.handle(message)?;
            }
            self.advance_checkpoint();
        }
        Ok(())
    }

    /// A checkpoint is durable: what waited for it goes on.
    fn handle_checkpointed(&mut self, has_new_urls: bool) -> Result<(), CrawlError> {
        let now = self.now();
        self.threads.checkpoints.saved(now);
        self.in_progress.checkpointed();
        self.threads.writers.resume();
        if has_new_urls {
            self.times.empty_since = None;
        }
        self.handle_repeated_exchanges()?;
        let captured = self.reporter.tally.captured;
        self.reporter.event(CrawlEvent::Checkpoint { captured });
        let tasks = std::mem::take(&mut self.awaiting.tasks);
        self.admit(tasks)
    }
}

impl Drop for CrawlDispatcher<'_> {
    fn drop(&mut self) {
        if let Some(gate) = &self.threads.fetchers.gate {
            gate.close();
        }
    }
}
