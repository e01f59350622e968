//! Where a run puts what it gets: the seam between crawling and the layouts that can be crawled into.
//!
//! Two things are behind it: an archive, whose silos take exchanges as they were on the wire, and a Crystal project, whose
//! revisions are rows with a body each. Whoever crawls knows neither. What is kept is not safe yet; it is after
//! [`Destination::save`], and only then is anything settled in the frontier. So a crash loses a few seconds of work and no
//! promise.

use varve_catalog::CatalogRow;
use varve_core::exchange::Exchange;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_core::{Moment, RunId, VersionId};
use varve_crystal::RevisionId;
use varve_store::exchange::ExchangeWriter;

use super::cache_lookup::stored_response;
use super::crawl_policy::CrawlPolicy;
use super::past_captures::{PastLookup, SpellingMatch, look_up};
use super::task::CrawlTask;
use super::writer_pool::{ArchiveWriters, JobInput, StoredResponse};
use crate::crawl::error::CrawlError;
use crate::run_description::RunDescription;
use crate::wire_exchange::RunRecord;
use varve_repository::history::{ArchiveHistory, HistoryWriter, Holdings};

/// Where a run puts what it gets.
pub(crate) trait Destination: Sync {
    /// The present.
    fn present(&self) -> Moment;

    /// Whether sensitive headers are hidden in rows.
    fn hiding(&self) -> Redaction;

    /// What is here of a URL already, by the text as it is or by any spelling.
    fn past(&self, run: RunId, url: &str, by: SpellingMatch) -> Result<PastLookup, CrawlError>;

    /// What this run has got, as an answer that can be given again; none if it cannot.
    fn recall(&self, _stored: &StoredCapture) -> Result<Option<Exchange>, CrawlError> {
        Ok(None)
    }

    /// Those who keep answers.
    fn keepers<'k>(
        &'k self,
        run: RunId,
        plan: &'k CrawlPolicy,
    ) -> Result<Box<dyn ResponseWriters + 'k>, CrawlError>;

    /// A URL could not be had, and will not be tried again: the sort of failure as a word, and a sentence.
    fn given_up(&self, _url: &str, _kind: &str, _message: &str) {}

    /// Makes everything safe that was kept so far, and the rows that are made from it. No keeper works meanwhile.
    fn save(&self, rows: Vec<CatalogRow>) -> Result<(), CrawlError>;

    /// URLs to ask for besides the seeds, each with the number of its group in the plan.
    fn members(
        &self,
        _each: &mut dyn FnMut(String, u32) -> Result<(), CrawlError>,
    ) -> Result<(), CrawlError> {
        Ok(())
    }
}

/// Those who keep answers, on as many threads as there are.
pub(crate) trait ResponseWriters: Sync {
    /// One of them, for one thread. After a panic there is another.
    fn worker(&self) -> ResponseWriter<'_>;
}

/// Keeps an answer, or looks again at one that is kept, and says what is in it.
pub(crate) type ResponseWriter<'w> =
    Box<dyn FnMut(&CrawlTask, JobInput) -> Result<StoredResponse, CrawlError> + 'w>;

/// What a run has got already.
#[derive(Debug)]
pub(crate) enum StoredCapture {
    /// In an archive.
    Capture(Box<Capture>),
    /// In a Crystal project.
    Revision(RevisionId),
}

impl StoredCapture {
    /// The capture, if it is one.
    pub(crate) fn capture(&self) -> Option<&Capture> {
        match self {
            Self::Capture(capture) => Some(capture),
            Self::Revision(_) => None,
        }
    }
}

/// An archive, for a run that has these stops behind it.
pub(crate) struct ArchiveDestination<'a> {
    pub(crate) history: &'a ArchiveHistory,
    pub(crate) stops: &'a [VersionId],
    /// The proxies that requests go through, without credentials.
    pub(crate) proxy: Option<String>,
}

impl Destination for ArchiveDestination<'_> {
    fn present(&self) -> Moment {
        self.history.now()
    }

    fn hiding(&self) -> Redaction {
        self.history.redaction()
    }

    fn past(&self, run: RunId, url: &str, by: SpellingMatch) -> Result<PastLookup, CrawlError> {
        look_up(self.history, (run, self.stops), url, by)
    }

    fn recall(&self, stored: &StoredCapture) -> Result<Option<Exchange>, CrawlError> {
        stored.capture().map_or(Ok(None), |capture| stored_response(self.history, capture))
    }

    fn keepers<'k>(
        &'k self,
        run: RunId,
        plan: &'k CrawlPolicy,
    ) -> Result<Box<dyn ResponseWriters + 'k>, CrawlError> {
        let store = self.history.writer().store();
        let described_by =
            Some(store.describe_run(&RunDescription::of(&plan.settings, self.proxy.clone()).fields(run))?);
        let (keeper, run) = (ExchangeWriter::new(store), RunRecord { id: run, described_by });
        Ok(Box::new(ArchiveWriters { history: self.history, keeper, plan, run }))
    }

    fn save(&self, rows: Vec<CatalogRow>) -> Result<(), CrawlError> {
        if rows.is_empty() { Ok(()) } else { Ok(self.history.apply(rows)?) }
    }
}
