//! The seam to the live web.
//!
//! A fetcher answers a request with the exchanges that it made. It follows no redirects, keeps no
//! history and does not choose the next request. There are two implementations: the HTTP client
//! makes one exchange per request, the browser makes all exchanges of a page.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use varve_core::exchange::Exchange;

use crate::error::FetchError;
use crate::limits::FetchLimits;
use crate::response_tap::ResponseTap;

/// A future of a trait object.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Fetches from the live web. Several requests may be in flight at once.
pub trait Fetcher: Send + Sync {
    /// Makes a request. On success there is at least one exchange. Dropping the future closes the
    /// connection.
    fn fetch(&self, request: FetchRequest) -> Pending<'_, Result<Fetched, FetchError>>;
}

/// A request.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// The URL, already cleaned. User info is sent as Basic authorization and not recorded; a
    /// fragment is dropped.
    pub url: String,
    /// The method.
    pub method: String,
    /// Further headers, such as `If-None-Match`. `Host`, `Connection` and the length are set here
    /// and may not be given; `User-Agent`, `Accept` and `Accept-Encoding` replace the defaults.
    /// `Authorization`, `Cookie` and `Proxy-Authorization` are sent and never recorded.
    pub headers: Vec<(String, String)>,
    /// The body of the request.
    pub body: Vec<u8>,
    /// Limits other than the client's.
    pub limits: Option<FetchLimits>,
    /// A deadline besides the limits. The bytes received until then are the response, marked as
    /// truncated.
    pub until: Option<Instant>,
    /// Whether only the given headers are sent: the client adds no defaults and no cookies of its
    /// jar, and takes none from the response.
    pub is_verbatim: bool,
    /// Whether the body is sent and not recorded.
    pub hides_body: bool,
    /// Receives the response while it is recorded.
    pub tap: Option<ResponseTap>,
    /// The protocol to change to, for [`Client::upgrade`](crate::Client::upgrade).
    pub upgrade: Option<String>,
}

impl FetchRequest {
    /// A plain `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            limits: None,
            until: None,
            is_verbatim: false,
            hides_body: false,
            tap: None,
            upgrade: None,
        }
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Awaits `waiting` before the request is made, up to the deadline.
    pub async fn in_time<T>(&self, waiting: impl Future<Output = T>) -> Result<T, FetchError> {
        match self.until {
            Some(until) => {
                tokio::time::timeout_at(until.into(), waiting).await.map_err(|_| FetchError::late(&self.url))
            }
            None => Ok(waiting.await),
        }
    }

    /// With other limits.
    #[must_use]
    pub fn limits(mut self, limits: FetchLimits) -> Self {
        self.limits = Some(limits);
        self
    }
}

/// The result of a request.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The exchanges, in the order in which they ended. The first is the requested one.
    pub exchanges: Vec<Exchange>,
    /// Responses that came from the cache of the run and were not fetched again.
    pub reused: Vec<Exchange>,
    /// The renderings of a browser.
    pub renderings: Vec<Rendering>,
    /// Requests of a page that the guard refused: the URL and the reason.
    pub refused: Vec<(String, String)>,
    /// Messages about what could not be done.
    pub notes: Vec<String>,
    /// Whether the deadline passed before the page was done.
    pub unfinished: bool,
}

/// A result of rendering a page, which was never transferred.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// What it is.
    pub kind: RenderingKind,
    /// The URL of the page after redirects and scripts.
    pub url: String,
    /// Its media type.
    pub media_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// The kinds of renderings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderingKind {
    /// The document as scripts left it, as HTML.
    Document,
    /// A screenshot.
    Screenshot,
}
