//! Links: everything in a body and its headers that leads somewhere.
//!
//! One door, [`extract`], for all formats. A body is read once, as a stream, and each link is handed over when it is
//! found; nothing is collected, so a page with a million links costs no more memory than one with three. What is
//! cut, dropped or not understood is counted in the [`Report`].
//!
//! | file | reads |
//! | --- | --- |
//! | `html` | pages, with the styles, scripts and linked data inside them |
//! | `css` | style sheets |
//! | `json` | any JSON, web manifests, JSON feeds |
//! | `listing` | sitemaps and feeds, in XML and text, gzipped or not |
//! | `header` | `Location`, `Refresh`, `Link` |
//!
//! It does not know which links should be followed, nor what has been seen before.

pub(crate) mod css;
pub(crate) mod emit;
mod header;
mod html;
mod json;
mod kind;
mod link;
mod listing;
pub mod refresh;
mod relation;
mod script;
pub(crate) mod source;
pub mod srcset;

pub use kind::Kind;
pub use link::{Limits, Link, LinkError, Place, Report, Role, Stop};

use crate::metadata::{Collector, Metadata, RobotsMeta};
use emit::Emitter;
use encoding_rs::Encoding;
use listing::Expected;
use source::{Capped, Transcoder, charset};
use std::io::{self, Read};
use varve_core::headers::Headers;
use varve_core::url::Base;

/// What came of reading a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extracted {
    /// What was found, and what was left out.
    pub report: Report,
    /// What the page says about itself. Empty but for the headers' share where the body is no page.
    pub metadata: Metadata,
}

/// Hands every link of a body and its headers to `sink`, in the order in which they are complete: an anchor comes
/// after its text.
///
/// `url` is what references are relative to. `body` is the body itself, with its content codings removed. An error
/// is only what keeps the body from being read at all; a body that is not what it claims to be gives what it has.
pub fn extract(
    kind: Kind,
    url: &str,
    headers: &Headers,
    body: impl Read,
    limits: Limits,
    sink: &mut dyn FnMut(Link<'_>),
) -> Result<Extracted, LinkError> {
    let mut emitter = Emitter::new(Base::parse(url)?, limits, sink);
    let mut collector = Collector::default();
    header::links(headers, &mut emitter);
    let body = Capped::new(body, limits.bytes);
    let was_cut = body.was_cut();
    let charset = headers.get_text("content-type").as_deref().and_then(charset);
    match kind {
        Kind::Html => {
            let wants_icon = is_front_page(url);
            html::links(body, html::Surroundings { charset, wants_icon }, &mut emitter, &mut collector)?;
        }
        Kind::Css => style_sheet(body, charset, &mut emitter)?,
        Kind::Json => json::links(body, json::Dialect::Any, &mut emitter)?,
        Kind::Manifest => json::links(body, json::Dialect::Manifest, &mut emitter)?,
        Kind::Xml => listing::links(body, charset, Expected::Xml, &mut emitter)?,
        Kind::Listing => listing::links(body, charset, Expected::List, &mut emitter)?,
        Kind::Opaque => {}
    }
    let mut report = emitter.report;
    if was_cut.get() && report.stopped != Some(Stop::Links) {
        report.stopped = Some(Stop::Bytes);
    }
    let mut metadata = collector.metadata;
    metadata.robots.merge(RobotsMeta::from_headers(headers));
    Ok(Extracted { report, metadata })
}

/// A style sheet must be whole to be read; what is beyond the limit on texts inside pages is left out.
fn style_sheet(
    body: impl Read,
    charset: Option<&'static Encoding>,
    emitter: &mut Emitter<'_>,
) -> io::Result<()> {
    let source = source::Source::open(body)?;
    let encoding = source.mark().or(charset).unwrap_or(encoding_rs::UTF_8);
    let offset = (source.mark().is_none() && encoding == encoding_rs::UTF_8).then_some(0);
    let most = emitter.limits.memory as u64;
    let mut bytes = Vec::new();
    let length = Transcoder::new(source.into_reader(), encoding).take(most).read_to_end(&mut bytes)?;
    emitter.report.cut += u64::from(length as u64 == most);
    let text = String::from_utf8_lossy(&bytes);
    css::links(&text, offset, |import| Place::Style { import }, emitter);
    Ok(())
}

/// Whether a URL is the front page of a site, where browsers ask for an icon unasked.
fn is_front_page(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    path.split(['?', '#']).next() == Some("/")
}
