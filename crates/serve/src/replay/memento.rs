//! Memento (RFC 7089): `Memento-Datetime` and `Link` headers, TimeGate and TimeMap.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, TimeOrder};
use varve_archive::verbs::replay::{
    ReplayCapture, ReplayTime, UrlKnowledge, all_spellings, captured_url, ends, find, known_as,
    precise_digits,
};
use varve_archive::{ArchiveError, Capture};

use super::address::{AddressError, Modifier, ReplayAddress};
use super::error_pages;
use crate::app_state::AppState;
use crate::archive_failure::ArchiveFailure;
use crate::body;
use crate::formatting::{header_url, http_date, parse_http_date};
use crate::response::{self, ResponseHeaders};

/// How many captures of a TimeMap are read from the catalog at a time.
const TIME_MAP_BATCH_ROWS: usize = 500;

/// The absolute URL of a capture. If another capture has the same second, the time has
/// microseconds.
fn memento_url(origin: &str, capture: &Capture, shares_second: bool) -> String {
    let digits = if shares_second { precise_digits(capture.time) } else { capture.time.digits() };
    let address = ReplayAddress { digits, modifier: Modifier::None, url: capture.url.clone() };
    header_url(&format!("{origin}{}", address.path()))
}

/// Whether one of `others` is another capture of the same second.
fn shares_second<'c>(capture: &Capture, others: impl IntoIterator<Item = &'c Capture>) -> bool {
    others.into_iter().any(|other| other.id != capture.id && other.time.seconds() == capture.time.seconds())
}

/// The `Link` header of a capture: the original URL, TimeGate, TimeMap, and the first, previous,
/// next and last capture.
pub(super) fn link_header(state: &AppState, request: &Parts, found: &ReplayCapture) -> String {
    let origin = state.replay_origin(request);
    let capture = &found.capture;
    let url = header_url(&capture.url);
    let mut links = format!(
        "<{url}>; rel=\"original\", <{origin}/timegate/{url}>; rel=\"timegate\", \
         <{origin}/timemap/link/{url}>; rel=\"timemap\"; type=\"application/link-format\""
    );
    let (first, last) = match (&found.previous, &found.next) {
        (Some(_), _) | (_, Some(_)) => first_and_last(&state.history, &capture.url).ok().flatten().unzip(),
        (None, None) => (Some(capture.clone()), Some(capture.clone())),
    };
    let related = [
        (first.as_ref(), "first"),
        (found.previous.as_ref(), "prev"),
        (found.next.as_ref(), "next"),
        (last.as_ref(), "last"),
    ];
    let mut mementos: Vec<(&Capture, Vec<&str>)> = vec![(capture, Vec::new())];
    for (capture, relation) in
        related.into_iter().filter_map(|(capture, relation)| Some((capture?, relation)))
    {
        match mementos.iter_mut().find(|(known, _)| known.id == capture.id) {
            Some((_, relations)) => relations.push(relation),
            None => mementos.push((capture, vec![relation])),
        }
    }
    for (capture, relations) in &mementos {
        let relations: String = relations.iter().flat_map(|relation| [relation, " "]).collect();
        let shares = shares_second(capture, mementos.iter().map(|(other, _)| *other));
        let (url, date) = (memento_url(&origin, capture, shares), http_date(capture.time));
        links.push_str(&format!(", <{url}>; rel=\"{relations}memento\"; datetime=\"{date}\""));
    }
    links
}

/// Adds the headers that say which capture a response is.
pub(super) fn describe(response: Response, found: &ReplayCapture, links: &str) -> Response {
    response
        .with_text(HeaderName::from_static("memento-datetime"), &http_date(found.capture.time))
        .with_text(header::LINK, links)
        .with_text(header::CONTENT_LOCATION, &header_url(&ReplayAddress::of(found).path()))
}

/// `/timegate/URL`: redirects to the capture nearest to `Accept-Datetime`.
pub(super) fn time_gate(state: &AppState, request: &Parts, rest: &str) -> Response {
    let address = match ReplayAddress::newest(rest) {
        Ok(address) => address,
        Err(error) => return error_pages::bad_address(error),
    };
    let time = match request.headers.get("accept-datetime") {
        None => None,
        Some(date) => match date.to_str().ok().and_then(parse_http_date) {
            Some(time) => Some(ReplayTime::second(time)),
            None => return error_pages::bad_address(AddressError::Time),
        },
    };
    let response = match find(&state.history, &address.url, time) {
        Ok(UrlKnowledge::Here(found)) => {
            let location = format!("{}{}", state.replay_origin(request), ReplayAddress::of(&found).path());
            response::redirect(StatusCode::FOUND, &location)
                .with_text(header::LINK, &link_header(state, request, &found))
        }
        Ok(UrlKnowledge::There(url)) => response::redirect(StatusCode::FOUND, &format!("/timegate/{url}")),
        Ok(UrlKnowledge::No) => error_pages::not_captured(state, request, &address),
        Err(error) => error_pages::archive_failed(&error),
    };
    response.with(header::VARY, HeaderValue::from_static("accept-datetime"))
}

