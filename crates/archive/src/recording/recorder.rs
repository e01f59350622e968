//! Stores what passes the proxy, on one thread, and makes it durable every few seconds.
//!
//! The order is that of a crawl: records, then rows, then the version. An exchange is acknowledged
//! with the checkpoint after it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use varve_catalog::CatalogRow;
use varve_core::catalog::UrlMatch;
use varve_core::exchange::Exchange;
use varve_core::history::CaptureOwner;
use varve_core::{Moment, RecordId};
use varve_crawl::wire_exchange::{record_non_capture, store_rendered};
use varve_crawl::{CapturedPage, CrawlEvent, CrawlProgress, CrawlTally, RecordingRun};
use varve_repository::history::ArchiveHistoryWriter;
use varve_repository::rows::row_of_receipt;
use varve_store::exchange::{ExchangeWriter, NewRenderings};
use varve_warc::write::Packer;

use super::live_handler::RecordingActivity;
use super::recorded_urls::RecordedUrls;
use super::web_socket::{FRAMES_MEDIA_TYPE, RecordedFrames};
use crate::error::ArchiveError;

/// A crash loses at most this much time.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(2);

/// A crash loses at most this number of captures.
const MAX_PENDING_ROWS: usize = 1024;

/// How often the recorder looks whether it should end.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// How long exchanges in flight may go on after the recording was stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The status of a response that opens a web socket.
const SWITCHING_PROTOCOLS: u16 = 101;

/// Captures of a URL that are read to find those of this run.
const MAX_CAPTURES_READ: usize = 8;

/// What happened to a request.
#[derive(Debug)]
pub(crate) enum RecordJob {
    /// It has a response.
    Exchange(Box<Exchange>),
    /// Frames of a web socket passed.
    Frames(Box<RecordedFrames>),
    /// It has no response.
    Failure {
        /// The URL.
        url: String,
        /// The kind of failure, as a word.
        kind: &'static str,
        /// What happened, as a sentence.
        message: String,
    },
}

/// When a recording ends.
pub(crate) struct RecordingEnd<'a> {
    /// Set by the caller to stop it.
    pub(crate) stop: &'a AtomicBool,
    /// It ends when there was no exchange for this long.
    pub(crate) idle_exit: Option<Duration>,
    /// Polled: whether the program that is recorded has ended.
    pub(crate) is_over: &'a mut dyn FnMut() -> bool,
    pub(crate) activity: Arc<RecordingActivity>,
}

/// Stores exchanges.
pub(crate) struct ExchangeRecorder<'a> {
    history: &'a ArchiveHistoryWriter,
    run: &'a RecordingRun<'a>,
    writer: ExchangeWriter<'a>,
    packer: Packer,
    urls: Arc<RecordedUrls>,
    /// The records of requests that opened web sockets, by URL and time.
    handshakes: HashMap<(String, Moment), RecordId>,
    /// Whether the run has captures of earlier processes.
    is_resumed: bool,
    rows: Vec<CatalogRow>,
    has_unsaved: bool,
    saved: Instant,
    tally: CrawlTally,
}

impl<'a> ExchangeRecorder<'a> {
    pub(crate) fn new(
        history: &'a ArchiveHistoryWriter,
        run: &'a RecordingRun<'a>,
        urls: Arc<RecordedUrls>,
        is_resumed: bool,
    ) -> Result<Self, ArchiveError> {
        let store = history.writer().store();
        Ok(Self {
            history,
            run,
            writer: ExchangeWriter::new(store),
            packer: store.packer()?,
            urls,
            handshakes: HashMap::new(),
            is_resumed,
            rows: Vec::new(),
            has_unsaved: false,
            saved: Instant::now(),
            tally: CrawlTally::default(),
        })
    }

