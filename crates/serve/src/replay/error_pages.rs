//! Error pages of the replay origin, each with its reason: not captured, removed, damaged, a failed
//! download.

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use maud::html;
use varve_archive::RepositoryError;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::ListCursor;
use varve_archive::verbs::replay::{ReplayTime, UrlKnowledge, find};
use varve_archive::{ArchiveError, Capture, CatalogError};
use varve_core::secret::ShownUrl;

use super::address::{AddressError, ReplayAddress};
use crate::app_state::AppState;
use crate::archive_failure::ArchiveFailure;
use crate::error_page;
use crate::formatting::{header_url, query_value};

/// How many captured URLs with the same prefix are suggested.
const MAX_SUGGESTIONS: usize = 12;
/// How many URLs with one prefix are examined for suggestions.
const MAX_CANDIDATES: usize = 200;
/// How many times a URL is shortened to find captured URLs with the same prefix.
const MAX_SHORTENINGS: usize = 6;

pub(super) fn bad_address(error: AddressError) -> Response {
    match error {
        AddressError::Time => error_page::plain(
            StatusCode::BAD_REQUEST,
            "This is not a valid time.",
            "A time has up to 14 digits, such as 2026, 20260131 or 20260131235959.",
        ),
        AddressError::Url => error_page::plain(
            StatusCode::BAD_REQUEST,
            "This is not a valid URL.",
            "Use /web/TIME/URL, such as /web/2026/https://example.com/.",
        ),
        AddressError::UserInfo => error_page::plain(
            StatusCode::BAD_REQUEST,
            "This URL contains a user name or a password.",
            "Leave out what stands before the @.",
        ),
    }
}

/// The URL was never captured. Suggests captured URLs with the same prefix.
pub(super) fn not_captured(state: &AppState, request: &Parts, address: &ReplayAddress) -> Response {
    let suggestions = similar_addresses(&state.history, address);
    let history =
        format!("{}/pages?prefix={}", state.ui_origin(request), query_value(origin_of(&address.url)));
    error_page::error(
        StatusCode::NOT_FOUND,
        "Not in the archive",
        html! {
            p { code { (address.url) } " was not captured." }
            @if suggestions.is_empty() {
                p { "No URL with the same prefix was captured either." }
            } @else {
                p { "These URLs were captured:" }
                ul {
                    @for suggestion in &suggestions {
                        li { a href=(header_url(&suggestion.path())) { (suggestion.url) } }
                    }
                }
            }
            p { a href=(history) { "All pages of this site" } }
        },
    )
}

/// Captures whose URLs share the longest possible prefix with a URL that was not captured.
pub(crate) fn similar_captures(history: &HistoryReader, url: &str, time: Option<ReplayTime>) -> Vec<Capture> {
    let Ok(address) = ReplayAddress::newest(url) else { return Vec::new() };
    let similar = similar_addresses(history, &address).into_iter();
    let captures = similar.filter_map(|address| match find(history, &address.url, time) {
        Ok(UrlKnowledge::Here(found)) => Some(found.capture),
        _ => None,
    });
    captures.collect()
}

/// Captures whose URLs share the longest possible prefix with this one.
fn similar_addresses(history: &HistoryReader, address: &ReplayAddress) -> Vec<ReplayAddress> {
    let url = address.url.as_str();
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let mut prefix = url;
    for _ in 0..MAX_SHORTENINGS {
        // If the list cannot be read, the page has no suggestions.
        let urls = history.catalog().urls(prefix, ListCursor::first(MAX_CANDIDATES)).unwrap_or_default();
        let found: Vec<_> = urls
            .into_iter()
            .map(|url| ReplayAddress { url, ..address.clone() })
            .filter(|suggestion| is_shown(history, suggestion))
            .take(MAX_SUGGESTIONS)
            .collect();
        if !found.is_empty() {
            return found;
        }
        let shorter = prefix.trim_end_matches(['/', '?', '&']);
        match shorter.rfind(['/', '?', '&']) {
            Some(at) if at >= after_scheme => prefix = &prefix[..=at],
            _ => break,
        }
    }
    Vec::new()
}

