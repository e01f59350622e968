//! Handles responses: the writers store them, and their links join the frontier.

use varve_core::exchange::Exchange;
use varve_core::receipt::Receipt;
use varve_core::robots::Robots;
use varve_core::secret::ShownUrl;
use varve_core::url::RequestUrl;
use varve_fetch::{Fetched, wants_tls};

use super::CrawlDispatcher;
use crate::checkpoint::FrontierUpdate;
use crate::discovered_link::{DiscoveredLink, ResponseLinks, UnfollowedLink};
use crate::error::CrawlError;
use crate::error_chain::error_chain;
use crate::event::{CapturedPage, CrawlEvent};
use crate::fetch_reason::FetchReason;
use crate::links_over_limit::LinksOverLimit;
use crate::robots::{MAX_ROBOTS_REDIRECTS, RobotsFailure};
use crate::seen_urls::Novelty;
use crate::skip_rule::SkipRule;
use crate::task::{CrawlTask, FrontierEntry, TaskMode};
use crate::write_job::{StoreResult, StoredAs, StoredResponse, StoredRevision};
use varve_repository::rows::row_of_receipt;

/// How often redirects may lead back to a URL that has cookies.
const MAX_COOKIE_RETURNS: u8 = 2;
/// The first status of an error response.
const FIRST_ERROR_STATUS: u16 = 400;

