//! Messages to the dispatcher: everything that happens on other threads.

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_core::url::RequestUrl;
use varve_fetch::politeness::RequestOutcome;
use varve_fetch::{FetchError, Fetched};

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
    Admission(RequestUrl, AdmissionReply),
    /// A page in a browser wants a response that the run may have.
    Lookup(RequestUrl, oneshot::Sender<Option<Exchange>>),
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
    /// The further results of a browser, without the response.
    pub(crate) browser: Fetched,
}
