//! The UI origin: pages for people, and the APIs for programs.
//!
//! | path | response |
//! | --- | --- |
//! | `/` | the archive at a glance |
//! | `/pages?prefix=` | captured URLs by prefix |
//! | `/page?url=` | the history of a page: a calendar and a list of captures |
//! | `/versions`, `/version?id=` | versions, and the pages that changed in one |
//! | `/diff?url=&base=&head=` | two captures of a page side by side |
//! | `/view?url=&time=` | a replayed capture in a frame, below a bar with its time and links |
//! | `/screenshot?url=&time=` | what a browser made of a capture, a PNG image |
//! | `/export.wacz?url=&version=` | a page with what it embeds, as a WACZ file |
//! | `/cdx` | the CDX API |
//!
//! The server renders whole pages with one style sheet. One small script adds keyboard shortcuts,
//! another makes the bar of `/view` follow the page below it; pages work without them. Templates escape everything that comes from an archive, and a
//! Content-Security-Policy blocks all scripts but ours.
//!
//! The extraction API is in [`api`]: a `Router` of its own that [`router`] merges before the layers are
//! added, so the guard and the headers apply to it too.

mod calendar;
mod diff_page;
mod history_page;
mod home_page;
mod package;
mod page_frame;
mod page_list;
mod replay_page;
mod screenshot;
mod version_pages;

use std::sync::Arc;
use varve_archive::RepositoryError;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use varve_archive::{ArchiveError, CatalogError};

use crate::app_state::AppState;
use crate::archive_failure::ArchiveFailure;
use crate::blocking::get_blocking;
use crate::formatting::visible;
use crate::replay::{error_pages, removal_at};
use crate::request::RequestParts;
use crate::request_guard::{GuardRules, protect};
use crate::response::{self, ResponseHeaders};
use crate::{api, cdx, error_page};

/// Headers with a fixed value, set where a response does not have them yet.
const DEFAULT_HEADERS: [(HeaderName, &str); 5] = [
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The routes of the UI origin.
pub(crate) fn router(state: &Arc<AppState>) -> Router {
    let router = pages()
        .merge(Router::new().route("/cdx", get_blocking(cdx::respond)))
        .merge(api::router(state))
        .merge(assets())
        .fallback(|| async { error_page::plain(StatusCode::NOT_FOUND, "Page not found", "") })
        .method_not_allowed_fallback(|| async {
            error_page::plain(StatusCode::METHOD_NOT_ALLOWED, "This path does not take that method.", "")
        });
    let rules = GuardRules { here: state.ui, other: None, allow_null_origin: false };
    protect(router, state, rules, policy, DEFAULT_HEADERS).with_state(Arc::clone(state))
}

fn pages() -> Router<Arc<AppState>> {
    Router::new()
        .route("/", get_blocking(home_page::page))
        .route("/pages", get_blocking(page_list::page))
        .route("/page", get_blocking(history_page::page))
        .route("/versions", get_blocking(version_pages::list))
        .route("/version", get_blocking(version_pages::page))
        .route("/diff", get_blocking(diff_page::page))
        .route("/view", get_blocking(replay_page::page))
        .route("/screenshot", get_blocking(screenshot::image))
        .route("/export.wacz", get_blocking(package::package))
}

fn assets() -> Router<Arc<AppState>> {
    let asset = |media_type: &'static str, text: &'static str| {
        get(move || async move {
            response::text(StatusCode::OK, media_type, text)
                .with(header::CACHE_CONTROL, HeaderValue::from_static("max-age=300"))
        })
    };
    let icon = include_str!("icon.svg");
    Router::new()
        .route("/style.css", asset("text/css; charset=utf-8", include_str!("style.css")))
        .route("/view.js", asset("text/javascript; charset=utf-8", include_str!("view.js")))
        .route("/keys.js", asset("text/javascript; charset=utf-8", include_str!("keys.js")))
        .route("/favicon.ico", asset("image/svg+xml", icon))
        .route("/icon.svg", asset("image/svg+xml", icon))
}

/// The Content-Security-Policy: only the replay origin may be framed.
fn policy(state: &AppState, request: &Parts) -> String {
    format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; frame-src {}; base-uri 'none'; frame-ancestors 'none'",
        state.replay_origin(request)
    )
}

/// Why a page of the UI cannot be shown.
pub(crate) enum UiError {
    /// The requested page, capture or version does not exist.
    NotFound(String),
    /// A parameter is missing or not valid.
    BadRequest(String),
    /// The page was removed from the archive on purpose.
    Removed(RepositoryError),
    /// The archive reported an error.
    Archive(ArchiveError),
}

impl<E: Into<ArchiveError>> From<E> for UiError {
    fn from(error: E) -> Self {
        Self::Archive(error.into())
    }
}

impl IntoResponse for UiError {
    fn into_response(self) -> Response {
        match self {
            Self::NotFound(message) => error_page::plain(StatusCode::NOT_FOUND, &message, ""),
            Self::Removed(removal) => error_pages::removed(&removal),
            Self::BadRequest(message) => error_page::plain(StatusCode::BAD_REQUEST, &message, ""),
            Self::Archive(ArchiveError::Repository(RepositoryError::Catalog(
                error @ CatalogError::Outside { .. },
            ))) => error_page::plain(StatusCode::NOT_FOUND, "Not in the archive", &error.to_string()),
            Self::Archive(error @ ArchiveError::UserInfo(_)) => {
                error_page::plain(StatusCode::BAD_REQUEST, &error.to_string(), "")
            }
            Self::Archive(error) => ArchiveFailure::of(&error).page(&error),
        }
    }
}

impl UiError {
    /// The error for a URL without captures: it was never captured, or removed.
    fn not_captured(state: &AppState, url: &str) -> Self {
        match removal_at(&state.history, url) {
            Ok(Some(removal)) => Self::Removed(removal),
            _ => Self::NotFound(format!("{} was not captured.", visible(url))),
        }
    }

    fn bad_time(text: &str) -> Self {
        Self::BadRequest(format!("“{}” is not a time.", visible(text)))
    }
}

/// A query parameter that the page cannot do without.
fn required(request: &Parts, name: &str) -> Result<String, UiError> {
    request.parameter(name).ok_or_else(|| UiError::BadRequest(format!("`{name}` is missing.")))
}

/// A page, or why it cannot be shown.
type PageResult = Result<Response, UiError>;
