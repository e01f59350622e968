//! Exchanges: from the bytes of a request and its answer to records in a silo, and from records back to receipts.
//!
//! An exchange becomes a `response` record with the answer exactly as it was on the wire, and a `request` record beside
//! it. An answer whose payload is here already becomes a `revisit` that names the record which holds it. What a catalog
//! needs to know comes back as a receipt, made from the record's own header and the head of the answer by the one
//! function that also reads them from a silo: so nothing is known on the day that a rebuild would not find again.
//!
//! An exchange aside, one that is not the capture of its URL, is kept by the same writer and says so in its header: it has no
//! receipt, and its body is nobody's original.
//!
//! It does not know where exchanges come from, nor what a URL means.

mod examine;
mod receipt;
mod recent;
mod scan;
mod write;

use std::net::IpAddr;

use varve_core::{BodyId, RecordId, RunId};
use varve_warc::date::Date;
use varve_warc::source::ReadAt;

pub(crate) use receipt::payload_of;
pub(crate) use receipt::target_of_document;
pub use receipt::{is_capture, page_of, receipt_of, renderings_of};
pub(crate) use scan::{Listener, is_fact, look_at};
pub use scan::{Scanned, end_of, scan, scan_from};
pub use write::{ExchangeKeeper, KeptAside, KeptExchange};

/// An exchange to keep.
pub struct NewExchange<'a> {
    /// The URL that was asked.
    pub url: &'a str,
    /// When.
    pub date: Date,
    /// The request, as it was sent, without what must stay secret.
    pub request: &'a [u8],
    /// The answer, as it was received.
    pub response: &'a dyn ReadAt,
    /// Who answered.
    pub ip: Option<IpAddr>,
    /// The protocols that were spoken, outermost first: `h2`, `tls/1.3`.
    pub protocols: &'a [String],
    /// The cipher suite.
    pub cipher: Option<&'a str>,
    /// Lines behind the body that are not among its bytes, as `name: value`.
    pub trailers: &'a [String],
    /// How long each step took, as text.
    pub timing: Option<&'a str>,
    /// Why the answer is not whole, in the words of the standard: length, time, disconnect or unspecified.
    pub truncated: Option<&'a str>,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The description of how that run asked.
    pub warcinfo: Option<RecordId>,
    /// What a 304 says has not changed.
    pub unchanged: Option<Original>,
    /// Its method, if it is not the capture of its URL: it was no plain question, or its run had asked it before.
    pub aside: Option<&'a str>,
}

/// What a browser made of an answer, to be kept beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRenderings<'a> {
    /// The document that scripts left: it becomes a `conversion` of the answer.
    pub document: Option<NewRendering<'a>>,
    /// A picture: an object like any other, so that a page that looks as it did takes no room again.
    pub screenshot: Option<NewRendering<'a>>,
}

/// Something that was made of an answer.
#[derive(Clone, Copy, Debug)]
pub struct NewRendering<'a> {
    /// Its media type.
    pub media_type: &'a str,
    /// Its bytes.
    pub content: &'a [u8],
}

/// The record that holds what a revisit repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its id.
    pub record: RecordId,
    /// Its target.
    pub url: String,
    /// Its date, as it was written.
    pub date: String,
    /// The body it holds.
    pub body: BodyId,
    /// The length of that body.
    pub length: u64,
}
