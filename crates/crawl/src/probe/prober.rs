//! The interface to the live web: it takes requests and returns responses in any order.

use std::ops::ControlFlow;
use std::time::Duration;

use varve_core::exchange::Exchange;
use varve_expect::{Expectation, Follow, Observed};
use varve_fetch::FetchErrorKind;

use crate::run_description::RunDescription;

/// One URL to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The URL.
    pub url: String,
    /// Which response is judged. Redirects are followed to their end in any case.
    pub follow: Follow,
    /// Whether the body must be read to its end and hashed.
    pub content: bool,
    /// The expected length of the body.
    pub length: Option<u64>,
    /// The number of bytes to read at most, if not as many as the options allow.
    pub max_bytes: Option<u64>,
}

impl ProbeRequest {
    /// The request whose response can be compared with `expectation`.
    pub fn about(expectation: &Expectation, url: String) -> Self {
        Self {
            url,
            follow: Follow::needed(expectation),
            content: expectation.is_static(),
            length: expectation.length,
            max_bytes: None,
        }
    }
}

/// Why a request failed, if the user can do something about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFailure {
    /// The kind of failure.
    pub kind: FetchErrorKind,
    /// The URL that was requested; redirects may have led to it.
    pub url: String,
}

/// The result of a request.
#[derive(Clone, Debug, Default)]
pub struct ProbeResponse {
    /// The facts that expectations are compared with.
    pub observed: Observed,
    /// The last response, if the first is judged and redirects led from it.
    pub redirect_end: Option<Box<Observed>>,
    /// The exchanges, redirects first, if the prober returns them.
    pub exchanges: Vec<Exchange>,
    /// The duration of the requests, including redirects and without the wait in the queue; `None`
    /// if none was sent.
    pub took: Option<Duration>,
    /// Why the request failed, if it did.
    pub failure: Option<ProbeFailure>,
    /// Why the URL was not requested, or not to the end of its redirects. Such a result permits no
    /// verdict on the URL.
    pub unasked: Option<String>,
}

impl ProbeResponse {
    /// The exchange that is judged, if the prober returns exchanges.
    pub fn judged_exchange(&self) -> Option<&Exchange> {
        match self.redirect_end {
            Some(_) => self.exchanges.first(),
            None => self.exchanges.last(),
        }
    }
}

impl From<Observed> for ProbeResponse {
    fn from(observed: Observed) -> Self {
        Self { observed, ..Self::default() }
    }
}

/// Receives the responses, each with the index of its request. Breaks when the caller wants no
/// more.
pub type OnAnswer<'a> = &'a mut dyn FnMut(usize, ProbeResponse) -> ControlFlow<()>;

/// Requests URLs from the web.
///
/// `probe` returns exactly one response to every request, by its index in the list and in any
/// order, unless the caller breaks. A failure is a response ([`Observed::failed`]): nothing that
/// one server does may end the run. Lengths and digests are those of the body with its codings
/// removed.
pub trait Prober {
    /// Sends all requests.
    fn probe(&self, questions: &[ProbeRequest], answer: OnAnswer<'_>);

    /// The description of the requests for the silos; `None` if there is none.
    fn run_description(&self) -> Option<RunDescription> {
        None
    }

    /// Sends one request.
    fn probe_one(&self, question: ProbeRequest) -> ProbeResponse {
        let mut found = None;
        self.probe(&[question], &mut |_, answer| {
            found = Some(answer);
            ControlFlow::Continue(())
        });
        found.unwrap_or_else(|| Observed::failed("the question was not answered").into())
    }
}
