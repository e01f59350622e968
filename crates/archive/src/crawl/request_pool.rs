//! Requests under way: the one part of a run that is asynchronous.
//!
//! A small runtime of its own, on threads of its own. Answers come back as messages to the thread that runs the crawl,
//! which decides how many requests there are at a time.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use varve_core::exchange::Exchange;
use varve_fetch::politeness::{PolitenessPolicy, RequestOutcome, retry_after};
use varve_fetch::{Budget, FetchError, FetchRequest, Fetcher, Limits, Rendering};
use varve_wire::TruncationReason;

use super::browser_gate::{AdmissionRequest, BrowserGate};
use super::cache_lookup::CacheLookup;
use super::fetch_reason::FetchReason;
use super::response_cache::CachedResponse;
use super::task::CrawlTask;
use super::writer_pool::StoreResult;

/// Threads for sockets: even one is seldom busy.
const MAX_FETCH_THREADS: usize = 4;

/// Requests that are given up are gone at once; a browser among them takes as long as its processes take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// What comes back to the thread that runs the crawl.
pub(crate) enum CrawlMessage {
    /// A request ended.
    Fetched(Box<FinishedRequest>),
    /// A keeper has done a job.
    Kept(Box<StoreResult>),
    /// A page in a browser asks for something.
    Asked(AdmissionRequest),
    /// A page in a browser asks for something that may have been answered.
    Recall(CacheLookup),
}

impl From<StoreResult> for CrawlMessage {
    fn from(kept: StoreResult) -> Self {
        Self::Kept(Box::new(kept))
    }
}

/// How a request ended.
pub(crate) struct FinishedRequest {
    /// What was asked for.
    pub(crate) task: CrawlTask,
    /// How often it was tried before.
    pub(crate) tries: u32,
    /// As politeness sees it.
    pub(crate) outcome: RequestOutcome,
    /// The answer, or why there is none.
    pub(crate) result: Result<Box<Exchange>, FetchError>,
    /// What else a browser asked for on the way.
    pub(crate) others: Vec<Exchange>,
    /// What it did not ask for, because it was answered before.
    pub(crate) recalled: Vec<Exchange>,
    /// What a browser made of it.
    pub(crate) renderings: Vec<Rendering>,
    /// What the guard kept from a page in a browser: the URL, and why.
    pub(crate) refused: Vec<(String, String)>,
    /// What a browser could not do, in sentences.
    pub(crate) notes: Vec<String>,
    /// Whether the time was over before a browser was done.
    pub(crate) unfinished: bool,
}

/// Who asks.
#[derive(Clone)]
pub(crate) struct CrawlFetchers {
    /// For everything but pages.
    pub(crate) usual: Arc<dyn Fetcher>,
    /// For pages.
    pub(crate) pages: Arc<dyn Fetcher>,
    /// Before the browser, if there is one.
    pub(crate) door: Option<Arc<BrowserGate>>,
    /// How much all answers together may take, if that is limited.
    pub(crate) budget: Option<Budget>,
    /// How much a file for robots may take.
    pub(crate) robots: Limits,
    /// The proxies that requests go through, without credentials.
    pub(crate) proxy: Option<String>,
}

/// Makes requests.
pub(crate) struct RequestPool {
    runtime: Option<Runtime>,
    /// Those under way, and some that have ended.
    requests: JoinSet<()>,
    fetchers: CrawlFetchers,
    sender: Sender<CrawlMessage>,
}

impl RequestPool {
    /// Requests through that fetcher, with answers to that channel.
    pub(crate) fn new(
        fetchers: CrawlFetchers,
        sender: Sender<CrawlMessage>,
        threads: usize,
    ) -> io::Result<Self> {
        let threads = (threads / 2).clamp(1, MAX_FETCH_THREADS);
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("fetch").enable_all().build()?;
        if let Some(door) = &fetchers.door {
            door.open(sender.clone());
        }
        Ok(Self { runtime: Some(runtime), requests: JoinSet::new(), fetchers, sender })
    }

    /// Whether as much was received as may be, by what is under way as well.
    pub(crate) fn has_received_enough(&self) -> bool {
        self.fetchers.budget.as_ref().is_some_and(Budget::is_spent)
    }

