//! The response for the client, made of the bytes that are recorded, while they are received.
//!
//! The transfer coding and the headers of the connection end at the proxy; everything else passes as
//! it is. A response that is truncated breaks the connection to the client, as it would without a
//! proxy.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_fetch::{FetchError, FetchErrorKind, TappedResponse};
use varve_proxy::{ProxyResponse, plain_response};
use varve_wire::{ChunkedDecoder, HeadCollector, MessageHead, TruncationReason};

/// Headers that concern only the connection to the server, or that lead clients past the proxy.
const NOT_PASSED_ON: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "transfer-encoding",
    "trailer",
    "alt-svc",
];

/// The result of an exchange, as far as the client needs it: the number of bytes of a complete
/// response.
pub(super) type ExchangeResult = Result<Option<u64>, FetchError>;

/// The length of a response that is complete as far as a browser would say: a server that closes its
/// connection improperly at the end has sent all of it.
pub(super) fn complete_length(exchange: &Exchange) -> Option<u64> {
    let is_complete = matches!(exchange.truncated, None | Some(TruncationReason::Unspecified));
    is_complete.then(|| exchange.response.len())
}

/// Waits for the head of a response, and returns it with the body that follows.
pub(super) async fn client_response(
    mut tapped: TappedResponse,
    result: oneshot::Receiver<ExchangeResult>,
) -> ProxyResponse {
    let mut collector = HeadCollector::new();
    let mut received = 0;
    while let Some(piece) = tapped.next().await {
        received += piece.len() as u64;
        let Some(used) = collect(&mut collector, &piece) else { continue };
        let Some(head) = collector.head().filter(|head| head.status().is_some()) else { break };
        let decoder = head.headers.is_chunked().then(ChunkedDecoder::new);
        let mut body = TappedBody {
            tapped,
            result: Some(result),
            decoder,
            received,
            ready: Some(Bytes::new()),
            failure: None,
        };
        body.ready = Some(body.decode(&piece[used..]));
        return with_head(&head, http_body_util::combinators::UnsyncBoxBody::new(body));
    }
    drop(tapped);
    match result.await {
        Ok(Err(error)) => failure(&error),
        _ => plain_response(StatusCode::BAD_GATEWAY, "the answer of the server is not HTTP"),
    }
}

/// Collects a head from a piece of a response. Returns the length of its part in the piece when the
/// head is complete.
fn collect(collector: &mut HeadCollector, piece: &[u8]) -> Option<usize> {
    let mut used = 0;
    while used < piece.len() {
        let (taken, is_over) = collector.push(&piece[used..]);
        used += taken;
        if is_over {
            return Some(used);
        }
    }
    None
}

/// The response with this head and body.
pub(super) fn with_head(head: &MessageHead, body: varve_proxy::ProxyBody) -> ProxyResponse {
    let mut response = ProxyResponse::new(body);
    let status = head.status().and_then(|status| StatusCode::from_u16(status).ok());
    // A status of 1xx is interim and cannot be passed on as a response.
    *response.status_mut() =
        status.filter(|status| status.as_u16() >= 200).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = end_to_end(head);
    response
}

/// The headers for the client.
pub(super) fn end_to_end(head: &MessageHead) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let is_chunked = head.headers.is_chunked();
    for (name, value) in head.headers.with_folds().iter() {
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) else {
            continue;
        };
        let is_doubtful_length =
            name == http::header::CONTENT_LENGTH && (is_chunked || headers.contains_key(&name));
        if !NOT_PASSED_ON.contains(&name.as_str()) && !is_doubtful_length {
            headers.append(name, value);
        }
    }
    headers
}

/// The answer of the proxy to a request that has no response.
pub(super) fn failure(error: &FetchError) -> ProxyResponse {
    let status = match error.kind {
        FetchErrorKind::Guard => StatusCode::FORBIDDEN,
        FetchErrorKind::Url | FetchErrorKind::Request => StatusCode::BAD_REQUEST,
        FetchErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let mut reasons = vec![error.to_string()];
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        reasons.push(cause.to_string());
        source = cause.source();
    }
    plain_response(status, &format!("varve: {}", reasons.join(": ")))
}

/// The body of a response, while it is received.
struct TappedBody {
    tapped: TappedResponse,
    result: Option<oneshot::Receiver<ExchangeResult>>,
    decoder: Option<ChunkedDecoder>,
    received: u64,
    /// The bytes that came with the head.
    ready: Option<Bytes>,
    /// Why the body is not complete.
    failure: Option<io::Error>,
}

impl TappedBody {
    fn decode(&mut self, bytes: &[u8]) -> Bytes {
        let Some(decoder) = &mut self.decoder else { return Bytes::copy_from_slice(bytes) };
        let mut decoded = Vec::with_capacity(bytes.len());
        decoder.push(bytes, &mut |bytes| decoded.extend_from_slice(bytes));
        Bytes::from(decoded)
    }

    /// The end of the body: an error unless everything that the server sent was passed on.
    fn end(&self, result: Result<ExchangeResult, oneshot::error::RecvError>) -> Option<io::Error> {
        match result {
            Ok(Ok(Some(length))) if length == self.received => None,
            _ => Some(io::Error::other("the response is truncated")),
        }
    }
}

impl Body for TappedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(ready) = self.ready.take().filter(|ready| !ready.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(ready))));
        }
        loop {
            match std::task::ready!(self.tapped.poll_next(context)) {
                Some(piece) => {
                    self.received += piece.len() as u64;
                    let decoded = self.decode(&piece);
                    if !decoded.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(decoded))));
                    }
                }
                None => {
                    if let Some(result) = &mut self.result {
                        let result = std::task::ready!(std::future::Future::poll(Pin::new(result), context));
                        self.result = None;
                        self.failure = self.end(result);
                        if self.failure.is_some() {
                            // What came before the error is sent before it ends the connection.
                            context.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                    }
                    return Poll::Ready(self.failure.take().map(Err));
                }
            }
        }
    }
}

/// A complete response, for requests whose body was received before.
pub(super) async fn complete_response(exchange: Exchange) -> ProxyResponse {
    let read = tokio::task::spawn_blocking(move || {
        let head = exchange.response.head()?.cloned();
        let mut body = Vec::new();
        if let Some(mut payload) = exchange.response.open_payload(varve_wire::DecodeLimits::default())? {
            io::Read::read_to_end(&mut io::Read::take(&mut payload, 1 << 20), &mut body)?;
        }
        io::Result::Ok(head.map(|head| (head, body)))
    });
    match read.await {
        Ok(Ok(Some((head, body)))) => {
            let body = http_body_util::Full::new(Bytes::from(body)).map_err(|never| match never {});
            let mut response = with_head(&head, body.boxed_unsync());
            response.headers_mut().remove(http::header::CONTENT_LENGTH);
            response
        }
        _ => plain_response(StatusCode::BAD_GATEWAY, "the answer of the server is not HTTP"),
    }
}
