//! The evidence of a check: responses as captures of a run, verdicts as a fact, both as a version.
//!
//! As everywhere in varve, data is in the silos before a row refers to it. An interrupted check
//! leaves captures of a run without a version, and nothing else needs repair.

use uuid::Uuid;
use varve_catalog::CatalogRow;
use varve_core::exchange::Exchange;
use varve_core::fact::{Fact, UrlVerdict, VerdictDetail, Verdicts, media_type};
use varve_core::history::Capture;
use varve_core::{Moment, RecordId, RunId};
use varve_repository::RepositoryError;
use varve_store::exchange::ExchangeWriter;
use varve_warc::write::Packer;

use super::{CheckCase, CheckFinding};
use varve_crawl::wire_exchange::{self, RunRecord};
use varve_crawl::{CrawlError, RunDescription};
use varve_repository::error::UnreadableFact;
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::rows::{row_of_receipt, rows_of_fact};

/// Number of rows applied per transaction.
const ROWS_PER_BATCH: usize = 2000;

/// Stores the responses and verdicts of a check.
pub(crate) struct CheckEvidence<'a> {
    history: &'a ArchiveHistoryWriter,
    keeper: ExchangeWriter<'a>,
    packer: Packer,
    run: RunRecord,
    rows: Vec<CatalogRow>,
}

/// The recorded result of one case.
pub(crate) struct RecordedVerdict {
    /// When it was recorded.
    pub(crate) time: Moment,
    /// The capture of the last response, if there was one.
    pub(crate) capture: Option<Capture>,
    /// The verdict as it is stored.
    verdict: UrlVerdict,
}

impl<'a> CheckEvidence<'a> {
    /// Begins a run with the given request settings.
    pub(crate) fn begin(
        history: &'a ArchiveHistoryWriter,
        etiquette: Option<&RunDescription>,
    ) -> Result<Self, CrawlError> {
        let store = history.writer().store();
        let id = RunId::new(Uuid::now_v7());
        let described_by =
            etiquette.map(|etiquette| store.describe_run(&etiquette.fields(id))).transpose()?;
        Ok(Self {
            history,
            keeper: ExchangeWriter::new(store),
            packer: store.packer()?,
            run: RunRecord { id, described_by },
            rows: Vec::new(),
        })
    }

    /// The run.
    pub(crate) fn run(&self) -> RunId {
        self.run.id
    }

    /// Stores the responses of one case and records its result.
    pub(crate) fn note(
        &mut self,
        case: &CheckCase<'_>,
        finding: &CheckFinding,
    ) -> Result<RecordedVerdict, CrawlError> {
        let mut capture = None;
        for exchange in &finding.exchanges {
            capture = self.keep(exchange)?;
        }
        let url = &case.checked.url;
        let time = match &capture {
            Some(capture) => capture.time,
            None => self.later_than_the_last(url)?,
        };
        let (expected, got) = finding.verdict.sides();
        let final_url = capture.as_ref().map(|capture| &capture.url).filter(|last| *last != url).cloned();
        let detail = VerdictDetail {
            expected,
            got,
            capture: capture.as_ref().map(|capture| capture.id),
            final_url,
            expectation: case.promise.told(),
        };
        let verdict = UrlVerdict {
            url: url.clone(),
            time,
            verdict: finding.verdict.kind(),
            status: finding.status,
            detail,
        };
        Ok(RecordedVerdict { time, capture, verdict })
    }

    /// The current time, or one microsecond after the last verdict if that is later. Captures have
    /// finer times than this clock, and verdicts must stay in order.
    fn later_than_the_last(&self, url: &str) -> Result<Moment, CrawlError> {
        let now = self.history.now();
        let last = self.history.catalog().verdicts_of(url, 1)?.first().map(|row| row.time);
        Ok(match last {
            Some(last) if last >= now => Moment::from_micros(last.micros().saturating_add(1)),
            _ => now,
        })
    }

    fn keep(&mut self, exchange: &Exchange) -> Result<Option<Capture>, CrawlError> {
        let kept = wire_exchange::store_exchange(&self.keeper, &mut self.packer, self.run, exchange, None)?;
        let row = row_of_receipt(&kept.receipt, self.history.redaction());
        let capture = match &row {
            Some(CatalogRow::Capture(capture)) => Some((**capture).clone()),
            _ => None,
        };
        self.rows.extend(row);
        if self.rows.len() >= ROWS_PER_BATCH {
            self.history.apply(std::mem::take(&mut self.rows))?;
        }
        Ok(capture)
    }

    /// Stores the verdicts after all responses are durable. Returns the record that holds them.
    pub(crate) fn write_down(&mut self, noted: &[RecordedVerdict]) -> Result<RecordId, CrawlError> {
        self.history.apply(std::mem::take(&mut self.rows))?;
        let captured = noted.iter().any(|noted| noted.capture.is_some());
        let verdicts = Verdicts {
            time: self.history.now(),
            run: captured.then_some(self.run.id),
            verdicts: noted.iter().map(|noted| noted.verdict.clone()).collect(),
        };
        let json = serde_json::to_vec(&verdicts).expect("verdicts can be written as JSON");
        let about = format!("urn:uuid:{}", self.run.id);
        let record = self.history.write_fact(&about, media_type::VERDICTS, &json)?;
        let rows = rows_of_fact(record, &Fact::Verdicts(verdicts))
            .map_err(|source| RepositoryError::from(UnreadableFact { record, source }))?;
        self.history.apply(rows)?;
        Ok(record)
    }
}
