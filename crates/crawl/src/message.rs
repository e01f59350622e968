//! Messages to the dispatcher: everything that happens on other threads.

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_core::url::RequestUrl;
use varve_fetch::politeness::RequestOutcome;
use varve_fetch::{FetchError, Rendering};

use super::task::{AdmissionReply, CrawlTask};
use super::write_job::StoreResult;
use crate::error::CrawlError;

/// A message to the dispatcher.
pub(crate) enum CrawlMessage {
    /// A request ended.
    Fetched(Box<FinishedRequest>),
    /// A writer finished a job.
    Stored(Box<StoreResult>),
    /// A page in a browser wants to make a request.
    Admission(AdmissionRequest),
    /// A page in a browser wants a response that the run may have.
    Lookup(CacheLookup),
    /// A turn at a host ended.
    TurnEnded(Box<str>),
    /// A checkpoint is durable, or failed. Whether the frontier has new URLs.
    Checkpointed(Result<bool, CrawlError>),
}

impl From<StoreResult> for CrawlMessage {
    fn from(stored: StoreResult) -> Self {
        Self::Stored(Box::new(stored))
    }
}

/// A request that ended.
pub(crate) struct FinishedRequest {
    /// The task.
    pub(crate) task: CrawlTask,
    /// The number of attempts before this one.
    pub(crate) tries: u32,
    /// The outcome, for politeness.
    pub(crate) outcome: RequestOutcome,
    /// The response, or why there is none.
    pub(crate) result: Result<Box<Exchange>, FetchError>,
    /// The further results of a browser.
    pub(crate) browser: BrowserResults,
}

/// The results of a browser that loaded a page, besides the page itself.
#[derive(Default)]
pub(crate) struct BrowserResults {
    /// Other exchanges of the page.
    pub(crate) others: Vec<Exchange>,
    /// Responses that the page got without a request, because the run had them.
    pub(crate) reused: Vec<Exchange>,
    /// The document and the screenshot.
    pub(crate) renderings: Vec<Rendering>,
    /// The URLs that the guard refused, each with a message.
    pub(crate) refused: Vec<(String, String)>,
    /// Messages about work that the browser could not do.
    pub(crate) notes: Vec<String>,
    /// Whether the time was over before the page was loaded.
    pub(crate) is_unfinished: bool,
}

/// A page in a browser wants to make a request.
pub(crate) struct AdmissionRequest {
    /// The URL.
    pub(crate) url: RequestUrl,
    /// Where the answer goes.
    pub(crate) reply: AdmissionReply,
}

/// A page in a browser wants a response that the run may have.
pub(crate) struct CacheLookup {
    /// The URL.
    pub(crate) url: RequestUrl,
    /// Where the response goes.
    pub(crate) reply: oneshot::Sender<Option<Exchange>>,
}
