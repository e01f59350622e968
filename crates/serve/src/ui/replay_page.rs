//! `/view`: a replayed capture in a frame, below a bar with its time and links to other captures.
//!
//! A script makes the bar follow the page when a visitor clicks a link in the frame.
//!
//! The policy of this page allows only the replay origin in the frame. So a replayed page that
//! navigates away cannot leave the archive.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use maud::{DOCTYPE, Markup, html};
use varve_archive::verbs::replay::{ReplayCapture, ReplayTime, UrlKnowledge, find, has_screenshot};
use varve_archive::{ArchiveError, Capture, Moment};

use super::{PageResult, UiError, page_frame, required, screenshot};
use crate::app_state::AppState;
use crate::formatting::{query_value, visible};
use crate::replay::ReplayAddress;
use crate::request::RequestParts;
use crate::response;

/// What the framed page may do. It may navigate the window only after a click.
const FRAME_SANDBOX: &str = "allow-scripts allow-same-origin allow-forms allow-popups allow-modals allow-downloads \
                       allow-top-navigation-by-user-activation";

pub(super) fn page(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let url = required(request, "url")?;
    let time = request.parameter("time").filter(|text| !text.trim().is_empty());
    let time = time.map(|text| parse_time(&text).ok_or_else(|| UiError::bad_time(&text))).transpose()?;
    let found = match find_as_typed(state, &url, time)? {
        UrlKnowledge::Here(found) => found,
        UrlKnowledge::There(other) => {
            return Ok(response::redirect(StatusCode::FOUND, &other_url_path(&other, request)));
        }
        UrlKnowledge::No => return Err(UiError::not_captured(state, &url)),
    };
    let capture = &found.capture;
    let mut address = ReplayAddress::of(&found);
    if time.is_none() && !state.history.has_versions() {
        // Links lead to default revisions, unless the visitor chose a time.
        address.digits.clear();
    }
    let source = format!("{}{}", state.replay_origin(request), address.path());
    Ok(response::page(
        StatusCode::OK,
        html! {
            (DOCTYPE)
            html.view lang="en" {
                (page_frame::head(&format!("{url} · {}", capture.time.for_people())))
                body {
                    (bar(state, &found, &source))
                    iframe name="replay" src=(source) data-url=(capture.url) sandbox=(FRAME_SANDBOX) title=(format!("{url} as it was at {}", capture.time.for_people())) {}
                    script src="/view.js" defer {}
                }
            }
        },
    ))
}

/// The capture of a URL, which may lack its scheme.
fn find_as_typed(
    state: &AppState,
    url: &str,
    time: Option<ReplayTime>,
) -> Result<UrlKnowledge, ArchiveError> {
    let found = find(&state.history, url, time)?;
    if !matches!(found, UrlKnowledge::No) || url.contains("://") {
        return Ok(found);
    }
    // Another scheme is found from here too.
    find(&state.history, &format!("https://{url}"), time)
}

/// Parses digits, or a time as people write it.
pub(super) fn parse_time(text: &str) -> Option<ReplayTime> {
    ReplayTime::read(text).or_else(|| Moment::parse_end(text).ok().map(ReplayTime::exactly))
}

/// The path of another URL at the same time.
fn other_url_path(url: &str, request: &Parts) -> String {
    let time =
        request.parameter("time").map(|time| format!("time={}&", query_value(&time))).unwrap_or_default();
    format!("/view?{time}url={}", query_value(url))
}

/// The bar above the frame.
fn bar(state: &AppState, found: &ReplayCapture, source: &str) -> Markup {
    let capture = &found.capture;
    html! {
        header.bar {
            a.home href="/" title=(visible(&state.name)) { (page_frame::logo()) }
            (neighbour(found.previous.as_ref(), "← older", "prev"))
            strong { (page_frame::time(capture.time)) }
            (neighbour(found.next.as_ref(), "newer →", "next"))
            (page_frame::status(capture))
            a.url href=(page_frame::history_path(&capture.url)) title="history of this page" { (visible(&capture.url)) }
            @if let Some(previous) = found.previous.as_ref().filter(|previous| previous.body != capture.body) {
                a.step href=(page_frame::diff_path(previous, capture)) { "what changed" }
            }
            @if has_screenshot(&state.history, capture).unwrap_or(false) {
                a.step href=(screenshot::path(capture)) { "screenshot" }
            }
            a.step href=(source) { "without this bar" }
        }
    }
}

/// A link to another capture, or an empty place.
fn neighbour(to: Option<&Capture>, word: &str, relation: &str) -> Markup {
    html! {
        @match to {
            Some(to) => a.step rel=(relation) href=(page_frame::view_path(&to.url, to.time)) title=(to.time.for_people()) { (word) },
            None => span.step.off { (word) },
        }
    }
}
