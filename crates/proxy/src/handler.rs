//! The seam between the front end of the proxy and what it is for.
//!
//! The front end turns every connection of a client into requests for absolute URLs. A handler
//! answers them. There are two: one makes the request on the live web and records it, the other
//! answers from an archive. The front end itself never connects to a server.

use std::future::Future;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;

/// The body of a response. An error in it ends the connection, so that the client sees that the
/// response is truncated.
pub type ProxyBody = UnsyncBoxBody<Bytes, io::Error>;

/// The response to a request.
pub type ProxyResponse = Response<ProxyBody>;

/// A future of a handler.
pub type ProxyAnswer<'a> = Pin<Box<dyn Future<Output = ProxyResponse> + Send + 'a>>;

/// A request of a client.
#[derive(Debug)]
pub struct ProxyRequest {
    /// The absolute URL, without user information and fragment.
    pub url: String,
    /// The method.
    pub method: Method,
    /// The headers, without those that concern only the connection to the proxy.
    pub headers: HeaderMap,
    /// The body.
    pub body: Incoming,
    /// Whether the client speaks HTTP/2.
    pub is_http2: bool,
    /// The protocol that the client wants to change to, and the way to do it.
    pub upgrade: Option<ClientUpgrade>,
}

/// The wish of a client to change the protocol of its connection.
#[derive(Debug)]
pub struct ClientUpgrade {
    /// The name of the protocol.
    pub protocol: String,
    pub(crate) connection: OnUpgrade,
}

impl ClientUpgrade {
    /// The connection, after a response with status 101 was sent.
    pub async fn connection(self) -> io::Result<TokioIo<Upgraded>> {
        self.connection.await.map(TokioIo::new).map_err(io::Error::other)
    }
}

/// Answers the requests of clients.
pub trait ProxyHandler: Send + Sync + 'static {
    /// Answers a request. The future is dropped when the client goes away.
    fn answer(&self, request: ProxyRequest) -> ProxyAnswer<'_>;
}

/// A response of the proxy itself: a status and one line for people.
pub fn plain_response(status: StatusCode, text: &str) -> ProxyResponse {
    let body = Full::new(Bytes::from(format!("{text}\n"))).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
