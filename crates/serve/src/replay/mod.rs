//! The second origin: archived pages as they were.
//!
//! | path | answers |
//! | --- | --- |
//! | `/web/TIME/URL` | the capture nearest to that time, with its links leading here |
//! | `/web/TIMEid_/URL` | its bytes as they are: with their content codings for whoever accepts those, as pywb does it |
//! | `/web/URL` | leads to the newest good capture; in a Crystal project to the newest, unless a good one is preferred |
//! | `/web/*/URL` | leads to the history of the page |
//! | `/timegate/URL`, `/timemap/link/URL` | Memento, RFC 7089 |
//! | `/_varve/replay.js` | the script that sends what scripts ask for here |
//! | anything else | a link that was missed, if `Referer` says whose |
//!
//! The time in an address stays while links are followed, so that a walk through a site is a walk through one time; each
//! answer says when its capture really is from. Nothing that an archived page does reaches the web: its links lead here, and a
//! policy holds what they miss.

mod address;
mod body;
mod headers;
mod memento;
mod missing;
mod part;
mod policy;
mod show;

use std::sync::Arc;

use http::header::{self, HeaderValue};

use crate::answer::Answer;
use crate::guard::{self, Refusal};
use crate::pages;
use crate::request::Request;
use crate::shelf::Shelf;

pub(crate) use address::Address;

/// The script that goes first in every page.
pub(crate) const SCRIPT: &str = "/_varve/replay.js";

/// Longer addresses are of nothing that was captured.
const LONGEST_URL: usize = 32 << 10;

/// Answers a request on the origin of archived pages.
pub(crate) fn answer(shelf: &Arc<Shelf>, request: &Request) -> Answer {
    let answer = match guard::check(request, shelf, shelf.replay, Some(shelf.ui), true) {
        Ok(()) => route(shelf, request),
        Err(refusal) => refused(refusal),
    };
    policy::apply(answer, shelf, request)
}

pub(crate) fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::Host => pages::plain(
            421,
            "This server is not called by that name.",
            "Call it by its address, or tell it its name with `--host`.",
        ),
        Refusal::Origin => pages::plain(403, "A page of another origin may not ask here.", ""),
    }
}

fn route(shelf: &Arc<Shelf>, request: &Request) -> Answer {
    if request.method.is_none() {
        let answer = pages::plain(
            405,
            "An archive cannot answer this.",
            "Only what was captured with GET can be shown.",
        );
        return answer.with(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    // A worker would stand between archived pages and this server, for all of them.
    if request.headers.contains_key("service-worker") {
        return pages::plain(404, "Service workers are not replayed.", "");
    }
    let target = request.target();
    if target.len() > LONGEST_URL {
        return pages::plain(414, "This address is too long.", "");
    }
    if let Some(rest) = target.strip_prefix("/web/") {
        return show::show(shelf, request, rest);
    }
    if let Some(rest) = target.strip_prefix("/timegate/") {
        return memento::time_gate(shelf, request, rest);
    }
    if let Some(rest) = target.strip_prefix("/timemap/link/") {
        return memento::time_map(shelf, request, rest);
    }
    match request.path.as_str() {
        SCRIPT => script(request),
        "/" if request.header("referer").is_none() => {
            Answer::redirect(302, &format!("{}/", shelf.ui_origin(request)))
        }
        _ => missed(request, &target),
    }
}

fn script(request: &Request) -> Answer {
    const TEXT: &str = include_str!("replay.js");
    const TAG: &str = concat!("\"varve-", env!("CARGO_PKG_VERSION"), "\"");
    if request.header("if-none-match") == Some(TAG) {
        return Answer::empty(304).with(header::ETAG, HeaderValue::from_static(TAG));
    }
    Answer::text(200, "text/javascript; charset=utf-8", TEXT)
        .with(header::ETAG, HeaderValue::from_static(TAG))
        .with(header::CACHE_CONTROL, HeaderValue::from_static("max-age=3600"))
}

/// A link that no rewriting found: the page it is on says where it leads.
fn missed(request: &Request, target: &str) -> Answer {
    let place = request.header("referer").and_then(|referer| {
        let (_, rest) = referer.split_once("://")?;
        let (authority, path) = rest.split_once('/')?;
        let is_ours = request.header("host").is_some_and(|host| host.eq_ignore_ascii_case(authority));
        let from = Address::parse(path.strip_prefix("web/").filter(|_| is_ours)?).ok()?;
        let url = varve_core::url::resolve(&from.url, target).ok()?;
        Some(Address { url, ..from }.path())
    });
    let answer = match place {
        Some(place) => Answer::redirect(307, &place),
        None => pages::plain(404, "There is nothing here.", "Archived pages are at /web/TIME/URL."),
    };
    answer.with(header::VARY, HeaderValue::from_static("Referer"))
}
