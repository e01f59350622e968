//! Keeping answers, and reading what is in them: the work that takes a processor's time.
//!
//! Each thread has a packer of its own. What is kept is not safe yet; whoever runs the crawl syncs the store before it
//! promises anything.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use varve_repository::RepositoryError;

use varve_core::Moment;
use varve_core::exchange::Exchange;
use varve_core::headers::Headers;
use varve_core::history::Capture;
use varve_core::receipt::Receipt;
use varve_core::robots::LONGEST;
use varve_fetch::Rendering;
use varve_store::StoreError;
use varve_store::exchange::ExchangeWriter;
use varve_warc::write::Packer;
use varve_wire::{MessageBytes, MessageHead};

use super::crawl_policy::{CrawlPolicy, DiscoveredLink};
use super::destination::{ResponseWriter, ResponseWriters, StoredCapture};
use super::extract_links::{ParsedHead, extract_links};
use super::fetch_reason::FetchReason;
use super::link_backlog::LinkBacklog;
use super::past_captures::first_header;
use super::rendering;
use super::task::CrawlTask;
use crate::crawl::error::CrawlError;
use crate::wire_exchange::{self, RunRecord};
use varve_repository::history::{ArchiveHistory, Holdings};

/// Work for a keeper.
pub(crate) struct WriteJob {
    /// What was fetched.
    pub(crate) task: CrawlTask,
    /// What there is of it.
    pub(crate) material: JobInput,
}

/// What a keeper works on.
pub(crate) enum JobInput {
    /// An answer that just came, with what a browser made of it.
    Response(Box<Exchange>, Vec<Rendering>),
    /// What this run has got already, wanted for another reason.
    Stored(StoredCapture),
}

/// What came of a job.
pub(crate) struct StoreResult {
    /// What was fetched.
    pub(crate) task: CrawlTask,
    /// What came of it.
    pub(crate) result: Result<StoredResponse, CrawlError>,
}

/// An answer that was kept, and what is in it.
pub(crate) struct StoredResponse {
    /// The receipt; none if the capture was there already.
    pub(crate) receipt: Option<Receipt>,
    /// What is to become a revision of a Crystal project; none in an archive.
    pub(crate) revision: Option<StoredRevision>,
    /// The exchange, if it is no capture.
    pub(crate) non_capture: Option<NonCaptureExchange>,
    /// The status.
    pub(crate) status: u16,
    /// Bytes of the answer on the wire.
    pub(crate) bytes: u64,
    /// Where it leads.
    pub(crate) links: Vec<DiscoveredLink>,
    /// The text of a `robots.txt`.
    pub(crate) robots: Option<Vec<u8>>,
}

impl StoredResponse {
    /// Nothing came of it but a status.
    pub(crate) fn nothing(status: u16) -> Self {
        Self {
            receipt: None,
            revision: None,
            non_capture: None,
            status,
            bytes: 0,
            links: Vec::new(),
            robots: None,
        }
    }
}

/// An exchange that is not the capture of its URL.
pub(crate) struct NonCaptureExchange {
    /// Its method.
    pub(crate) method: String,
    /// The length of the body of its answer.
    pub(crate) length: u64,
}

/// An answer that is to become a revision of a Crystal project.
pub(crate) struct StoredRevision {
    /// When it was asked for.
    pub(crate) time: Moment,
    /// The length of its body.
    pub(crate) length: u64,
    /// Whether its body is that of the revision before it.
    pub(crate) unchanged: bool,
    /// Why the answer is not whole, if it is not.
    pub(crate) truncated: Option<&'static str>,
}

/// What the keepers of an archive share.
pub(crate) struct ArchiveWriters<'a> {
    pub(crate) history: &'a ArchiveHistory,
    pub(crate) keeper: ExchangeWriter<'a>,
    pub(crate) plan: &'a CrawlPolicy,
    pub(crate) run: RunRecord,
}

/// Works until there will be no more jobs, or nobody wants the results.
pub(crate) fn run_writer<M: From<StoreResult>>(
    keepers: &dyn ResponseWriters,
    jobs: &Mutex<Receiver<WriteJob>>,
    backlog: &LinkBacklog,
    done: &Sender<M>,
) {
    let mut worker = keepers.worker();
    loop {
        backlog.wait();
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(WriteJob { task, material }) = job else { return };
        let result = catch_unwind(AssertUnwindSafe(|| worker(&task, material))).unwrap_or_else(|_| {
            // One page must not end a crawl. The worker may be in the middle of a record.
            worker = keepers.worker();
            Err(RepositoryError::Store(StoreError::Content(io::Error::other(
                "a bug in varve: reading it panicked",
            )))
            .into())
        });
        backlog.add(result.as_ref().map_or(0, |outcome| outcome.links.len()));
        if done.send(M::from(StoreResult { task, result })).is_err() {
            return;
        }
    }
}

impl ResponseWriters for ArchiveWriters<'_> {
    fn worker(&self) -> ResponseWriter<'_> {
        let mut packer = None;
        Box::new(move |task, material| self.do_one(task, material, &mut packer))
    }
}

