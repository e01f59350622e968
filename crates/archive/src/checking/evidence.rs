//! The evidence of a check: responses as records of its run, verdicts as a fact that names them.
//!
//! A check makes no version. Its responses are no captures, so no state shows them, and its fact is
//! the only thing that rows are made of. As everywhere in varve, data is in the silos before a row
//! refers to it: an interrupted check leaves records that nothing refers to.

use std::collections::BTreeMap;

use uuid::Uuid;
use varve_core::exchange::Exchange;
use varve_core::fact::{CheckRecord, EvidenceRecord, UrlVerdict, VerdictDetail, media_type};
use varve_core::history::StoredCheck;
use varve_core::receipt::Receipt;
use varve_core::{Moment, RecordId, RunId};
use varve_store::exchange::ExchangeWriter;
use varve_warc::write::Packer;

use super::{CheckCase, CheckFinding};
use varve_crawl::wire_exchange::{self, RunRecord};
use varve_crawl::{CrawlError, RunDescription};
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::rows::rows_of_check;

/// The message and author of a check.
#[derive(Clone, Debug)]
pub struct CheckLabel {
    /// The message.
    pub message: String,
    /// The author.
    pub author: Option<String>,
}

/// Stores the responses and verdicts of a check.
pub(crate) struct CheckEvidence<'a> {
    history: &'a ArchiveHistoryWriter,
    keeper: ExchangeWriter<'a>,
    packer: Packer,
    run: RunRecord,
    /// The number of stored responses.
    responses: u64,
}

/// The recorded result of one case.
pub(crate) struct RecordedVerdict {
    /// The verdict as it is stored.
    pub(crate) verdict: UrlVerdict,
}

impl RecordedVerdict {
    /// The response that decided, if there was one.
    pub(crate) fn evidence(&self) -> Option<&EvidenceRecord> {
        self.verdict.detail.evidence.as_ref()
    }
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
            responses: 0,
        })
    }

    /// The number of stored responses.
    pub(crate) fn responses(&self) -> u64 {
        self.responses
    }

    /// Stores the responses of one case and records its result.
    pub(crate) fn note(
        &mut self,
        case: &CheckCase<'_>,
        finding: &CheckFinding,
    ) -> Result<RecordedVerdict, CrawlError> {
        let url = &case.checked.url;
        let mut evidence = None;
        for (number, exchange) in finding.exchanges.iter().enumerate() {
            let receipt = self.keep(exchange)?;
            if finding.judged == Some(number) {
                evidence = Some(evidence_record(url, receipt));
            }
        }
        let time = match &evidence {
            Some(evidence) => evidence.time,
            None => self.later_than_the_last(url)?,
        };
        let (expected, got) = finding.verdict.sides();
        let detail = VerdictDetail {
            expected,
            got,
            warning: finding.warning.clone(),
            redirects: finding.redirects.locations.iter().map(|step| step.location.clone()).collect(),
            evidence,
            expectation: case.target.expectation_json(),
        };
        let (url, verdict, status) = (url.clone(), finding.verdict.kind(), finding.status);
        Ok(RecordedVerdict { verdict: UrlVerdict { url, time, verdict, status, detail } })
    }

    /// The current time, or one microsecond after the last verdict if that is later. Responses have
    /// finer times than this clock, and verdicts must stay in order.
    fn later_than_the_last(&self, url: &str) -> Result<Moment, CrawlError> {
        let now = self.history.now();
        let last = self.history.catalog().verdicts_of(url, 1)?.first().map(|row| row.time);
        Ok(match last {
            Some(last) if last >= now => Moment::from_micros(last.micros().saturating_add(1)),
            _ => now,
        })
    }

    fn keep(&mut self, exchange: &Exchange) -> Result<Receipt, CrawlError> {
        let kept = wire_exchange::store_evidence(&self.keeper, &mut self.packer, self.run, exchange)?;
        self.responses += 1;
        Ok(kept.receipt)
    }

    /// Stores the verdicts on URLs of the web, and with them makes all responses durable. `None` if
    /// there are none.
    pub(crate) fn write_down(
        &self,
        noted: &[RecordedVerdict],
        label: CheckLabel,
        expectations: BTreeMap<String, RecordId>,
    ) -> Result<Option<StoredCheck>, CrawlError> {
        let is_of_web = |verdict: &UrlVerdict| verdict.url.contains("://");
        let verdicts: Vec<UrlVerdict> =
            noted.iter().map(|noted| &noted.verdict).filter(|verdict| is_of_web(verdict)).cloned().collect();
        if verdicts.is_empty() {
            return Ok(None);
        }
        let CheckLabel { message, author } = label;
        let check = CheckRecord {
            run: self.run.id,
            time: self.history.now(),
            message,
            author,
            expectations,
            verdicts,
        };
        let json = serde_json::to_vec(&check).expect("verdicts can be written as JSON");
        let id = CheckRecord::check_id(&json);
        let record = self.history.write_fact(&format!("urn:uuid:{id}"), media_type::CHECK, &json)?;
        self.history.apply(rows_of_check((id, record), &check).collect())?;
        let CheckRecord { run, time, message, author, .. } = &check;
        let (message, author, counts) = (message.clone(), author.clone(), check.counts());
        Ok(Some(StoredCheck { id, run: *run, time: *time, message, author, record, counts }))
    }
}

/// What a verdict on `url` says about a stored response.
fn evidence_record(url: &str, receipt: Receipt) -> EvidenceRecord {
    EvidenceRecord {
        record: receipt.record,
        url: Some(receipt.url).filter(|other| other != url),
        time: receipt.time,
        status: receipt.status,
        body: receipt.body,
        length: receipt.length,
        truncated: receipt.truncated.is_some(),
    }
}
