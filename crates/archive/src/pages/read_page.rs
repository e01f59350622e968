//! From a response to a page object, for pages of the live web and of the archive alike.

use std::io::{BufReader, Read};

use varve_core::Moment;
use varve_core::exchange::Exchange;
use varve_core::history::{Capture, FetchMethod};
use varve_extract::{
    ExtractError, ExtractOptions, ExtractedPage, Extraction, FeedLimits, PageInput, extract, read_feed,
};
use varve_fetch::{Rendering, RenderingKind};
use varve_page::kind::BodyKind;
use varve_repository::RepositoryError;
use varve_repository::history::{HistoryReader, LoadedPage};
use varve_wire::DecodeLimits;

use super::PageError;
use super::live_page::LivePage;
use crate::error::ArchiveError;
use crate::verbs::canonical_lookup::site_of;

/// Maximum number of bytes of a body that are read.
const MAX_BODY_BYTES: u64 = 32 << 20;
/// The type of every document of a browser.
const DOCUMENT_MEDIA_TYPE: &str = "text/html; charset=utf-8";

/// A response, ready to be read.
struct PageResponse {
    url: String,
    status: u16,
    time: Option<Moment>,
    method: FetchMethod,
    content_type: Option<String>,
    content_language: Option<String>,
    body: Vec<u8>,
}

/// A page that was read.
pub(super) struct ReadPage {
    /// The page object. Its URL is what the page says.
    pub(super) page: ExtractedPage,
    /// The URL of the response, after redirects.
    pub(super) final_url: String,
}

impl ReadPage {
    /// The canonical URL under which the page is saved: the one that it declares, unless that is on
    /// another host. A page may not take the place of a page of another host.
    pub(super) fn canonical(&self) -> &str {
        let (declared, own) = (&self.page.url, &self.final_url);
        if site_of(declared).is_some_and(|site| site_of(own) == Some(site)) { declared } else { own }
    }
}

/// Reads a page of the live web.
pub(super) fn of_live_page(live: &LivePage, options: &ExtractOptions) -> Result<ReadPage, PageError> {
    let exchange = &live.exchanges[live.page];
    read(response_of(exchange, live)?, options)
}

fn response_of(exchange: &Exchange, live: &LivePage) -> Result<PageResponse, PageError> {
    let unreadable =
        |source| ArchiveError::from(RepositoryError::Read { path: exchange.url.clone().into(), source });
    let head = exchange.head().map_err(unreadable)?;
    let header = |name| {
        let value = head.as_ref().and_then(|head| head.headers.get_text(name));
        value.map(std::borrow::Cow::into_owned)
    };
    let document = live.renderings.iter().find(|rendering| rendering.kind == RenderingKind::Document);
    let (body, content_type) = match document {
        Some(Rendering { content, media_type, .. }) => (content.clone(), Some(media_type.clone())),
        None => {
            let mut body = Vec::new();
            if let Ok(Some(decoded)) = exchange.response.open_body(DecodeLimits::default()) {
                // The bytes before the damage are read.
                let _ = decoded.take(MAX_BODY_BYTES).read_to_end(&mut body);
            }
            (body, header("content-type"))
        }
    };
    Ok(PageResponse {
        url: exchange.url.clone(),
        status: head.as_ref().map_or(0, |head| head.status),
        time: Some(exchange.at),
        method: live.method,
        content_type,
        content_language: header("content-language"),
        body,
    })
}

/// Reads a page of the archive.
pub(super) fn of_capture(
    history: &HistoryReader,
    capture: &Capture,
    options: &ExtractOptions,
) -> Result<ReadPage, PageError> {
    let LoadedPage { headers, body, .. } = LoadedPage::of(history, Some(capture), MAX_BODY_BYTES)?;
    let header = |name| headers.get(name).and_then(|values| values.first()).cloned();
    let response = PageResponse {
        url: capture.url.clone(),
        status: if capture.status == 304 { 200 } else { capture.status },
        time: Some(capture.time),
        method: FetchMethod::Unspecified,
        content_type: header("content-type"),
        content_language: header("content-language"),
        body,
    };
    read(with_document(history, capture, response)?, options)
}

