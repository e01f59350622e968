//! The replay origin: archived pages as they were.
//!
//! | path | response |
//! | --- | --- |
//! | `/web/TIME/URL` | the capture nearest to that time, with links rewritten to this origin |
//! | `/web/TIME/URL`, not captured | the capture of a URL that differs only in a time, random number, callback or session; `x-varve-match` says in what |
//! | `/web/TIMEid_/URL` | its original bytes; with their content codings if the client accepts those, as in pywb |
//! | `/web/URL` | redirect to the newest good capture; in a Crystal project its default revision itself |
//! | `/web/`, `/web/TIME/` | a form that finds a page |
//! | `/web/*/URL` | redirect to the history of the page |
//! | `/timegate/URL`, `/timemap/link/URL` | Memento, RFC 7089 |
//! | `/_varve/replay.js` | the script that rewrites requests of archived scripts |
//! | anything else | a link that rewriting missed, resolved by its `Referer` |
//!
//! The time in an address stays the same while links are followed, so a visitor stays at one time;
//! each response says when its capture was made. A Crystal project has no versions, and its pages
//! are of as many times. As in Crystal, links there lead to default revisions unless the visitor
//! chose a time. No request of an archived page reaches the live
//! web: links are rewritten, and a Content-Security-Policy blocks what rewriting missed.
//!
//! All paths that hold a URL go to the fallback handler, which reads the raw request target. A
//! route pattern would match the path only, without the query, and its parameters would be decoded.

mod address;
mod archived_headers;
mod capture_response;
mod conditions;
pub(crate) mod error_pages;
mod lookup_form;
mod memento;
mod rewriting;
mod security_headers;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};

use crate::app_state::AppState;
use crate::blocking::{get_blocking, run_blocking};
use crate::error_page;
use crate::request::RequestParts;
use crate::response::{self, ResponseHeaders};

pub(crate) use address::ReplayAddress;
pub(crate) use capture_response::{MATCH_HEADER, archived_response, removal_at};

/// The script that comes first in every replayed page.
pub(crate) const SCRIPT_PATH: &str = "/_varve/replay.js";

/// Longer request targets are refused: no captured URL is that long.
const MAX_TARGET_BYTES: usize = 32 << 10;

/// The routes of the replay origin.
pub(crate) fn router(state: &Arc<AppState>) -> Router {
    let router = Router::new().route(SCRIPT_PATH, get_blocking(replay_script)).fallback(
        |State(state): State<Arc<AppState>>, request: Request| run_blocking(state, request, replay_target),
    );
    security_headers::apply(router, state).with_state(Arc::clone(state))
}

/// Answers a request whose path holds a URL.
fn replay_target(state: &Arc<AppState>, request: &Parts) -> Response {
    if request.method != Method::GET && request.method != Method::HEAD {
        let refused = error_page::plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "This method cannot be replayed.",
            "Only captures of GET requests can be shown.",
        );
        return refused.with(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    // A service worker would intercept the requests of all archived pages.
    if request.headers.contains_key("service-worker") {
        return error_page::plain(StatusCode::NOT_FOUND, "Service workers are not replayed.", "");
    }
    let target = request.target();
    if target.len() > MAX_TARGET_BYTES {
        return error_page::plain(StatusCode::URI_TOO_LONG, "This URL is too long.", "");
    }
    if let Some(rest) = target.strip_prefix("/web/").or((target == "/web").then_some("")) {
        return capture_response::respond(state, request, rest);
    }
    if let Some(rest) = target.strip_prefix("/timegate/") {
        return memento::time_gate(state, request, rest);
    }
    if let Some(rest) = target.strip_prefix("/timemap/link/") {
        return memento::time_map(state, request, rest);
    }
    if request.uri.path() == "/" && request.header("referer").is_none() {
        return response::redirect(StatusCode::FOUND, &format!("{}/", state.ui_origin(request)));
    }
    redirect_missed_link(request, target)
}

/// The script, with the origin of the UI in it: it reports the page that is shown only to a bar of
/// that origin.
fn replay_script(state: &Arc<AppState>, request: &Parts) -> Response {
    const SCRIPT_TEXT: &str = include_str!("replay.js");
    const ORIGIN_PLACEHOLDER: &str = "{{ui-origin}}";
    let origin = state.ui_origin(request);
    let etag = format!("\"varve-{}-{}\"", env!("CARGO_PKG_VERSION"), origin.replace(['"', '\\'], ""));
    if request.header("if-none-match") == Some(etag.as_str()) {
        return response::empty(StatusCode::NOT_MODIFIED).with_text(header::ETAG, &etag);
    }
    // The host name is the client's own and has been checked by the guard.
    let text = SCRIPT_TEXT.replace(ORIGIN_PLACEHOLDER, &origin);
    response::text(StatusCode::OK, "text/javascript; charset=utf-8", text)
        .with_text(header::ETAG, &etag)
        .with(header::CACHE_CONTROL, HeaderValue::from_static("max-age=3600"))
}

/// Redirects a link that rewriting missed. `Referer` says which archived page the link is relative
/// to.
fn redirect_missed_link(request: &Parts, target: &str) -> Response {
    let path = request.header("referer").and_then(|referer| {
        let (_, rest) = referer.split_once("://")?;
        let (authority, path) = rest.split_once('/')?;
        let is_own = request.header("host").is_some_and(|host| host.eq_ignore_ascii_case(authority));
        let page = ReplayAddress::parse(path.strip_prefix("web/").filter(|_| is_own)?).ok()?;
        let url = varve_core::url::resolve(&page.url, target).ok()?;
        Some(ReplayAddress { url, ..page }.path())
    });
    let response = match path {
        Some(path) => response::redirect(StatusCode::TEMPORARY_REDIRECT, &path),
        None => {
            error_page::plain(StatusCode::NOT_FOUND, "Page not found", "Archived pages are at /web/TIME/URL.")
        }
    };
    response.with(header::VARY, HeaderValue::from_static("Referer"))
}