    /// Stores what comes until the recording ends. Everything is durable then.
    pub(crate) fn run(
        mut self,
        jobs: &mut mpsc::Receiver<RecordJob>,
        runtime: &Handle,
        end: &mut RecordingEnd<'_>,
        report: &mut dyn FnMut(CrawlEvent<'_>),
    ) -> Result<CrawlTally, ArchiveError> {
        let mut stopped: Option<Instant> = None;
        let mut reported = Instant::now();
        loop {
            let wait = tokio::time::timeout;
            match runtime.block_on(async { wait(STOP_POLL_INTERVAL, jobs.recv()).await }) {
                Ok(Some(job)) => self.take(job, report)?,
                Ok(None) => break,
                Err(_) => {}
            }
            let is_time = self.saved.elapsed() >= CHECKPOINT_INTERVAL;
            if self.has_unsaved && (is_time || self.rows.len() >= MAX_PENDING_ROWS) {
                self.save(report)?;
            }
            if reported.elapsed() >= PROGRESS_INTERVAL {
                reported = Instant::now();
                let in_flight = end.activity.in_flight();
                let progress = CrawlProgress { tally: self.tally, in_flight, ..CrawlProgress::default() };
                report(CrawlEvent::Progress(&progress));
            }
            if stopped.is_none() && end.is_reached() {
                stopped = Some(Instant::now());
                end.activity.end();
            }
            let has_ended = |since: Instant| end.activity.in_flight() == 0 || since.elapsed() >= STOP_TIMEOUT;
            if stopped.is_some_and(has_ended) && jobs.is_empty() {
                break;
            }
        }
        self.save(report)?;
        Ok(self.tally)
    }

    fn take(&mut self, job: RecordJob, report: &mut dyn FnMut(CrawlEvent<'_>)) -> Result<(), ArchiveError> {
        match job {
            RecordJob::Exchange(exchange) => self.store(&exchange, report)?,
            RecordJob::Frames(frames) => self.store_frames(&frames)?,
            RecordJob::Failure { url, kind, message } => {
                self.tally.failed += 1;
                report(CrawlEvent::Failed { url: &url, kind, message: &message });
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        exchange: &Exchange,
        report: &mut dyn FnMut(CrawlEvent<'_>),
    ) -> Result<(), ArchiveError> {
        self.has_unsaved = true;
        self.tally.bytes += exchange.response.len();
        if self.is_resumed {
            self.note_earlier(&exchange.url)?;
        }
        let (run, renderings) = (self.run.record(), NewRenderings::default());
        if !self.urls.admit(exchange) {
            let stored = record_non_capture(&self.writer, &mut self.packer, run, exchange, &renderings)?;
            self.tally.exchanged += 1;
            if stored.status == SWITCHING_PROTOCOLS {
                self.handshakes.insert((exchange.url.clone(), exchange.at), stored.record);
            }
            let (url, method) = (exchange.url.as_str(), exchange.method());
            let (status, length) = (stored.status, stored.length);
            report(CrawlEvent::Exchanged { url, method, status, length });
            return Ok(());
        }
        let kept = store_rendered(&self.writer, &mut self.packer, run, exchange, None, &renderings)?;
        let receipt = &kept.receipt;
        let unchanged = receipt.revisit_of.is_some();
        let is_page = is_document(exchange);
        self.tally.captured += 1;
        self.tally.pages += u64::from(is_page);
        self.tally.unchanged += u64::from(unchanged);
        self.tally.truncated += u64::from(receipt.truncated.is_some());
        report(CrawlEvent::Captured(CapturedPage {
            url: &receipt.url,
            time: receipt.time,
            status: receipt.status,
            length: receipt.length,
            is_page,
            unchanged,
            truncated: receipt.truncated.as_deref(),
        }));
        self.rows.extend(row_of_receipt(receipt, self.history.redaction()));
        Ok(())
    }

    /// Notes what an earlier process of this run has of a URL.
    fn note_earlier(&self, url: &str) -> Result<(), ArchiveError> {
        let id = self.run.record().id;
        let found = self.history.catalog().newest_captures(&[url], UrlMatch::Exact, MAX_CAPTURES_READ)?;
        for capture in found.iter().flatten().filter(|capture| capture.owner == CaptureOwner::Run(id)) {
            self.urls.note(url, (200..300).contains(&capture.status) && !capture.truncated);
        }
        Ok(())
    }

    fn store_frames(&mut self, frames: &RecordedFrames) -> Result<(), ArchiveError> {
        self.has_unsaved = true;
        let key = (frames.url.clone(), frames.opened);
        let Some(handshake) = self.handshakes.get(&key).copied() else { return Ok(()) };
        if frames.is_last {
            self.handshakes.remove(&key);
        }
        let json = serde_json::to_vec(frames).expect("frames can be written as JSON");
        self.history.append_fact(&handshake.to_string(), FRAMES_MEDIA_TYPE, &json)?;
        Ok(())
    }

    /// Makes everything durable that was stored so far.
    fn save(&mut self, report: &mut dyn FnMut(CrawlEvent<'_>)) -> Result<(), ArchiveError> {
        self.history.apply(std::mem::take(&mut self.rows))?;
        self.has_unsaved = false;
        self.saved = Instant::now();
        report(CrawlEvent::Checkpoint { captured: self.tally.captured });
        Ok(())
    }
}

impl RecordingEnd<'_> {
    fn is_reached(&mut self) -> bool {
        let is_idle = self.idle_exit.is_some_and(|limit| self.activity.idle_time() >= limit);
        self.stop.load(Ordering::Relaxed) || is_idle || (self.is_over)()
    }
}

/// Whether a browser asked for a document, to show it by itself.
fn is_document(exchange: &Exchange) -> bool {
    let head = varve_wire::MessageHead::parse(&exchange.request);
    head.is_some_and(|head| head.headers.get("Sec-Fetch-Dest") == Some(b"document"))
}
