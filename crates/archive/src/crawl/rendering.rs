//! What a browser brings besides the page: what the page asked for, the document its scripts left, and a picture.
//!
//! The record of the answer names the other two. Links that only scripts have made are in the document, so it is read
//! for links as well: when it comes, and again by a run that is resumed.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use varve_core::exchange::Exchange;
use varve_core::headers::Headers;
use varve_core::history::Capture;
use varve_core::url::resolve;
use varve_fetch::{Rendering, RenderingKind};
use varve_store::exchange::{NewRendering, NewRenderings};

use super::address::host_of;
use super::crawl_policy::DiscoveredLink;
use super::destination::StoredCapture;
use super::dispatcher::Crawl;
use super::event::CrawlEvent;
use super::fetch_reason::FetchReason;
use super::past_captures::{PastLookup, SpellingMatch};
use super::task::CrawlTask;
use super::writer_pool::{ArchiveWriters, JobInput, NonCaptureExchange, StoredResponse};
use crate::crawl::error::CrawlError;
use varve_repository::history::Holdings;

/// The type of every document.
const DOCUMENT_MEDIA_TYPE: &str = "text/html; charset=utf-8";

/// What is to be kept beside an answer.
pub(super) fn new_renderings(renderings: &[Rendering]) -> NewRenderings<'_> {
    let of_kind = |kind| {
        let rendering = renderings.iter().find(|rendering| rendering.kind == kind)?;
        Some(NewRendering { media_type: &rendering.media_type, content: &rendering.content })
    };
    NewRenderings {
        document: of_kind(RenderingKind::Document),
        screenshot: of_kind(RenderingKind::Screenshot),
    }
}

/// What a page was found to show that is not what was asked for: redirects or scripts led elsewhere.
pub(super) struct DisplayedPage {
    /// Which one of the other exchanges it is.
    at: usize,
    /// Why the page was asked for.
    errand: FetchReason,
    renderings: Vec<Rendering>,
}

/// How many redirects led to what a browser asked for: it follows them by itself, and the run counts on.
#[derive(Default)]
pub(super) struct RedirectCounts(HashMap<String, u8>);

impl RedirectCounts {
    /// Begins with an answer to which so many led.
    pub(super) fn from(exchange: &Exchange, redirects: u8) -> Self {
        let mut steps = Self::default();
        steps.go_on(exchange, redirects);
        steps
    }

    /// How many led to an answer, and notes where that leads. Answers come in the order of their redirects.
    fn take(&mut self, exchange: &Exchange) -> u8 {
        let redirects = self.0.get(&exchange.url).copied().unwrap_or(0);
        self.go_on(exchange, redirects);
        redirects
    }

    fn go_on(&mut self, exchange: &Exchange, redirects: u8) {
        let Ok(Some(head)) = exchange.head() else { return };
        let location = head.headers.get_text("location").filter(|_| (300..400).contains(&head.status));
        if let Some(url) = location.and_then(|location| resolve(&exchange.url, location.trim()).ok()) {
            self.0.insert(url, redirects.saturating_add(1));
        }
    }
}

/// Shares out what a browser made of a page: to the answer that was asked for, or to that of the page that it shows in the end. A URL that only
/// scripts have written into the address bar is that of no answer, and changes nothing.
pub(super) fn share_out(
    renderings: Vec<Rendering>,
    asked: &Exchange,
    others: &[Exchange],
    errand: FetchReason,
) -> (Vec<Rendering>, Option<DisplayedPage>) {
    let url = renderings.first().and_then(|rendering| rendering.url.split('#').next()).unwrap_or_default();
    let plain = |exchange: &Exchange| exchange.url == url && exchange.is_get();
    // What a form led to is the page of no URL, and the answer to what was sent all the same.
    let sent = || others.iter().rposition(|exchange| exchange.url == url);
    match others.iter().rposition(plain).or_else(sent).filter(|_| asked.url != url) {
        Some(at) => (Vec::new(), Some(DisplayedPage { at, errand, renderings })),
        None => (renderings, None),
    }
}

impl ArchiveWriters<'_> {
    /// Follows what is in a document. It is where the answer is, wherever scripts say they are.
    pub(super) fn follow_document(
        &self,
        task: &CrawlTask,
        status: u16,
        document: &mut dyn Read,
        leads: &mut Vec<DiscoveredLink>,
    ) {
        let mut headers = Headers::new();
        headers.push("Content-Type", DOCUMENT_MEDIA_TYPE);
        let (more, _) = self.read(task, (status, &headers), document);
        let known: HashSet<DiscoveredLink> = leads.iter().cloned().collect();
        leads.extend(more.into_iter().filter(|lead| !known.contains(lead)));
    }

    /// Follows what is in the document of a capture, if it has one.
    pub(super) fn follow_kept_document(
        &self,
        task: &CrawlTask,
        capture: &Capture,
        leads: &mut Vec<DiscoveredLink>,
    ) -> Result<(), CrawlError> {
        let Some(id) = self.history.renderings(capture)?.document else { return Ok(()) };
        let Some(document) = self.history.writer().reader().object(id.as_bytes())? else { return Ok(()) };
        self.follow_document(task, capture.status, &mut document.read()?, leads);
        Ok(())
    }
}

