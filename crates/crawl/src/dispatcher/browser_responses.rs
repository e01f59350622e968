//! Handles the further exchanges of a page in a browser, and decides which requests it may make.
//!
//! A page makes its own requests. A plain `GET` of a URL that the run has not captured is a capture
//! of that URL. Everything else is stored as an exchange that is not a capture.

use std::collections::HashMap;

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_core::url::{RequestUrl, resolve};
use varve_fetch::{Fetched, Rendering};

use super::CrawlDispatcher;
use crate::crawl_policy::exact_url;
use crate::discovered_link::DiscoveredLink;
use crate::error::CrawlError;
use crate::event::CrawlEvent;
use crate::fetch_reason::FetchReason;
use crate::past_captures::{PastLookup, PastQuery, SpellingMatch, StoredCapture};
use crate::task::{AdmissionReply, CrawlTask, TaskMode};
use crate::write_job::{JobInput, NonCaptureExchange, StoredResponse, WriteJob};

/// The page that a browser displays in the end, where that is not the one that was requested.
struct DisplayedPage {
    /// The index of its exchange.
    at: usize,
    /// Why the page was requested.
    reason: FetchReason,
    renderings: Vec<Rendering>,
}

/// The number of redirects that led to each URL. A browser follows redirects by itself, and the run
/// goes on counting.
#[derive(Default)]
struct RedirectCounts(HashMap<String, u8>);

impl RedirectCounts {
    /// Starts with a response that this number of redirects led to.
    fn from(exchange: &Exchange, redirects: u8) -> Self {
        let mut counts = Self::default();
        counts.add_target(exchange, redirects);
        counts
    }

    /// The number of redirects that led to a response. Responses come in the order of their
    /// redirects.
    fn count(&mut self, exchange: &Exchange) -> u8 {
        let redirects = self.0.get(&exchange.url).copied().unwrap_or(0);
        self.add_target(exchange, redirects);
        redirects
    }

    fn add_target(&mut self, exchange: &Exchange, redirects: u8) {
        let Ok(Some(head)) = exchange.head() else { return };
        let location = head.headers.get_text("location").filter(|_| (300..400).contains(&head.status));
        if let Some(url) = location.and_then(|location| resolve(&exchange.url, location.trim()).ok()) {
            self.0.insert(url, redirects.saturating_add(1));
        }
    }
}

/// Assigns renderings to the response that was requested, or to that of the page that is displayed
/// in the end. A URL that only scripts wrote into the address bar belongs to no response and
/// changes nothing.
fn assign_renderings(
    renderings: Vec<Rendering>,
    requested: &Exchange,
    others: &[Exchange],
    reason: FetchReason,
) -> (Vec<Rendering>, Option<DisplayedPage>) {
    let url = renderings.first().and_then(|rendering| rendering.url.split('#').next()).unwrap_or_default();
    let plain = |exchange: &Exchange| exchange.url == url && exchange.is_get();
    // The result of a form is not the page of a URL, but it is the response to the form's request.
    let sent = || others.iter().rposition(|exchange| exchange.url == url);
    match others.iter().rposition(plain).or_else(sent).filter(|_| requested.url != url) {
        Some(at) => (Vec::new(), Some(DisplayedPage { at, reason, renderings })),
        None => (renderings, None),
    }
}

