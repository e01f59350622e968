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
use super::destination::Stored;
use super::errand::Errand;
use super::event::Event;
use super::keeper::{Aside, Keeping, Material, Outcome};
use super::past::{LookUp, Past};
use super::plan::Lead;
use super::run::Crawl;
use super::task::Task;
use crate::error::ArchiveError;
use crate::history::Holdings;

/// The type of every document.
const DOCUMENT: &str = "text/html; charset=utf-8";

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
pub(super) struct Shown {
    /// Which one of the other exchanges it is.
    at: usize,
    /// Why the page was asked for.
    errand: Errand,
    renderings: Vec<Rendering>,
}

/// How many redirects led to what a browser asked for: it follows them by itself, and the run counts on.
#[derive(Default)]
pub(super) struct Steps(HashMap<String, u8>);

impl Steps {
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
    errand: Errand,
) -> (Vec<Rendering>, Option<Shown>) {
    let url = renderings.first().and_then(|rendering| rendering.url.split('#').next()).unwrap_or_default();
    let plain = |exchange: &Exchange| exchange.url == url && exchange.is_get();
    // What a form led to is the page of no URL, and the answer to what was sent all the same.
    let sent = || others.iter().rposition(|exchange| exchange.url == url);
    match others.iter().rposition(plain).or_else(sent).filter(|_| asked.url != url) {
        Some(at) => (Vec::new(), Some(Shown { at, errand, renderings })),
        None => (renderings, None),
    }
}

impl Keeping<'_> {
    /// Follows what is in a document. It is where the answer is, wherever scripts say they are.
    pub(super) fn follow_document(
        &self,
        task: &Task,
        status: u16,
        document: &mut dyn Read,
        leads: &mut Vec<Lead>,
    ) {
        let mut headers = Headers::new();
        headers.push("Content-Type", DOCUMENT);
        let (more, _) = self.read(task, (status, &headers), document);
        let known: HashSet<Lead> = leads.iter().cloned().collect();
        leads.extend(more.into_iter().filter(|lead| !known.contains(lead)));
    }

    /// Follows what is in the document of a capture, if it has one.
    pub(super) fn follow_kept_document(
        &self,
        task: &Task,
        capture: &Capture,
        leads: &mut Vec<Lead>,
    ) -> Result<(), ArchiveError> {
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
        mut shown: Option<Shown>,
        mut steps: Steps,
    ) -> Result<(), ArchiveError> {
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
            let plan = self.around.plan;
            let address = plan.address(&url);
            let page = shown.as_ref().map(|shown| shown.errand).filter(|errand| {
                *errand == Errand::Page { depth: 0 } || plan.scope.refuses_page(&url, &address).is_none()
            });
            let errand = page.unwrap_or(Errand::Embed { chain: 1 });
            let unwanted =
                plan.unplanned(errand, &url).is_some() || plan.scope.excludes(&url, &address).is_some();
            if unwanted {
                continue;
            }
            if self.busy.contains(&url) || self.fresh.contains(&url) {
                self.doubtful.extend((at < asked_for).then_some(exchange));
                continue;
            }
            let earlier = match self.around.destination.past(self.around.run, &url, LookUp::Exact)? {
                Past::ThisRun(stored) => {
                    if at < asked_for {
                        self.keep_repeated(exchange, &stored);
                    }
                    continue;
                }
                Past::Earlier(earlier) => Some(earlier),
                Past::Nothing => None,
            };
            if let Some(asked) = plan.asked(&url) {
                // Another spelling of it need not be asked for again.
                self.known.note(&plan.lead_to(asked, errand));
            }
            let host = host_of(&url).to_owned();
            let task = Task { earlier, redirects, ..Task::of(url, host, errand) };
            self.went_out(&task);
            self.busy.insert(task.url.clone());
            let renderings = shown.map(|shown| shown.renderings).unwrap_or_default();
            self.give(task, Material::Fresh(Box::new(exchange), renderings));
        }
        Ok(())
    }

    /// Looks again at answers to what this run had asked for, or was about to keep.
    pub(super) fn judge_doubtful(&mut self) -> Result<(), ArchiveError> {
        for exchange in std::mem::take(&mut self.doubtful) {
            if self.busy.contains(&exchange.url) {
                self.doubtful.push(exchange);
                continue;
            }
            match self.around.destination.past(self.around.run, &exchange.url, LookUp::Exact)? {
                Past::ThisRun(stored) => self.keep_repeated(exchange, &stored),
                Past::Earlier(_) | Past::Nothing => {
                    self.take_others((vec![exchange], 1), None, Steps::default())?
                }
            }
        }
        Ok(())
    }

    /// Keeps what was answered again beside what it was answered first, unless it is that very answer.
    fn keep_repeated(&mut self, exchange: Exchange, stored: &Stored) {
        if stored.capture().is_some_and(|capture| capture.time != exchange.at) {
            self.keep_aside(exchange, Vec::new());
        }
    }

    /// Keeps what is not the capture of its URL.
    fn keep_aside(&mut self, exchange: Exchange, renderings: Vec<Rendering>) {
        let (url, host) = (exchange.url.clone(), host_of(&exchange.url).to_owned());
        let task = Task { aside: true, ..Task::of(url, host, Errand::Embed { chain: 1 }) };
        self.went_out(&task);
        self.give(task, Material::Fresh(Box::new(exchange), renderings));
    }

    /// What is not the capture of its URL was kept.
    pub(super) fn exchanged(&mut self, task: &Task, outcome: &Outcome, aside: &Aside) {
        self.tally.exchanged += 1;
        self.tally.bytes += outcome.bytes;
        let (url, status) = (task.url.as_str(), outcome.status);
        let Aside { method, length } = aside;
        (self.around.report)(Event::Exchanged { url, method, status, length: *length });
    }
}