impl Crawl<'_> {
    /// Takes what a browser asked for besides the page itself, so many exchanges, and behind them what it was given without
    /// asking. What is no plain question is not the capture of a URL, and is kept beside those.
    pub(super) fn take_others(
        &mut self,
        (exchanges, asked_for): (Vec<Exchange>, usize),
        mut shown: Option<DisplayedPage>,
        mut steps: RedirectCounts,
    ) -> Result<(), CrawlError> {
        for (at, exchange) in exchanges.into_iter().enumerate() {
            let (url, redirects) = (exchange.url.clone(), steps.take(&exchange));
            let shown = shown.take_if(|shown| shown.at == at);
            if exchange.request.is_empty() {
                // It was read from where it is kept.
                continue;
            }
            if !exchange.is_get() {
                self.keep_aside(exchange, shown.map(|shown| shown.renderings).unwrap_or_default());
                continue;
            }
            let plan = self.context.plan;
            let address = plan.address(&url);
            let page = shown.as_ref().map(|shown| shown.errand).filter(|errand| {
                *errand == FetchReason::Page { depth: 0 } || plan.scope.page_rule(&url, &address).is_none()
            });
            let errand = page.unwrap_or(FetchReason::Embed { chain: 1 });
            let unwanted =
                plan.plan_rule(errand, &url).is_some() || plan.scope.exclude_rule(&url, &address).is_some();
            if unwanted {
                continue;
            }
            if self.busy.contains(&url) || self.fresh.contains(&url) {
                self.doubtful.extend((at < asked_for).then_some(exchange));
                continue;
            }
            let earlier = match self.context.destination.past(self.context.run, &url, SpellingMatch::Exact)? {
                PastLookup::ThisRun(stored) => {
                    if at < asked_for {
                        self.keep_repeated(exchange, &stored);
                    }
                    continue;
                }
                PastLookup::Earlier(earlier) => Some(earlier),
                PastLookup::Nothing => None,
            };
            if let Some(asked) = plan.asked(&url) {
                // Another spelling of it need not be asked for again.
                self.known.note(&plan.link_to(asked, errand));
            }
            let host = host_of(&url).to_owned();
            let task = CrawlTask { earlier, redirects, ..CrawlTask::of(url, host, errand) };
            self.went_out(&task);
            self.busy.insert(task.url.clone());
            let renderings = shown.map(|shown| shown.renderings).unwrap_or_default();
            self.give(task, JobInput::Response(Box::new(exchange), renderings));
        }
        Ok(())
    }

    /// Looks again at answers to what this run had asked for, or was about to keep.
    pub(super) fn judge_doubtful(&mut self) -> Result<(), CrawlError> {
        for exchange in std::mem::take(&mut self.doubtful) {
            if self.busy.contains(&exchange.url) {
                self.doubtful.push(exchange);
                continue;
            }
            match self.context.destination.past(self.context.run, &exchange.url, SpellingMatch::Exact)? {
                PastLookup::ThisRun(stored) => self.keep_repeated(exchange, &stored),
                PastLookup::Earlier(_) | PastLookup::Nothing => {
                    self.take_others((vec![exchange], 1), None, RedirectCounts::default())?
                }
            }
        }
        Ok(())
    }

    /// Keeps what was answered again beside what it was answered first, unless it is that very answer.
    fn keep_repeated(&mut self, exchange: Exchange, stored: &StoredCapture) {
        if stored.capture().is_some_and(|capture| capture.time != exchange.at) {
            self.keep_aside(exchange, Vec::new());
        }
    }

    /// Keeps what is not the capture of its URL.
    fn keep_aside(&mut self, exchange: Exchange, renderings: Vec<Rendering>) {
        let (url, host) = (exchange.url.clone(), host_of(&exchange.url).to_owned());
        let task =
            CrawlTask { non_capture: true, ..CrawlTask::of(url, host, FetchReason::Embed { chain: 1 }) };
        self.went_out(&task);
        self.give(task, JobInput::Response(Box::new(exchange), renderings));
    }

    /// What is not the capture of its URL was kept.
    pub(super) fn exchanged(
        &mut self,
        task: &CrawlTask,
        outcome: &StoredResponse,
        aside: &NonCaptureExchange,
    ) {
        self.tally.exchanged += 1;
        self.tally.bytes += outcome.bytes;
        let (url, status) = (task.url.as_str(), outcome.status);
        let NonCaptureExchange { method, length } = aside;
        (self.context.report)(CrawlEvent::Exchanged { url, method, status, length: *length });
    }
}
