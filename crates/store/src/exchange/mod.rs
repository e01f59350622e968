//! Exchanges: writes requests and responses as records, and reads receipts from records.
//!
//! An exchange becomes a `response` record with the exact wire bytes, and a `request` record beside
//! it. A response whose payload is stored becomes a `revisit` that names the record with the
//! payload, which `deduplication` finds. The catalog gets a receipt, made from the record's header
//! and the response head by the one function that also reads silos. So a rebuild finds everything
//! that the catalog knew.
//!
//! An exchange that is not a capture of its URL is written by the same code with a mark in its
//! header. It has no receipt, and no revisit refers to it.
//!
//! Does not know where exchanges come from or what a URL means.

mod deduplication;
mod examined_response;
mod exchange_writer;
mod not_modified;
mod receipt;
mod scan;
mod source_original;

use std::net::IpAddr;

use varve_core::{BodyId, RecordId, RunId};
use varve_warc::date::Date;
use varve_warc::digest::Digest;
use varve_wire::{MessageHead, ReadAt};

pub use exchange_writer::{ExchangeWriter, KeptExchange, KeptNonCapture};
pub use not_modified::not_modified_field;
pub(crate) use not_modified::not_modified_head;
pub(crate) use receipt::payload_of;
pub(crate) use receipt::target_of_document;
pub use receipt::{is_capture, page_of, receipt_of, renderings_of};
pub(crate) use scan::{RecordExtractor, extract_lossy, is_fact};
pub use scan::{ScannedRecord, end_of, scan, scan_from};

/// An exchange to store.
pub struct NewExchange<'a> {
    /// The requested URL.
    pub url: &'a str,
    /// The time of the request.
    pub date: Date,
    /// The request as sent, without secrets.
    pub request: &'a [u8],
    /// The response as received.
    pub response: &'a dyn ReadAt,
    /// The head of the response, if the caller has parsed it.
    pub head: Option<&'a MessageHead>,
    /// The server's address.
    pub ip: Option<IpAddr>,
    /// The protocols, outermost first: `h2`, `tls/1.3`.
    pub protocols: &'a [String],
    /// The cipher suite.
    pub cipher: Option<&'a str>,
    /// Trailer lines that are not in the bytes of the response, as `name: value`.
    pub trailers: &'a [String],
    /// The duration of each step, as text.
    pub timing: Option<&'a str>,
    /// Why the response is truncated, in the standard's words: length, time, disconnect or
    /// unspecified.
    pub truncated: Option<&'a str>,
    /// The run it belongs to.
    pub run: Option<ExchangeRun>,
    /// The description of that run.
    pub warcinfo: Option<RecordId>,
    /// The record that a 304 response confirms.
    pub unchanged: Option<RevisitOriginal>,
    /// The request method, if the exchange is not a capture of its URL: not a plain GET, or
    /// repeated in its run.
    pub non_capture_method: Option<&'a str>,
    /// What its source says about it, if another program recorded it.
    pub source: Option<ExchangeSource<'a>>,
}

/// What the file of another program says about an exchange.
pub struct ExchangeSource<'a> {
    /// The value of [`field::SOURCE_HEADER`](crate::record::field::SOURCE_HEADER) for the response.
    pub response_header: &'a str,
    /// The same for the request.
    pub request_header: Option<&'a str>,
    /// The record with the payload, if the source has a revisit in place of the response.
    pub repeats: Option<RevisitOriginal>,
}

/// The run that an exchange belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeRun {
    /// A run that becomes a version of its captures.
    Capture(RunId),
    /// A check, whose responses are evidence and no captures.
    Check(RunId),
}

/// The renderings that a browser made of a response, to store beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRenderings<'a> {
    /// The document after scripts ran: it becomes a `conversion` of the response.
    pub document: Option<NewRendering<'a>>,
    /// A screenshot: a plain object, so that an unchanged page is stored once.
    pub screenshot: Option<NewRendering<'a>>,
}

/// A rendering of a response.
#[derive(Clone, Copy, Debug)]
pub struct NewRendering<'a> {
    /// Its media type.
    pub media_type: &'a str,
    /// Its bytes.
    pub content: &'a [u8],
}

/// The record with the payload that a revisit repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisitOriginal {
    /// Its id.
    pub record: RecordId,
    /// Its target.
    pub url: String,
    /// Its date, as it was written.
    pub date: String,
    /// Its `WARC-Payload-Digest`, by which other programs find it. A chunked response has none.
    pub payload: Option<Digest>,
    /// The body in it.
    pub body: BodyId,
    /// The length of that body.
    pub length: u64,
}