impl ArchiveWriters<'_> {
    fn do_one(
        &self,
        task: &CrawlTask,
        material: JobInput,
        packer: &mut Option<Packer>,
    ) -> Result<StoredResponse, CrawlError> {
        match material {
            JobInput::Stored(stored) => match stored.capture() {
                Some(capture) => self.look_again(task, capture),
                None => Err(RepositoryError::Absent { id: task.url.clone() }.into()),
            },
            JobInput::Response(exchange, renderings) => {
                let packer = match packer {
                    Some(packer) => packer,
                    none => none.insert(self.history.writer().store().packer()?),
                };
                if task.non_capture {
                    return self.keep_aside(&exchange, &renderings, packer);
                }
                self.keep(task, &exchange, &renderings, packer)
            }
        }
    }

    fn keep_aside(
        &self,
        exchange: &Exchange,
        renderings: &[Rendering],
        packer: &mut Packer,
    ) -> Result<StoredResponse, CrawlError> {
        let new = rendering::new_renderings(renderings);
        let kept = wire_exchange::record_non_capture(&self.keeper, packer, self.run, exchange, &new)?;
        let aside = Some(NonCaptureExchange { method: exchange.method().to_owned(), length: kept.length });
        Ok(StoredResponse {
            non_capture: aside,
            bytes: exchange.response.len(),
            ..StoredResponse::nothing(kept.status)
        })
    }

    fn keep(
        &self,
        task: &CrawlTask,
        exchange: &Exchange,
        renderings: &[Rendering],
        packer: &mut Packer,
    ) -> Result<StoredResponse, CrawlError> {
        let condition = task.earlier.as_ref().and_then(|earlier| earlier.condition.as_ref());
        let original = condition.map(|condition| condition.original.clone());
        let new = rendering::new_renderings(renderings);
        let kept = wire_exchange::store_rendered(&self.keeper, packer, self.run, exchange, original, &new)?;
        let receipt = kept.receipt;
        let (mut leads, robots) = if receipt.not_modified {
            self.unchanged(task, &receipt)?
        } else {
            let mut body = body_of(&exchange.response)?;
            self.read(task, (receipt.status, &receipt.headers), &mut body)
        };
        let (status, bytes) = (receipt.status, exchange.response.len());
        if let Some(document) = new.document {
            self.follow_document(task, status, &mut { document.content }, &mut leads);
        }
        Ok(StoredResponse {
            receipt: Some(receipt),
            bytes,
            links: leads,
            robots,
            ..StoredResponse::nothing(status)
        })
    }

    /// The leads of a page that has not changed come from the body that is here.
    fn unchanged(
        &self,
        task: &CrawlTask,
        receipt: &Receipt,
    ) -> Result<(Vec<DiscoveredLink>, Option<Vec<u8>>), CrawlError> {
        let Some(earlier) = &task.earlier else { return Ok((Vec::new(), None)) };
        let mut headers = receipt.headers.clone();
        let content_type = earlier.condition.as_ref().and_then(|condition| condition.content_type.as_deref());
        complete(&mut headers, content_type);
        let mut body = self.history.open_body(&earlier.newest)?;
        Ok(self.read(task, (receipt.status, &headers), &mut body))
    }

    /// Reads a capture of this run again, for another reason.
    fn look_again(&self, task: &CrawlTask, capture: &Capture) -> Result<StoredResponse, CrawlError> {
        let head = self.history.wire_head(capture)?.unwrap_or_default();
        let mut headers = MessageHead::parse(&head).map(|head| head.headers).unwrap_or_default();
        if capture.status == 304 {
            complete(&mut headers, self.former_type(capture)?.as_deref());
        }
        let mut body = self.history.open_body(capture)?;
        let (mut leads, robots) = self.read(task, (capture.status, &headers), &mut body);
        self.follow_kept_document(task, capture, &mut leads)?;
        Ok(StoredResponse { links: leads, robots, ..StoredResponse::nothing(capture.status) })
    }

    /// The type that an earlier capture with the same body had.
    fn former_type(&self, capture: &Capture) -> Result<Option<String>, CrawlError> {
        let filter = varve_core::history::CaptureFilter { until: Some(capture.time), ..Default::default() };
        let page = varve_core::history::ListCursor { after: Some(capture), limit: 8 };
        let order = varve_core::history::TimeOrder::NewestFirst;
        let former = self.history.catalog().captures_of(&capture.url, &filter, order, page)?;
        Ok(former
            .iter()
            .filter(|former| former.body == capture.body)
            .find_map(|former| first_header(former, "content-type")))
    }

    pub(super) fn read(
        &self,
        task: &CrawlTask,
        (status, headers): (u16, &Headers),
        body: &mut dyn Read,
    ) -> (Vec<DiscoveredLink>, Option<Vec<u8>>) {
        read(self.plan, task, (status, headers), body, &mut |_| {})
    }
}

/// Reads what is in an answer: its leads, and for a file for robots its text. `each` is told every link, followed or not.
pub(super) fn read(
    plan: &CrawlPolicy,
    task: &CrawlTask,
    (status, headers): (u16, &Headers),
    body: &mut dyn Read,
    each: &mut dyn FnMut(&str),
) -> (Vec<DiscoveredLink>, Option<Vec<u8>>) {
    let answer = ParsedHead { url: &task.url, status, headers };
    let robots = (task.reason == FetchReason::Robots).then(|| {
        let mut text = Vec::new();
        // What cannot be read is no rule; what was read before it counts.
        let _ = body.take(LONGEST as u64).read_to_end(&mut text);
        text
    });
    (extract_links(plan, task.reason, &answer, body, each), robots)
}

fn complete(headers: &mut Headers, content_type: Option<&str>) {
    if let Some(content_type) = content_type.filter(|_| !headers.contains("content-type")) {
        headers.push("Content-Type", content_type);
    }
}

/// The body of an answer, with its codings undone where they can be.
pub(super) fn body_of(wire: &MessageBytes) -> Result<Box<dyn Read + Send + '_>, CrawlError> {
    let unreadable = |error| RepositoryError::Store(StoreError::Content(error));
    wire.head().map_err(unreadable)?;
    Ok(match wire_exchange::open_wire_body(wire) {
        Ok(Some(body)) if body.unremoved_coding().is_none() => Box::new(body),
        // A coding that nobody can undo hides all links.
        _ => Box::new(io::empty()),
    })
}
