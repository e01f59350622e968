//! The response for `/web/…`: finds a capture, opens its body, and sends it rewritten or as it was.

use std::io;
use std::sync::Arc;
use varve_archive::RepositoryError;

use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::cat::removal_of;
use varve_archive::verbs::fuzzy_lookup::{FuzzyCapture, find_fuzzy};
use varve_archive::verbs::log::removals;
use varve_archive::verbs::replay::{ReplayCapture, UrlKnowledge, answer as captured_answer, find};
use varve_archive::{ArchiveError, Capture};
use varve_core::headers::HeaderView;
use varve_core::url::fuzzy::callback_name;
use varve_page::rewrite::LinkRewriter;

use super::address::{Modifier, ReplayAddress};
use super::archived_headers::{first_value, safe_headers};
use super::conditions::{RangeRequest, RequestedRange, accepts_codings, matches_etag, requested_range};
use super::rewriting::{BodyForm, BodyPrefix, BodyRewriting, detect_encoding};
use super::security_headers::policy_without_scripts;
use super::{error_pages, lookup_form, memento};
use crate::app_state::AppState;
use crate::archive_failure::ArchiveFailure;
use crate::body::{self, ReadChunks};
use crate::formatting::{header_url, query_value};
use crate::request::RequestParts;
use crate::response::{self, ResponseHeaders};

/// How long a browser may reuse a capture that was requested by its exact second.
const EXACT_CACHE_CONTROL: &str = "max-age=600";

/// A capture that was requested without a time may be another one at the next request.
const NEWEST_CACHE_CONTROL: &str = "no-cache";

/// The header that says why a capture of another URL is the response.
pub(crate) const MATCH_HEADER: HeaderName = HeaderName::from_static("x-varve-match");

/// Part of every ETag. Increased when the same body is rewritten in another way.
const REWRITING_REVISION: u32 = 2;

/// Answers a request for the part of the target after `/web/`.
pub(super) fn respond(state: &Arc<AppState>, request: &Parts, rest: &str) -> Response {
    if let Some(url) = rest.strip_prefix("*/") {
        let history = format!("{}/page?url={}", state.ui_origin(request), query_value(url));
        return response::redirect(StatusCode::FOUND, &history);
    }
    if let Some(time) = lookup_form::time_without_url(rest) {
        return lookup_form::page(state, request, time);
    }
    let address = match ReplayAddress::parse(rest) {
        Ok(address) => address,
        Err(error) => return error_pages::bad_address(error),
    };
    match find(&state.history, &address.url, address.time()) {
        // Without versions, the links of a page lead to the default capture of each.
        Ok(UrlKnowledge::Here(found)) if address.digits.is_empty() && state.history.has_versions() => {
            let exact = ReplayAddress { modifier: address.modifier, ..ReplayAddress::of(&found) };
            response::redirect(StatusCode::FOUND, &exact.path())
        }
        Ok(UrlKnowledge::Here(found)) => capture_response(state, request, address, *found),
        Ok(UrlKnowledge::There(url)) => {
            let note = HeaderValue::from_static("another scheme or host");
            response::redirect(StatusCode::FOUND, &ReplayAddress { url, ..address }.path())
                .with(MATCH_HEADER, note)
        }
        Ok(UrlKnowledge::No) => match removal_at(&state.history, &address.url) {
            Ok(Some(removal)) => error_pages::removed(&removal),
            _ => fuzzy_response(state, request, address),
        },
        Err(error) => error_pages::archive_failed(&error),
    }
}

/// The response for a URL that was never captured: a capture that differs only in parameters without
/// meaning, if there is one. It is not redirected to, because a script would see the other URL.
fn fuzzy_response(state: &Arc<AppState>, request: &Parts, address: ReplayAddress) -> Response {
    match find_fuzzy(&state.history, &address.url, address.time()) {
        Ok(Some(FuzzyCapture { found, rule })) => capture_response(state, request, address, found)
            .with(MATCH_HEADER, HeaderValue::from_static(rule.name())),
        Ok(None) => error_pages::not_captured(state, request, &address),
        Err(error) => error_pages::archive_failed(&error),
    }
}

