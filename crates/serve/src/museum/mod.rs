//! Replay through a proxy: archived responses under their own URLs, as the browser would have got
//! them, at one time.
//!
//! Nothing is rewritten: the browser asks for the original URL, and the proxy answers from the
//! archive. It has no way to reach the live web: a URL that was not captured is a page of ours. The
//! capture is chosen as in the path form of replay, by the same lookup.
//!
//! Headers are the archived ones, except for those that describe how the body is sent now, secrets,
//! and those by which a site binds a browser beyond the page: they would outlive the visit, or send
//! reports.

mod missing_page;
mod server;
mod start_page;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::fuzzy_lookup::{FuzzyCapture, find_fuzzy};
use varve_archive::verbs::replay::{
    ReplayCapture, ReplayTime, UrlKnowledge, answer as captured_answer, find,
};
use varve_core::headers::{HeaderView, is_sensitive};
use varve_proxy::{CertificateAuthority, ProxyAnswer, ProxyHandler, ProxyRequest, ProxyResponse};

use crate::app_state::AppState;
use crate::error_page;
use crate::formatting::{http_date, parse_http_date};
use crate::replay::{MATCH_HEADER, archived_response, removal_at};
use crate::request::RequestParts;
use crate::response::{self, ResponseHeaders};

pub use server::MuseumServer;
pub use start_page::START_URL;

/// A proxy that shows an archive.
pub struct MuseumSettings {
    /// The address of the proxy; port 0 means any free port.
    pub listen: SocketAddr,
    /// The time to show the archive at; the newest good captures without one.
    pub time: Option<ReplayTime>,
    /// Who makes certificates for the archived hosts.
    pub authority: Arc<CertificateAuthority>,
}

/// Headers that are made for the body as it is sent now.
const OF_SENT_BODY: [&str; 7] = [
    "accept-ranges",
    "content-encoding",
    "content-length",
    "content-range",
    "etag",
    "transfer-encoding",
    "trailer",
];

/// Headers that concern a connection, or bind a browser beyond the page.
const NOT_REPLAYED: [&str; 13] = [
    "alt-svc",
    "clear-site-data",
    "connection",
    "content-security-policy-report-only",
    "expect-ct",
    "keep-alive",
    "nel",
    "proxy-authenticate",
    "proxy-connection",
    "public-key-pins",
    "report-to",
    "reporting-endpoints",
    "strict-transport-security",
];

/// Answers requests of a browser from an archive.
pub struct MuseumHandler {
    state: Arc<AppState>,
    time: Option<ReplayTime>,
}

impl MuseumHandler {
    /// Shows an archive as it was at a time, or the newest good captures.
    pub fn new(history: HistoryReader, time: Option<ReplayTime>) -> Self {
        Self { state: Arc::new(AppState::without_origins(history)), time }
    }
}

impl ProxyHandler for MuseumHandler {
    fn answer(&self, request: ProxyRequest) -> ProxyAnswer<'_> {
        let (state, time) = (Arc::clone(&self.state), self.time);
        Box::pin(async move {
            let ProxyRequest { url, method, headers, upgrade, .. } = request;
            if upgrade.is_some() {
                return sent(error_page::plain(StatusCode::NOT_FOUND, "Web sockets are not replayed.", ""));
            }
            let parts = parts_of(method, headers, &url);
            let answered = tokio::task::spawn_blocking(move || respond(&state, &parts, &url, time));
            sent(answered.await.unwrap_or_else(|_| {
                error_page::plain(StatusCode::INTERNAL_SERVER_ERROR, "This is a bug in varve.", "")
            }))
        })
    }
}

fn sent(response: Response) -> ProxyResponse {
    response.map(|body: Body| body.map_err(std::io::Error::other).boxed_unsync())
}

/// The head of the request for the functions that it shares with the other forms of replay.
fn parts_of(method: Method, headers: HeaderMap, url: &str) -> Parts {
    let mut parts = http::Request::new(()).into_parts().0;
    parts.method = method;
    parts.headers = headers;
    parts.uri = url.parse().unwrap_or_default();
    parts
}