/// Replaces the body by the document that a browser made of it, if there is one.
fn with_document(
    history: &HistoryReader,
    capture: &Capture,
    mut response: PageResponse,
) -> Result<PageResponse, PageError> {
    let (Some(document), HistoryReader::Archive(archive)) = (history.renderings(capture)?.document, history)
    else {
        return Ok(response);
    };
    let object = archive.archive().object(document)?;
    let reader = object.read_range(0, object.length().min(MAX_BODY_BYTES)).map_err(ArchiveError::from)?;
    let unreadable = |source| RepositoryError::ReadObject { id: document.to_string(), source };
    response.body.clear();
    BufReader::new(reader).read_to_end(&mut response.body).map_err(unreadable)?;
    response.content_type = Some(DOCUMENT_MEDIA_TYPE.to_owned());
    response.method = FetchMethod::ChromiumHeadless;
    Ok(response)
}

/// Reads text that the caller has, as a page that was never fetched.
pub fn read_text(
    body: &[u8],
    content_type: Option<&str>,
    url: &str,
    options: &ExtractOptions,
) -> Result<ExtractedPage, PageError> {
    let response = PageResponse {
        url: url.to_owned(),
        status: 0,
        time: None,
        method: FetchMethod::Unspecified,
        content_type: content_type.map(str::to_owned),
        content_language: None,
        body: body.to_owned(),
    };
    Ok(read(response, options)?.page)
}

fn read(response: PageResponse, options: &ExtractOptions) -> Result<ReadPage, PageError> {
    let PageResponse { url, status, time, method, content_type, content_language, body } = response;
    let input = PageInput {
        body: &body,
        content_type: content_type.as_deref(),
        content_language: content_language.as_deref(),
        requested_url: &url,
        fetched: time,
    };
    let Extraction { page, failure } = extract(&input, options);
    let page = ExtractedPage {
        fetch_time: time.map(|time| Moment::from_seconds(time.seconds())),
        fetch_method: method,
        status_code: Some(status).filter(|status| *status != 0),
        hostname: page.hostname.or_else(|| site_host(&page.url)),
        ..page
    };
    if status >= 400 {
        let error = Some(status_message(&body, content_type.as_deref(), status));
        // The text of an error page is not the text of the page.
        let (content_text, content_html, content_markdown) = (None, None, None);
        let page = ExtractedPage { error, content_text, content_html, content_markdown, ..page };
        return Err(PageError::TargetStatus { status, page: Box::new(page) });
    }
    match failure {
        None => Ok(ReadPage { page, final_url: url }),
        Some(ExtractError::ContentType { media_type }) => {
            Err(PageError::ContentType { media_type, page: Box::new(page) })
        }
        Some(source) => Err(PageError::Extraction { source, page: Box::new(page) }),
    }
}

/// Maximum number of items of a feed whose pages are read.
const MAX_FEED_ITEMS: usize = 1_000;

/// The links of a feed of the live web.
pub(super) fn feed_links(live: &LivePage) -> Result<Vec<String>, PageError> {
    let PageResponse { url, status, body, content_type, .. } = response_of(&live.exchanges[live.page], live)?;
    if status >= 400 {
        let error = Some(status_message(&body, content_type.as_deref(), status));
        let page = ExtractedPage { url, error, status_code: Some(status), ..ExtractedPage::default() };
        return Err(PageError::TargetStatus { status, page: Box::new(page) });
    }
    let not_a_feed =
        |source: varve_extract::FeedError| PageError::Feed { url: url.clone(), source: Box::new(source) };
    let limits = FeedLimits { items: MAX_FEED_ITEMS, ..FeedLimits::default() };
    let feed = read_feed(&body, &url, limits).map_err(not_a_feed)?;
    Ok(feed.page_urls().map(str::to_owned).collect())
}

/// Maximum number of characters of a body that an error message shows.
const MAX_MESSAGE_CHARS: usize = 200;

/// The message for a status: that of the body, if it is a short text.
fn status_message(body: &[u8], content_type: Option<&str>, status: u16) -> String {
    let is_text = BodyKind::of(body, content_type) == BodyKind::Text;
    let text = is_text.then(|| std::str::from_utf8(body).ok()).flatten().map(str::trim);
    match text.filter(|text| !text.is_empty() && text.chars().count() <= MAX_MESSAGE_CHARS) {
        Some(text) => text.to_owned(),
        None => format!("the server answered with status {status}"),
    }
}

fn site_host(url: &str) -> Option<String> {
    varve_core::url::RequestUrl::parse(url).map(|url| url.page().host().to_owned())
}