/// The removal of a URL that has no capture any more.
pub(crate) fn removal_at(
    history: &HistoryReader,
    url: &str,
) -> Result<Option<RepositoryError>, ArchiveError> {
    let removal = removals(history, url, 1)?.into_iter().next();
    Ok(removal.map(|removal| RepositoryError::Removed { url: url.to_owned(), removal: Box::new(removal) }))
}

fn capture_response(
    state: &Arc<AppState>,
    request: &Parts,
    address: ReplayAddress,
    found: ReplayCapture,
) -> Response {
    let cache_control = match address.digits.len() {
        0 => Some(NEWEST_CACHE_CONTROL),
        14.. if found.exact => Some(EXACT_CACHE_CONTROL),
        _ => None,
    };
    let links = memento::link_header(state, request, &found);
    let mut response = match replayed(state, request, address, &found.capture) {
        Ok(replayed) if replayed.runs_foreign_scripts => replayed
            .response
            .with_text(header::CONTENT_SECURITY_POLICY, &policy_without_scripts(state, request)),
        Ok(replayed) => replayed.response,
        Err(error) if ArchiveFailure::of(&error).remedy.is_some() => {
            return error_pages::archive_failed(&error);
        }
        Err(error) => failed_response(state, &found, &error),
    };
    let is_success = response.status().as_u16() < 400;
    if let Some(value) = cache_control
        && is_success
        && !response.headers().contains_key(header::CACHE_CONTROL)
    {
        response = response.with(header::CACHE_CONTROL, HeaderValue::from_static(value));
    }
    memento::describe(response, &found, &links)
}

/// The captured response as it was, for a proxy, which needs no rewriting. Its headers are those of
/// the path form.
pub(crate) fn archived_response(state: &Arc<AppState>, request: &Parts, found: &ReplayCapture) -> Response {
    let address = ReplayAddress { modifier: Modifier::Raw, ..ReplayAddress::of(found) };
    match replayed(state, request, address, &found.capture) {
        Ok(replayed) => replayed.response,
        Err(error) => failed_response(state, found, &error),
    }
}

/// The page for a capture whose body cannot be read.
fn failed_response(state: &AppState, found: &ReplayCapture, error: &ArchiveError) -> Response {
    if ArchiveFailure::of(error).remedy.is_some() {
        return error_pages::archive_failed(error);
    }
    let is_failure = matches!(error, ArchiveError::Repository(RepositoryError::DownloadFailed { .. }));
    // If looking for the removal fails too, the first error is reported.
    match removal_of(&state.history, &found.capture) {
        Ok(Some(removal)) => error_pages::removed(&RepositoryError::Removed {
            url: found.capture.url.clone(),
            removal: Box::new(removal),
        }),
        _ => error_pages::body_failed(&found.capture, error, is_failure),
    }
}

/// A captured response.
struct Replayed {
    response: Response,
    /// Whether a browser would run its scripts without the replay script before them.
    runs_foreign_scripts: bool,
}

