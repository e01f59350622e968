//! The door before a browser: what a page asks for is held to the rules of the run, and what the run has is not asked for again.
//!
//! The thread that runs the crawl judges, because it knows what hosts ask of robots and what the user leaves out; here
//! its word is asked for, and then a turn at the host. What a page embeds may lie anywhere, as always: the scope does not
//! count.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_fetch::{Admitted, Gate, Pending, Question};

use super::address::{asked, host_of};
use super::cache_lookup::CacheLookup;
use super::dispatcher::Crawl;
use super::fetch_reason::FetchReason;
use super::pace::{Pace, Turn};
use super::request_pool::CrawlMessage;
use super::response_cache::{CacheReservation, CachedResponse, ResponseCache};
use super::scope::SkipRule;
use super::task::CrawlTask;
use crate::crawl::error::CrawlError;

/// A word is waited for so long: the file for robots of a host may have to be had first.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The question whether a page may have something.
pub(crate) struct AdmissionRequest {
    /// What it asks for.
    pub(crate) url: String,
    /// Where the answer goes.
    pub(crate) reply: AdmissionReply,
}

/// Takes the rule by which something may not be had, or none.
pub(crate) type AdmissionReply = oneshot::Sender<Option<SkipRule>>;

/// The door.
pub(crate) struct BrowserGate {
    pace: Arc<Pace>,
    /// What pages were answered.
    memory: Arc<ResponseCache>,
    /// Where questions go, while there is a run to ask.
    judge: Mutex<Option<Sender<CrawlMessage>>>,
}

impl BrowserGate {
    /// A door through which requests go at this pace.
    pub(crate) fn new(pace: Arc<Pace>) -> Self {
        Self { pace, memory: Arc::default(), judge: Mutex::default() }
    }

    /// Questions go there from now on.
    pub(crate) fn open(&self, judge: Sender<CrawlMessage>) {
        *self.judge.lock().unwrap_or_else(PoisonError::into_inner) = Some(judge);
    }

    /// Nobody is there to be asked any more.
    pub(crate) fn close(&self) {
        *self.judge.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A host asks for a longer delay.
    pub(crate) fn slow_down(&self, host: &str, delay: Duration) {
        self.pace.slow_down(host, delay);
    }

    /// What pages were answered.
    pub(crate) fn memory(&self) -> &ResponseCache {
        &self.memory
    }

    /// Puts a question to the run; says whether there is one.
    fn put(&self, question: CrawlMessage) -> bool {
        let judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner);
        judge.as_ref().is_some_and(|judge| judge.send(question).is_ok())
    }

    /// What this run was answered, by whichever page, or by nobody asking for one.
    async fn recall(&self, url: &str) -> Option<Exchange> {
        match self.memory.look_when_quiet(url).await {
            CachedResponse::Held(exchange) => return Some(*exchange),
            CachedResponse::Outdated => return None,
            CachedResponse::Nothing | CachedResponse::Asking => {}
        }
        let (reply, answer) = oneshot::channel();
        if !self.put(CrawlMessage::Recall(CacheLookup { url: url.to_owned(), reply })) {
            return None;
        }
        tokio::time::timeout(ADMISSION_TIMEOUT, answer).await.ok()?.ok()?
    }

    async fn word(&self, url: String) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        if !self.put(CrawlMessage::Asked(AdmissionRequest { url, reply })) {
            return Err("the run has ended".to_owned());
        }
        match tokio::time::timeout(ADMISSION_TIMEOUT, answer).await {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(rule))) => Err(rule.to_string()),
            Ok(Err(_)) => Err("the run has ended".to_owned()),
            Err(_) => Err("robots:unknown".to_owned()),
        }
    }
}

impl Gate for BrowserGate {
    fn admit(&self, question: Question) -> Pending<'_, Result<Admitted, String>> {
        Box::pin(async move {
            let Question { url, method, is_page, is_plain } = question;
            let url = asked(&url).unwrap_or(url);
            let mut asking = if is_plain && is_page { self.memory.ask(&url) } else { None };
            while is_plain && !is_page && asking.is_none() {
                if let Some(exchange) = self.recall(&url).await {
                    return Ok(Admitted::Recalled(Box::new(exchange)));
                }
                // Another page may have been quicker.
                asking = self.memory.ask(&url);
            }
            if !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") {
                self.memory.outdate(&url);
            }
            let host = host_of(&url).to_owned();
            self.word(url).await?;
            Ok(Admitted::Ask(Box::new(Way { asking, _turn: self.pace.turn(&host).await })))
        })
    }
}

/// A request of a page, under way.
struct Way {
    asking: Option<CacheReservation>,
    _turn: Turn,
}

impl varve_fetch::Turn for Way {
    fn answered(self: Box<Self>, exchange: &Exchange) {
        if let Some(asking) = self.asking {
            asking.answered(exchange);
        }
    }
}

impl Crawl<'_> {
    /// Judges what a page asks for: now, or when the file for robots of its host is here.
    pub(super) fn asked(&mut self, inquiry: AdmissionRequest) -> Result<(), CrawlError> {
        let AdmissionRequest { url, reply } = inquiry;
        let plan = self.context.plan;
        // Patterns and robots are about what is asked for, however a script spells it.
        let url = asked(&url).unwrap_or(url);
        let address = plan.address(&url);
        let errand = FetchReason::Embed { chain: 1 };
        let unwanted = plan.plan_rule(errand, &url).or_else(|| plan.scope.exclude_rule(&url, &address));
        if let Some(rule) = unwanted {
            self.turn_away(&url, rule, reply);
            return Ok(());
        }
        if !plan.settings.obey_robots {
            let _ = reply.send(None);
            return Ok(());
        }
        self.ask_robots(CrawlTask::inquiry(url, errand, reply))
    }

    /// Tells a page that it does not get something.
    pub(super) fn turn_away(&mut self, url: &str, rule: SkipRule, reply: AdmissionReply) {
        self.tell_denied(url, &rule);
        let _ = reply.send(Some(rule));
    }
}
