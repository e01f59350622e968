//! What the archive holds of a URL already: from this run, or from an earlier one.
//!
//! A capture of this very run, or of what it had got when it was stopped, is not made again. One of an earlier run makes a conditional request possible, and an
//! answer that nothing changed refers to the record that holds the bytes.
//!
//! A site may link to a page by another spelling than it did. Then the one by which it is here is known, so that whoever asks may
//! ask by that one: only of the same text can a server say that nothing changed.

use varve_core::history::{Belongs, Capture, CaptureFilter, ListCursor, TimeOrder};
use varve_core::{RecordId, RunId, VersionId};
use varve_store::exchange::RevisitOriginal;
use varve_warc::record::RecordType;

use super::destination::StoredCapture;
use crate::crawl::error::CrawlError;
use varve_repository::history::{ArchiveHistory, Holdings};

/// So many captures are looked at; a 304 has often lost the headers that its elder brothers have.
const MAX_CAPTURES_READ: usize = 8;

/// What is known of a URL before it is asked.
pub(crate) enum PastLookup {
    /// It was captured in this run.
    ThisRun(StoredCapture),
    /// It was captured before.
    Earlier(Box<EarlierCapture>),
    /// It was never captured.
    Nothing,
}

/// The last capture of a URL.
#[derive(Clone, Debug)]
pub(crate) struct EarlierCapture {
    /// The newest. Its URL may be another spelling.
    pub(crate) newest: Capture,
    /// What to say in the next request for its URL, if the bytes are at hand.
    pub(crate) condition: Option<Validators>,
}

/// How to ask for something only if it has changed.
#[derive(Clone, Debug)]
pub(crate) struct Validators {
    /// The headers of the request.
    pub(crate) headers: Vec<(String, String)>,
    /// What an answer that nothing changed refers to.
    pub(crate) original: RevisitOriginal,
    /// The type of the body, which such an answer does not repeat.
    pub(crate) content_type: Option<String>,
}

/// Looks up a URL, for a run that has these stops behind it.
pub(crate) fn look_up(
    history: &ArchiveHistory,
    (run, stops): (RunId, &[VersionId]),
    url: &str,
    by: SpellingMatch,
) -> Result<PastLookup, CrawlError> {
    let catalog = history.catalog();
    let filter = CaptureFilter::default();
    let page = ListCursor::first(MAX_CAPTURES_READ);
    let is_of_this_run = |capture: &Capture| match capture.belongs {
        Belongs::Run(owner) => owner == run,
        Belongs::Version(owner) => stops.contains(&owner),
    };
    let exactly = catalog.captures_of(url, &filter, TimeOrder::NewestFirst, page)?;
    if let Some(newest) = exactly.first().filter(|newest| is_of_this_run(newest)) {
        return Ok(PastLookup::ThisRun(StoredCapture::Capture(Box::new(newest.clone()))));
    }
    let kept = if by == SpellingMatch::Any { catalog.spellings_of(url)? } else { Vec::new() };
    let found = match kept.iter().any(|kept| kept != url) {
        true => {
            let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
            catalog.captures_of_any(&kept, &filter, TimeOrder::NewestFirst, page)?
        }
        false => exactly,
    };
    if let Some(stored) = found.iter().find(|capture| is_of_this_run(capture) && !is_refused(capture)) {
        return Ok(PastLookup::ThisRun(StoredCapture::Capture(Box::new(stored.clone()))));
    }
    // A spelling that this run was refused by is not tried again.
    let by_any = !found.iter().any(is_of_this_run);
    let Some(newest) = last_asked(&found, url, by_any) else { return Ok(PastLookup::Nothing) };
    let condition = condition(history, newest, &found)?;
    Ok(PastLookup::Earlier(Box::new(EarlierCapture { newest: newest.clone(), condition })))
}

/// By which spellings a URL is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpellingMatch {
    /// By the text as it is.
    Exact,
    /// By any that has the same address.
    Any,
}

/// Whether a server would not give the page by this spelling, so that another may be tried.
fn is_refused(capture: &Capture) -> bool {
    capture.status >= 400
}

/// The capture of earlier runs by which a page is known: by the very text if the newest of them asked for it by that, else by the spelling
/// that it asked for first, if that led to the page.
fn last_asked<'c>(found: &'c [Capture], url: &str, by_any: bool) -> Option<&'c Capture> {
    let exactly = || found.iter().find(|capture| capture.url == url);
    let Some(newest) = found.first().filter(|_| by_any) else { return exactly() };
    let beside = || found.iter().filter(|capture| capture.belongs == newest.belongs);
    let led_there = beside().any(is_whole) && !beside().any(|capture| capture.url == url);
    beside().next_back().filter(|_| led_there).or_else(exactly)
}

/// Whether a capture's body is the page itself, and whole.
fn is_whole(capture: &Capture) -> bool {
    matches!(capture.status, 200 | 304) && !capture.truncated
}

fn condition(
    history: &ArchiveHistory,
    newest: &Capture,
    all: &[Capture],
) -> Result<Option<Validators>, CrawlError> {
    if !is_whole(newest) {
        return Ok(None);
    }
    let is_same = |capture: &&Capture| capture.url == newest.url && capture.body == newest.body;
    let same = || all.iter().filter(is_same).filter(|capture| is_whole(capture));
    let said = |name: &str| same().find_map(|capture| first_header(capture, name));
    let names = [("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")];
    let headers: Vec<(String, String)> = names
        .iter()
        .filter_map(|(given, asked)| said(given).map(|value| ((*asked).to_owned(), value)))
        .collect();
    if headers.is_empty() {
        return Ok(None);
    }
    let Some(original) = original(history, newest)? else { return Ok(None) };
    Ok(Some(Validators { headers, original, content_type: said("content-type") }))
}

/// A header of a capture, as its row has it.
pub(crate) fn first_header(capture: &Capture, name: &str) -> Option<String> {
    capture.headers.get(name)?.first().cloned()
}

/// The answer that holds the body of a capture.
fn original(history: &ArchiveHistory, capture: &Capture) -> Result<Option<RevisitOriginal>, CrawlError> {
    let Some(located) = history.writer().reader().find(capture.body.as_bytes())? else { return Ok(None) };
    let (Some(url), Some(date)) = (located.header.target_uri(), located.header.fields.get("WARC-Date"))
    else {
        return Ok(None);
    };
    if located.header.record_type() != RecordType::Response {
        return Ok(None);
    }
    Ok(Some(RevisitOriginal {
        record: RecordId::new(located.id),
        url: String::from_utf8_lossy(url).into_owned(),
        date: String::from_utf8_lossy(date).into_owned(),
        body: capture.body,
        length: capture.length.unwrap_or(0),
    }))
}
