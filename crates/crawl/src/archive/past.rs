//! Looks up what an archive holds of a URL.
//!
//! A site may link to a page by another spelling than before. Then the spelling of the capture is
//! requested: only for the same text a server can answer that nothing changed.

use varve_core::catalog::UrlMatch;
use varve_core::history::{Capture, CaptureOwner};
use varve_core::{RecordId, RunId, VersionId};
use varve_store::exchange::RevisitOriginal;
use varve_warc::record::RecordType;

use super::super::past_captures::{
    EarlierCapture, PastLookup, PastQuery, SpellingMatch, StoredCapture, Validators,
};
use crate::error::CrawlError;
use crate::settings::RefetchSettings;
use varve_repository::history::ArchiveHistoryWriter;

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

/// Finds for each URL its newest captures, as
/// [`newest_captures`](varve_core::catalog::CatalogRead::newest_captures) of a catalog.
type FindNewest<'a> = &'a dyn Fn(&[&str], UrlMatch) -> Result<Vec<Vec<Capture>>, CrawlError>;

/// The past captures of a URL, before validators are read from the store.
enum FoundCaptures {
    ThisRun(Box<Capture>),
    /// The capture that represents the page, and all that were read.
    Earlier(Box<Capture>, Vec<Capture>),
    Nothing,
}

/// Looks up URLs, all of them at once.
pub(super) fn look_up(
    history: &ArchiveHistoryWriter,
    this_run: &RunCaptures<'_>,
    refetch: &RefetchSettings,
    queries: &[PastQuery<'_>],
) -> Result<Vec<PastLookup>, CrawlError> {
    let newest =
        |urls: &[&str], matching| Ok(history.catalog().newest_captures(urls, matching, MAX_CAPTURES_READ)?);
    let found = find_captures(&newest, this_run, queries)?;
    let lookup = |found| match found {
        FoundCaptures::ThisRun(stored) => Ok(PastLookup::ThisRun(StoredCapture::Capture(stored))),
        FoundCaptures::Earlier(newest, _) if refetch.is_fresh(Some(newest.time), !newest.is_good()) => {
            Ok(PastLookup::Fresh(StoredCapture::Capture(newest)))
        }
        FoundCaptures::Earlier(newest, all) => {
            let validators = validators(history, &newest, &all)?;
            Ok(PastLookup::Earlier(Box::new(EarlierCapture { newest: *newest, validators })))
        }
        FoundCaptures::Nothing => Ok(PastLookup::Nothing),
    };
    found.into_iter().map(lookup).collect()
}

/// Finds the captures of all URLs with two calls at most: one for those that are looked up by their
/// text, and one for those that are looked up by any spelling.
fn find_captures(
    newest: FindNewest<'_>,
    this_run: &RunCaptures<'_>,
    queries: &[PastQuery<'_>],
) -> Result<Vec<FoundCaptures>, CrawlError> {
    let mut found: Vec<Vec<Capture>> = queries.iter().map(|_| Vec::new()).collect();
    for (spelling, matching) in
        [(SpellingMatch::Exact, UrlMatch::Exact), (SpellingMatch::Any, UrlMatch::SamePage)]
    {
        let wanted = |at: &usize| queries[*at].spelling == spelling;
        let positions: Vec<usize> = (0..queries.len()).filter(wanted).collect();
        if !positions.is_empty() {
            let urls: Vec<&str> = positions.iter().map(|&at| queries[at].url.as_str()).collect();
            for (at, captures) in positions.into_iter().zip(newest(&urls, matching)?) {
                found[at] = captures;
            }
        }
    }
    let choose = |(query, found): (&PastQuery<'_>, _)| choose(this_run, query.url.as_str(), found);
    Ok(queries.iter().zip(found).map(choose).collect())
}

/// Chooses the capture of a URL that counts.
fn choose(this_run: &RunCaptures<'_>, url: &str, found: Vec<Capture>) -> FoundCaptures {
    let exact = found.iter().find(|capture| capture.url == url).filter(|exact| this_run.contains(exact));
    let is_usable = |capture: &&Capture| this_run.contains(capture) && !is_refused(capture);
    if let Some(stored) = exact.or_else(|| found.iter().find(is_usable)) {
        return FoundCaptures::ThisRun(Box::new(stored.clone()));
    }
    // A spelling that the server refused in this run is not requested again.
    let by_any = !found.iter().any(|capture| this_run.contains(capture));
    match last_requested(&found, url, by_any).cloned() {
        Some(newest) => FoundCaptures::Earlier(Box::new(newest), found),
        None => FoundCaptures::Nothing,
    }
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
        payload: located.header.payload_digest().and_then(Result::ok),
        body: capture.body,
        length: capture.length.unwrap_or(0),
    }))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use uuid::Uuid;
    use varve_core::url::RequestUrl;
    use varve_core::{BodyId, CaptureId, Moment};

    use super::*;

    fn capture(run: RunId, url: &str) -> Capture {
        Capture {
            id: CaptureId::new(Uuid::from_u128(1)),
            owner: CaptureOwner::Run(run),
            url: url.to_owned(),
            path: String::new(),
            time: Moment::from_seconds(1),
            status: 200,
            headers: Default::default(),
            body: BodyId::new([0; 32]),
            length: Some(0),
            record: None,
            truncated: false,
        }
    }

    #[test]
    fn the_urls_of_a_claim_are_looked_up_with_two_calls() {
        let (this, other) = (RunId::new(Uuid::from_u128(1)), RunId::new(Uuid::from_u128(2)));
        let urls: Vec<RequestUrl> =
            (0..300).map(|number| RequestUrl::parse(&format!("http://h/{number}")).unwrap()).collect();
        let query = |(at, url)| PastQuery {
            url,
            spelling: if at % 3 == 0 { SpellingMatch::Exact } else { SpellingMatch::Any },
        };
        let queries: Vec<PastQuery<'_>> = urls.iter().enumerate().map(query).collect();
        let calls = RefCell::new(Vec::new());
        let newest = |asked: &[&str], matching| {
            calls.borrow_mut().push((asked.len(), matching));
            let find = |url: &&str| match url.rsplit('/').next().unwrap().parse::<u32>().unwrap() % 10 {
                0 => vec![capture(this, url)],
                1 => vec![capture(other, url)],
                _ => Vec::new(),
            };
            Ok(asked.iter().map(find).collect())
        };
        let found = find_captures(&newest, &RunCaptures { run: this, stop_versions: &[] }, &queries).unwrap();
        assert_eq!(*calls.borrow(), [(100, UrlMatch::Exact), (200, UrlMatch::SamePage)]);
        for (at, found) in found.iter().enumerate() {
            let is_right = match (at % 10, found) {
                (0, FoundCaptures::ThisRun(stored)) => stored.url == urls[at].as_str(),
                (1, FoundCaptures::Earlier(newest, _)) => newest.url == urls[at].as_str(),
                (0 | 1, _) => false,
                (_, found) => matches!(found, FoundCaptures::Nothing),
            };
            assert!(is_right, "{at}");
        }
    }
}
