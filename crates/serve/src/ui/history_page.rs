//! `/page`: the history of a page, as a calendar and a list of captures.

use std::sync::Arc;

use http::request::Parts;
use maud::{Markup, html};
use varve_archive::verbs::cat::version_of;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::replay::{captured_url, has_screenshot};
use varve_archive::{Capture, Moment};

use super::{PageResult, UiError, calendar, page_frame, required, screenshot};
use crate::app_state::AppState;
use crate::formatting::{grouped, human_size, query_value, visible};
use crate::request::RequestParts;

/// Captures on one page of the list.
const LIST_CAPTURES: usize = 200;
/// Newest captures among which a screenshot is looked for: each costs reading the header of a record.
const MAX_SCREENSHOT_PROBES: usize = 3;

pub(super) fn page(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let requested = required(request, "url")?;
    let url =
        captured_url(&state.history, &requested)?.ok_or_else(|| UiError::not_captured(state, &requested))?;
    let until = request.parameter("until").and_then(|text| Moment::parse_end(&text).ok());
    let filter = CaptureFilter { until, ..CaptureFilter::default() };
    let mut captures = captures(&state.history, &url, &filter, ListCursor::first(LIST_CAPTURES + 1))?;
    let older = (captures.len() > LIST_CAPTURES).then(|| captures.pop()).flatten();
    let days = calendar::count_days(&state.history, &url)?;
    Ok(page_frame::page(
        state,
        &url,
        &url,
        html! {
            h1.url { (visible(&url)) }
            p.about {
                (grouped(days.total)) @if days.is_truncated { "+" } @if days.total == 1 { " capture" } @else { " captures" }
                @if let Some(newest) = captures.first() {
                    " · " a.button href=(page_frame::view_path(&url, newest.time)) { "Show the newest capture" }
                }
                " · " a href=(format!("/export.wacz?url={}", query_value(&url))) { "Download as WACZ" }
                @if url.starts_with("http") { " · " a href=(url) rel="noreferrer noopener nofollow" { "on the live web" } }
            }
            (calendar::render(&days, &url))
            @if let Some(newest) = captures.iter().take(MAX_SCREENSHOT_PROBES).find(|capture| has_screenshot(&state.history, capture).unwrap_or(false)) {
                figure.screenshot {
                    a href=(screenshot::path(newest)) { img src=(screenshot::path(newest)) loading="lazy" alt=(format!("screenshot of {url}")); }
                    figcaption { "As a browser showed it, " (page_frame::time(newest.time)) }
                }
            }
            form.walk action="/diff" {
                input type="hidden" name="url" value=(url);
                (table(&captures, older.as_ref()))
                @if captures.len() > 1 { p.compare { button { "Compare the selected captures" } } }
            }
            @if let Some(older) = &older {
                p { a.more rel="next" href=(format!("/page?url={}&until={}", query_value(&url), query_value(&older.time.to_string()))) { "Older captures" } }
            }
        },
    ))
}

fn table(captures: &[Capture], older: Option<&Capture>) -> Markup {
    html! {
        table.captures {
            thead { tr { th { "From" } th { "To" } th { "Captured (UTC)" } th { "Status" } th { "Type" } th.number { "Length" } th { "Change" } th { "Version" } } }
            tbody {
                @for (place, capture) in captures.iter().enumerate() {
                    (row(capture, captures.get(place + 1).or(older), place, captures.len()))
                }
            }
        }
    }
}

/// Whether two captures are of the same response. Status 304 means the response before it.
fn is_unchanged(before: &Capture, capture: &Capture) -> bool {
    const NOT_MODIFIED: u16 = 304;
    let is_not_modified = [before, capture].iter().any(|capture| capture.status == NOT_MODIFIED);
    before.body == capture.body && (is_not_modified || before.status == capture.status)
}

fn row(capture: &Capture, before: Option<&Capture>, place: usize, count: usize) -> Markup {
    let time = capture.time.to_string();
    let version = version_of(capture);
    html! {
        tr {
            td { input type="radio" name="base" value=(time) checked[place == 1.min(count - 1)] aria-label=(format!("compare from {time}")); }
            td { input type="radio" name="head" value=(time) checked[place == 0] aria-label=(format!("compare to {time}")); }
            td { a href=(page_frame::view_path(&capture.url, capture.time)) { (page_frame::time(capture.time)) } }
            td { (page_frame::status(capture)) }
            td { (page_frame::media_type(capture)) }
            td.number { @if let Some(length) = capture.length { (human_size(length)) } }
            td {
                @match before {
                    None => span.quiet { "first" },
                    Some(before) if is_unchanged(before, capture) => span.quiet { "unchanged" },
                    Some(before) => a href=(page_frame::diff_path(before, capture)) { "changed" },
                }
            }
            td { @if let Some(version) = version { a href=(format!("/version?id={version}")) { code { (page_frame::short_id(&version.to_string())) } } } }
        }
    }
}
