//! Where a run stores responses: the seam between crawling and the layouts that can be crawled
//! into.
//!
//! Two implementations: an archive, whose silos take exchanges as they were on the wire, and a
//! Crystal project, whose revisions are rows with a body each. Stored responses are durable after
//! [`Destination::save`]; only then the frontier records a task as done. So a crash loses a few
//! seconds of work and no acknowledged capture.

use varve_catalog::CatalogRow;
use varve_core::RunId;
use varve_core::exchange::Exchange;
use varve_core::headers::Redaction;

use super::crawl_policy::CrawlPolicy;
use super::past_captures::{PastLookup, PastQuery, StoredCapture};
use super::task::CrawlTask;
use super::write_job::{JobInput, StoredResponse};
use crate::error::CrawlError;

/// Where a run stores responses.
pub(crate) trait Destination: Sync {
    /// Whether sensitive headers are hidden in rows.
    fn redaction(&self) -> Redaction;

    /// The past captures of each URL.
    fn past(&self, run: RunId, queries: &[PastQuery<'_>]) -> Result<Vec<PastLookup>, CrawlError>;

    /// A response that this run stored, to be given to a page in a browser; `None` if it cannot be.
    fn stored_response(&self, _stored: &StoredCapture) -> Result<Option<Exchange>, CrawlError> {
        Ok(None)
    }

    /// The writers of a run.
    fn writers<'w>(
        &'w self,
        run: RunId,
        policy: &'w CrawlPolicy,
    ) -> Result<Box<dyn ResponseWriters + 'w>, CrawlError>;

    /// A URL could not be fetched and will not be tried again: the kind of failure as a word, and a
    /// sentence.
    fn failed(&self, _url: &str, _kind: &str, _message: &str) {}

    /// Makes everything durable that was stored so far, with these rows. No writer works meanwhile.
    fn save(&self, rows: Vec<CatalogRow>) -> Result<(), CrawlError>;

    /// URLs to fetch besides the seeds, each with the number of its group in the plan.
    fn members(
        &self,
        _each: &mut dyn FnMut(String, u32) -> Result<(), CrawlError>,
    ) -> Result<(), CrawlError> {
        Ok(())
    }
}

/// Makes writers, one for each thread.
pub(crate) trait ResponseWriters: Sync {
    /// A writer for one thread. After a panic the thread takes another one.
    fn writer(&self) -> ResponseWriter<'_>;
}

/// Stores a response, or reads a stored one again, and returns its content.
pub(crate) type ResponseWriter<'w> =
    Box<dyn FnMut(&CrawlTask, JobInput) -> Result<StoredResponse, CrawlError> + 'w>;
