//! `/extract`, `/extract/headless` and `/history`: one page.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use varve_archive::Moment;
use varve_archive::pages::{ExtractedPage, FetchMethod, PageError};

use super::error::ApiError;
use super::request_input::UrlInput;
use super::{json_output, page_service, read_archive};
use crate::app_state::AppState;
use crate::response;

/// The page object of a URL.
pub(super) async fn extract(
    State(state): State<Arc<AppState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let UrlInput { url, is_pretty, at } = UrlInput::read(request).await?;
    let pages = page_service(&state)?;
    let Some(at) = at else { return fetch(&state, url, FetchMethod::Direct, is_pretty).await };
    let time = Moment::parse_end(&at)
        .map_err(|error| ApiError::bad_request(format!("Invalid time provided: {at:?}, {error}")))?;
    read_archive(move || match pages.at(&url, time) {
        Ok(page) => page_response(StatusCode::OK, &page, is_pretty),
        Err(error) => failed(&url, error, is_pretty),
    })
    .await
}

/// The page object of a URL, loaded in a browser.
pub(super) async fn headless(
    State(state): State<Arc<AppState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let UrlInput { url, is_pretty, .. } = UrlInput::read(request).await?;
    fetch(&state, url, FetchMethod::ChromiumHeadless, is_pretty).await
}

async fn fetch(
    state: &AppState,
    url: String,
    method: FetchMethod,
    is_pretty: bool,
) -> Result<Response, ApiError> {
    let pages = page_service(state)?;
    let (lookup, wanted) = (Arc::clone(&pages), url.clone());
    // A saved extraction answers at once: requests that wait for web sites do not delay it.
    let saved = read_archive(move || match lookup.saved(&wanted, method) {
        Ok(page) => page.map(|page| page_response(StatusCode::OK, &page, is_pretty)).transpose(),
        Err(error) => failed(&wanted, error, is_pretty).map(Some),
    });
    if let Some(response) = saved.await? {
        return Ok(response);
    }
    let admitted = state.fetch_slots.admit()?;
    let fetched = admitted.run(move || match pages.fetch(&url, method) {
        Ok(page) => page_response(StatusCode::OK, &page, is_pretty),
        Err(error) => failed(&url, error, is_pretty),
    });
    fetched.await?
}

/// What a client gets for a page that could not be read. Failures of the page itself have a page
/// object with `error`; a status of the page's server is part of it, and not the status of ours.
fn failed(url: &str, error: PageError, is_pretty: bool) -> Result<Response, ApiError> {
    let status = match &error {
        PageError::TargetStatus { status: 415, .. } | PageError::ContentType { .. } => {
            StatusCode::UNSUPPORTED_MEDIA_TYPE
        }
        PageError::TargetStatus { status: 504, .. } | PageError::Timeout { .. } => {
            StatusCode::GATEWAY_TIMEOUT
        }
        PageError::TargetStatus { .. } => StatusCode::OK,
        PageError::InvalidUrl(_)
        | PageError::Refused { .. }
        | PageError::Unreachable { .. }
        | PageError::Redirects { .. }
        | PageError::Extraction { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        _ => return Err(error.into()),
    };
    page_response(status, &error.into_page(url), is_pretty)
}

fn page_response(status: StatusCode, page: &ExtractedPage, is_pretty: bool) -> Result<Response, ApiError> {
    let page = serde_json::to_value(page).map_err(|_| ApiError::internal())?;
    Ok(json_output::object(status, &page, is_pretty))
}

/// Deletes the saved extraction of a URL.
pub(super) async fn delete(
    State(state): State<Arc<AppState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let UrlInput { url, .. } = UrlInput::read(request).await?;
    let pages = page_service(&state)?;
    let admitted = state.fetch_slots.admit()?;
    admitted.run(move || pages.delete(&url)).await??;
    Ok(response::empty(StatusCode::NO_CONTENT))
}

/// Which fields of a page changed with which capture. It reads every body of the page, so it is
/// limited as fetches are.
pub(super) async fn history(
    State(state): State<Arc<AppState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let UrlInput { url, is_pretty, .. } = UrlInput::read(request).await?;
    let pages = page_service(&state)?;
    let admitted = state.fetch_slots.admit()?;
    let (history, url) = admitted.run(move || (pages.history(&url), url)).await?;
    let report = json!({ "url": url, "history": history? });
    Ok(json_output::object(StatusCode::OK, &report, is_pretty))
}
