//! `/web/` without a URL: what the replay origin is, and a form that finds a page.
//!
//! The form leads to `/view` of the UI, which knows how people write URLs and times.

use axum::response::Response;
use http::StatusCode;
use http::header;
use http::request::Parts;
use maud::html;

use crate::app_state::AppState;
use crate::error_page;
use crate::response::ResponseHeaders;

/// The time of an address without a URL, such as `2026` of `/web/2026/`; `None` for other addresses.
pub(super) fn time_without_url(rest: &str) -> Option<&str> {
    let time = rest.strip_suffix('/').unwrap_or(rest);
    time.bytes().all(|byte| byte.is_ascii_digit()).then_some(time)
}

/// The page with the form.
pub(super) fn page(state: &AppState, request: &Parts, time: &str) -> Response {
    let ui = state.ui_origin(request);
    let content = html! {
        p { "This server shows the pages of the archive " strong { (state.name) } " as they were. The address of a page is" }
        p { code { "/web/TIME/URL" } ", such as " code { "/web/2026/https://example.com/" } }
        form action=(format!("{ui}/view")) {
            p { label { "URL " input name="url" required size="40" placeholder="https://example.com/"; } }
            p { label { "Time " input name="time" value=(time) size="20" placeholder="newest"; } " a year, a month, a day or a second, in UTC" }
            p { button { "Show the page" } }
        }
        p { a href=(format!("{ui}/")) { "All pages and versions of the archive" } }
    };
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action {ui}");
    error_page::error(StatusCode::OK, "Archived pages", content)
        .with_text(header::CONTENT_SECURITY_POLICY, &policy)
}