/// The captured response: its status, its safe headers and its body.
fn replayed(
    state: &Arc<AppState>,
    request: &Parts,
    address: ReplayAddress,
    capture: &Capture,
) -> Result<Replayed, ArchiveError> {
    let (status, view) = captured_answer(&state.history, capture)?;
    let content_type = first_value(&view, "content-type");
    // A response to HEAD also says whether the body can be opened.
    let body = state.history.open_body(capture)?;
    let mut body = BodyPrefix::read(body).map_err(|error| {
        ArchiveError::Repository(RepositoryError::Body(varve_archive::BodyError::new(error)))
    })?;
    let mut form =
        BodyForm::of(content_type, &body.start, address.modifier, request.header("sec-fetch-dest"));
    if form == BodyForm::Raw && rename_callback(&mut body, &capture.url, &address) {
        form = BodyForm::Jsonp;
    }
    let coded = open_coded(state, request, &address, &view, capture)?;
    let etag = etag_of(capture, if coded.is_some() { 'c' } else { form.etag_letter() });
    let vary = if address.modifier == Modifier::Raw { "Accept-Encoding" } else { "Sec-Fetch-Dest" };
    let encoding = detect_encoding(&body.start, content_type);
    let rewriting = BodyRewriting { form, url: capture.url.clone(), encoding, address };
    let runs_foreign_scripts = form.may_run_scripts(content_type);
    let response = head_response(status, &view, &rewriting)
        .with_text(header::ETAG, &etag)
        .with(header::VARY, HeaderValue::from_static(vary));
    let replay = Replay { state, request, capture };
    // A body that was stored with this status all the same is shown, with 200.
    let response = if status == StatusCode::NO_CONTENT.as_u16() && body.start.is_empty() {
        with_status(response, StatusCode::NO_CONTENT)
    } else if response.status() == StatusCode::OK && matches_etag(request.header("if-none-match"), &etag) {
        with_status(response, StatusCode::NOT_MODIFIED)
    } else if let Some(coded) = coded {
        replay.with_payload(response, coded)
    } else {
        replay.with_body(response, &etag, rewriting, body)
    };
    Ok(Replayed { response, runs_foreign_scripts })
}

/// Makes a JSONP response call the function that the request names, where it names another than the
/// captured one. Returns whether the body changed.
fn rename_callback(body: &mut BodyPrefix, captured: &str, address: &ReplayAddress) -> bool {
    let (Some(from), Some(to)) = (callback_name(captured), callback_name(&address.url)) else { return false };
    address.modifier != Modifier::Raw && from != to && body.rename_function(&from, &to)
}

/// Status and headers of the captured response, without a body.
fn head_response(status: u16, view: &HeaderView, rewriting: &BodyRewriting) -> Response {
    let mut response = response::empty(replayed_status(status));
    *response.headers_mut() = safe_headers(view);
    if let Some(kind) = rewriting.content_type(first_value(view, "content-type")) {
        response = response.with_text(header::CONTENT_TYPE, &kind);
    }
    if let Some(location) = rewritten_location(view, rewriting) {
        response = response.with_text(header::LOCATION, &header_url(&location));
    }
    if let Some(refresh) = rewritten_refresh(view, rewriting) {
        response = response.with_text(header::REFRESH, &refresh);
    }
    response
}

fn with_status(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    response
}

/// The body as it was transferred, with its content codings.
struct CodedPayload {
    codings: String,
    payload: Box<dyn io::Read + Send>,
}

/// Opens the body with its content codings, for a client that asks for original bytes and accepts
/// these codings. A request for a range means a range of the decoded body.
fn open_coded(
    state: &AppState,
    request: &Parts,
    address: &ReplayAddress,
    view: &HeaderView,
    capture: &Capture,
) -> Result<Option<CodedPayload>, ArchiveError> {
    if address.modifier != Modifier::Raw || request.header("range").is_some() {
        return Ok(None);
    }
    let Some(codings) = first_value(view, "content-encoding").map(str::to_ascii_lowercase) else {
        return Ok(None);
    };
    if !accepts_codings(request.header("accept-encoding"), &codings) {
        return Ok(None);
    }
    let payload = state.history.open_payload(capture)?;
    Ok(payload.map(|payload| CodedPayload { codings, payload }))
}

/// The ETag of a capture in one form.
fn etag_of(capture: &Capture, letter: char) -> String {
    let id = capture.body.to_string();
    format!("\"{}-{letter}{REWRITING_REVISION}\"", id.get(..32).unwrap_or(&id))
}

