//! Looks up what an archive holds of a URL.
//!
//! A site may link to a page by another spelling than before. Then the spelling of the capture is
//! requested: only for the same text a server can answer that nothing changed.

use varve_core::history::{Capture, CaptureFilter, CaptureOwner, ListCursor, TimeOrder};
use varve_core::{RecordId, RunId, VersionId};
use varve_store::exchange::RevisitOriginal;
use varve_warc::record::RecordType;

use super::super::past_captures::{
    EarlierCapture, PastLookup, PastQuery, SpellingMatch, StoredCapture, Validators,
};
use crate::error::CrawlError;
use varve_repository::history::{ArchiveHistoryWriter, HistoryReader};

/// Captures of a URL that are read: a 304 has often lost the headers that older captures have.
const MAX_CAPTURES_READ: usize = 8;

/// Which captures belong to a run: its own, and those of the versions that it was stopped at.
pub(super) struct RunCaptures<'a> {
    pub(super) run: RunId,
    pub(super) stop_versions: &'a [VersionId],
}

impl RunCaptures<'_> {
    fn contains(&self, capture: &Capture) -> bool {
        match capture.owner {
            CaptureOwner::Run(owner) => owner == self.run,
            CaptureOwner::Version(owner) => self.stop_versions.contains(&owner),
        }
    }
}

/// Looks up a URL.
pub(super) fn look_up(
    history: &ArchiveHistoryWriter,
    this_run: &RunCaptures<'_>,
    query: &PastQuery<'_>,
) -> Result<PastLookup, CrawlError> {
    let (catalog, url) = (history.catalog(), query.url.as_str());
    let filter = CaptureFilter::default();
    let page = ListCursor::first(MAX_CAPTURES_READ);
    let exact = catalog.captures_of(url, &filter, TimeOrder::NewestFirst, page)?;
    if let Some(newest) = exact.first().filter(|newest| this_run.contains(newest)) {
        return Ok(PastLookup::ThisRun(StoredCapture::Capture(Box::new(newest.clone()))));
    }
    let spellings = match query.spelling {
        SpellingMatch::Any => catalog.spellings_of(url)?,
        SpellingMatch::Exact => Vec::new(),
    };
    let found = match spellings.iter().any(|spelling| spelling != url) {
        true => {
            let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
            catalog.captures_of_any(&spellings, &filter, TimeOrder::NewestFirst, page)?
        }
        false => exact,
    };
    let is_usable = |capture: &&Capture| this_run.contains(capture) && !is_refused(capture);
    if let Some(stored) = found.iter().find(is_usable) {
        return Ok(PastLookup::ThisRun(StoredCapture::Capture(Box::new(stored.clone()))));
    }
    // A spelling that the server refused in this run is not requested again.
    let by_any = !found.iter().any(|capture| this_run.contains(capture));
    let Some(newest) = last_requested(&found, url, by_any) else { return Ok(PastLookup::Nothing) };
    let validators = validators(history, newest, &found)?;
    Ok(PastLookup::Earlier(Box::new(EarlierCapture { newest: newest.clone(), validators })))
}

/// Whether the server refused this spelling, so that another may be requested.
fn is_refused(capture: &Capture) -> bool {
    capture.status >= 400
}

/// The earlier capture that represents a page. If the newest run requested this text, it is the
/// capture of this text. Otherwise it is the first spelling that the newest run requested, if that
/// led to the page.
fn last_requested<'c>(found: &'c [Capture], url: &str, by_any: bool) -> Option<&'c Capture> {
    let exactly = || found.iter().find(|capture| capture.url == url);
    let Some(newest) = found.first().filter(|_| by_any) else { return exactly() };
    let same_run = || found.iter().filter(|capture| capture.owner == newest.owner);
    let led_there = same_run().any(is_whole) && !same_run().any(|capture| capture.url == url);
    same_run().next_back().filter(|_| led_there).or_else(exactly)
}

/// Whether the body of a capture is the page itself, and whole.
fn is_whole(capture: &Capture) -> bool {
    matches!(capture.status, 200 | 304) && !capture.truncated
}

fn validators(
    history: &ArchiveHistoryWriter,
    newest: &Capture,
    all: &[Capture],
) -> Result<Option<Validators>, CrawlError> {
    if !is_whole(newest) {
        return Ok(None);
    }
    let is_same = |capture: &&Capture| capture.url == newest.url && capture.body == newest.body;
    let same = || all.iter().filter(is_same).filter(|capture| is_whole(capture));
    let value = |name: &str| same().find_map(|capture| first_header(capture, name));
    let names = [("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")];
    let headers: Vec<(String, String)> = names
        .iter()
        .filter_map(|(given, asked)| value(given).map(|value| ((*asked).to_owned(), value)))
        .collect();
    if headers.is_empty() {
        return Ok(None);
    }
    let Some(original) = original(history, newest)? else { return Ok(None) };
    Ok(Some(Validators { headers, original, content_type: value("content-type") }))
}

/// A header of a capture, as its row has it.
pub(super) fn first_header(capture: &Capture, name: &str) -> Option<String> {
    capture.headers.get(name)?.first().cloned()
}

/// The response that holds the body of a capture.
fn original(
    history: &ArchiveHistoryWriter,
    capture: &Capture,
) -> Result<Option<RevisitOriginal>, CrawlError> {
    let Some(located) = history.writer().reader().find(&RecordId::of_body(capture.body))? else {
        return Ok(None);
    };
    let (Some(url), Some(date)) = (located.header.target_uri(), located.header.fields.get("WARC-Date"))
    else {
        return Ok(None);
    };
    if located.header.record_type() != RecordType::Response {
        return Ok(None);
    }
    Ok(Some(RevisitOriginal {
        record: located.id,
        url: String::from_utf8_lossy(url).into_owned(),
        date: String::from_utf8_lossy(date).into_owned(),
        body: capture.body,
        length: capture.length.unwrap_or(0),
    }))
}