impl CrawlDispatcher<'_> {
    /// A response arrived: the writers store it, with the further results of a browser.
    pub(super) fn take_response(
        &mut self,
        task: CrawlTask,
        exchange: Box<Exchange>,
        browser: Fetched,
    ) -> Result<(), CrawlError> {
        for note in &browser.notes {
            self.reporter.event(CrawlEvent::Noted { url: task.url.as_str(), note });
        }
        for (url, message) in &browser.refused {
            let url = RequestUrl::parse(url).map_or_else(|| url.clone(), |url| url.to_string());
            self.reporter.failed(&url, SkipRule::GUARD, message);
        }
        if browser.unfinished {
            self.reporter.tally.limit_reached = Some("time");
        }
        if task.reason != FetchReason::Robots && wants_tls(&exchange) {
            self.reporter.event(CrawlEvent::TlsRequired { url: task.url.as_str() });
        }
        self.store_page(task, exchange, browser)
    }

    /// A writer finished a job.
    pub(super) fn handle_stored(&mut self, stored: StoreResult) -> Result<(), CrawlError> {
        self.threads.writers.finished();
        let StoreResult { task, result } = stored;
        let response = match result {
            Ok(response) => response,
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => return self.fail(task, "content", &error_chain(&error)),
        };
        self.threads.backlog.take(response.links.followed.len());
        self.in_progress.end(&task);
        self.hosts.task_back(task.host());
        match &response.stored {
            StoredAs::NonCapture(exchange) => {
                self.report_non_capture(&task, &response, exchange);
                return Ok(());
            }
            StoredAs::Capture(receipt) => self.record_capture(&task, &response, receipt),
            StoredAs::Revision(revision) => self.record_revision(&task, &response, revision),
            StoredAs::Nothing => {}
        }
        if task.no.is_some() {
            self.hosts.captured(task.host(), task.url.origin());
        }
        self.threads.checkpoints.update(task.no, FrontierUpdate::Done);
        if task.reason == FetchReason::Robots {
            return self.take_robots(&task, response);
        }
        let refused = task.found_as.clone().filter(|_| response.status >= FIRST_ERROR_STATUS);
        if let Some(found_as) = refused {
            // The spelling of the earlier capture no longer works.
            self.follow(DiscoveredLink::exact(found_as, task.reason), &task)?;
        }
        self.follow_all(response.links, &task)
    }

    fn record_capture(&mut self, task: &CrawlTask, response: &StoredResponse, receipt: &Receipt) {
        let former = task.earlier.as_ref().map(|earlier| &earlier.newest);
        let unchanged = former.is_some_and(|former| former.body == receipt.body);
        let is_page =
            task.reason.is_page() && (!(300..400).contains(&receipt.status) || receipt.not_modified);
        let row = row_of_receipt(receipt, self.context.destination.redaction());
        self.threads.checkpoints.pending.rows.extend(row);
        self.in_progress.captured(task.url.as_str());
        self.reporter.tally.robots += u64::from(task.reason == FetchReason::Robots);
        if receipt.truncated.is_some()
            && let Some(SkipRule::Limit(which)) = self.reached_limit()
        {
            self.reporter.tally.limit_reached = Some(which);
        }
        let page = CapturedPage {
            url: &receipt.url,
            time: receipt.time,
            status: receipt.status,
            length: receipt.length,
            is_page,
            unchanged,
            truncated: receipt.truncated.as_deref(),
        };
        self.reporter.captured(page, response.bytes);
    }

    /// A response became a revision of a project.
    fn record_revision(&mut self, task: &CrawlTask, response: &StoredResponse, revision: &StoredRevision) {
        let is_redirect = (300..400).contains(&response.status) && response.status != 304;
        self.in_progress.captured(task.url.as_str());
        let page = CapturedPage {
            url: task.url.as_str(),
            time: revision.time,
            status: response.status,
            length: revision.length,
            is_page: task.reason.is_page() && !is_redirect,
            unchanged: revision.unchanged,
            truncated: revision.truncated,
        };
        self.reporter.captured(page, response.bytes);
    }

    fn follow_all(&mut self, links: ResponseLinks, from: &CrawlTask) -> Result<(), CrawlError> {
        self.reporter.gaps.has_skipped_links |= self.context.policy.is_deepest(from.reason);
        self.report_over_limit(links.over_limit, from);
        if let Some(limit) = links.stopped_at {
            self.reporter.gaps.has_skipped_links = true;
            let note = format!("links after the first {limit} of it are not followed");
            self.reporter.event(CrawlEvent::Noted { url: from.url.as_str(), note: &note });
        }
        for link in links.unfollowed {
            self.leave_unfollowed(link);
        }
        for link in links.followed {
            self.follow(link, from)?;
            if self.threads.checkpoints.has_many_entries() {
                self.push_entries()?;
            }
        }
        Ok(())
    }

    /// Reports a link that is not followed when the run ends, or now if there are too many.
    fn leave_unfollowed(&mut self, link: UnfollowedLink) {
        if let Some(link) = self.unfollowed.insert(link) {
            self.reporter.denied(&link.url, &link.rule);
        }
    }

    /// Reports the links of a page beyond those that are followed, except to pages that other links
    /// led to.
    fn report_over_limit(&mut self, links: LinksOverLimit, from: &CrawlTask) {
        if links.count() == 0 {
            return;
        }
        self.reporter.skipped_links(from.url.as_str(), links.count());
        let listed = links.for_each(|url| {
            if !RequestUrl::verbatim(url).is_some_and(|url| self.seen.has_url(&url)) {
                self.reporter.skipped_link(url, &SkipRule::LinksPerPage);
            }
        });
        if let Err(error) = listed {
            let note = format!("not all of its links beyond the limit can be listed: {error}");
            self.reporter.event(CrawlEvent::Noted { url: from.url.as_str(), note: &note });
        }
    }

    /// Pushes a link of a response into the frontier, unless it was seen.
    fn follow(&mut self, mut link: DiscoveredLink, from: &CrawlTask) -> Result<(), CrawlError> {
        let redirects = if link.is_redirect { from.redirects.saturating_add(1) } else { 0 };
        if redirects > self.context.policy.settings.scope.max_redirects {
            self.reporter.denied(link.url.as_str(), &SkipRule::Redirects);
            return Ok(());
        }
        if link.is_redirect {
            match self.redirect_step(&link, from)? {
                RedirectStep::Onward => {}
                RedirectStep::Back => link.is_exact = true,
                RedirectStep::Again { visits } if self.may_return(&link.url, visits) => link.visits = visits,
                RedirectStep::Again { .. } => {
                    self.reporter.denied(link.url.as_str(), &SkipRule::Loop);
                    return Ok(());
                }
            }
            if link.reason == (FetchReason::Page { depth: 0 }) {
                self.note_if_outside(&link.url, from);
            }
        }
        let novelty = self.seen.insert(&link);
        if novelty != Novelty::Seen {
            let is_nearer = novelty == Novelty::Nearer;
            self.push_entry(FrontierEntry::new(link, redirects, from.no, is_nearer));
        }
        Ok(())
    }

    /// Notes that a seed redirects to where links are not followed.
    fn note_if_outside(&mut self, url: &RequestUrl, from: &CrawlTask) {
        let scope = &self.context.policy.scope;
        if scope.follows_links() && !scope.contains(url.page()) {
            let note = format!("it leads to `{url}`, outside the scope: name that URL to follow its links");
            self.reporter.event(CrawlEvent::Noted { url: from.url.as_str(), note: &note });
        }
    }

    /// Whether redirects lead back to where they came from.
    fn redirect_step(&self, link: &DiscoveredLink, from: &CrawlTask) -> Result<RedirectStep, CrawlError> {
        let (identity, policy) = (link.identity(), self.context.policy);
        let (mut visits, mut is_back) = (0, false);
        for url in self.redirects_to(from)? {
            visits += u8::from(url == link.url.as_str());
            is_back |= policy.stored_url(&url).is_some_and(|url| url.page().as_str() == identity);
        }
        Ok(match visits {
            0 if is_back => RedirectStep::Back,
            0 => RedirectStep::Onward,
            visits => RedirectStep::Again { visits },
        })
    }

    /// The URL of a task, and those of the redirects that led to it, the last one first.
    pub(super) fn redirects_to(&self, task: &CrawlTask) -> Result<Vec<String>, CrawlError> {
        let mut urls = vec![task.url.to_string()];
        let mut before = task.no.filter(|_| task.redirects > 0);
        for distance in 0..=task.redirects {
            let Some(no) = before else { break };
            let Some((url, found_on)) = self.context.frontier.found_on(no)? else { break };
            if distance > 0 {
                urls.push(url);
            }
            before = found_on;
        }
        Ok(urls)
    }

    /// Whether a URL may be requested again because redirects lead back to it: a site may set a cookie
    /// and then ask for the same page.
    fn may_return(&self, url: &RequestUrl, visits: u8) -> bool {
        visits <= MAX_COOKIE_RETURNS && self.threads.fetchers.cookies.has_cookies_for(url.as_str())
    }

    /// A `robots.txt` came, or does not exist.
    fn take_robots(&mut self, task: &CrawlTask, response: StoredResponse) -> Result<(), CrawlError> {
        let owner = task.robots_for.clone().unwrap_or_else(|| task.url.clone());
        let onward = response.links.followed.into_iter().find(|link| link.is_redirect);
        if let Some(link) = onward.filter(|_| task.redirects < MAX_ROBOTS_REDIRECTS) {
            let mut next = CrawlTask::robots(link.url, owner, task.redirects + 1);
            if task.is_urgent() {
                next.mode = TaskMode::UrgentRobots;
            }
            self.hosts.task_out(next.host());
            return self.admit(vec![next]);
        }
        let status = if response.status == 304 { 200 } else { response.status };
        if Robots::is_unavailable(status) {
            return self.close_origin(&owner, status);
        }
        let robots = Robots::from_answer(status, response.robots.as_deref().unwrap_or_default());
        let rules = robots.rules_for(self.context.policy.settings.politeness.product());
        self.push_sitemaps(&owner, robots.sitemaps(task.url.as_str()));
        for waiting in self.hosts.robots_read(owner.authority(), owner.origin(), rules) {
            self.admit_by_robots(waiting)?;
        }
        Ok(())
    }

    /// The server of a `robots.txt` is out of order, so nothing of its origin may be requested. What
    /// waited for the file could not be reached: the site does not exclude it.
    fn close_origin(&mut self, owner: &RequestUrl, status: u16) -> Result<(), CrawlError> {
        let message = format!("`robots.txt` answered {status}, so nothing of the site may be requested");
        let failure =
            RobotsFailure { kind: "robots".into(), message: message.as_str().into(), is_postponed: false };
        for waiting in self.hosts.robots_failed(owner.authority(), owner.origin(), failure) {
            self.fail(waiting, "robots", &message)?;
        }
        Ok(())
    }

    /// Pushes the sitemaps that a host names, or the one that it may have.
    pub(super) fn push_sitemaps(&mut self, host: &RequestUrl, named: Vec<String>) {
        let policy = self.context.policy;
        if !policy.reaches(1) || !policy.scope.wants_sitemaps_of(host) {
            return;
        }
        let named = match named.is_empty() {
            true => vec![format!("{}/sitemap.xml", host.origin())],
            false => named,
        };
        let (refused, named): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|url| ShownUrl(url).has_user_info());
        for url in refused.iter().filter_map(|url| RequestUrl::parse(url)) {
            self.leave_unfollowed(UnfollowedLink::new(&url, SkipRule::UserInfo));
        }
        for url in named.iter().filter_map(|url| policy.request_url(url)) {
            self.push_link(DiscoveredLink::new(url, FetchReason::Sitemap { nesting: 0 }));
        }
    }
}

/// Where a redirect leads, compared with those before it.
enum RedirectStep {
    /// Elsewhere.
    Onward,
    /// To another spelling of a page on the way: a site may redirect away and back with a marker.
    Back,
    /// To a URL that was requested on the way, this number of times.
    Again { visits: u8 },
}
