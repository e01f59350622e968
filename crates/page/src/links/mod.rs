//! Links: everything in a body and its headers that leads somewhere.
//!
//! [`extract`] reads all formats. A body is read once as a stream, and each link is passed to the
//! caller when it is found, so memory does not grow with the number of links. The [`LinkReport`]
//! counts what was cut or dropped.
//!
//! | file | reads |
//! | --- | --- |
//! | `html` | pages, with the styles, scripts and linked data inside them |
//! | `css` | style sheets |
//! | `javascript` | scripts: the modules and workers that they name |
//! | `json` | any JSON, web manifests, JSON feeds |
//! | `listing` | sitemaps and feeds, in XML and text, gzipped or not |
//! | `header` | `Location`, `Refresh`, `Link` |
//!
//! It does not know which links should be followed, nor which were seen before.

pub(crate) mod css;
pub(crate) mod emit;
mod header;
mod html;
mod javascript;
mod json;
mod kind;
mod link;
mod listing;
pub mod refresh;
mod relation;
mod script;
pub(crate) mod source;
pub mod srcset;

pub use kind::LinkFormat;
pub use link::{LinkError, LinkLimits, LinkPlace, LinkReport, LinkRole, LinkStop, PageLink};

use crate::metadata::{MetadataCollector, PageMetadata, RobotsMeta};
use emit::LinkEmitter;
use encoding_rs::Encoding;
use javascript::ImportMap;
use listing::ListingSyntax;
use source::{CappedReader, Transcoder, charset};
use std::io::{self, Read};
use varve_core::headers::Headers;
use varve_core::url::Base;

/// The result of reading a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtractedLinks {
    /// Numbers of links found and left out.
    pub report: LinkReport,
    /// Metadata of the page. If the body is no page, only that of the headers.
    pub metadata: PageMetadata,
}

/// Passes every link of a body and its headers to `sink`, in the order in which they are complete:
/// an anchor comes after its text.
///
/// References are relative to `url`. `body` has no content codings. Only a body that cannot be read
/// is an error; a malformed body yields the links that it has.
pub fn extract(
    kind: LinkFormat,
    url: &str,
    headers: &Headers,
    body: impl Read,
    limits: LinkLimits,
    sink: &mut dyn FnMut(PageLink<'_>),
) -> Result<ExtractedLinks, LinkError> {
    let mut emitter = LinkEmitter::new(Base::parse(url)?, limits, sink);
    let mut collector = MetadataCollector::default();
    header::links(headers, &mut emitter);
    let body = CappedReader::new(body, limits.bytes);
    let was_cut = body.was_cut();
    let charset = headers.get_text("content-type").as_deref().and_then(charset);
    match kind {
        LinkFormat::Html => {
            let wants_icon = is_front_page(url);
            html::links(body, html::HtmlContext { charset, wants_icon }, &mut emitter, &mut collector)?;
        }
        LinkFormat::Css => {
            let (text, offset) = whole_text(body, charset, &mut emitter)?;
            css::links(&text, offset, |import| LinkPlace::Style { import }, &mut emitter);
        }
        LinkFormat::JavaScript => {
            let (text, offset) = whole_text(body, charset, &mut emitter)?;
            javascript::links(&text, offset, &LinkPlace::Script, &ImportMap::default(), &mut emitter);
        }
        LinkFormat::Json => json::links(body, json::Dialect::Any, &mut emitter)?,
        LinkFormat::Manifest => json::links(body, json::Dialect::Manifest, &mut emitter)?,
        LinkFormat::Xml => listing::links(body, charset, ListingSyntax::Xml, &mut emitter)?,
        LinkFormat::Listing => listing::links(body, charset, ListingSyntax::List, &mut emitter)?,
        LinkFormat::Opaque => {}
    }
    let mut report = emitter.report;
    if was_cut.get() && report.stopped != Some(LinkStop::Links) {
        report.stopped = Some(LinkStop::Bytes);
    }
    let mut metadata = collector.metadata;
    metadata.robots.merge(RobotsMeta::from_headers(headers));
    Ok(ExtractedLinks { report, metadata })
}

/// Reads a style sheet or a script as a whole, up to the memory limit. Returns it with its offset in
/// the body, if it was not transcoded.
fn whole_text(
    body: impl Read,
    charset: Option<&'static Encoding>,
    emitter: &mut LinkEmitter<'_>,
) -> io::Result<(String, Option<u64>)> {
    let source = source::PeekedBody::open(body)?;
    let encoding = source.mark().or(charset).unwrap_or(encoding_rs::UTF_8);
    let offset = (source.mark().is_none() && encoding == encoding_rs::UTF_8).then_some(0);
    let most = emitter.limits.memory as u64;
    let mut bytes = Vec::new();
    let length = Transcoder::new(source.into_reader(), encoding).take(most).read_to_end(&mut bytes)?;
    emitter.report.cut += u64::from(length as u64 == most);
    let text = String::from_utf8(bytes);
    Ok((text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()), offset))
}

/// Whether a URL is the front page of a site, for which browsers request an icon.
fn is_front_page(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    path.split(['?', '#']).next() == Some("/")
}
