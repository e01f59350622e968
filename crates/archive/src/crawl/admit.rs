//! Whether a URL that came out of the frontier is asked for, and when.
//!
//! The rules are asked in the order of their cost: limits, scope, traps, what this run has captured already, what the
//! host asks of robots. Each URL of the frontier comes through here once, and leaves as a request, as a job for a
//! keeper, or as skipped by a named rule.

use std::time::{Duration, Instant};

use varve_core::trap::{Limits as TrapLimits, Watch, suspect};

use super::address::host_of;
use super::errand::Errand;
use super::event::Event;
use super::keeper::Material;
use super::memory::Look;
use super::past::{LookUp, Past};
use super::robots::Word;
use super::run::{Crawl, Settled};
use super::scope::Rule;
use super::task::Task;
use crate::error::ArchiveError;

/// So many sitemaps are read in a run.
const MOST_SITEMAPS: u32 = 5_000;

impl Crawl<'_> {
    /// Takes a task that just came out of the frontier.
    pub(super) fn consider(&mut self, task: Task) -> Result<(), ArchiveError> {
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
    fn refusal(&mut self, task: &Task) -> Option<Rule> {
        if let Some(rule) = self.around.plan.unplanned(task.errand, &task.url) {
            return Some(rule);
        }
        let (scope, url) = (&self.around.plan.scope, task.url.as_str());
        let address = self.around.plan.address(url);
        let traps = self.around.plan.settings.traps;
        match task.errand {
            // What people name themselves is asked for, wherever it leads.
            Errand::Page { depth: 0 } | Errand::Robots => None,
            Errand::Page { .. } => {
                let trap = |watch: &mut Watch| watch.note(&address).filter(|_| traps).map(Rule::Trap);
                scope.refuses_page(url, &address).or_else(|| trap(&mut self.watch))
            }
            Errand::Embed { .. } | Errand::Frame { .. } => scope
                .excludes(url, &address)
                .or_else(|| suspect(&address, &TrapLimits::default()).filter(|_| traps).map(Rule::Trap)),
            Errand::Listing { .. } => {
                self.sitemaps += 1;
                let too_many = (self.sitemaps > MOST_SITEMAPS).then_some(Rule::Sitemaps);
                scope.excludes(url, &address).or(too_many)
            }
        }
    }

    /// The limit that was reached, if one was.
    pub(super) fn limit(&self) -> Option<Rule> {
        let settings = &self.around.plan.settings;
        if self.around.fetching.has_received_enough() {
            return Some(Rule::Limit("bytes"));
        }
        let is_late = |most: u64| self.began.elapsed() >= Duration::from_millis(most);
        settings.limit_time.is_some_and(is_late).then_some(Rule::Limit("time"))
    }

    /// Until when a request may take, if the time of the run is limited.
    pub(super) fn until(&self) -> Option<Instant> {
        self.began.checked_add(Duration::from_millis(self.around.plan.settings.limit_time?))
    }

    /// Leaves out what waits for its host when a limit is reached: at the pace of a host that could take hours.
    pub(super) fn keep_to_limits(&mut self) {
        if self.agenda.waiting() == 0 {
            return;
        }
        let Some(rule) = self.limit() else { return };
        for task in self.agenda.withdraw(|task| task.errand != Errand::Robots) {
            self.skip_busy(task, &rule);
        }
    }

    /// Takes a task that may be asked for, unless there is a capture of it already.
    pub(super) fn admit(&mut self, mut task: Task) -> Result<(), ArchiveError> {
        if let Some(rule) = self.limit().filter(|_| task.errand != Errand::Robots) {
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
        let by = if self.is_told_how(&task) { LookUp::Exact } else { LookUp::Any };
        match self.around.destination.past(self.around.run, &task.url, by)? {
            Past::ThisRun(stored) => {
                self.busy.insert(task.url.clone());
                self.give(task, Material::Stored(stored));
                return Ok(());
            }
            Past::Earlier(mut earlier) => {
                if self.around.plan.settings.whole {
                    earlier.condition = None;
                }
                if earlier.newest.url != task.url && !self.respell(&mut task, &earlier.newest.url) {
                    // Of another text a server cannot say that nothing changed.
                    earlier.condition = None;
                }
                task.earlier = Some(earlier);
                if task.met.is_some() && self.is_in_hand(&task.url) {
                    self.deferred.push(Task {
                        url: task.met.take().unwrap_or_default(),
                        earlier: None,
                        ..task
                    });
                    return Ok(());
                }
            }
            Past::Nothing => {}
        }
        if task.errand.is_page() && !self.has_room_for_a_page() {
            return self.hold_page(task);
        }
        if !task.errand.is_page()
            && let Look::Held(exchange) = self.around.fetching.answered_to_pages(&task.url)
        {
            // A page that is still under way has it.
            self.busy.insert(task.url.clone());
            self.give(task, Material::Fresh(exchange, Vec::new()));
            return Ok(());
        }
        self.busy.insert(task.url.clone());
        task.counts = task.errand.is_page();
        self.pages_out += u64::from(task.counts);
        if self.around.plan.settings.robots && task.errand != Errand::Robots {
            return self.ask_robots(task);
        }
        self.enqueue(task);
        Ok(())
    }

    /// Whether a URL is being asked for, or was since the last checkpoint.
    fn is_in_hand(&self, url: &str) -> bool {
        let is_with_page = || matches!(self.around.fetching.answered_to_pages(url), Look::Asking);
        self.busy.contains(url) || self.fresh.contains(url) || is_with_page()
    }

    /// Whether it matters by which spelling something is asked for: people typed it, or a server sent its reader there.
    fn is_told_how(&self, task: &Task) -> bool {
        task.redirects > 0 || matches!(task.errand, Errand::Page { depth: 0 } | Errand::Robots)
    }

    /// Asks by the spelling by which a page is here, so that its history stays in one line; not where the rules of this run are
    /// against it.
    fn respell(&self, task: &mut Task, kept: &str) -> bool {
        let plan = self.around.plan;
        let address = plan.address(kept);
        // What was not captured by a crawl may be spelled as nobody asks.
        let is_askable = plan.asked(kept).as_deref() == Some(kept) && host_of(kept) == task.host;
        let against = match task.errand {
            Errand::Page { .. } => plan.scope.refuses_page(kept, &address),
            _ => plan.scope.excludes(kept, &address),
        };
        if !is_askable
            || self.is_told_how(task)
            || against.or_else(|| plan.unplanned(task.errand, kept)).is_some()
        {
            return false;
        }
        task.met = Some(std::mem::replace(&mut task.url, kept.to_owned()));
        true
    }

    fn has_room_for_a_page(&self) -> bool {
        let most = self.around.plan.settings.limit_pages;
        most.is_none_or(|most| self.tally.pages + self.pages_out < most)
    }

    /// A page beyond the limit is skipped, once it is certain that those before it came.
    fn hold_page(&mut self, task: Task) -> Result<(), ArchiveError> {
        let most = self.around.plan.settings.limit_pages;
        if most.is_some_and(|most| self.tally.pages >= most) {
            self.skip(task, &Rule::Limit("pages"));
        } else {
            self.deferred.push(task);
        }
        Ok(())
    }

    /// Asks what the host wants of robots, first.
    pub(super) fn ask_robots(&mut self, task: Task) -> Result<(), ArchiveError> {
        let origin: Box<str> = super::address::origin_of(&task.url).into();
        let urgent = task.reply.is_some();
        match self.robots.judge(task) {
            Word::Go(Task { reply: Some(reply), .. }) => drop(reply.send(None)),
            Word::Go(task) => self.enqueue(task),
            Word::No(Task { reply: Some(reply), url, .. }, rule) => self.turn_away(&url, rule, reply),
            Word::No(task, rule) => self.skip_busy(task, &rule),
            Word::Lost(task, lost) if lost.waits => self.leave_in_frontier(task),
            Word::Lost(task, lost) => self.fail(task, &lost.kind, &lost.why)?,
            Word::Wait(None) if urgent => self.hasten_robots(&origin),
            Word::Wait(None) => {}
            Word::Wait(Some(file)) => {
                let task = Task { urgent, ..Task::robots(&origin, file, 0) };
                self.went_out(&task);
                return self.admit(task);
            }
        }
        Ok(())
    }

    /// Asks at once for a file for robots that waits for its host. The host may be busy with the very page that now waits
    /// for the file: the one under `https` is that of another origin, and of the same host.
    fn hasten_robots(&mut self, origin: &str) {
        let is_file = |task: &Task| task.errand == Errand::Robots && task.origin.as_deref() == Some(origin);
        for task in self.agenda.withdraw(is_file) {
            self.enqueue(Task { urgent: true, ..task });
        }
    }

    fn enqueue(&mut self, task: Task) {
        if task.urgent {
            self.fetching_now += 1;
            let until = self.until();
            self.around.fetching.ask(task, 0, until);
            return;
        }
        let host = task.host.clone();
        self.agenda.push(&host, task, Instant::now());
    }

    /// Counts a task that is out of the frontier.
    pub(super) fn went_out(&mut self, task: &Task) {
        *self.out.entry(task.host.clone()).or_default() += 1;
        self.out_in_all += 1;
    }

    /// Counts a task that is done with.
    pub(super) fn came_back(&mut self, task: &Task) {
        self.out_in_all -= 1;
        if let Some(out) = self.out.get_mut(&task.host) {
            *out -= 1;
            if *out == 0 {
                self.out.remove(&task.host);
            }
        }
    }

    /// Leaves out what was about to be asked for.
    pub(super) fn skip_busy(&mut self, task: Task, rule: &Rule) {
        self.no_longer_busy(&task);
        self.skip(task, rule);
    }

    /// Whatever was asked for is no longer.
    pub(super) fn no_longer_busy(&mut self, task: &Task) {
        if !task.aside {
            self.busy.remove(&task.url);
        }
        self.pages_out -= u64::from(task.counts);
    }

    /// Leaves a URL out, and says by which rule.
    fn skip(&mut self, task: Task, rule: &Rule) {
        self.came_back(&task);
        self.settled.extend(task.no.map(|no| (no, Settled::Skipped(rule.to_string()))));
        if task.errand.is_part() && self.denied.has(&task.url) {
            return;
        }
        self.tally.skipped += 1;
        let is_seed = task.errand == Errand::Page { depth: 0 };
        if let Rule::Limit(which) = rule {
            self.tally.limited = Some(which);
        }
        self.tally.seeds_refused += u64::from(is_seed && matches!(rule, Rule::Robots(_)));
        (self.around.report)(Event::Skipped { url: &task.url, rule, is_seed });
    }
}