/// Whether a link to an address shows a response, and no error. Some layouts hold URLs that no replay
/// address can name, and URLs that were never captured.
fn is_shown(history: &HistoryReader, address: &ReplayAddress) -> bool {
    let path = header_url(&address.path());
    // A browser does not send what comes after `#`.
    let path = path.split('#').next().and_then(|path| path.strip_prefix("/web/"));
    let Some(Ok(parsed)) = path.map(ReplayAddress::parse) else { return false };
    match find(history, &parsed.url, parsed.time()) {
        Ok(UrlKnowledge::Here(found)) => (1..400).contains(&found.capture.status),
        _ => false,
    }
}

/// Scheme and host of a URL.
fn origin_of(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[after_scheme..].find(['/', '?', '#']).map_or(url.len(), |at| after_scheme + at);
    &url[..end]
}

/// The capture was removed from the archive on purpose.
pub(crate) fn removed(removal: &RepositoryError) -> Response {
    error_page::error(StatusCode::GONE, "Removed from this archive", html! { p { (removal.to_string()) } })
}

/// The capture is known, but its body cannot be read, or its download failed at the time.
pub(super) fn body_failed(
    capture: &Capture,
    error: &dyn std::error::Error,
    is_failed_download: bool,
) -> Response {
    let (status, title) = match is_failed_download {
        true => (StatusCode::NOT_FOUND, "The download failed"),
        false => (StatusCode::INTERNAL_SERVER_ERROR, "This capture cannot be shown"),
    };
    let mut reasons: Vec<String> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    reasons.dedup();
    error_page::error(
        status,
        title,
        html! {
            p {
                code { (capture.url) } " was captured " time { (capture.time.for_people()) " UTC" } ", but "
                @if is_failed_download { "no response was received." } @else { "its body cannot be read." }
            }
            @for reason in &reasons { p { strong { (reason) } } }
            @if !is_failed_download {
                dl {
                    @if let Some(record) = &capture.record { dt { "Record" } dd { code { (record) } } }
                    dt { "Body" } dd { code { "sha256:" (capture.body) } }
                    dt { "Capture" } dd { code { (capture.id) } }
                }
                p { "Run " code { "varve audit" } " to find all damage." }
            }
        },
    )
}

/// An alias says that this page is on the live web. Only the user may go there.
fn outside_archive(url: &str, target: &str) -> Response {
    let is_web = target.starts_with("http://") || target.starts_with("https://");
    error_page::error(
        StatusCode::NOT_FOUND,
        "Not in the archive",
        html! {
            p { "An alias of this project says that " code { (ShownUrl(url)) } " is on the live web:" }
            p {
                @if is_web { a href=(target) rel="noreferrer" { (ShownUrl(target)) } }
                @else { code { (ShownUrl(target)) } }
            }
        },
    )
}

/// The archive reported an error.
pub(crate) fn archive_failed(error: &ArchiveError) -> Response {
    if let ArchiveError::Repository(RepositoryError::Catalog(CatalogError::Outside { url, target })) = error {
        return outside_archive(url, target);
    }
    let failure = ArchiveFailure::of(error);
    let status = match error {
        ArchiveError::NoCapture { .. }
        | ArchiveError::Repository(RepositoryError::NoVersion { .. })
        | ArchiveError::Repository(RepositoryError::NoVersionYet { .. })
        | ArchiveError::Repository(RepositoryError::BeforeFirst { .. }) => StatusCode::NOT_FOUND,
        ArchiveError::UserInfo(_) => StatusCode::BAD_REQUEST,
        _ => failure.status,
    };
    ArchiveFailure { status, ..failure }.page(error)
}
