//! `/screenshot`: the image that a browser made of a capture.
//!
//! It is found by its capture and never by an id, so no other object of the archive is served from
//! this origin.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use varve_archive::Capture;
use varve_archive::verbs::replay::{UrlKnowledge, find, precise_digits, screenshot};

use super::replay_page::parse_time;
use super::{PageResult, UiError, required};
use crate::app_state::AppState;
use crate::formatting::{query_value, visible};
use crate::response;

pub(super) fn image(state: &Arc<AppState>, request: &Parts) -> PageResult {
    let url = required(request, "url")?;
    let text = required(request, "time")?;
    let time = parse_time(&text).ok_or_else(|| UiError::bad_time(&text))?;
    let UrlKnowledge::Here(found) = find(&state.history, &url, Some(time))? else {
        return Err(UiError::not_captured(state, &url));
    };
    match screenshot(&state.history, &found.capture)? {
        Some(bytes) => Ok(response::text(StatusCode::OK, "image/png", bytes)),
        None => Err(UiError::NotFound(format!("There is no screenshot of {}.", visible(&url)))),
    }
}

/// The path of the screenshot of a capture.
pub(super) fn path(capture: &Capture) -> String {
    format!("/screenshot?url={}&time={}", query_value(&capture.url), precise_digits(capture.time))
}
