//! Handlers that read the archive. They block, so they run on the blocking pool and not on the
//! threads of the runtime.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::StatusCode;
use http::request::Parts;

use crate::app_state::AppState;
use crate::error_page;

/// Answers a request. The body of the request is never read.
pub(crate) type Handler<R> = fn(&Arc<AppState>, &Parts) -> R;

/// A route for GET and HEAD whose handler may block.
pub(crate) fn get_blocking<R: IntoResponse + 'static>(handler: Handler<R>) -> MethodRouter<Arc<AppState>> {
    get(move |State(state): State<Arc<AppState>>, request: Request| run_blocking(state, request, handler))
}

/// Runs a handler on the blocking pool. A panic becomes a response with status 500.
pub(crate) async fn run_blocking<R: IntoResponse + 'static>(
    state: Arc<AppState>,
    request: Request,
    handler: Handler<R>,
) -> Response {
    let (request, _) = request.into_parts();
    let answered = tokio::task::spawn_blocking(move || handler(&state, &request).into_response());
    answered.await.unwrap_or_else(|_| {
        error_page::plain(StatusCode::INTERNAL_SERVER_ERROR, "This is a bug in varve.", "")
    })
}
