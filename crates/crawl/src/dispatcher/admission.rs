//! Whether a URL of the frontier is requested.
//!
//! The rules are checked in the order of their cost: limits, scope, traps, captures of this run,
//! `robots.txt`. Each URL of the frontier comes through here once and leaves as a request, as a job
//! for a writer, or as skipped by a named rule.

use std::time::{Duration, Instant};

use varve_core::Moment;
use varve_core::trap::{TrapLimits, detect_in_url};
use varve_core::url::RequestUrl;
use varve_fetch::FetchErrorKind;

use super::CrawlDispatcher;
use crate::checkpoint::FrontierUpdate;
use crate::error::CrawlError;
use crate::fetch_reason::FetchReason;
use crate::past_captures::{EarlierCapture, PastLookup, PastQuery, SpellingMatch};
use crate::response_cache::CacheSlot;
use crate::robots::{RobotsDecision, RobotsFailure};
use crate::skip_rule::SkipRule;
use crate::task::{CrawlTask, TaskMode};
use crate::write_job::{JobInput, WriteJob};

/// Sitemaps that are read in a run.
const MAX_SITEMAPS: u32 = 5_000;

impl CrawlDispatcher<'_> {
    /// Takes tasks that were just claimed.
    pub(super) fn consider(&mut self, tasks: Vec<CrawlTask>) -> Result<(), CrawlError> {
        let mut wanted = Vec::with_capacity(tasks.len());
        for task in tasks {
            self.hosts.task_out(task.host());
            match self.skip_rule(&task) {
                Some(rule) => self.skip(task, &rule),
                None => wanted.push(task),
            }
        }
        self.admit(wanted)
    }

    /// The rule by which a task is not wanted, if there is one.
    fn skip_rule(&mut self, task: &CrawlTask) -> Option<SkipRule> {
        let (policy, url, page) = (self.context.policy, &task.url, task.url.page().as_str());
        if let Some(rule) = policy.plan_rule(task.reason, url) {
            return Some(rule);
        }
        let avoid_traps = policy.settings.scope.avoid_traps;
        match task.reason {
            // A URL that the user names is requested wherever it lies.
            FetchReason::Page { depth: 0 } | FetchReason::Robots => None,
            FetchReason::Page { .. } => policy
                .scope
                .page_rule(url)
                .or_else(|| self.traps.note(page).filter(|_| avoid_traps).map(SkipRule::Trap)),
            FetchReason::Embed { .. } | FetchReason::Frame { .. } => {
                let trap = || detect_in_url(page, &TrapLimits::default()).filter(|_| avoid_traps);
                policy.scope.exclude_rule(url).or_else(|| trap().map(SkipRule::Trap))
            }
            FetchReason::Sitemap { .. } => {
                self.sitemaps += 1;
                let too_many = (self.sitemaps > MAX_SITEMAPS).then_some(SkipRule::Sitemaps);
                policy.scope.exclude_rule(url).or(too_many)
            }
        }
    }

    /// The limit that was reached, if one was.
    pub(super) fn reached_limit(&self) -> Option<SkipRule> {
        if self.threads.fetchers.is_budget_spent() {
            return Some(SkipRule::Limit("bytes"));
        }
        let elapsed = self.context.clock.elapsed(self.times.began);
        let is_over = |most: u64| elapsed >= Duration::from_millis(most);
        self.context.policy.settings.limits.max_time.is_some_and(is_over).then_some(SkipRule::Limit("time"))
    }

    /// The end of the run, if its time is limited.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.times.began.checked_add(Duration::from_millis(self.context.policy.settings.limits.max_time?))
    }

    /// Skips queued tasks when a limit is reached: at the pace of a host they could take hours.
    pub(super) fn skip_queued_at_limit(&mut self) -> Result<(), CrawlError> {
        if self.hosts.table.waiting() == 0 {
            return Ok(());
        }
        let Some(rule) = self.reached_limit() else { return Ok(()) };
        // A `robots.txt` may wait for a retry, and the pages behind it wait for the file.
        let is_over = rule == SkipRule::Limit("time");
        let withdrawn = self.hosts.table.withdraw(|task| is_over || task.reason != FetchReason::Robots);
        for task in withdrawn {
            match task.reason {
                FetchReason::Robots => {
                    self.fail(task, FetchErrorKind::Timeout.word(), "the time of the run was over")?;
                }
                _ => self.skip_in_progress(task, &rule),
            }
        }
        Ok(())
    }

    /// Requests tasks that are wanted, unless there is a capture of them. All are looked up at
    /// once.
    pub(super) fn admit(&mut self, tasks: Vec<CrawlTask>) -> Result<(), CrawlError> {
        let tasks: Vec<CrawlTask> = tasks.into_iter().filter_map(|task| self.without_waiting(task)).collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let queries: Vec<PastQuery<'_>> =
            tasks.iter().map(|task| PastQuery { url: &task.url, spelling: spelling_match(task) }).collect();
        let found = self.context.destination.past(self.context.run, &queries)?;
        for (task, mut past) in tasks.into_iter().zip(found) {
            if matches!(past, PastLookup::ThisRun(_) | PastLookup::Fresh(_)) && self.is_return(&task)? {
                past = PastLookup::Nothing;
            }
            if self.is_in_progress(&task.url) {
                // Another task of the same batch has it.
                self.awaiting.tasks.push(task);
            } else {
                self.admit_known(task, past)?;
            }
        }
        Ok(())
    }

    /// Whether redirects lead back to the URL of a task: its capture is the one that led away.
    fn is_return(&self, task: &CrawlTask) -> Result<bool, CrawlError> {
        Ok(task.redirects > 0 && self.redirects_to(task)?[1..].iter().any(|url| url == task.url.as_str()))
    }

    /// A task, unless it is skipped, left for a later run, or waits for a checkpoint.
    fn without_waiting(&mut self, task: CrawlTask) -> Option<CrawlTask> {
        if let Some(rule) = self.reached_limit().filter(|_| task.reason != FetchReason::Robots) {
            self.skip(task, &rule);
            return None;
        }
        if let Some(until) = self.hosts.postponed_until(task.host()) {
            self.postpone(task, until);
            return None;
        }
        if self.hosts.is_given_up(task.host()) && task.no.is_some() {
            self.leave_in_frontier(task);
            return None;
        }
        if self.is_in_progress(&task.url) {
            self.awaiting.tasks.push(task);
            return None;
        }
        Some(task)
    }

    /// Requests a task, given the past captures of its URL.
    fn admit_known(&mut self, mut task: CrawlTask, past: PastLookup) -> Result<(), CrawlError> {
        match past {
            PastLookup::ThisRun(stored) => {
                self.in_progress.begin(&mut task, false);
                self.threads.writers.push(WriteJob { task, input: JobInput::Stored(stored) });
                return Ok(());
            }
            PastLookup::Earlier(earlier) => {
                self.use_earlier(&mut task, earlier);
                if task.found_as.is_some() && self.is_in_progress(&task.url) {
                    let url = task.found_as.take().unwrap_or_else(|| task.url.clone());
                    self.awaiting.tasks.push(CrawlTask { url, earlier: None, ..task });
                    return Ok(());
                }
            }
            PastLookup::Fresh(stored) if task.reason != FetchReason::Robots => {
                self.reporter.tally.present += 1;
                self.in_progress.begin(&mut task, false);
                self.threads.writers.push(WriteJob { task, input: JobInput::Stored(stored) });
                return Ok(());
            }
            PastLookup::Fresh(_) | PastLookup::Nothing => {}
        }
        if task.reason.is_page() && !self.has_room_for_page() {
            self.hold_page(task);
            return Ok(());
        }
        if !task.reason.is_page()
            && let Some(CacheSlot::Held(exchange)) = self.threads.fetchers.cached(task.url.as_str())
        {
            // A page in flight has it.
            self.in_progress.begin(&mut task, false);
            let input = JobInput::Response(exchange, Vec::new());
            self.threads.writers.push(WriteJob { task, input });
            return Ok(());
        }
        let is_page = task.reason.is_page();
        self.in_progress.begin(&mut task, is_page);
        if self.context.policy.settings.politeness.obey_robots && task.reason != FetchReason::Robots {
            return self.admit_by_robots(task);
        }
        self.enqueue(task);
        Ok(())
    }

    /// Uses an earlier capture: its spelling, and its validators.
    fn use_earlier(&self, task: &mut CrawlTask, mut earlier: Box<EarlierCapture>) {
        let is_other = earlier.newest.url != task.url.as_str();
        // A server cannot say that another text has not changed.
        if self.context.policy.settings.requests.no_conditional
            || (is_other && !self.respell(task, &earlier.newest.url))
        {
            earlier.validators = None;
        }
        task.earlier = Some(earlier);
    }

    /// Whether a URL is in flight, or was captured since the last checkpoint.
    fn is_in_progress(&self, url: &RequestUrl) -> bool {
        let is_with_page = || matches!(self.threads.fetchers.cached(url.as_str()), Some(CacheSlot::Asking));
        self.in_progress.contains(url.as_str()) || is_with_page()
    }

    /// Requests the spelling by which a page is stored, so that its history stays in one line; not
    /// where the rules of the run exclude that spelling. Whether it does.
    fn respell(&self, task: &mut CrawlTask, stored: &str) -> bool {
        let policy = self.context.policy;
        // A capture that no crawl made may be spelled as no crawl requests it.
        let Some(url) = policy.request_url(stored).filter(|url| url.as_str() == stored) else {
            return false;
        };
        let rule = match task.reason {
            FetchReason::Page { .. } => policy.page_rule(task.reason, &url),
            _ => policy.embed_rule(task.reason, &url),
        };
        let is_usable =
            url.authority() == task.host() && spelling_match(task) == SpellingMatch::Any && rule.is_none();
        if is_usable {
            task.found_as = Some(std::mem::replace(&mut task.url, url));
        }
        is_usable
    }

    fn has_room_for_page(&self) -> bool {
        let most = self.context.policy.settings.limits.max_pages;
        most.is_none_or(|most| self.reporter.tally.pages + self.in_progress.pages() < most)
    }

    /// Skips a page beyond the limit, once it is certain that the pages before it were captured.
    fn hold_page(&mut self, task: CrawlTask) {
        let most = self.context.policy.settings.limits.max_pages;
        if most.is_some_and(|most| self.reporter.tally.pages >= most) {
            self.skip(task, &SkipRule::Limit("pages"));
        } else {
            self.awaiting.tasks.push(task);
        }
    }

    /// Obeys the `robots.txt` of the task's origin, which is fetched first.
    pub(super) fn admit_by_robots(&mut self, task: CrawlTask) -> Result<(), CrawlError> {
        let (url, is_urgent) = (task.url.clone(), task.is_admission());
        match self.hosts.decide_by_robots(task) {
            RobotsDecision::Allowed(task) => self.enqueue(task),
            RobotsDecision::Denied(task, rule) => match task.mode {
                TaskMode::Admission(reply) => {
                    self.reporter.denied(task.url.as_str(), &rule);
                    reply.deny(rule);
                }
                mode => self.skip_in_progress(CrawlTask { mode, ..task }, &rule),
            },
            RobotsDecision::Unavailable(task, failure) if failure.is_postponed => {
                self.leave_in_frontier(task);
            }
            RobotsDecision::Unavailable(task, failure) => {
                self.fail(task, &failure.kind, &failure.message)?;
            }
            RobotsDecision::Held if is_urgent => self.hasten_robots(&url),
            RobotsDecision::Held => {}
            RobotsDecision::Request => return self.request_robots(&url, is_urgent),
        }
        Ok(())
    }

    /// Requests the `robots.txt` of the origin of a URL.
    fn request_robots(&mut self, url: &RequestUrl, is_urgent: bool) -> Result<(), CrawlError> {
        let file = RequestUrl::parse(&format!("{}/robots.txt", url.origin()));
        let Some(file) = file else {
            let failure = RobotsFailure {
                kind: "url".into(),
                message: "the origin is not valid".into(),
                is_postponed: false,
            };
            for task in self.hosts.robots_failed(url.authority(), url.origin(), failure) {
                self.fail(task, "url", "the origin is not valid")?;
            }
            return Ok(());
        };
        let mut task = CrawlTask::robots(file, url.clone(), 0);
        if is_urgent {
            task.mode = TaskMode::UrgentRobots;
        }
        self.hosts.task_out(task.host());
        self.admit(vec![task])
    }

    /// Lets a queued `robots.txt` take a turn: its host may be busy with the page that waits for
    /// the file.
    fn hasten_robots(&mut self, url: &RequestUrl) {
        let is_file = |task: &CrawlTask| {
            task.reason == FetchReason::Robots
                && task.robots_for.as_ref().is_some_and(|owner| owner.origin() == url.origin())
        };
        for task in self.hosts.table.withdraw(is_file) {
            self.enqueue(CrawlTask { mode: TaskMode::UrgentRobots, ..task });
        }
    }

    pub(super) fn enqueue(&mut self, mut task: CrawlTask) {
        if let TaskMode::Admission(reply) = &mut task.mode {
            reply.allow();
        }
        if task.is_admission() || task.is_urgent() {
            self.hosts.push_turn(task);
            return;
        }
        if task.reason.is_page() && self.threads.fetchers.has_browser() {
            task.mode = TaskMode::BrowserPage;
        }
        self.hosts.push(task, self.now());
    }

    /// Skips a task that was about to be requested.
    pub(super) fn skip_in_progress(&mut self, task: CrawlTask, rule: &SkipRule) {
        self.in_progress.end(&task);
        self.skip(task, rule);
    }

    /// Skips a task, and reports the rule.
    fn skip(&mut self, task: CrawlTask, rule: &SkipRule) {
        self.hosts.task_back(task.host());
        self.threads.checkpoints.update(task.no, FrontierUpdate::Skipped(rule.to_string()));
        if task.reason.is_page_part() && self.reporter.was_denied(task.url.as_str()) {
            return;
        }
        let is_seed = task.reason == FetchReason::Page { depth: 0 };
        self.reporter.skipped(task.url.as_str(), rule, is_seed);
    }

    /// Leaves a task claimed in the frontier, for a resumed run.
    pub(super) fn leave_in_frontier(&mut self, task: CrawlTask) {
        match task.mode {
            TaskMode::Admission(reply) => {
                self.reporter.denied(task.url.as_str(), &SkipRule::RetryAfter);
                reply.deny(SkipRule::RetryAfter);
            }
            _ => {
                self.in_progress.end(&task);
                self.hosts.task_back(task.host());
            }
        }
    }

    /// Leaves a task for a later run. Tasks that wait for a `robots.txt` wait with it.
    pub(super) fn postpone(&mut self, task: CrawlTask, until: Moment) {
        if let TaskMode::Admission(reply) = task.mode {
            self.reporter.denied(task.url.as_str(), &SkipRule::RetryAfter);
            return reply.deny(SkipRule::RetryAfter);
        }
        self.hosts.task_back(task.host());
        if let Some(owner) = &task.robots_for {
            let message = format!("`{}` asks to be left alone until {until}", task.host());
            let failure =
                RobotsFailure { kind: "robots".into(), message: message.into(), is_postponed: false };
            for waiting in self.hosts.robots_failed(owner.authority(), owner.origin(), failure) {
                if !waiting.is_admission() {
                    self.in_progress.end(&waiting);
                }
                self.postpone(waiting, until);
            }
        }
        self.threads.checkpoints.update(task.no, FrontierUpdate::Again(until));
    }
}

/// Which captures of a URL count. Only the text itself counts where the user typed it, or a server
/// redirected to it.
fn spelling_match(task: &CrawlTask) -> SpellingMatch {
    let is_exact =
        task.redirects > 0 || matches!(task.reason, FetchReason::Page { depth: 0 } | FetchReason::Robots);
    if is_exact { SpellingMatch::Exact } else { SpellingMatch::Any }
}
