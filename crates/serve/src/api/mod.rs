//! The extraction API: what a page says, now and at any time, for programs.
//!
//! Paths, fields, statuses and limits are those of scrape, so that its clients work unchanged;
//! `at=`, `/history` and `ttl` are of varve.
//!
//! | request | response |
//! | --- | --- |
//! | `GET`, `POST /extract` | the page object of a URL; `at=` for an earlier time |
//! | `GET`, `POST /extract/headless` | the same, loaded in a browser |
//! | `DELETE /extract` | deletes the saved extraction; captures stay |
//! | `POST /batch` | the page objects of several URLs, in their order |
//! | `GET`, `POST /feed` | the page objects of the items of a feed |
//! | `GET /history?url=` | which fields of a page changed with which capture |
//! | `GET`, `PUT`, `DELETE /settings/domain/{domain}` | how the pages of a domain are fetched |
//! | `GET /settings/domain` | the settings of the domains that a query finds |
//! | `GET /admin/login` | keeps a token in a cookie |
//! | `GET /.well-known/health`, `…/heartbeat` | what the server uses, and `OK` |
//!
//! `varve-archive` reads pages ([`PageService`]); this module knows HTTP. With a signing key, all but
//! the last two lines need a token. Requests that may fetch have threads of their own
//! ([`fetch_slots`]).

mod authorization;
mod domain_settings;
mod error;
mod extract;
pub(crate) mod fetch_slots;
mod health;
mod json_output;
mod page_list;
mod request_input;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use varve_archive::pages::PageService;

use self::authorization::protected;
use self::error::ApiError;
use crate::app_state::AppState;

/// The routes of the API.
pub(crate) fn router(state: &Arc<AppState>) -> Router<Arc<AppState>> {
    let protected = |route| protected(state, route);
    Router::new()
        .route("/extract", protected(get(extract::extract).post(extract::extract).delete(extract::delete)))
        .route("/extract/headless", protected(get(extract::headless).post(extract::headless)))
        .route("/batch", protected(post(page_list::batch)))
        .route("/feed", protected(get(page_list::feed).post(page_list::feed)))
        .route("/history", protected(get(extract::history)))
        .route("/settings/domain", protected(get(domain_settings::list)))
        .route(
            "/settings/domain/{domain}",
            protected(get(domain_settings::show).put(domain_settings::set).delete(domain_settings::delete)),
        )
        .route("/admin/login", get(authorization::login))
        .route("/.well-known/heartbeat", get(health::heartbeat))
        .route("/.well-known/health", get(health::health))
}

/// The service that reads pages, which only archives have.
fn page_service(state: &AppState) -> Result<Arc<PageService>, ApiError> {
    state.pages.clone().ok_or_else(ApiError::no_service)
}

/// Runs a job that reads the archive, and nothing else, on the blocking pool.
async fn read_archive<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(job).await.map_err(|_| ApiError::internal())?
}
