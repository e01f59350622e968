//! What every answer on the origin of archived pages carries, so that nothing asked for there leaves it.
//!
//! The policy lets a page reach this origin and nothing else. It stands on scripts and style sheets too: a worker has
//! the policy of its script. Referrers stay inside, since they say what a missed link was relative to. Names are not looked up ahead.

use http::header::{self, HeaderName, HeaderValue};

use crate::answer::Answer;
use crate::request::Request;
use crate::shelf::Shelf;

/// Adds it to an answer.
pub(super) fn apply(answer: Answer, shelf: &Shelf, request: &Request) -> Answer {
    let policy = format!(
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; base-uri 'self'; form-action 'self'; \
         frame-ancestors 'self' {}",
        shelf.ui_origin(request)
    );
    let answer = match answer.headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        true => answer,
        false => answer.with_text(header::CONTENT_SECURITY_POLICY, &policy),
    };
    answer
        .or(header::REFERRER_POLICY, "same-origin")
        .or(HeaderName::from_static("x-dns-prefetch-control"), "off")
        .or(HeaderName::from_static("cross-origin-resource-policy"), "same-site")
        .or(HeaderName::from_static("origin-agent-cluster"), "?0")
        .or(
            HeaderName::from_static("permissions-policy"),
            "geolocation=(), camera=(), microphone=(), browsing-topics=(), attribution-reporting=()",
        )
        .with_default_caching()
}

impl Answer {
    /// Later captures change which one is nearest: what was shown is asked for again unless it says otherwise.
    fn with_default_caching(mut self) -> Self {
        self.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
        self
    }
}
