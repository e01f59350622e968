//! Stores exchanges in the archive and reads their bodies.
//!
//! The crawler, the checker and the page service share this module. It does not depend on the reason for a request.

use std::io;

use varve_core::exchange::{Exchange, Timing};
use varve_core::{RecordId, RunId};
use varve_fetch::{Rendering, RenderingKind};
use varve_store::StoreError;
use varve_store::exchange::{
    ExchangeRun, ExchangeWriter, KeptExchange, KeptNonCapture, NewExchange, NewRendering, NewRenderings,
    RevisitOriginal,
};
use varve_warc::date::Date;
use varve_warc::write::Packer;
use varve_wire::{DecodeLimits, DecodedBody, MessageBytes};

/// The run that stored exchanges belong to.
#[derive(Clone, Copy)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The `warcinfo` record that describes the run, if there is one.
    pub described_by: Option<RecordId>,
}

/// Stores an exchange as evidence of a check. It becomes no capture.
pub fn store_evidence(
    keeper: &ExchangeWriter<'_>,
    packer: &mut Packer,
    run: RunRecord,
    exchange: &Exchange,
) -> Result<KeptExchange, StoreError> {
    let timing = timing_text(&exchange.timing);
    let check = Some(ExchangeRun::Check(run.id));
    keeper.keep(packer, &NewExchange { run: check, ..new_exchange(exchange, run, &timing)? })
}

/// Stores an exchange together with the renderings that a browser made of it.
pub fn store_rendered(
    keeper: &ExchangeWriter<'_>,
    packer: &mut Packer,
    run: RunRecord,
    exchange: &Exchange,
    unchanged: Option<RevisitOriginal>,
    renderings: &NewRenderings<'_>,
) -> Result<KeptExchange, StoreError> {
    let timing = timing_text(&exchange.timing);
    let new = NewExchange { unchanged, ..new_exchange(exchange, run, &timing)? };
    keeper.keep_rendered(packer, &new, renderings)
}

/// Stores an exchange that is not a capture of its URL, together with the renderings that a browser
/// made of it.
pub fn record_non_capture(
    keeper: &ExchangeWriter<'_>,
    packer: &mut Packer,
    run: RunRecord,
    exchange: &Exchange,
    renderings: &NewRenderings<'_>,
) -> Result<KeptNonCapture, StoreError> {
    let timing = timing_text(&exchange.timing);
    let new =
        NewExchange { non_capture_method: Some(exchange.method()), ..new_exchange(exchange, run, &timing)? };
    keeper.keep_non_capture(packer, &new, renderings)
}

fn new_exchange<'a>(
    exchange: &'a Exchange,
    run: RunRecord,
    timing: &'a str,
) -> Result<NewExchange<'a>, StoreError> {
    Ok(NewExchange {
        url: &exchange.url,
        date: Date::from_instant(exchange.at.utc()),
        request: &exchange.request,
        response: &exchange.response,
        head: exchange.response.head().map_err(StoreError::Content)?,
        ip: exchange.ip,
        protocols: &exchange.protocol,
        cipher: exchange.cipher.as_deref(),
        trailers: &exchange.trailers,
        timing: Some(timing),
        truncated: exchange.truncated.map(|truncated| truncated.word()),
        run: Some(ExchangeRun::Capture(run.id)),
        warcinfo: run.described_by,
        unchanged: None,
        non_capture_method: None,
        source: None,
    })
}

/// The renderings of a page, for the store.
pub fn new_renderings(renderings: &[Rendering]) -> NewRenderings<'_> {
    let of_kind = |kind| {
        let rendering = renderings.iter().find(|rendering| rendering.kind == kind)?;
        Some(NewRendering { media_type: &rendering.media_type, content: &rendering.content })
    };
    NewRenderings {
        document: of_kind(RenderingKind::Document),
        screenshot: of_kind(RenderingKind::Screenshot),
    }
}

/// The body of a response with its codings removed as far as possible. `None` without an HTTP head.
pub fn open_wire_body(response: &MessageBytes) -> io::Result<Option<DecodedBody<'_>>> {
    response.open_body(DecodeLimits::default())
}

/// The duration of each step in microseconds, in the format of the records.
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
