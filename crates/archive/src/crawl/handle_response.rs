//! What follows from an answer, and from there being none.

use std::error::Error;
use std::time::Instant;

use varve_core::receipt::Receipt;
use varve_core::robots::Robots;
use varve_fetch::politeness::{RequestOutcome as Ended, RequestVerdict};
use varve_fetch::{FetchErrorKind, wants_tls};

use super::address::{asked, origin_of};
use super::crawl_policy::{DiscoveredLink, UnfollowedReason};
use super::dispatcher::{Crawl, FrontierUpdate};
use super::event::{CapturedPage, CrawlEvent};
use super::fetch_reason::FetchReason;
use super::rendering::{RedirectCounts, share_out};
use super::request_pool::FinishedRequest;
use super::robots::MAX_ROBOTS_REDIRECTS as MOST_ROBOTS_REDIRECTS;
use super::scope::SkipRule;
use super::seen_urls::Novelty;
use super::task::{CrawlTask, FrontierEntry};
use super::writer_pool::{JobInput, StoreResult, StoredResponse, StoredRevision};
use crate::crawl::error::CrawlError;
use varve_repository::rows::row_of_receipt;

/// The first status of an answer that is not what was asked for.
const REFUSED: u16 = 400;
/// So many known members go into the frontier at once.
const SOWN_AT_ONCE: usize = 2048;

