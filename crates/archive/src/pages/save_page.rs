//! Saves fetched pages: the exchanges as captures of one version, then the extractions.
//!
//! As everywhere, data is in the silos before a row refers to it. A crash in between leaves captures
//! without an extraction, and the next request fetches the page again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;
use varve_catalog::CatalogRow;
use varve_core::exchange::Exchange;
use varve_core::fact::{ExtractionRecord, Fact, StateChanges};
use varve_core::history::{Coverage, CoverageScope};
use varve_core::writer_lock::LockError;
use varve_core::{Moment, RecordId, RunId};
use varve_crawl::wire_exchange::{RunRecord, new_renderings, record_non_capture, store_rendered};
use varve_crawl::{NewRunVersion, RunDescription, RunVersion, version_of_run};
use varve_extract::ExtractedPage;
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::rows::{row_of_receipt, rows_of_fact};
use varve_repository::{ArchivePaths, ArchiveWriter, RepositoryError};
use varve_store::exchange::{ExchangeWriter, NewRenderings};
use varve_warc::write::Packer;

use super::live_page::LivePage;
use super::read_page::ReadPage;
use super::url_request::UrlRequest;
use super::{OpenWriterOptions, PageError, PageServiceOptions};
use crate::error::ArchiveError;
use crate::verbs::intent;

/// Delay between attempts to take the lock of another process.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A page to save, and its extraction unless that failed.
pub(super) struct PageToSave<'a> {
    pub(super) request: &'a UrlRequest,
    pub(super) live: &'a LivePage,
    pub(super) read: Option<&'a ReadPage>,
    /// How long the extraction is an answer.
    pub(super) ttl: Duration,
}

/// Opens an archive to save pages. The threads of a process wait for each other, and then for other
/// processes.
pub(super) struct PageSaver {
    layout: ArchivePaths,
    writer: Option<OpenWriterOptions>,
    lock_wait: Duration,
    saving: Mutex<()>,
}

impl PageSaver {
    pub(super) fn new(layout: ArchivePaths, options: &PageServiceOptions) -> Self {
        let PageServiceOptions { writer, lock_wait, .. } = options;
        Self { layout, writer: writer.clone(), lock_wait: *lock_wait, saving: Mutex::default() }
    }

    /// The current time; `None` if nothing may be written.
    pub(super) fn now(&self) -> Option<Moment> {
        self.writer.as_ref().map(|writer| Moment::from((writer().clock)().instant))
    }

    /// Fails if nothing may be written.
    pub(super) fn require_writable(&self) -> Result<(), PageError> {
        self.writer.as_ref().map(|_| ()).ok_or(PageError::ReadOnly)
    }

