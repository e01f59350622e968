//! The first page of a browser that shows an archive, where no page was asked for: what there is.

use axum::response::Response;
use http::StatusCode;
use maud::html;
use varve_archive::Capture;
use varve_archive::verbs::log::ListCursor;
use varve_archive::verbs::replay::{ReplayTime, UrlKnowledge, find};

use crate::app_state::AppState;
use crate::error_page;

/// The URL of the page, in a zone that no archived page can be in.
pub const START_URL: &str = "http://start.varve.invalid/";

/// How many captured URLs are examined.
const MAX_EXAMINED_URLS: usize = 1000;

/// How many pages are listed.
const MAX_LISTED_PAGES: usize = 200;

/// Lists captured pages.
pub(super) fn start_page(state: &AppState, time: Option<ReplayTime>) -> Response {
    let urls = state.history.catalog().urls("", ListCursor::first(MAX_EXAMINED_URLS)).unwrap_or_default();
    let captures = urls.into_iter().filter_map(|url| match find(&state.history, &url, time) {
        Ok(UrlKnowledge::Here(found)) if is_page(&found.capture) => Some(found.capture),
        _ => None,
    });
    let captures: Vec<Capture> = captures.take(MAX_LISTED_PAGES).collect();
    error_page::error(
        StatusCode::OK,
        "Pages of this archive",
        html! {
            p { "This browser shows an archive. It is not connected to the web." }
            ul {
                @for capture in &captures {
                    li {
                        a href=(capture.url) { (capture.url) } " "
                        time { (capture.time.for_people()) " UTC" }
                    }
                }
            }
            @if captures.is_empty() { p { "No page was captured." } }
        },
    )
}

/// Whether a capture is a page that a person may want to begin with.
fn is_page(capture: &Capture) -> bool {
    let kind = capture.headers.get("content-type").and_then(|values| values.first());
    matches!(capture.status, 200 | 304)
        && kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html"))
}
