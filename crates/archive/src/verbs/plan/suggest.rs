//! `plan suggest`: suggests groups from the links of a page.
//!
//! The page is read from the archive if it has a capture of it. Otherwise it is fetched and not
//! stored.

use std::collections::HashSet;
use std::io::Read;
use varve_repository::RepositoryError;

use varve_core::headers::Headers;
use varve_core::history::Capture;
use varve_core::pattern::{SuggestedGroups, suggest_groups_on};
use varve_core::url::{page_identity, request_url};
use varve_fetch::{FetchRequest, Fetcher};
use varve_page::links::{LinkFormat, LinkLimits, LinkRole, PageLink, extract};
use varve_wire::{DecodeLimits, MessageHead};

use crate::error::ArchiveError;
use crate::verbs::capture::{NetworkOptions, client};
use crate::verbs::cat::{CaptureSelector, find};
use varve_crawl::{CrawlError, CrawlSettings};
use varve_repository::history::HistoryReader;

pub use varve_core::pattern::SuggestedGroup;

/// Maximum number of links read from a page.
const MAX_LINKS: u64 = 20_000;
/// Maximum number of redirects followed.
const MAX_REDIRECTS: usize = 10;

/// The groups suggested by the links of a page.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The URL of the page, after redirects.
    pub url: String,
    /// When it was captured; `None` if it was fetched.
    pub captured: Option<varve_core::Moment>,
    /// Number of different links.
    pub links: usize,
    /// The groups, the largest first.
    pub groups: Vec<SuggestedGroup>,
    /// Number of links beside the page that are in no group.
    pub left_beside: usize,
    /// Number of other links that are in no group.
    pub left_over: usize,
}

/// Suggests groups from a capture in the archive; `None` if the archive has no capture that is a
/// page.
pub fn of_capture(history: &HistoryReader, text: &str) -> Result<Option<Suggestion>, ArchiveError> {
    page_address(text)?;
    let mut url = text.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        // Links come from a successful response, not from a later failure.
        let capture = match find(history, &url, &CaptureSelector::NewestGood) {
            Err(ArchiveError::NoCapture { .. }) => return Ok(None),
            found => &found?,
        };
        url.clone_from(&capture.url);
        let headers = captured_headers(history, capture)?;
        let body = match history.open_body(capture) {
            Err(RepositoryError::DownloadFailed { .. }) => return Ok(None),
            body => body?,
        };
        let read = links(&url, &headers, (300..400).contains(&capture.status) && capture.status != 304, body);
        match read {
            SuggestedLink::Redirect(onward) => url = onward,
            SuggestedLink::Links(links) => return Ok(Some(suggestion(url, Some(capture.time), &links))),
        }
    }
    Ok(None)
}

/// All headers that are known of a capture.
pub(crate) fn captured_headers(history: &HistoryReader, capture: &Capture) -> Result<Headers, ArchiveError> {
    let head = history.wire_head(capture)?.unwrap_or_default();
    let mut headers = MessageHead::parse(&head).map(|head| head.headers).unwrap_or_default();
    for (name, value) in capture.headers.pairs() {
        if !headers.contains(name) {
            headers.push(name, value);
        }
    }
    Ok(headers)
}

/// Fetches a page and suggests groups from it.
pub fn of_live_page(
    folder: &std::path::Path,
    settings: &CrawlSettings,
    reach: &NetworkOptions,
    text: &str,
) -> Result<Suggestion, ArchiveError> {
    let client = client(&folder.into(), settings, reach, None)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CrawlError::Threads)?;
    let mut url = page_address(text)?;
    for _ in 0..=MAX_REDIRECTS {
        let failed = |source| ArchiveError::Fetch { url: url.clone(), source };
        let fetched = runtime.block_on(client.fetch(FetchRequest::get(url.clone()))).map_err(failed)?;
        let unreadable = |source| RepositoryError::Read { path: url.clone().into(), source };
        let Some(exchange) = fetched.exchanges.first() else { break };
        let Some(head) = exchange.response.head().map_err(unreadable)? else { break };
        let (status, headers) = (head.status().unwrap_or_default(), &head.headers);
        let body = exchange.response.open_body(DecodeLimits::default());
        let Ok(Some(body)) = body else { break };
        match links(&url, headers, (300..400).contains(&status), body) {
            SuggestedLink::Redirect(onward) => url = onward,
            SuggestedLink::Links(links) => return Ok(suggestion(url, None, &links)),
        }
    }
    Ok(suggestion(url, None, &[]))
}

fn page_address(text: &str) -> Result<String, ArchiveError> {
    request_url(text).ok_or_else(|| ArchiveError::NotOnTheWeb(text.to_owned()))
}

enum SuggestedLink {
    Redirect(String),
    Links(Vec<String>),
}

/// The pages that a page links to, in document order, or the target of its redirect.
fn links(url: &str, headers: &Headers, redirects: bool, body: impl Read) -> SuggestedLink {
    let kind = LinkFormat::of(headers.get_text("content-type").as_deref(), url);
    let limits = LinkLimits { links: MAX_LINKS, ..LinkLimits::default() };
    let (mut found, mut onward) = (Vec::new(), None);
    let mut take = |link: PageLink<'_>| match link.role {
        LinkRole::Redirect if redirects => onward = onward.take().or_else(|| request_url(&link.target)),
        LinkRole::Navigate if !link.guessed => found.extend(page_identity(&link.target)),
        _ => {}
    };
    // Links found before a truncated body ends are used.
    let _ = extract(kind, url, headers, body, limits, &mut take);
    match onward {
        Some(onward) => SuggestedLink::Redirect(onward),
        None => SuggestedLink::Links(found),
    }
}

fn suggestion(url: String, captured: Option<varve_core::Moment>, links: &[String]) -> Suggestion {
    let links: HashSet<&str> = links.iter().map(String::as_str).collect();
    let SuggestedGroups { groups, left_beside, left_over } = suggest_groups_on(&url, links.iter().copied());
    Suggestion { url, captured, links: links.len(), groups, left_beside, left_over }
}
