//! `/batch` and `/feed`: several pages, as an array with an element for every URL, in their order.

use std::io;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use varve_archive::pages::{ExtractedPage, PageError};

use super::error::ApiError;
use super::request_input::{UrlInput, read_batch, wants_pretty};
use super::{json_output, page_service, read_archive};
use crate::app_state::AppState;
use crate::body;

/// The pages of a list by their URLs, or why one of them was not read.
type PageResults = Vec<(String, Result<ExtractedPage, PageError>)>;

/// The page objects of several URLs.
pub(super) async fn batch(
    State(state): State<Arc<AppState>>,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let urls = read_batch(body).await?;
    if urls.is_empty() {
        return Err(PageError::BatchSize(0).into());
    }
    let pages = page_service(&state)?;
    let is_pretty = wants_pretty(&parts);
    let (lookup, wanted) = (Arc::clone(&pages), urls.clone());
    // A batch that fetches nothing does not wait for those that do.
    let saved = read_archive(move || Ok(lookup.saved_batch(&wanted)?)).await?;
    if let Some(results) = saved {
        return Ok(array(&parts, named(urls, results), is_pretty));
    }
    let admitted = state.fetch_slots.admit()?;
    let answered = admitted.run(move || {
        let results = pages.batch(&urls)?;
        Ok(array(&parts, named(urls, results), is_pretty))
    });
    answered.await?
}

/// The page objects of the items of a feed. A failure of the feed itself is a text.
pub(super) async fn feed(State(state): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let head = parts.clone();
    let UrlInput { url, is_pretty, .. } = UrlInput::read(Request::from_parts(parts, body)).await?;
    let pages = page_service(&state)?;
    let admitted = state.fetch_slots.admit()?;
    let answered = admitted.run(move || {
        let results = pages.feed(&url).map_err(|error| ApiError::of_feed(&url, error))?;
        Ok(array(&head, results, is_pretty))
    });
    answered.await?
}

/// The results with the URLs that they are for.
fn named(urls: Vec<String>, results: Vec<Result<ExtractedPage, PageError>>) -> PageResults {
    urls.into_iter().zip(results).collect()
}

/// The response with all elements. They become JSON while the client reads them.
fn array(request: &Parts, results: PageResults, is_pretty: bool) -> Response {
    let pages = results.into_iter().map(|(url, result)| {
        let page = result.unwrap_or_else(|error| error.into_page(&url));
        serde_json::to_value(page).map_err(io::Error::other)
    });
    let chunks = json_output::array_chunks(pages, is_pretty);
    let response = json_output::empty(StatusCode::OK);
    body::stream(request, response, None, chunks, |_| {
        axum::response::IntoResponse::into_response(ApiError::internal())
    })
}
