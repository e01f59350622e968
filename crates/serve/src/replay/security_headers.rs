//! The request guard and the headers that every response of the replay origin carries, so that no
//! request leaves it.
//!
//! The Content-Security-Policy lets a page load only from this origin. A document in which the
//! replay script is not the first one runs no scripts, because a policy does not confine where a
//! window of its own navigates. It is on scripts and style
//! sheets too, because a worker has the policy of its script. `Referer` stays within the origin,
//! where it resolves links that rewriting missed. DNS prefetching is off.

use std::sync::Arc;

use axum::Router;
use http::header::{self, HeaderName};
use http::request::Parts;

use crate::app_state::AppState;
use crate::request_guard::{GuardRules, protect};

/// Headers with a fixed value, set where a response does not have them yet. `no-cache`, because a
/// later capture may be nearer to the requested time.
const DEFAULT_HEADERS: [(HeaderName, &str); 6] = [
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-site"),
    (HeaderName::from_static("origin-agent-cluster"), "?0"),
    (
        HeaderName::from_static("permissions-policy"),
        "geolocation=(), camera=(), microphone=(), browsing-topics=(), attribution-reporting=()",
    ),
    (header::CACHE_CONTROL, "no-cache"),
];

/// Adds the guard and the headers to all routes.
pub(super) fn apply(router: Router<Arc<AppState>>, state: &Arc<AppState>) -> Router<Arc<AppState>> {
    let rules = GuardRules { here: state.replay, other: Some(state.ui), allow_null_origin: true };
    protect(router, state, rules, policy, DEFAULT_HEADERS)
}

/// The policy of a replayed document. A frame with a `data:` URL would not have the replay script.
fn policy(state: &AppState, request: &Parts) -> String {
    format!(
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-src 'self' blob:; \
         object-src 'self' blob:; base-uri 'self'; form-action 'self'; frame-ancestors 'self' {}",
        state.ui_origin(request)
    )
}

/// The policy of a document that does not have the replay script.
pub(super) fn policy_without_scripts(state: &AppState, request: &Parts) -> String {
    format!("{}; sandbox allow-same-origin", policy(state, request))
}