    /// What pages that are under way were answered.
    pub(crate) fn answered_to_pages(&self, url: &str) -> CachedResponse {
        self.fetchers.door.as_ref().map_or(CachedResponse::Nothing, |door| door.memory().look(url))
    }

    /// A host asks for a longer delay.
    pub(crate) fn slow_down(&self, host: &str, delay: Duration) {
        if let Some(door) = &self.fetchers.door {
            // Beyond this it counts nowhere.
            door.slow_down(host, delay.min(PolitenessPolicy::default().longest_crawl_delay));
        }
    }

    /// Begins a request, which may take no longer than `until`.
    pub(crate) fn ask(&mut self, task: CrawlTask, tries: u32, until: Option<Instant>) {
        while self.requests.try_join_next().is_some() {}
        let CrawlFetchers { usual, pages, robots, .. } = &self.fetchers;
        let limits = (task.reason == FetchReason::Robots).then_some(*robots);
        let fetcher = Arc::clone(if task.reason.is_page() { pages } else { usual });
        let sender = self.sender.clone();
        let runtime = self.runtime.as_ref().expect("the runtime is there until this is dropped");
        let work = async move {
            let request = FetchRequest { until, limits, ..request(&task) };
            let fetched = fetcher.fetch(request).await;
            let (first, fetched) = match fetched {
                Ok(mut fetched) if !fetched.exchanges.is_empty() => {
                    (Ok(Box::new(fetched.exchanges.remove(0))), fetched)
                }
                Ok(fetched) => (Err(FetchError::nothing(&task.url)), fetched),
                Err(error) => (Err(error), Default::default()),
            };
            let varve_fetch::Fetched { exchanges: others, recalled, renderings, refused, notes, unfinished } =
                fetched;
            let (outcome, result) = (request_outcome(&first), first);
            let fetched = FinishedRequest {
                task,
                tries,
                outcome,
                result,
                others,
                recalled,
                renderings,
                refused,
                notes,
                unfinished,
            };
            // Nobody listens any more once the run has ended.
            let _ = sender.send(CrawlMessage::Fetched(Box::new(fetched)));
        };
        self.requests.spawn_on(work, runtime.handle());
    }

    /// Gives up what is under way, and waits until it is gone: a browser is a process with files of its own.
    pub(crate) fn give_up(&mut self) {
        if let Some(runtime) = &self.runtime {
            let gone = async { tokio::time::timeout(SHUTDOWN_TIMEOUT, self.requests.shutdown()).await };
            let _ = runtime.block_on(gone);
        }
    }
}

impl Drop for RequestPool {
    /// Gives up what is under way. What else the runtime has to do, as looking up names, is not waited for.
    fn drop(&mut self) {
        if let Some(door) = &self.fetchers.door {
            door.close();
        }
        self.give_up();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn request(task: &CrawlTask) -> FetchRequest {
    let condition = task.earlier.as_ref().and_then(|earlier| earlier.condition.as_ref());
    let mut request = FetchRequest::get(task.url.clone());
    if let Some(condition) = condition {
        request.headers.clone_from(&condition.headers);
    }
    request
}

/// How a request ended, as politeness sees it. An answer that grew too long would do so again.
pub(crate) fn request_outcome(result: &Result<Box<Exchange>, FetchError>) -> RequestOutcome {
    match result {
        Err(error) if error.kind.is_silence() => RequestOutcome::Silent,
        Err(error) if error.kind.may_pass() => RequestOutcome::Failed,
        Err(_) => RequestOutcome::Hopeless,
        Ok(exchange) if exchange.truncated.is_some_and(|cut| cut != TruncationReason::Length) => {
            RequestOutcome::Failed
        }
        Ok(exchange) => match exchange.head() {
            Ok(Some(head)) => {
                let wait =
                    head.headers.get_text("retry-after").and_then(|text| retry_after(&text, exchange.at));
                RequestOutcome::Answered { status: head.status, retry_after: wait }
            }
            _ => RequestOutcome::answered(0),
        },
    }
}
