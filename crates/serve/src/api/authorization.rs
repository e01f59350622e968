//! Who may use the API: holders of a token, if the server has a signing key.
//!
//! A token comes in the header `Authorization`, whose scheme is not looked at, or in a cookie that
//! `/admin/login` sets. It is verified before the body of a request is read.
//!
//! Requests with GET fetch pages and write to the archive, and a foreign web page can make a browser
//! send them without an `Origin`, for example as an image. So requests that a browser marks as coming
//! from another site or origin are refused, with and without a token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use chrono::{DateTime, Utc};
use http::StatusCode;
use http::header;
use http::request::Parts;
use serde_json::json;

use super::error::ApiError;
use super::json_output;
use crate::app_state::AppState;
use crate::request::RequestParts;
use crate::response::{self, ResponseHeaders};
use crate::token::TokenClaims;

/// The cookie that holds a token.
const TOKEN_COOKIE: &str = "token";

/// Adds the check of tokens to the handlers of a route.
pub(super) fn protected(
    state: &Arc<AppState>,
    route: MethodRouter<Arc<AppState>>,
) -> MethodRouter<Arc<AppState>> {
    route.route_layer(from_fn_with_state(Arc::clone(state), require_token))
}

async fn require_token(State(state): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let checked = refuse_other_sites(&parts).and_then(|()| authorize(&state, &parts));
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => error.into_response(),
    }
}

/// Refuses what a browser sends for a page of another site. Other clients do not send the header.
fn refuse_other_sites(request: &Parts) -> Result<(), ApiError> {
    match request.header("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(ApiError::new(StatusCode::FORBIDDEN, "Requests from other sites are refused")),
    }
}

fn authorize(state: &AppState, request: &Parts) -> Result<(), ApiError> {
    let Some(key) = &state.signing_key else { return Ok(()) };
    let token = header_token(request).or_else(|| cookie_token(request)).ok_or_else(no_token)?;
    key.verify(token, Utc::now().timestamp()).map(drop).map_err(invalid_token)
}

fn no_token() -> ApiError {
    ApiError::unauthorized("No Authorization Passed")
}

fn invalid_token(error: crate::token::TokenError) -> ApiError {
    ApiError::unauthorized(format!("Invalid Token - {error}"))
}

/// The token after the first space of `Authorization`.
fn header_token(request: &Parts) -> Option<&str> {
    let (_, token) = request.header("authorization")?.split_once(' ')?;
    Some(token.trim()).filter(|token| !token.is_empty())
}

fn cookie_token(request: &Parts) -> Option<&str> {
    let headers = request.headers.get_all(header::COOKIE).iter();
    let pairs = headers.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    let token = pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(name, _)| *name == TOKEN_COOKIE);
    token.map(|(_, token)| token.trim_matches('"')).filter(|token| !token.is_empty())
}

/// `GET /admin/login`: keeps the token of the header in a cookie, which browsers then send. Without a
/// signing key there is nothing to log in to.
pub(super) async fn login(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let Some(key) = &state.signing_key else { return response::empty(StatusCode::NO_CONTENT) };
    let Some(token) = header_token(&parts) else { return no_token().into_response() };
    let claims = match key.verify(token, Utc::now().timestamp()) {
        Ok(claims) => claims,
        Err(error) => return invalid_token(error).into_response(),
    };
    let report = json!({ "subject": claims.subject, "expires": claims.expires });
    json_output::object(StatusCode::OK, &report, false)
        .with_text(header::SET_COOKIE, &cookie_text(token, &claims))
        .with_text(header::CACHE_CONTROL, "no-store")
}

/// The cookie. Scripts cannot read it, and requests from other sites do not carry it. A token that
/// does not expire makes a cookie that ends with the session of the browser.
fn cookie_text(token: &str, claims: &TokenClaims) -> String {
    let expires = claims.expires.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let expires = expires.map(|time| time.format("; Expires=%a, %d %b %Y %H:%M:%S GMT").to_string());
    format!("{TOKEN_COOKIE}={token}; Path=/{}; HttpOnly; SameSite=Strict", expires.unwrap_or_default())
}
