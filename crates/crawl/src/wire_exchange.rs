//! Answers between the wire and the archive: how they are kept, and how their bodies are read.
//!
//! Shared by whoever crawls and whoever checks. It knows nothing of why an answer was asked for.

use std::io;

use varve_core::exchange::{Exchange, Timing};
use varve_core::{RecordId, RunId};
use varve_store::StoreError;
use varve_store::exchange::{
    ExchangeWriter, KeptExchange, KeptNonCapture, NewExchange, NewRenderings, RevisitOriginal,
};
use varve_warc::date::Date;
use varve_warc::write::Packer;
use varve_wire::{DecodeLimits, DecodedBody, MessageBytes};

/// The run that answers belong to.
#[derive(Clone, Copy)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The record that says how it asks, where there is one.
    pub described_by: Option<RecordId>,
}

/// Keeps an answer as part of a run. `unchanged` is what a 304 says has not changed.
pub fn store_exchange(
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
    let timing = timing_text(&exchange.timing);
    let new = NewExchange { unchanged, ..new_exchange(exchange, run, &timing) };
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
    let timing = timing_text(&exchange.timing);
    let new =
        NewExchange { non_capture_method: Some(exchange.method()), ..new_exchange(exchange, run, &timing) };
    keeper.keep_non_capture(packer, &new, renderings)
}

fn new_exchange<'a>(exchange: &'a Exchange, run: RunRecord, timing: &'a str) -> NewExchange<'a> {
    NewExchange {
        url: &exchange.url,
        date: Date::from_instant(exchange.at.utc()),
        request: &exchange.request,
        response: &exchange.response,
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

/// The body of a response with its codings removed as far as possible. None without an HTTP head.
pub fn open_wire_body(response: &MessageBytes) -> io::Result<Option<DecodedBody<'_>>> {
    response.open_body(DecodeLimits::default())
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