impl CrawlDispatcher<'_> {
    /// Stores a page with all further results of a browser.
    pub(super) fn store_page(
        &mut self,
        task: CrawlTask,
        exchange: Box<Exchange>,
        browser: Fetched,
    ) -> Result<(), CrawlError> {
        let Fetched { exchanges: mut others, reused, renderings, .. } = browser;
        let requested = others.len();
        // A response that was reused is in the silo by now, or came to a page that is not done.
        others.extend(reused);
        let (own, displayed) = assign_renderings(renderings, &exchange, &others, task.reason);
        let counts = RedirectCounts::from(&exchange, task.redirects);
        self.threads.writers.push(WriteJob { task, input: JobInput::Response(exchange, own) });
        self.store_others((others, requested), displayed, counts)
    }

    /// Stores the other exchanges of a page. Those from the index `requested` on were reused.
    fn store_others(
        &mut self,
        (exchanges, requested): (Vec<Exchange>, usize),
        mut displayed: Option<DisplayedPage>,
        mut counts: RedirectCounts,
    ) -> Result<(), CrawlError> {
        for (at, exchange) in exchanges.into_iter().enumerate() {
            let redirects = counts.count(&exchange);
            let displayed = displayed.take_if(|displayed| displayed.at == at);
            if exchange.request.is_empty() {
                // It was read from the archive.
                continue;
            }
            if !exchange.is_get() {
                let renderings = displayed.map(|displayed| displayed.renderings).unwrap_or_default();
                self.record_non_capture(exchange, renderings);
                continue;
            }
            self.store_other(exchange, at < requested, displayed, redirects)?;
        }
        Ok(())
    }

    fn store_other(
        &mut self,
        exchange: Exchange,
        was_requested: bool,
        displayed: Option<DisplayedPage>,
        redirects: u8,
    ) -> Result<(), CrawlError> {
        let Some(url) = exact_url(&exchange.url) else { return Ok(()) };
        let policy = self.context.policy;
        let page = displayed.as_ref().map(|displayed| displayed.reason).filter(|reason| {
            *reason == FetchReason::Page { depth: 0 } || policy.scope.page_rule(&url).is_none()
        });
        let reason = page.unwrap_or(FetchReason::Embed { chain: 1 });
        if policy.embed_rule(reason, &url).is_some() {
            return Ok(());
        }
        if self.in_progress.contains(url.as_str()) {
            self.awaiting.exchanges.extend(was_requested.then_some(exchange));
            return Ok(());
        }
        let earlier = match self.exact_past(&url)? {
            PastLookup::ThisRun(stored) => {
                if was_requested {
                    self.record_repeated(exchange, &stored);
                }
                return Ok(());
            }
            PastLookup::Earlier(earlier) => Some(earlier),
            PastLookup::Fresh(_) | PastLookup::Nothing => None,
        };
        if let Some(link) = policy.request_url(url.as_str()) {
            // Other spellings of it need not be requested.
            self.seen.insert(&DiscoveredLink::new(link, reason));
        }
        let mut task = CrawlTask { earlier, redirects, ..CrawlTask::new(url, reason) };
        self.hosts.task_out(task.host());
        self.in_progress.begin(&mut task, false);
        let renderings = displayed.map(|displayed| displayed.renderings).unwrap_or_default();
        let input = JobInput::Response(Box::new(exchange), renderings);
        self.threads.writers.push(WriteJob { task, input });
        Ok(())
    }

    fn exact_past(&self, url: &RequestUrl) -> Result<PastLookup, CrawlError> {
        let query = PastQuery { url, spelling: SpellingMatch::Exact };
        let found = self.context.destination.past(self.context.run, &[query])?;
        Ok(found.into_iter().next().unwrap_or(PastLookup::Nothing))
    }

    /// After a checkpoint: decides about responses to URLs that were in progress when they arrived.
    pub(super) fn handle_repeated_exchanges(&mut self) -> Result<(), CrawlError> {
        for exchange in std::mem::take(&mut self.awaiting.exchanges) {
            let Some(url) = exact_url(&exchange.url) else { continue };
            if self.in_progress.is_busy(url.as_str()) {
                self.awaiting.exchanges.push(exchange);
                continue;
            }
            match self.exact_past(&url)? {
                PastLookup::ThisRun(stored) => self.record_repeated(exchange, &stored),
                PastLookup::Fresh(_) | PastLookup::Earlier(_) | PastLookup::Nothing => {
                    self.store_others((vec![exchange], 1), None, RedirectCounts::default())?;
                }
            }
        }
        Ok(())
    }

    /// Stores a response that came again, unless it is the captured one.
    fn record_repeated(&mut self, exchange: Exchange, stored: &StoredCapture) {
        if stored.capture().is_some_and(|capture| capture.time != exchange.at) {
            self.record_non_capture(exchange, Vec::new());
        }
    }

    /// Stores an exchange that is not a capture of its URL.
    fn record_non_capture(&mut self, exchange: Exchange, renderings: Vec<Rendering>) {
        let Some(url) = exact_url(&exchange.url) else { return };
        let task = CrawlTask::new(url, FetchReason::Embed { chain: 1 });
        let task = CrawlTask { mode: TaskMode::NonCapture, ..task };
        self.hosts.task_out(task.host());
        let input = JobInput::Response(Box::new(exchange), renderings);
        self.threads.writers.push(WriteJob { task, input });
    }

    /// Reports an exchange that is not a capture of its URL.
    pub(super) fn report_non_capture(
        &mut self,
        task: &CrawlTask,
        response: &StoredResponse,
        exchange: &NonCaptureExchange,
    ) {
        self.reporter.tally.exchanged += 1;
        self.reporter.tally.bytes += response.bytes;
        let (url, status) = (task.url.as_str(), response.status);
        let NonCaptureExchange { method, length } = exchange;
        self.reporter.event(CrawlEvent::Exchanged { url, method, status, length: *length });
    }

    /// Decides whether a page may make a request: now, or when the `robots.txt` of the host is
    /// there.
    pub(super) fn handle_admission(
        &mut self,
        url: RequestUrl,
        reply: AdmissionReply,
    ) -> Result<(), CrawlError> {
        let (policy, reason) = (self.context.policy, FetchReason::Embed { chain: 1 });
        if let Some(rule) = policy.embed_rule(reason, &url) {
            self.reporter.denied(url.as_str(), &rule);
            reply.deny(rule);
            return Ok(());
        }
        let task = CrawlTask::admission(url, reason, reply);
        if policy.settings.politeness.obey_robots {
            return self.admit_by_robots(task);
        }
        self.enqueue(task);
        Ok(())
    }

    /// Gives a page a response that this run has, if it has one.
    pub(super) fn handle_lookup(
        &mut self,
        url: &RequestUrl,
        reply: oneshot::Sender<Option<Exchange>>,
    ) -> Result<(), CrawlError> {
        if self.in_progress.is_fresh(url.as_str()) {
            // It is stored, and found only when that is durable.
            self.checkpoint_now()?;
        }
        let response = match self.exact_past(url)? {
            PastLookup::ThisRun(stored) => self.context.destination.stored_response(&stored)?,
            PastLookup::Fresh(_) | PastLookup::Earlier(_) | PastLookup::Nothing => None,
        };
        // The page may be gone by now.
        let _ = reply.send(response);
        Ok(())
    }
}