    /// Runs `work` with the archive open for writing.
    pub(super) fn with_writer<T>(
        &self,
        work: impl FnOnce(&ArchiveHistoryWriter) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        let _turn = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let opening = self.writer.as_ref().ok_or(PageError::ReadOnly)?;
        let started = Instant::now();
        loop {
            match ArchiveWriter::open_at(self.layout.clone(), opening()) {
                Ok(writer) => return work(&ArchiveHistoryWriter::of(writer)?),
                Err(RepositoryError::Lock(LockError::Held { holder })) => {
                    if started.elapsed() >= self.lock_wait {
                        return Err(PageError::Busy(holder));
                    }
                    std::thread::sleep(LOCK_POLL_INTERVAL);
                }
                Err(error) if error.is_read_only() => return Err(PageError::ReadOnly),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Saves pages as one version, with their extractions. Returns the version.
pub(super) fn save_pages(
    history: &ArchiveHistoryWriter,
    pages: &[PageToSave<'_>],
    description: &RunDescription,
    author: Option<&str>,
) -> Result<RunVersion, PageError> {
    let run = RunId::new(Uuid::now_v7());
    let responses = store_exchanges(history, run, pages, description)?;
    let new = NewRunVersion {
        run,
        message: message_of(pages),
        author: author.map(str::to_owned),
        intent: intent::keep(history)?,
        coverage: Some(Coverage { scope: CoverageScope::Pages, complete: true, unchanged: 0, below: None }),
        changes: StateChanges::default(),
    };
    let version = version_of_run(history, new).map_err(ArchiveError::from)?;
    let saved = pages.iter().zip(responses);
    let facts: Vec<(String, Fact)> = saved.filter_map(|(page, response)| fact_of(page, response)).collect();
    if !facts.is_empty() {
        append_facts(history, &facts)?;
    }
    Ok(version)
}

fn message_of(pages: &[PageToSave<'_>]) -> String {
    match pages {
        [] => "extract".to_owned(),
        [page] => format!("extract {}", page.request.cleaned.url),
        [page, others @ ..] => format!("extract {} and {} more", page.request.cleaned.url, others.len()),
    }
}

/// Stores the exchanges of all pages, and returns the records of the pages themselves.
fn store_exchanges(
    history: &ArchiveHistoryWriter,
    run: RunId,
    pages: &[PageToSave<'_>],
    description: &RunDescription,
) -> Result<Vec<RecordId>, PageError> {
    let store = history.writer().store();
    let described_by = store.describe_run(&description.fields(run)).map_err(ArchiveError::from)?;
    let writer = ExchangeWriter::new(store);
    let mut storing = StoredRun {
        run: RunRecord { id: run, described_by: Some(described_by) },
        writer: &writer,
        packer: store.packer().map_err(ArchiveError::from)?,
        rows: Vec::new(),
        history,
    };
    let mut records = Vec::new();
    for page in pages {
        records.push(storing.store_page(page.live)?);
    }
    history.apply(storing.rows)?;
    Ok(records)
}

/// A run whose exchanges are being stored.
struct StoredRun<'a> {
    run: RunRecord,
    writer: &'a ExchangeWriter<'a>,
    packer: Packer,
    rows: Vec<CatalogRow>,
    history: &'a ArchiveHistoryWriter,
}

impl StoredRun<'_> {
    /// Stores the exchanges of a page, and returns the record of the page itself.
    fn store_page(&mut self, live: &LivePage) -> Result<RecordId, PageError> {
        let mut page = None;
        for (number, exchange) in live.exchanges.iter().enumerate() {
            let is_page = number == live.page;
            let renderings =
                if is_page { new_renderings(&live.renderings) } else { NewRenderings::default() };
            let record = self.store(exchange, &renderings).map_err(ArchiveError::from)?;
            page = page.or(Some(record).filter(|_| is_page));
        }
        Ok(page.expect("the page is one of its exchanges"))
    }

    /// Stores an exchange. Only the answer to a `GET` is a capture of its URL.
    fn store(
        &mut self,
        exchange: &Exchange,
        renderings: &NewRenderings<'_>,
    ) -> Result<RecordId, varve_store::StoreError> {
        if !exchange.is_get() {
            let stored = record_non_capture(self.writer, &mut self.packer, self.run, exchange, renderings)?;
            return Ok(stored.record);
        }
        let kept = store_rendered(self.writer, &mut self.packer, self.run, exchange, None, renderings)?;
        self.rows.extend(row_of_receipt(&kept.receipt, self.history.redaction()));
        Ok(kept.receipt.record)
    }
}

/// The fact of an extraction, and the record that it is about.
fn fact_of(page: &PageToSave<'_>, response: RecordId) -> Option<(String, Fact)> {
    let read = page.read?;
    let fetch_time = read.page.fetch_time?;
    let mut rest = read.page.clone();
    let content_text = rest.content_text.take();
    let fetch_method = std::mem::take(&mut rest.fetch_method);
    let canonical = read.canonical().to_owned();
    if rest.url == canonical {
        rest.url.clear();
    }
    let rest = ExtractedPage { requested_url: None, original_url: None, fetch_time: None, ..rest };
    let record = ExtractionRecord {
        url: canonical,
        requested_url: page.request.cleaned.url.clone(),
        fetch_time,
        fetch_method,
        expires: expiry(fetch_time, page.ttl),
        response,
        metadata: serde_json::to_value(rest).expect("a page can be written as JSON"),
        content_text,
    };
    Some((response.to_string(), Fact::Extraction(Box::new(record))))
}

/// The last second in which an extraction is an answer.
pub(super) fn expiry(fetch_time: Moment, ttl: Duration) -> Moment {
    let ttl = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
    Moment::from_seconds(fetch_time.seconds().saturating_add(ttl))
}

/// Appends facts, and stores their rows in one transaction, which makes the facts durable first.
pub(super) fn append_facts(
    history: &ArchiveHistoryWriter,
    facts: &[(String, Fact)],
) -> Result<(), PageError> {
    let mut rows = Vec::new();
    for (about, fact) in facts {
        let json = fact.to_json();
        let (record, _) = history.append_fact(about, fact.media_type(), &json)?;
        let fact_rows = rows_of_fact(record, fact);
        rows.extend(fact_rows.expect("values that were parsed before have rows"));
    }
    Ok(history.apply(rows)?)
}