impl Crawl<'_> {
    /// A request ended. What will be tried again is not kept: the last answer counts.
    pub(super) fn fetched(&mut self, fetched: FinishedRequest) -> Result<(), CrawlError> {
        self.fetching_now -= 1;
        let FinishedRequest { task, tries, outcome, result, renderings, refused, notes, unfinished, .. } =
            fetched;
        // What was recalled is in the silo by now, or came to a page that is not done.
        let asked_for = fetched.others.len();
        let mut others = fetched.others;
        others.extend(fetched.recalled);
        let host = task.host.clone();
        let wait = Self::asked_to_wait(outcome).filter(|_| !task.urgent);
        let too_long = wait.filter(|wait| self.is_too_long(*wait));
        let is_left = self.given_up.has(&host);
        let is_last = too_long.is_some() || (outcome.may_pass() && (is_left || self.limit().is_some()));
        if result.is_ok() {
            self.given_up.hear(&host);
            self.host_is_there(&host);
        }
        let verdict = match task.urgent {
            // The agenda never heard of it.
            true => RequestVerdict::Done(task),
            // What is left for another day is not tried again today, and nothing is when a limit is reached.
            false if is_last => self.agenda.done(&host, task, u32::MAX, Ended::Hopeless, Instant::now()),
            false => self.agenda.done(&host, task, tries, outcome, Instant::now()),
        };
        let is_host = matches!(verdict, RequestVerdict::HostGivenUp(_)) || is_left;
        let mut tasks = match verdict {
            RequestVerdict::Done(task) | RequestVerdict::GivenUp(task) if too_long.is_some() => {
                self.leave_host(&host, task, too_long.unwrap_or_default());
                return Ok(());
            }
            RequestVerdict::Again => {
                self.tell_wait(&host, wait.unwrap_or_default());
                return Ok(());
            }
            RequestVerdict::Done(task) | RequestVerdict::GivenUp(task) => vec![task].into_iter(),
            RequestVerdict::HostGivenUp(tasks) => tasks.into_iter(),
        };
        let has_failed = result.is_err();
        let (kind, message) = match &result {
            Ok(_) => ("host", format!("`{host}` was given up: it failed too often")),
            Err(error) => (error.kind.word(), error_chain(error)),
        };
        if let Ok(exchange) = result
            && let Some(task) = tasks.next()
        {
            for note in &notes {
                (self.context.report)(CrawlEvent::Noted { url: &task.url, note });
            }
            for (url, message) in &refused {
                let url = asked(url).unwrap_or_else(|| url.clone());
                self.tell_failure(&url, SkipRule::GUARD, message);
            }
            if unfinished {
                self.tally.limit_reached = Some("time");
            }
            if task.reason != FetchReason::Robots && wants_tls(&exchange) {
                (self.context.report)(CrawlEvent::TlsRequired { url: &task.url });
            }
            let (own, shown) = share_out(renderings, &exchange, &others, task.reason);
            let steps = RedirectCounts::from(&exchange, task.redirects);
            self.give(task, JobInput::Response(exchange, own));
            self.take_others((others, asked_for), shown, steps)?;
        }
        let why = (kind, message.as_str());
        if is_host {
            let to_the_end = has_failed && tries >= self.context.plan.settings.retries;
            return self.give_host_up(tasks, to_the_end, why);
        }
        for task in tasks {
            if self.may_be_away(&task, outcome, why) {
                self.leave_in_frontier(task);
            } else if let Some(task) = self.put_aside(task, outcome, why) {
                self.fail(task, kind, &message)?;
            }
        }
        Ok(())
    }

    /// Gives a URL up.
    pub(super) fn fail(&mut self, task: CrawlTask, kind: &str, message: &str) -> Result<(), CrawlError> {
        if let Some(reply) = task.reply {
            if kind == SkipRule::GUARD {
                self.tell_failure(&task.url, kind, message);
                let _ = reply.send(Some(SkipRule::Guard));
                return Ok(());
            }
            let rule = self.limit().unwrap_or(SkipRule::Robots(None));
            self.turn_away(&task.url, rule, reply);
            return Ok(());
        }
        // What has no answer because the time of the run was over would have one tomorrow.
        let is_late = kind == FetchErrorKind::Timeout.word() && task.reason != FetchReason::Robots;
        if let Some(rule) = self.limit().filter(|_| is_late) {
            self.skip_busy(task, &rule);
            return Ok(());
        }
        self.no_longer_busy(&task);
        self.came_back(&task);
        if let Some(origin) = &task.origin {
            return self.robots_lost(origin, kind, message);
        }
        self.settle_failure(&task, kind, message);
        Ok(())
    }

    /// Writes down that a URL cannot be had, and says so.
    pub(super) fn settle_failure(&mut self, task: &CrawlTask, kind: &str, message: &str) {
        self.settled.extend(task.no.map(|no| (no, FrontierUpdate::Failed(format!("{kind}: {message}")))));
        self.context.destination.given_up(&task.url, kind, message);
        self.tell_failure(&task.url, kind, message);
    }

    /// The file for robots of a host cannot be had, and without it nothing is asked of the host: what waited has the same
    /// reason to fail, or to be left.
    fn robots_lost(&mut self, origin: &str, kind: &str, message: &str) -> Result<(), CrawlError> {
        let waits = self.waits_for(origin, (kind, message));
        for waiting in self.robots.unreachable(origin, (kind, message), waits) {
            if waits && waiting.reply.is_none() {
                self.leave_in_frontier(waiting);
            } else {
                self.fail(waiting, kind, message)?;
            }
        }
        Ok(())
    }

    /// A keeper has done a job.
    pub(super) fn kept(&mut self, kept: StoreResult) -> Result<(), CrawlError> {
        self.keeping_now -= 1;
        let StoreResult { task, result } = kept;
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) if error.ends_all() => return Err(error),
            Err(error) => {
                return self.fail(task, "content", &error_chain(&error));
            }
        };
        self.context.backlog.take(outcome.links.len());
        self.no_longer_busy(&task);
        self.came_back(&task);
        if let Some(aside) = &outcome.non_capture {
            self.exchanged(&task, &outcome, aside);
            return Ok(());
        }
        if let Some(receipt) = &outcome.receipt {
            self.captured(&task, &outcome, receipt);
        }
        if let Some(revision) = &outcome.revision {
            self.revised(&task, &outcome, revision);
        }
        if task.no.is_some() {
            self.given_up.gave(&task.url);
        }
        self.settled.extend(task.no.map(|no| (no, FrontierUpdate::Done)));
        if task.reason == FetchReason::Robots {
            return self.robots_came(&task, outcome);
        }
        if let Some(met) = task.met.clone().filter(|_| outcome.status >= REFUSED) {
            // It is no longer to be had by the spelling by which it is here.
            let key = Some(by_spelling(&met));
            let lead =
                DiscoveredLink { url: met, key, reason: task.reason, redirect: false, unfollowed: None };
            self.follow(lead, &task)?;
        }
        for lead in outcome.links {
            self.follow(lead, &task)?;
            if self.has_many_entries() {
                self.push_entries()?;
            }
        }
        Ok(())
    }

    fn captured(&mut self, task: &CrawlTask, outcome: &StoredResponse, receipt: &Receipt) {
        let former = task.earlier.as_ref().map(|earlier| &earlier.newest);
        let unchanged = former.is_some_and(|former| former.body == receipt.body);
        let is_page =
            task.reason.is_page() && (!(300..400).contains(&receipt.status) || receipt.not_modified);
        self.rows.extend(row_of_receipt(receipt, self.context.destination.hiding()));
        self.fresh.insert(task.url.clone());
        self.tally.captured += 1;
        self.tally.robots += u64::from(task.reason == FetchReason::Robots);
        self.tally.pages += u64::from(is_page);
        self.tally.unchanged += u64::from(unchanged);
        self.tally.truncated += u64::from(receipt.truncated.is_some());
        if receipt.truncated.is_some()
            && let Some(SkipRule::Limit(which)) = self.limit()
        {
            self.tally.limit_reached = Some(which);
        }
        self.tally.bytes += outcome.bytes;
        (self.context.report)(CrawlEvent::Captured(CapturedPage {
            url: &receipt.url,
            time: receipt.time,
            status: receipt.status,
            length: receipt.length,
            is_page,
            unchanged,
            truncated: receipt.truncated.as_deref(),
        }));
    }

    /// What is to become a revision of a project came.
    fn revised(&mut self, task: &CrawlTask, outcome: &StoredResponse, revision: &StoredRevision) {
        let is_redirect = (300..400).contains(&outcome.status) && outcome.status != 304;
        let is_page = task.reason.is_page() && !is_redirect;
        self.fresh.insert(task.url.clone());
        self.tally.captured += 1;
        self.tally.pages += u64::from(is_page);
        self.tally.unchanged += u64::from(revision.unchanged);
        self.tally.truncated += u64::from(revision.truncated.is_some());
        self.tally.bytes += outcome.bytes;
        (self.context.report)(CrawlEvent::Captured(CapturedPage {
            url: &task.url,
            time: revision.time,
            status: outcome.status,
            length: revision.length,
            is_page,
            unchanged: revision.unchanged,
            truncated: revision.truncated,
        }));
    }

    /// Puts a lead on its way into the frontier, unless it is there.
    fn follow(&mut self, mut lead: DiscoveredLink, from: &CrawlTask) -> Result<(), CrawlError> {
        match lead.unfollowed {
            // It is known and captured, which is why it is not followed.
            Some(UnfollowedReason::Loop) => {
                self.tell_denied(&lead.url, &SkipRule::Loop);
                return Ok(());
            }
            Some(refusal) => {
                self.refused.note(lead, refusal);
                return Ok(());
            }
            None => {}
        }
        let redirects = if lead.redirect { from.redirects.saturating_add(1) } else { 0 };
        if redirects > self.context.plan.settings.max_redirects {
            self.tell_denied(&lead.url, &SkipRule::Redirects);
            return Ok(());
        }
        if lead.redirect {
            match self.turn(&lead, from)? {
                Turn::Onward => {}
                Turn::Back => lead.key = Some(by_spelling(&lead.url)),
                Turn::Loop => {
                    self.tell_denied(&lead.url, &SkipRule::Loop);
                    return Ok(());
                }
            }
        }
        if lead.redirect && lead.reason == (FetchReason::Page { depth: 0 }) {
            self.tell_if_elsewhere(&lead.url, from);
        }
        let news = self.known.note(&lead);
        if news != Novelty::Seen {
            self.entries.push(FrontierEntry::new(lead, redirects, from.no, news == Novelty::Nearer));
        }
        Ok(())
    }

    /// Says that a seed sends its reader to where links are not followed.
    fn tell_if_elsewhere(&mut self, url: &str, from: &CrawlTask) {
        let plan = self.context.plan;
        if plan.scope.follows_links() && !plan.scope.contains(&plan.address(url)) {
            let note = format!("it leads to `{url}`, outside the scope: name that URL to follow its links");
            (self.context.report)(CrawlEvent::Noted { url: &from.url, note: &note });
        }
    }

    /// Whether redirects lead back to where they came from.
    fn turn(&self, lead: &DiscoveredLink, from: &CrawlTask) -> Result<Turn, CrawlError> {
        let mut before = from.no.filter(|_| from.redirects > 0);
        let mut turn = Turn::Onward;
        for _ in 0..=from.redirects {
            let Some(no) = before else { break };
            let Some((url, found_on)) = self.context.frontier.found_on(no)? else { break };
            if url == lead.url {
                return Ok(Turn::Loop);
            }
            if self.context.plan.address(&url) == lead.key() {
                turn = Turn::Back;
            }
            before = found_on;
        }
        Ok(turn)
    }

    /// Begins with seeds.
    pub(crate) fn sow(&mut self, seeds: &[String]) -> Result<(), CrawlError> {
        for seed in seeds {
            let lead = self.context.plan.link_to(seed.clone(), FetchReason::Page { depth: 0 });
            self.known.note(&lead);
            self.entries.push(FrontierEntry::new(lead, 0, None, false));
            if !self.context.plan.settings.obey_robots {
                self.expect_sitemaps(origin_of(seed), Vec::new());
            }
        }
        self.push_entries()
    }

    /// Begins with members of groups that are known already, though not from a page of this run: each with the number of
    /// its group.
    pub(crate) fn sow_members(&mut self) -> Result<(), CrawlError> {
        let destination = self.context.destination;
        destination.members(&mut |url, group| {
            let lead = self.context.plan.link_to(url, FetchReason::Page { depth: group });
            if self.known.note(&lead) != Novelty::Seen {
                self.entries.push(FrontierEntry::new(lead, 0, None, false));
            }
            if self.entries.len() >= SOWN_AT_ONCE { self.push_entries() } else { Ok(()) }
        })?;
        self.push_entries()
    }

    /// The file for robots of a host came, or word that there is none.
    fn robots_came(&mut self, task: &CrawlTask, outcome: StoredResponse) -> Result<(), CrawlError> {
        let origin = task.origin.clone().unwrap_or_else(|| origin_of(&task.url).into());
        let onward = outcome.links.into_iter().find(|lead| lead.redirect);
        if let Some(lead) = onward.filter(|_| task.redirects < MOST_ROBOTS_REDIRECTS) {
            let next =
                CrawlTask { urgent: task.urgent, ..CrawlTask::robots(&origin, lead.url, task.redirects + 1) };
            self.went_out(&next);
            return self.admit(next);
        }
        let status = if outcome.status == 304 { 200 } else { outcome.status };
        let robots = Robots::from_answer(status, outcome.robots.as_deref().unwrap_or_default());
        let rules = robots.rules_for(self.context.plan.settings.product());
        if let Some(delay) = rules.delay() {
            self.agenda.set_crawl_delay(super::address::host_of(&origin), delay);
            self.context.fetching.slow_down(super::address::host_of(&origin), delay);
        }
        self.expect_sitemaps(&origin, robots.sitemaps(&task.url));
        for waiting in self.robots.answered(&origin, rules) {
            self.ask_robots(waiting)?;
        }
        Ok(())
    }

    /// Sitemaps that a host names, or the one that it may have.
    fn expect_sitemaps(&mut self, origin: &str, named: Vec<String>) {
        let plan = self.context.plan;
        if !plan.reaches(1) || !plan.scope.wants_sitemaps_of(origin) {
            return;
        }
        let named = if named.is_empty() { vec![format!("{origin}/sitemap.xml")] } else { named };
        for url in named.iter().filter_map(|url| plan.asked(url)) {
            let lead = plan.link_to(url, FetchReason::Sitemap { nesting: 0 });
            if self.known.note(&lead) != Novelty::Seen {
                self.entries.push(FrontierEntry::new(lead, 0, None, false));
            }
        }
    }
}

/// Where a redirect leads, seen from those before it.
enum Turn {
    /// Elsewhere.
    Onward,
    /// To another spelling of something on the way: a site may send its reader elsewhere and back with a mark.
    Back,
    /// To the very text that was asked for on the way.
    Loop,
}

/// What tells a spelling from all others of its URL, where only that one will do.
pub(super) fn by_spelling(url: &str) -> String {
    format!("={url}")
}

/// An error and its causes, as one sentence.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}