/// The status of the response. A captured status that would have no body, or that no server may
/// send, becomes 200.
fn replayed_status(status: u16) -> StatusCode {
    match status {
        0..=199 | 204..=206 | 304 | 1000.. => StatusCode::OK,
        status => StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
    }
}

/// The capture that answers a request.
struct Replay<'r> {
    state: &'r AppState,
    request: &'r Parts,
    capture: &'r Capture,
}

impl Replay<'_> {
    /// Adds a body with its content codings.
    fn with_payload(&self, response: Response, coded: CodedPayload) -> Response {
        let response = response.with_text(header::CONTENT_ENCODING, &coded.codings);
        self.stream(response, None, ReadChunks::new(coded.payload, None))
    }

    /// Adds the body: all of it, or the requested range.
    fn with_body(
        &self,
        response: Response,
        etag: &str,
        rewriting: BodyRewriting,
        body: BodyPrefix,
    ) -> Response {
        if rewriting.form != BodyForm::Raw {
            return self.stream(response, None, rewriting.chunks(body));
        }
        let Some(length) = self.capture.length else {
            return self.stream(response, None, ReadChunks::new(body.into_reader(), None));
        };
        let response = response.with(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let is_unchanged = self.request.header("if-range").is_none_or(|condition| condition == etag);
        let may_be_partial = response.status() == StatusCode::OK && is_unchanged;
        match requested_range(self.request.header("range").filter(|_| may_be_partial), length) {
            // Reading to the end verifies the body.
            RangeRequest::Whole => {
                self.stream(response, Some(length), ReadChunks::new(body.into_reader(), Some(length)))
            }
            RangeRequest::Range(range) => self.with_range(response, range, length),
            RangeRequest::Unsatisfiable => response::empty(StatusCode::RANGE_NOT_SATISFIABLE)
                .with_text(header::CONTENT_RANGE, &format!("bytes */{length}")),
        }
    }

    fn with_range(&self, response: Response, range: RequestedRange, length: u64) -> Response {
        let end = range.start + range.length;
        let part = match self.state.history.open_body_range(self.capture, range.start, end) {
            Ok(part) => io::Read::take(part, range.length),
            Err(error) => return error_pages::body_failed(self.capture, &error, false),
        };
        let content_range = format!("bytes {}-{}/{length}", range.start, end - 1);
        let response = with_status(response, StatusCode::PARTIAL_CONTENT)
            .with_text(header::CONTENT_RANGE, &content_range);
        self.stream(response, Some(range.length), ReadChunks::new(part, Some(range.length)))
    }

    fn stream(
        &self,
        response: Response,
        length: Option<u64>,
        chunks: impl Iterator<Item = io::Result<bytes::Bytes>> + Send + 'static,
    ) -> Response {
        let on_error = |error: &io::Error| error_pages::body_failed(self.capture, error, false);
        body::stream(self.request, response, length, chunks, on_error)
    }
}

/// The target of a captured redirect, on this origin.
fn rewritten_location(view: &HeaderView, rewriting: &BodyRewriting) -> Option<String> {
    let location = first_value(view, "location")?;
    let address = rewriting.address.clone();
    let modifier = if address.modifier == Modifier::Raw { Modifier::Raw } else { Modifier::None };
    let to = move |url: &str| {
        ReplayAddress { url: url.to_owned(), modifier, digits: address.digits.clone() }.path()
    };
    LinkRewriter::new(&rewriting.url, to).ok()?.leads(location)
}

fn rewritten_refresh(view: &HeaderView, rewriting: &BodyRewriting) -> Option<String> {
    let refresh = first_value(view, "refresh")?;
    let address = rewriting.address.clone();
    let to = move |url: &str| header_url(&ReplayAddress { url: url.to_owned(), ..address.clone() }.path());
    LinkRewriter::new(&rewriting.url, to).ok()?.refresh(refresh)
}
