//! Follows the redirects of one request to its final response.

use std::time::Duration;

use varve_core::exchange::Exchange;
use varve_core::secret::ShownUrl;
use varve_core::url::{RequestUrl, resolve};
use varve_fetch::politeness::QueuedRequest;
use varve_fetch::{FetchError, FetchErrorKind};

use super::observe::ObservedResponse;
use crate::error_chain::error_chain;
use crate::probe::prober::{ProbeFailure, ProbeRequest, ProbeResponse};
use varve_expect::{Follow, Observed, Redirect};

/// Maximum number of redirects that are followed.
pub(super) const MAX_REDIRECTS: usize = 10;

/// A request and the redirects it has followed so far.
pub(super) struct RedirectChain {
    /// The index of the request.
    pub(super) number: usize,
    /// The URL to request next.
    pub(super) url: String,
    /// Whether the body must be read to its end.
    pub(super) content: bool,
    /// The expected length of the body.
    pub(super) length: Option<u64>,
    /// The number of bytes to read at most.
    pub(super) max_bytes: Option<u64>,
    follow: Follow,
    /// The first response, if that is judged and redirects led from it.
    first: Option<Observed>,
    redirects: Vec<Redirect>,
    /// The URLs requested before.
    visited: Vec<VisitedUrl>,
    exchanges: Vec<Exchange>,
    took: Option<Duration>,
}

/// A URL that a chain has requested.
struct VisitedUrl {
    url: String,
    /// Whether its response set a cookie.
    sets_cookie: bool,
}

impl QueuedRequest for RedirectChain {}

/// The next step after a response.
pub(super) enum ChainStep {
    /// Another URL must be requested.
    Onward(RedirectChain),
    /// The chain has its final response.
    Arrived(usize, ProbeResponse),
}

impl RedirectChain {
    pub(super) fn new(number: usize, question: &ProbeRequest) -> Self {
        Self {
            number,
            url: question.url.clone(),
            content: question.content,
            length: question.length,
            max_bytes: question.max_bytes,
            follow: question.follow,
            first: None,
            redirects: Vec::new(),
            visited: Vec::new(),
            exchanges: Vec::new(),
            took: None,
        }
    }

    /// The host whose queue the next request joins.
    pub(super) fn host(&self) -> String {
        RequestUrl::parse(&self.url).map(|url| url.authority().to_owned()).unwrap_or_default()
    }

    /// Adds the duration of a request.
    pub(super) fn spend(&mut self, time: Duration) {
        self.took = Some(self.took.unwrap_or_default() + time);
    }

    /// The time that the requests took so far.
    pub(super) fn spent(&self) -> Duration {
        self.took.unwrap_or_default()
    }

    /// Ends the chain without a complete response.
    pub(super) fn fail(self, reason: impl Into<String>) -> (usize, ProbeResponse) {
        self.end(Observed::failed(reason))
    }

    /// Ends the chain with its last response.
    fn end(self, last: Observed) -> (usize, ProbeResponse) {
        let (redirects, final_url) = (self.redirects, Some(self.url));
        let last = Observed { redirects, final_url, ..last };
        let (observed, redirect_end) = match self.first {
            Some(first) => (first, Some(Box::new(last))),
            None => (last, None),
        };
        let (exchanges, took) = (self.exchanges, self.took);
        (self.number, ProbeResponse { observed, redirect_end, exchanges, took, ..ProbeResponse::default() })
    }

    /// Ends the chain without a request to the next URL.
    pub(super) fn leave(self, reason: &str) -> (usize, ProbeResponse) {
        let (number, answer) = self.fail(reason);
        (number, ProbeResponse { unasked: Some(reason.to_owned()), ..answer })
    }

    /// Ends the chain with a fetch error.
    pub(super) fn fail_by(self, error: &FetchError) -> (usize, ProbeResponse) {
        let trouble = Some(ProbeFailure { kind: error.kind, url: self.url.clone() });
        let reason = error_chain(error);
        // A URL that the guard refuses, or a response that does not fit on this disk, permits no
        // verdict on the site.
        let is_ours = matches!(error.kind, FetchErrorKind::Guard | FetchErrorKind::Spool);
        let unasked = is_ours.then(|| reason.clone());
        let (number, answer) = self.fail(reason);
        (number, ProbeResponse { failure: trouble, unasked, ..answer })
    }

    /// Continues or ends the chain with the response at the current URL.
    pub(super) fn see(mut self, glance: ObservedResponse) -> ChainStep {
        self.exchanges.extend(glance.exchange);
        let observed = glance.observed;
        match (&observed.location, observed.status) {
            (Some(location), Some(status)) if observed.error.is_none() => {
                let shown = ShownUrl(location).to_string();
                let location = location.clone();
                if self.follow == Follow::First && self.first.is_none() {
                    self.first = Some(Observed { final_url: Some(self.url.clone()), ..observed });
                }
                self.redirects.push(Redirect { status, location: shown });
                self.visited.push(VisitedUrl { url: self.url.clone(), sets_cookie: glance.sets_cookie });
                self.onward(&location, status)
            }
            _ => {
                let kind = glance.wants_tls.then_some(FetchErrorKind::WantsTls);
                let failure = kind.map(|kind| ProbeFailure { kind, url: self.url.clone() });
                let (number, answer) = self.end(observed);
                ChainStep::Arrived(number, ProbeResponse { failure, ..answer })
            }
        }
    }

    fn onward(mut self, location: &str, status: u16) -> ChainStep {
        let next = resolve(&self.url, location).map(without_fragment);
        let reason = match next {
            Err(_) => {
                let shown = ShownUrl(location).to_string();
                format!("a redirect leads to `{}`, which is no URL", shown.escape_debug())
            }
            Ok(next) if ShownUrl(&next).has_user_info() => {
                let shown = ShownUrl(&next);
                format!("a redirect leads to `{shown}`, which contains a user name or a password")
            }
            Ok(next) if self.is_circle(&next) => format!("the redirects go in a circle to `{next}`"),
            Ok(_) if self.redirects.len() > MAX_REDIRECTS => {
                format!("there are more than {MAX_REDIRECTS} redirects")
            }
            Ok(next) => {
                self.url = next;
                return ChainStep::Onward(self);
            }
        };
        let last = Observed { status: Some(status), dead_end: Some(reason), ..Observed::default() };
        let (number, answer) = self.end(last);
        ChainStep::Arrived(number, answer)
    }

    /// Whether the next URL was requested before, and no response since then has set a cookie: with a
    /// new cookie the server may answer otherwise.
    fn is_circle(&self, next: &str) -> bool {
        let earlier = self.visited.iter().rposition(|visit| visit.url == next);
        earlier.is_some_and(|at| !self.visited[at..].iter().any(|visit| visit.sets_cookie))
    }
}

fn without_fragment(mut url: String) -> String {
    if let Some(at) = url.find('#') {
        url.truncate(at);
    }
    url
}