fn respond(state: &Arc<AppState>, request: &Parts, url: &str, time: Option<ReplayTime>) -> Response {
    if request.method == Method::OPTIONS && request.headers.contains_key("access-control-request-method") {
        return preflight(request);
    }
    if request.method != Method::GET && request.method != Method::HEAD {
        let refused = error_page::plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "This method cannot be replayed.",
            "Only captures of GET requests can be shown.",
        );
        return refused.with(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    if url == START_URL {
        return start_page::start_page(state, time);
    }
    let chosen = request.header("accept-datetime").and_then(parse_http_date).map(ReplayTime::second);
    let time = chosen.or(time);
    match find(&state.history, url, time) {
        Ok(UrlKnowledge::Here(found)) => capture_response(state, request, *found, time),
        Ok(UrlKnowledge::There(other)) if is_same_but_scheme(url, &other) => {
            match find(&state.history, &other, time) {
                Ok(UrlKnowledge::Here(found)) => capture_response(state, request, *found, time),
                _ => missing_page::not_captured(state, url, time),
            }
        }
        Ok(UrlKnowledge::There(other)) => response::redirect(StatusCode::FOUND, &other),
        Ok(UrlKnowledge::No) => match removal_at(&state.history, url) {
            Ok(Some(removal)) => crate::replay::error_pages::removed(&removal),
            _ => fuzzy_response(state, request, url, time),
        },
        Err(error) => crate::replay::error_pages::archive_failed(&error),
    }
}

/// The response for a URL that was never captured: a capture that differs only in parameters without
/// meaning, if there is one.
fn fuzzy_response(state: &Arc<AppState>, request: &Parts, url: &str, time: Option<ReplayTime>) -> Response {
    match find_fuzzy(&state.history, url, time) {
        Ok(Some(FuzzyCapture { found, rule })) => capture_response(state, request, found, time)
            .with(MATCH_HEADER, HeaderValue::from_static(rule.name())),
        Ok(None) => missing_page::not_captured(state, url, time),
        Err(error) => crate::replay::error_pages::archive_failed(&error),
    }
}

/// Whether two URLs differ only by `http` and `https`. A redirect between them might never end: a
/// page can ask the browser to change the scheme of all its requests.
fn is_same_but_scheme(url: &str, other: &str) -> bool {
    let rest = |url: &str| url.split_once("://").map(|(_, rest)| rest.to_owned());
    rest(url) == rest(other)
}

/// What a server that shares everything would answer: the archived response decides.
fn preflight(request: &Parts) -> Response {
    let copied = |name: &str| request.headers.get(name).cloned();
    let mut response = response::empty(StatusCode::NO_CONTENT)
        .with(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    for (from, to) in [
        ("origin", header::ACCESS_CONTROL_ALLOW_ORIGIN),
        ("access-control-request-method", header::ACCESS_CONTROL_ALLOW_METHODS),
        ("access-control-request-headers", header::ACCESS_CONTROL_ALLOW_HEADERS),
    ] {
        if let Some(value) = copied(from) {
            response = response.with(to, value);
        }
    }
    response
}

/// The captured response, with its own headers.
fn capture_response(
    state: &Arc<AppState>,
    request: &Parts,
    found: ReplayCapture,
    time: Option<ReplayTime>,
) -> Response {
    let capture = &found.capture;
    if capture.status == 0 {
        return missing_page::not_captured(state, &capture.url, time);
    }
    let mut response = archived_response(state, request, &found);
    if let Ok((status, view)) = captured_answer(&state.history, capture)
        && (status == response.status().as_u16() || response.status().is_success())
    {
        restore_headers(response.headers_mut(), &view);
    }
    response.with_text(HeaderName::from_static("memento-datetime"), &http_date(capture.time))
}

/// Replaces the headers for the path form by the archived ones.
fn restore_headers(headers: &mut HeaderMap, view: &HeaderView) {
    let made: Vec<(HeaderName, HeaderValue)> = OF_SENT_BODY
        .iter()
        .filter_map(|name| Some((HeaderName::from_static(name), headers.get(*name)?.clone())))
        .collect();
    headers.clear();
    for (name, value) in view.pairs() {
        if is_sensitive(name) || OF_SENT_BODY.contains(&name) || NOT_REPLAYED.contains(&name) {
            continue;
        }
        let value = HeaderValue::from_str(value).or_else(|_| HeaderValue::from_bytes(value.as_bytes()));
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value) {
            headers.append(name, value);
        }
    }
    headers.extend(made);
}
