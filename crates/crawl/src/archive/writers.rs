//! Stores responses in the silos of an archive, and reads their links.
//!
//! Each writer has a packer of its own.

use std::io::Read;

use varve_core::exchange::Exchange;
use varve_core::headers::Headers;
use varve_core::history::{Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_core::receipt::Receipt;
use varve_fetch::Rendering;
use varve_store::exchange::ExchangeWriter;
use varve_warc::write::Packer;
use varve_wire::MessageHead;

use super::super::crawl_policy::CrawlPolicy;
use super::super::destination::{ResponseWriter, ResponseWriters};
use super::super::read_response::{ReadResponse, decoded_body, read_response};
use super::super::task::CrawlTask;
use super::super::write_job::{JobInput, NonCaptureExchange, StoredAs, StoredResponse};
use super::past::first_header;
use varve_repository::RepositoryError;

use crate::error::CrawlError;
use crate::wire_exchange::{self, RunRecord, new_renderings};
use varve_repository::history::ArchiveHistoryWriter;

/// Older captures that are read for the type of an unchanged body.
const MAX_FORMER_CAPTURES: usize = 8;

/// The state that the writers of an archive share.
pub(super) struct ArchiveWriters<'a> {
    pub(super) history: &'a ArchiveHistoryWriter,
    pub(super) keeper: ExchangeWriter<'a>,
    pub(super) policy: &'a CrawlPolicy,
    pub(super) run: RunRecord,
}

impl ResponseWriters for ArchiveWriters<'_> {
    fn writer(&self) -> ResponseWriter<'_> {
        let mut packer = None;
        Box::new(move |task, input| self.write(task, input, &mut packer))
    }
}

impl ArchiveWriters<'_> {
    fn write(
        &self,
        task: &CrawlTask,
        input: JobInput,
        packer: &mut Option<Packer>,
    ) -> Result<StoredResponse, CrawlError> {
        let (exchange, renderings) = match input {
            JobInput::Stored(stored) => match stored.capture() {
                Some(capture) => return self.read_again(task, capture),
                None => return Err(RepositoryError::Absent { id: task.url.to_string() }.into()),
            },
            JobInput::Response(exchange, renderings) => (exchange, renderings),
        };
        let packer = match packer {
            Some(packer) => packer,
            none => none.insert(self.history.writer().store().packer()?),
        };
        match task.is_non_capture() {
            true => self.store_non_capture(&exchange, &renderings, packer),
            false => self.store_capture(task, &exchange, &renderings, packer),
        }
    }

    fn store_non_capture(
        &self,
        exchange: &Exchange,
        renderings: &[Rendering],
        packer: &mut Packer,
    ) -> Result<StoredResponse, CrawlError> {
        let new = new_renderings(renderings);
        let stored = wire_exchange::record_non_capture(&self.keeper, packer, self.run, exchange, &new)?;
        let method = exchange.method().to_owned();
        let non_capture = NonCaptureExchange { method, length: stored.length };
        let (status, bytes) = (stored.status, exchange.response.len());
        Ok(StoredResponse {
            stored: StoredAs::NonCapture(non_capture),
            bytes,
            ..StoredResponse::with_status(status)
        })
    }

    fn store_capture(
        &self,
        task: &CrawlTask,
        exchange: &Exchange,
        renderings: &[Rendering],
        packer: &mut Packer,
    ) -> Result<StoredResponse, CrawlError> {
        let validators = task.earlier.as_ref().and_then(|earlier| earlier.validators.as_ref());
        let original = validators.map(|validators| validators.original.clone());
        let new = new_renderings(renderings);
        let receipt =
            wire_exchange::store_rendered(&self.keeper, packer, self.run, exchange, original, &new)?.receipt;
        let ReadResponse { mut links, robots } = if receipt.not_modified {
            self.read_unchanged(task, &receipt)?
        } else {
            let mut body = decoded_body(&exchange.response)?;
            self.read(task, (receipt.status, &receipt.headers), &mut body)
        };
        let (status, bytes) = (receipt.status, exchange.response.len());
        if let Some(document) = new.document {
            self.read_document(task, status, &mut { document.content }, &mut links);
        }
        Ok(StoredResponse { stored: StoredAs::Capture(Box::new(receipt)), status, bytes, links, robots })
    }

    /// Reads the stored body of a page that has not changed.
    fn read_unchanged(&self, task: &CrawlTask, receipt: &Receipt) -> Result<ReadResponse, CrawlError> {
        let Some(earlier) = &task.earlier else { return Ok(ReadResponse::default()) };
        let mut headers = receipt.headers.clone();
        let validators = earlier.validators.as_ref();
        add_content_type(&mut headers, validators.and_then(|validators| validators.content_type.as_deref()));
        let mut body = self.history.open_body(&earlier.newest)?;
        Ok(self.read(task, (receipt.status, &headers), &mut body))
    }

    /// Reads a capture of this run again, for another reason.
    fn read_again(&self, task: &CrawlTask, capture: &Capture) -> Result<StoredResponse, CrawlError> {
        let head = self.history.wire_head(capture)?.unwrap_or_default();
        let mut headers = MessageHead::parse(&head).map(|head| head.headers).unwrap_or_default();
        if capture.status == 304 {
            add_content_type(&mut headers, self.former_content_type(capture)?.as_deref());
        }
        let mut body = self.history.open_body(capture)?;
        let ReadResponse { mut links, robots } = self.read(task, (capture.status, &headers), &mut body);
        self.read_stored_document(task, capture, &mut links)?;
        Ok(StoredResponse { links, robots, ..StoredResponse::with_status(capture.status) })
    }

    /// The type that an earlier capture with the same body had.
    fn former_content_type(&self, capture: &Capture) -> Result<Option<String>, CrawlError> {
        let filter = CaptureFilter { until: Some(capture.time), ..Default::default() };
        let page = ListCursor { after: Some(capture), limit: MAX_FORMER_CAPTURES };
        let former =
            self.history.catalog().captures_of(&capture.url, &filter, TimeOrder::NewestFirst, page)?;
        let mut same = former.iter().filter(|former| former.body == capture.body);
        Ok(same.find_map(|former| first_header(former, "content-type")))
    }

    pub(super) fn read(&self, task: &CrawlTask, head: (u16, &Headers), body: &mut dyn Read) -> ReadResponse {
        read_response(self.policy, task, head, body, &mut |_| {})
    }
}

fn add_content_type(headers: &mut Headers, content_type: Option<&str>) {
    if let Some(content_type) = content_type.filter(|_| !headers.contains("content-type")) {
        headers.push("Content-Type", content_type);
    }
}
