//! Decides about the requests of a page in the browser. A trait, because scope, politeness and the
//! response cache belong to the crawler.

use varve_core::exchange::Exchange;

use crate::fetcher::Pending;

/// A request that a page wants to make.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The URL.
    pub url: String,
    /// The method.
    pub method: String,
    /// Whether it is the request for the page itself.
    pub is_page: bool,
    /// Whether a cached response to a `GET` of the URL would do: the request has no special
    /// headers.
    pub is_plain: bool,
}

/// The decision about a request.
pub enum GateDecision {
    /// Send it now.
    Send(Box<dyn RequestPermit>),
    /// Use this cached response instead.
    Reuse(Box<Exchange>),
}

/// Held while a request is in flight. Dropping it ends the request.
pub trait RequestPermit: Send {
    /// Reports the response.
    fn answered(self: Box<Self>, exchange: &Exchange);
}

/// Decides about every request that a page makes, the one for the page itself included.
pub trait RequestGate: Send + Sync {
    /// Waits until the request may be sent. The error is the name of the rule that forbids it.
    fn admit(&self, request: PageRequest) -> Pending<'_, Result<GateDecision, String>>;
}
