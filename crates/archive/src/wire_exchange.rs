//! Answers between the wire and the archive: how they are kept, and how their bodies are read.
//!
//! Shared by whoever crawls and whoever checks. It knows nothing of why an answer was asked for.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use varve_core::exchange::{Exchange, LONGEST_HEAD, Timing, Wire};
use varve_core::{RecordId, RunId};
use varve_store::StoreError;
use varve_store::exchange::{
    ExchangeWriter, KeptExchange, KeptNonCapture, NewExchange, NewRenderings, RevisitOriginal,
};
use varve_warc::date::Date;
use varve_warc::http::{Body, BodyLimits, Head, open_body};
use varve_warc::source::ReadAt;
use varve_warc::write::Packer;

/// The run that answers belong to.
#[derive(Clone, Copy)]
pub(crate) struct RunRecord {
    /// Its id.
    pub(crate) id: RunId,
    /// The record that says how it asks, where there is one.
    pub(crate) described_by: Option<RecordId>,
}

/// Keeps an answer as part of a run. `unchanged` is what a 304 says has not changed.
pub(crate) fn store_exchange(
    keeper: &ExchangeWriter<'_>,
    packer: &mut Packer,
    run: RunRecord,
    exchange: &Exchange,
    unchanged: Option<RevisitOriginal>,
) -> Result<KeptExchange, StoreError> {
    store_rendered(keeper, packer, run, exchange, unchanged, &NewRenderings::default())
}

/// Keeps an answer, with what a browser made of it.
pub(crate) fn store_rendered(
    keeper: &ExchangeWriter<'_>,
    packer: &mut Packer,
    run: RunRecord,
    exchange: &Exchange,
    unchanged: Option<RevisitOriginal>,
    renderings: &NewRenderings<'_>,
) -> Result<KeptExchange, StoreError> {
    let (timing, response) = (timing_text(&exchange.timing), WireSource(&exchange.response));
    let new = NewExchange { unchanged, ..new_exchange(exchange, run, &response, &timing) };
    keeper.keep_rendered(packer, &new, renderings)
}

/// Keeps an exchange that is not the capture of its URL, with what a browser made of it.
pub(crate) fn record_non_capture(
    keeper: &ExchangeWriter<'_>,
    packer: &mut Packer,
    run: RunRecord,
    exchange: &Exchange,
    renderings: &NewRenderings<'_>,
) -> Result<KeptNonCapture, StoreError> {
    let (timing, response) = (timing_text(&exchange.timing), WireSource(&exchange.response));
    let new = NewExchange {
        non_capture_method: Some(exchange.method()),
        ..new_exchange(exchange, run, &response, &timing)
    };
    keeper.keep_non_capture(packer, &new, renderings)
}

fn new_exchange<'a>(
    exchange: &'a Exchange,
    run: RunRecord,
    response: &'a WireSource<'a>,
    timing: &'a str,
) -> NewExchange<'a> {
    NewExchange {
        url: &exchange.url,
        date: Date::from_instant(exchange.at.utc()),
        request: &exchange.request,
        response,
        ip: exchange.ip,
        protocols: &exchange.protocol,
        cipher: exchange.cipher.as_deref(),
        trailers: &exchange.trailers,
        timing: Some(timing),
        truncated: exchange.truncated.map(|truncated| truncated.word()),
        run: Some(run.id),
        warcinfo: run.described_by,
        unchanged: None,
        non_capture_method: None,
    }
}

/// The body of an answer, with its codings undone as far as they can be; none when it does not begin as HTTP does.
pub(crate) fn open_wire_body(wire: &Wire) -> io::Result<Option<Body<'_>>> {
    let start = wire.start(LONGEST_HEAD)?;
    let Some(head) = Head::parse(&start) else { return Ok(None) };
    if let Some(bytes) = wire.in_memory() {
        return open_body(&head, &bytes[head.length.min(bytes.len())..], BodyLimits::default()).map(Some);
    }
    let mut reader = wire.reader();
    reader.seek(SeekFrom::Start(head.length as u64))?;
    open_body(&head, BufReader::with_capacity(64 << 10, reader), BodyLimits::default()).map(Some)
}

/// The bytes of an answer, as the store reads them.
struct WireSource<'a>(&'a Wire);

impl ReadAt for WireSource<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if let Some(bytes) = self.0.in_memory() {
            return bytes.read_at(buffer, offset);
        }
        let mut reader = self.0.reader();
        reader.seek(SeekFrom::Start(offset))?;
        reader.read(buffer)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.len())
    }
}

/// How long each step took, as records say it.
fn timing_text(timing: &Timing) -> String {
    let mut text = String::with_capacity(64);
    let steps = [("dns", timing.dns), ("connect", timing.connect), ("tls", timing.tls)];
    for (name, micros) in steps {
        if let Some(micros) = micros {
            text.push_str(&format!("{name}={micros} "));
        }
    }
    text.push_str(&format!("first-byte={} total={}", timing.first_byte, timing.total));
    text
}
