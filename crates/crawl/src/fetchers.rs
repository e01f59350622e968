//! Who sends the requests of a run, and how a task becomes a request.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use varve_fetch::{ByteBudget, CookieJar, FetchError, FetchLimits, FetchRequest, Fetched, Fetcher};

use super::browser_gate::BrowserGate;
use super::fetch_reason::FetchReason;
use super::message::{CrawlMessage, FinishedRequest};
use super::request_loop::request_outcome;
use super::response_cache::CacheSlot;
use super::task::CrawlTask;

/// Who sends the requests of a run.
#[derive(Clone)]
pub struct CrawlFetchers {
    /// For everything but pages.
    pub usual: Arc<dyn Fetcher>,
    /// For pages.
    pub pages: Arc<dyn Fetcher>,
    /// The gate of the browser, if pages are loaded in one.
    pub gate: Option<Arc<BrowserGate>>,
    /// The limit of all responses together, if there is one.
    pub budget: Option<ByteBudget>,
    /// The limits for a `robots.txt`.
    pub robots: FetchLimits,
    /// The proxies of requests, without credentials.
    pub proxy: Option<String>,
    /// The cookies of all requests.
    pub cookies: CookieJar,
}

impl CrawlFetchers {
    /// Whether all responses together have reached their limit.
    pub(crate) fn is_budget_spent(&self) -> bool {
        self.budget.as_ref().is_some_and(ByteBudget::is_spent)
    }

    /// Whether pages are loaded in a browser.
    pub(crate) fn has_browser(&self) -> bool {
        self.gate.is_some()
    }

    /// The cached response for a URL from pages in flight.
    pub(crate) fn cached(&self, url: &str) -> Option<CacheSlot> {
        self.gate.as_ref()?.cache().look(url)
    }

    /// Sends the request of a task, which may take no longer than `until`.
    pub(crate) fn fetch(
        &self,
        task: CrawlTask,
        tries: u32,
        until: Option<Instant>,
    ) -> impl Future<Output = CrawlMessage> + Send + 'static {
        let limits = (task.reason == FetchReason::Robots).then_some(self.robots);
        let fetcher = Arc::clone(if task.reason.is_page() { &self.pages } else { &self.usual });
        async move {
            let fetched = fetcher.fetch(FetchRequest { until, limits, ..request(&task) }).await;
            CrawlMessage::Fetched(Box::new(finished(task, tries, fetched)))
        }
    }
}

fn request(task: &CrawlTask) -> FetchRequest {
    let mut request = FetchRequest::get(task.url.as_str());
    let validators = task.earlier.as_ref().and_then(|earlier| earlier.validators.as_ref());
    if let Some(validators) = validators {
        request.headers.clone_from(&validators.headers);
    }
    request
}

fn finished(task: CrawlTask, tries: u32, fetched: Result<Fetched, FetchError>) -> FinishedRequest {
    let (result, browser) = match fetched {
        Ok(mut fetched) if !fetched.exchanges.is_empty() => {
            (Ok(Box::new(fetched.exchanges.remove(0))), fetched)
        }
        Ok(fetched) => (Err(FetchError::nothing(task.url.as_str())), fetched),
        Err(error) => (Err(error), Fetched::default()),
    };
    FinishedRequest { task, tries, outcome: request_outcome(&result), result, browser }
}
