//! The page for a URL that was not captured.

use axum::response::Response;
use http::StatusCode;
use maud::html;
use varve_archive::verbs::replay::ReplayTime;
use varve_core::secret::ShownUrl;

use crate::app_state::AppState;
use crate::error_page;
use crate::replay::error_pages::similar_captures;

/// A URL that was not captured, with captured ones that begin like it and their times.
pub(super) fn not_captured(state: &AppState, url: &str, time: Option<ReplayTime>) -> Response {
    let similar = similar_captures(&state.history, url, time);
    error_page::error(
        StatusCode::NOT_FOUND,
        "Not in the archive",
        html! {
            p { code { (ShownUrl(url)) } " was not captured. This browser shows an archive: it is not connected to the web." }
            @if similar.is_empty() {
                p { "No URL that begins like it was captured either." }
            } @else {
                p { "These URLs were captured:" }
                ul {
                    @for capture in &similar {
                        li {
                            a href=(capture.url) { (capture.url) } " "
                            time { (capture.time.for_people()) " UTC" }
                        }
                    }
                }
            }
        },
    )
}
