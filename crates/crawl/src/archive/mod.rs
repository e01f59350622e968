//! Crawling into an archive: responses become records of its silos.

mod past;
mod renderings;
mod stored_response;
mod writers;

use varve_catalog::CatalogRow;
use varve_core::exchange::Exchange;
use varve_core::headers::Redaction;
use varve_core::{RunId, VersionId};
use varve_store::exchange::ExchangeWriter;

use super::crawl_policy::CrawlPolicy;
use super::destination::{Destination, ResponseWriters};
use super::past_captures::{PastLookup, PastQuery, StoredCapture};
use crate::error::CrawlError;
use crate::run_description::RunDescription;
use crate::settings::RefetchSettings;
use crate::wire_exchange::RunRecord;
use varve_repository::history::ArchiveHistoryWriter;
use writers::ArchiveWriters;

/// An archive, for a run that was stopped at these versions.
pub(crate) struct ArchiveDestination<'a> {
    pub(crate) history: &'a ArchiveHistoryWriter,
    pub(crate) stop_versions: &'a [VersionId],
    /// The proxies of requests, without credentials.
    pub(crate) proxy: Option<String>,
    /// Which URLs are requested again.
    pub(crate) refetch: RefetchSettings,
}

impl Destination for ArchiveDestination<'_> {
    fn redaction(&self) -> Redaction {
        self.history.redaction()
    }

    fn past(&self, run: RunId, queries: &[PastQuery<'_>]) -> Result<Vec<PastLookup>, CrawlError> {
        let owner = past::RunCaptures { run, stop_versions: self.stop_versions };
        past::look_up(self.history, &owner, &self.refetch, queries)
    }

    fn stored_response(&self, stored: &StoredCapture) -> Result<Option<Exchange>, CrawlError> {
        let capture = stored.capture();
        capture.map_or(Ok(None), |capture| stored_response::stored_response(self.history, capture))
    }

    fn writers<'w>(
        &'w self,
        run: RunId,
        policy: &'w CrawlPolicy,
    ) -> Result<Box<dyn ResponseWriters + 'w>, CrawlError> {
        let store = self.history.writer().store();
        let description = RunDescription::of(&policy.settings, self.proxy.clone());
        let described_by = Some(store.describe_run(&description.fields(run))?);
        let (keeper, run) = (ExchangeWriter::new(store), RunRecord { id: run, described_by });
        Ok(Box::new(ArchiveWriters { history: self.history, keeper, policy, run }))
    }

    fn save(&self, rows: Vec<CatalogRow>) -> Result<(), CrawlError> {
        if rows.is_empty() { Ok(()) } else { Ok(self.history.apply(rows)?) }
    }
}
