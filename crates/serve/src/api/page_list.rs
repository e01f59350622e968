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
use super::{json_output, page_service};
use crate::app_state::AppState;
use crate::body;

/// The pages of a list, or why one of them was not read.
type PageResults = Vec<Result<ExtractedPage, PageError>>;

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
    let admitted = state.fetch_slots.admit()?;
    let is_pretty = wants_pretty(&parts);
    let answered = admitted.run(move || {
        let results = pages.batch(&urls)?;
        Ok(array(&parts, urls, results, is_pretty))
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
        Ok(array(&head, Vec::new(), results, is_pretty))
    });
    answered.await?
}

/// The response with all elements; `urls` are those that the client named, in order. They become JSON while the client reads them.
fn array(request: &Parts, urls: Vec<String>, results: PageResults, is_pretty: bool) -> Response {
    let mut urls = urls.into_iter();
    let pages = results.into_iter().map(move |result| {
        let url = urls.next();
        let page = result.unwrap_or_else(|error| {
            let page = error.into_page(url.as_deref().unwrap_or_default());
            // The items of a feed are not named by the client.
            ExtractedPage { original_url: url, ..page }
        });
        serde_json::to_value(page).map_err(io::Error::other)
    });
    let chunks = json_output::array_chunks(pages, is_pretty);
    let response = json_output::empty(StatusCode::OK);
    body::stream(request, response, None, chunks, |_| {
        axum::response::IntoResponse::into_response(ApiError::internal())
    })
}
