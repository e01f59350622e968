//! Whether a URL that came out of the frontier is asked for, and when.
//!
//! The rules are asked in the order of their cost: limits, scope, traps, what this run has captured already, what the
//! host asks of robots. Each URL of the frontier comes through here once, and leaves as a request, as a job for a
//! keeper, or as skipped by a named rule.

use std::time::{Duration, Instant};

use varve_core::trap::{Limits as TrapLimits, Watch, suspect};

use super::address::host_of;
use super::dispatcher::{Crawl, FrontierUpdate};
use super::event::CrawlEvent;
use super::fetch_reason::FetchReason;
use super::past_captures::{PastLookup, SpellingMatch};
use super::response_cache::CachedResponse;
use super::robots::RobotsDecision;
use super::scope::SkipRule;
use super::task::CrawlTask;
use super::writer_pool::JobInput;
use crate::crawl::error::CrawlError;

/// So many sitemaps are read in a run.
const MOST_SITEMAPS: u32 = 5_000;

impl Crawl<'_> {
    /// Takes a task that just came out of the frontier.
    pub(super) fn consider(&mut self, task: CrawlTask) -> Result<(), CrawlError> {
        self.went_out(&task);
        match self.refusal(&task) {
            Some(rule) => {
                self.skip(task, &rule);
                Ok(())
            }
            None => self.admit(task),
        }
    }

    /// The rule by which a URL is not asked for, if there is one.
    fn refusal(&mut self, task: &CrawlTask) -> Option<SkipRule> {
        if let Some(rule) = self.context.plan.plan_rule(task.reason, &task.url) {
            return Some(rule);
        }
        let (scope, url) = (&self.context.plan.scope, task.url.as_str());
        let address = self.context.plan.address(url);
        let traps = self.context.plan.settings.avoid_traps;
        match task.reason {
            // What people name themselves is asked for, wherever it leads.
            FetchReason::Page { depth: 0 } | FetchReason::Robots => None,
            FetchReason::Page { .. } => {
                let trap = |watch: &mut Watch| watch.note(&address).filter(|_| traps).map(SkipRule::Trap);
                scope.page_rule(url, &address).or_else(|| trap(&mut self.watch))
            }
            FetchReason::Embed { .. } | FetchReason::Frame { .. } => scope
                .exclude_rule(url, &address)
                .or_else(|| suspect(&address, &TrapLimits::default()).filter(|_| traps).map(SkipRule::Trap)),
            FetchReason::Sitemap { .. } => {
                self.sitemaps += 1;
                let too_many = (self.sitemaps > MOST_SITEMAPS).then_some(SkipRule::Sitemaps);
                scope.exclude_rule(url, &address).or(too_many)
            }
        }
    }

    /// The limit that was reached, if one was.
    pub(super) fn limit(&self) -> Option<SkipRule> {
        let settings = &self.context.plan.settings;
        if self.context.fetching.has_received_enough() {
            return Some(SkipRule::Limit("bytes"));
        }
        let is_late = |most: u64| self.began.elapsed() >= Duration::from_millis(most);
        settings.max_time.is_some_and(is_late).then_some(SkipRule::Limit("time"))
    }

    /// Until when a request may take, if the time of the run is limited.
    pub(super) fn until(&self) -> Option<Instant> {
        self.began.checked_add(Duration::from_millis(self.context.plan.settings.max_time?))
    }

    /// Leaves out what waits for its host when a limit is reached: at the pace of a host that could take hours.
    pub(super) fn keep_to_limits(&mut self) {
        if self.agenda.waiting() == 0 {
            return;
        }
        let Some(rule) = self.limit() else { return };
        for task in self.agenda.withdraw(|task| task.reason != FetchReason::Robots) {
            self.skip_busy(task, &rule);
        }
    }

    /// Takes a task that may be asked for, unless there is a capture of it already.
    pub(super) fn admit(&mut self, mut task: CrawlTask) -> Result<(), CrawlError> {
        if let Some(rule) = self.limit().filter(|_| task.reason != FetchReason::Robots) {
            self.skip(task, &rule);
            return Ok(());
        }
        if let Some(until) = self.resting.until(&task.host) {
            self.leave(task, until);
            return Ok(());
        }
        if self.given_up.has(&task.host) && task.no.is_some() {
            self.leave_in_frontier(task);
            return Ok(());
        }
        if self.is_in_hand(&task.url) {
            self.deferred.push(task);
            return Ok(());
        }
        let by = if self.is_told_how(&task) { SpellingMatch::Exact } else { SpellingMatch::Any };
        match self.context.destination.past(self.context.run, &task.url, by)? {
            PastLookup::ThisRun(stored) => {
                self.busy.insert(task.url.clone());
                self.give(task, JobInput::Stored(stored));
                return Ok(());
            }
            PastLookup::Earlier(mut earlier) => {
                if self.context.plan.settings.no_conditional {
                    earlier.condition = None;
                }
                if earlier.newest.url != task.url && !self.respell(&mut task, &earlier.newest.url) {
                    // Of another text a server cannot say that nothing changed.
                    earlier.condition = None;
                }
                task.earlier = Some(earlier);
                if task.met.is_some() && self.is_in_hand(&task.url) {
                    self.deferred.push(CrawlTask {
                        url: task.met.take().unwrap_or_default(),
                        earlier: None,
                        ..task
                    });
                    return Ok(());
                }
            }
            PastLookup::Nothing => {}
        }
        if task.reason.is_page() && !self.has_room_for_a_page() {
            return self.hold_page(task);
        }
        if !task.reason.is_page()
            && let CachedResponse::Held(exchange) = self.context.fetching.answered_to_pages(&task.url)
        {
            // A page that is still under way has it.
            self.busy.insert(task.url.clone());
            self.give(task, JobInput::Response(exchange, Vec::new()));
            return Ok(());
        }
        self.busy.insert(task.url.clone());
        task.counts = task.reason.is_page();
        self.pages_out += u64::from(task.counts);
        if self.context.plan.settings.obey_robots && task.reason != FetchReason::Robots {
            return self.ask_robots(task);
        }
        self.enqueue(task);
        Ok(())
    }

    /// Whether a URL is being asked for, or was since the last checkpoint.
    fn is_in_hand(&self, url: &str) -> bool {
        let is_with_page = || matches!(self.context.fetching.answered_to_pages(url), CachedResponse::Asking);
        self.busy.contains(url) || self.fresh.contains(url) || is_with_page()
    }

    /// Whether it matters by which spelling something is asked for: people typed it, or a server sent its reader there.
    fn is_told_how(&self, task: &CrawlTask) -> bool {
        task.redirects > 0 || matches!(task.reason, FetchReason::Page { depth: 0 } | FetchReason::Robots)
    }

    /// Asks by the spelling by which a page is here, so that its history stays in one line; not where the rules of this run are
    /// against it.
    fn respell(&self, task: &mut CrawlTask, kept: &str) -> bool {
        let plan = self.context.plan;
        let address = plan.address(kept);
        // What was not captured by a crawl may be spelled as nobody asks.
        let is_askable = plan.asked(kept).as_deref() == Some(kept) && host_of(kept) == task.host;
        let against = match task.reason {
            FetchReason::Page { .. } => plan.scope.page_rule(kept, &address),
            _ => plan.scope.exclude_rule(kept, &address),
        };
        if !is_askable
            || self.is_told_how(task)
            || against.or_else(|| plan.plan_rule(task.reason, kept)).is_some()
        {
            return false;
        }
        task.met = Some(std::mem::replace(&mut task.url, kept.to_owned()));
        true
    }

    fn has_room_for_a_page(&self) -> bool {
        let most = self.context.plan.settings.max_pages;
        most.is_none_or(|most| self.tally.pages + self.pages_out < most)
    }

    /// A page beyond the limit is skipped, once it is certain that those before it came.
    fn hold_page(&mut self, task: CrawlTask) -> Result<(), CrawlError> {
        let most = self.context.plan.settings.max_pages;
        if most.is_some_and(|most| self.tally.pages >= most) {
            self.skip(task, &SkipRule::Limit("pages"));
        } else {
            self.deferred.push(task);
        }
        Ok(())
    }

    /// Asks what the host wants of robots, first.
    pub(super) fn ask_robots(&mut self, task: CrawlTask) -> Result<(), CrawlError> {
        let origin: Box<str> = super::address::origin_of(&task.url).into();
        let urgent = task.reply.is_some();
        match self.robots.judge(task) {
            RobotsDecision::Go(CrawlTask { reply: Some(reply), .. }) => drop(reply.send(None)),
            RobotsDecision::Go(task) => self.enqueue(task),
            RobotsDecision::No(CrawlTask { reply: Some(reply), url, .. }, rule) => {
                self.turn_away(&url, rule, reply)
            }
            RobotsDecision::No(task, rule) => self.skip_busy(task, &rule),
            RobotsDecision::Lost(task, lost) if lost.waits => self.leave_in_frontier(task),
            RobotsDecision::Lost(task, lost) => self.fail(task, &lost.kind, &lost.why)?,
            RobotsDecision::Wait(None) if urgent => self.hasten_robots(&origin),
            RobotsDecision::Wait(None) => {}
            RobotsDecision::Wait(Some(file)) => {
                let task = CrawlTask { urgent, ..CrawlTask::robots(&origin, file, 0) };
                self.went_out(&task);
                return self.admit(task);
            }
        }
        Ok(())
    }

    /// Asks at once for a file for robots that waits for its host. The host may be busy with the very page that now waits
    /// for the file: the one under `https` is that of another origin, and of the same host.
    fn hasten_robots(&mut self, origin: &str) {
        let is_file =
            |task: &CrawlTask| task.reason == FetchReason::Robots && task.origin.as_deref() == Some(origin);
        for task in self.agenda.withdraw(is_file) {
            self.enqueue(CrawlTask { urgent: true, ..task });
        }
    }

    fn enqueue(&mut self, task: CrawlTask) {
        if task.urgent {
            self.fetching_now += 1;
            let until = self.until();
            self.context.fetching.ask(task, 0, until);
            return;
        }
        let host = task.host.clone();
        self.agenda.push(&host, task, Instant::now());
    }

    /// Counts a task that is out of the frontier.
    pub(super) fn went_out(&mut self, task: &CrawlTask) {
        *self.out.entry(task.host.clone()).or_default() += 1;
        self.out_in_all += 1;
    }

    /// Counts a task that is done with.
    pub(super) fn came_back(&mut self, task: &CrawlTask) {
        self.out_in_all -= 1;
        if let Some(out) = self.out.get_mut(&task.host) {
            *out -= 1;
            if *out == 0 {
                self.out.remove(&task.host);
            }
        }
    }

    /// Leaves out what was about to be asked for.
    pub(super) fn skip_busy(&mut self, task: CrawlTask, rule: &SkipRule) {
        self.no_longer_busy(&task);
        self.skip(task, rule);
    }

    /// Whatever was asked for is no longer.
    pub(super) fn no_longer_busy(&mut self, task: &CrawlTask) {
        if !task.non_capture {
            self.busy.remove(&task.url);
        }
        self.pages_out -= u64::from(task.counts);
    }

    /// Leaves a URL out, and says by which rule.
    fn skip(&mut self, task: CrawlTask, rule: &SkipRule) {
        self.came_back(&task);
        self.settled.extend(task.no.map(|no| (no, FrontierUpdate::Skipped(rule.to_string()))));
        if task.reason.is_page_part() && self.denied.has(&task.url) {
            return;
        }
        self.tally.skipped += 1;
        let is_seed = task.reason == FetchReason::Page { depth: 0 };
        if let SkipRule::Limit(which) = rule {
            self.tally.limit_reached = Some(which);
        }
        self.tally.seeds_refused += u64::from(is_seed && matches!(rule, SkipRule::Robots(_)));
        (self.context.report)(CrawlEvent::Skipped { url: &task.url, rule, is_seed });
    }
}