/// `/timemap/link/URL`: lists every capture of a URL.
pub(super) fn time_map(state: &Arc<AppState>, request: &Parts, rest: &str) -> Response {
    let address = match ReplayAddress::newest(rest) {
        Ok(address) => address,
        Err(error) => return error_pages::bad_address(error),
    };
    let chunks = match known_as(&state.history, &address.url) {
        Ok(Some(url)) => TimeMapChunks::new(state, state.replay_origin(request), url),
        // As a TimeGate: another URL is reported, not substituted.
        Ok(None) => {
            return match captured_url(&state.history, &address.url) {
                Ok(Some(url)) => response::redirect(StatusCode::FOUND, &format!("/timemap/link/{url}")),
                Ok(None) => error_pages::not_captured(state, request, &address),
                Err(error) => error_pages::archive_failed(&error),
            };
        }
        Err(error) => return error_pages::archive_failed(&error),
    };
    let chunks = match chunks {
        Ok(chunks) => chunks,
        Err(error) => return error_pages::archive_failed(&error),
    };
    let response = response::empty(StatusCode::OK)
        .with(header::CONTENT_TYPE, HeaderValue::from_static("application/link-format"));
    body::stream(request, response, None, chunks, |error| ArchiveFailure::of_stream(error).page(error))
}

/// The first and the last capture of a URL, under all its spellings.
fn first_and_last(history: &HistoryReader, url: &str) -> Result<Option<(Capture, Capture)>, ArchiveError> {
    let spellings = all_spellings(history, url)?;
    ends(history, &spellings.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A TimeMap, one batch of captures per chunk.
struct TimeMapChunks {
    state: Arc<AppState>,
    origin: String,
    url: String,
    spellings: Vec<String>,
    /// None where the URL has no capture, and at the end.
    ends: Option<(Capture, Capture)>,
    /// The last capture that was listed.
    after: Option<Capture>,
}

impl TimeMapChunks {
    fn new(state: &Arc<AppState>, origin: String, url: String) -> Result<Self, ArchiveError> {
        let spellings = all_spellings(&state.history, &url)?;
        let names: Vec<&str> = spellings.iter().map(String::as_str).collect();
        let ends = ends(&state.history, &names)?;
        Ok(Self { state: Arc::clone(state), origin, url, spellings, ends, after: None })
    }

    fn write_start(&self, text: &mut String, first: &Capture, last: &Capture) {
        let (origin, url) = (&self.origin, header_url(&self.url));
        let _ = write!(
            text,
            "<{url}>; rel=\"original\",\n<{origin}/timegate/{url}>; rel=\"timegate\",\n\
             <{origin}/timemap/link/{url}>; rel=\"self\"; type=\"application/link-format\"; from=\"{}\"; until=\"{}\"",
            http_date(first.time),
            http_date(last.time)
        );
    }

    fn next_chunk(&mut self, first: Capture, last: Capture) -> io::Result<String> {
        let mut text = String::new();
        if self.after.is_none() {
            self.write_start(&mut text, &first, &last);
        }
        let spellings: Vec<&str> = self.spellings.iter().map(String::as_str).collect();
        let cursor = ListCursor { after: self.after.as_ref(), limit: TIME_MAP_BATCH_ROWS };
        let catalog = self.state.history.catalog();
        let batch = catalog
            .captures_of_any(&spellings, &CaptureFilter::default(), TimeOrder::OldestFirst, cursor)
            .map_err(io::Error::other)?;
        for (number, capture) in batch.iter().enumerate() {
            let neighbours = &batch[number.saturating_sub(1)..batch.len().min(number + 2)];
            let shares = shares_second(capture, neighbours.iter().chain(self.after.as_ref()));
            let relation = match (capture.id == first.id, capture.id == last.id) {
                (true, true) => "first last memento",
                (true, false) => "first memento",
                (false, true) => "last memento",
                (false, false) => "memento",
            };
            let (url, date) = (memento_url(&self.origin, capture, shares), http_date(capture.time));
            let _ = write!(text, ",\n<{url}>; rel=\"{relation}\"; datetime=\"{date}\"");
        }
        if batch.len() < TIME_MAP_BATCH_ROWS {
            text.push('\n');
        } else {
            self.ends = Some((first, last));
            self.after = batch.into_iter().last();
        }
        Ok(text)
    }
}

impl Iterator for TimeMapChunks {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, last) = self.ends.take()?;
        Some(self.next_chunk(first, last).map(Bytes::from))
    }
}
