//! Work for writers: a response to store, or one that is stored and read again for another reason.

use varve_core::Moment;
use varve_core::exchange::Exchange;
use varve_core::receipt::Receipt;
use varve_fetch::Rendering;

use super::discovered_link::ResponseLinks;
use super::past_captures::StoredCapture;
use super::task::CrawlTask;
use crate::error::CrawlError;

/// Work for a writer.
pub(crate) struct WriteJob {
    /// The task.
    pub(crate) task: CrawlTask,
    /// The response to store or to read.
    pub(crate) input: JobInput,
}

/// The input of a writer.
pub(crate) enum JobInput {
    /// A response that just arrived, with its renderings from a browser.
    Response(Box<Exchange>, Vec<Rendering>),
    /// A capture of this run that is wanted for another reason.
    Stored(StoredCapture),
}

/// The result of a job.
pub(crate) struct StoreResult {
    /// The task.
    pub(crate) task: CrawlTask,
    /// The stored response, or the error.
    pub(crate) result: Result<StoredResponse, CrawlError>,
}

/// A stored response and its links.
#[derive(Default)]
pub(crate) struct StoredResponse {
    /// The form in which it was stored.
    pub(crate) stored: StoredAs,
    /// The status.
    pub(crate) status: u16,
    /// Bytes of the response on the wire.
    pub(crate) bytes: u64,
    /// The links of the response.
    pub(crate) links: ResponseLinks,
    /// The text of a `robots.txt`.
    pub(crate) robots: Option<Vec<u8>>,
}

/// The form in which a response was stored.
#[derive(Default)]
pub(crate) enum StoredAs {
    /// Nothing new was stored.
    #[default]
    Nothing,
    /// A capture in an archive.
    Capture(Box<Receipt>),
    /// A revision of a Crystal project.
    Revision(StoredRevision),
    /// An exchange that is not a capture of its URL.
    NonCapture(NonCaptureExchange),
}

/// An exchange that is not a capture of its URL.
pub(crate) struct NonCaptureExchange {
    /// Its method.
    pub(crate) method: String,
    /// The length of the response body.
    pub(crate) length: u64,
}

/// A response that becomes a revision of a Crystal project.
pub(crate) struct StoredRevision {
    /// When it was requested.
    pub(crate) time: Moment,
    /// The length of its body.
    pub(crate) length: u64,
    /// Whether its body equals that of the revision before it.
    pub(crate) unchanged: bool,
    /// Why the response is not whole, if it is not.
    pub(crate) truncated: Option<&'static str>,
}

impl StoredResponse {
    /// A response with this status of which nothing was stored.
    pub(crate) fn with_status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}
