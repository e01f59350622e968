//! HTTP/2, for servers that speak nothing else, written down in the form of HTTP/1.1.
//!
//! Frames are not kept: an archive of them would be read by no one. Records have the form that
//! readers of archives agree on: a status line without a reason, the headers in the order and the
//! lower case they came in, no pseudo-headers, the data as it came. One request is under way on a
//! connection at a time, as with HTTP/1.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use varve_wire::TruncationReason;

use crate::error::{FetchError, FetchErrorKind};
use crate::http1::{ExchangeDeadlines, ExchangeFailure, ReceivedResponse};
use crate::request_bytes::PreparedRequest;
use crate::response_spool::ResponseSpool;
use crate::server_stream::ServerStream;

/// A connection that speaks HTTP/2.
pub(crate) struct Http2Connection {
    sender: SendRequest<Bytes>,
    driver: AbortHandle,
    closed: bool,
}

impl Drop for Http2Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Http2Connection {
    pub(crate) async fn begin(stream: ServerStream) -> Result<Self, FetchError> {
        let mut builder = h2::client::Builder::new();
        builder.enable_push(false).initial_window_size(1 << 20).initial_connection_window_size(1 << 20);
        builder.max_header_list_size(256 << 10);
        let (sender, connection) = builder.handshake(stream).await.map_err(|error| failed("begin", error))?;
        let driver = tokio::spawn(async move {
            // The exchange that is under way sees how the connection ends.
            let _ = connection.await;
        });
        Ok(Self { sender, driver: driver.abort_handle(), closed: false })
    }

    /// Whether another request may be sent.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed && !self.driver.is_finished()
    }

    /// Sends a request and receives its response.
    pub(crate) async fn exchange(
        &mut self,
        request: &PreparedRequest,
        url: &str,
        spool: ResponseSpool,
        patience: &ExchangeDeadlines<'_>,
    ) -> Result<ReceivedResponse, ExchangeFailure> {
        let started = Instant::now();
        self.closed = true;
        let asking = self.ask(request, url);
        let response = match timeout(patience.left(patience.limits.first_byte), asking).await {
            Ok(response) => response.map_err(ExchangeFailure::Failed)?,
            Err(_) => return Err(patience.too_long()),
        };
        let first_byte = started.elapsed();
        let (head, body) = response.into_parts();
        let mut taking = Http2ResponseReader { spool, body, limit: patience.limits.head_bytes };
        let fits = taking.take_head(&head, patience.limits.head_lines);
        let truncated = if fits {
            taking.take_body(patience).await.map_err(ExchangeFailure::Failed)?
        } else {
            Some(TruncationReason::Length)
        };
        let trailers = if truncated.is_none() { taking.trailers(patience).await } else { Vec::new() };
        self.closed = truncated.is_some();
        let (spool, reusable) = (taking.spool, truncated.is_none());
        Ok(ReceivedResponse { spool, head: None, truncated, interim: 0, trailers, first_byte, reusable })
    }

    async fn ask(
        &mut self,
        request: &PreparedRequest,
        url: &str,
    ) -> Result<http::Response<RecvStream>, FetchError> {
        let mut sender = self.sender.clone().ready().await.map_err(|error| failed("ask", error))?;
        let message = message(request, url)?;
        let ends = request.body.is_empty();
        let (response, mut body) =
            sender.send_request(message, ends).map_err(|error| failed("ask", error))?;
        if !ends {
            let bytes = Bytes::copy_from_slice(&request.body);
            body.send_data(bytes, true).map_err(|error| failed("ask", error))?;
        }
        response.await.map_err(|error| failed("answer", error))
    }
}

fn message(request: &PreparedRequest, url: &str) -> Result<http::Request<()>, FetchError> {
    let mut builder = http::Request::builder().method(request.method.as_str()).uri(url);
    for (name, value, _) in &request.headers {
        if !name.eq_ignore_ascii_case("host") {
            builder = builder.header(name.as_str(), value.as_str());
        }
    }
    let refuse =
        |error| FetchError::new(FetchErrorKind::Request, "the request cannot be sent").because(error);
    builder.body(()).map_err(|error: http::Error| refuse(error))
}

fn failed(what: &str, error: h2::Error) -> FetchError {
    FetchError::new(FetchErrorKind::Protocol, format!("HTTP/2 failed to {what}")).because(error)
}

/// Bytes of lines behind a body that are kept.
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// A response that is being received.
struct Http2ResponseReader {
    spool: ResponseSpool,
    body: RecvStream,
    limit: usize,
}

impl Http2ResponseReader {
    /// Writes the head down; says whether it is within the limits.
    fn take_head(&mut self, head: &http::response::Parts, most_lines: usize) -> bool {
        let mut text = format!("HTTP/1.1 {} \r\n", head.status.as_u16()).into_bytes();
        for (name, value) in &head.headers {
            text.extend_from_slice(name.as_str().as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"\r\n");
        let fits = text.len() <= self.limit && head.headers.len() <= most_lines;
        self.spool.keep(&text[..text.len().min(self.limit)]);
        fits
    }

    /// The lines that come behind a whole body, as `name: value`. What is longer than anybody sends
    /// is left out.
    async fn trailers(&mut self, patience: &ExchangeDeadlines<'_>) -> Vec<String> {
        let waiting = poll_fn(|context| self.body.poll_trailers(context));
        let came = timeout(patience.left(patience.limits.idle), waiting).await;
        let Ok(Ok(Some(trailers))) = came else { return Vec::new() };
        let mut room = MAX_TRAILER_BYTES;
        let lines = trailers
            .iter()
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        lines
            .take_while(|line| {
                let fits = line.len() <= room;
                room = room.saturating_sub(line.len());
                fits
            })
            .collect()
    }

    /// Takes in the data; says why it is not whole, if it is not.
    async fn take_body(
        &mut self,
        patience: &ExchangeDeadlines<'_>,
    ) -> Result<Option<TruncationReason>, FetchError> {
        loop {
            let idle: Duration = patience.left(patience.limits.idle);
            let data = match timeout(idle, poll_fn(|context| self.body.poll_data(context))).await {
                Err(_) => return Ok(Some(TruncationReason::Time)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Ok(Some(TruncationReason::Disconnect)),
                Ok(Some(Ok(data))) => data,
            };
            self.spool.keep(&data);
            self.spool.settle().await.map_err(FetchError::spool)?;
            if self.spool.is_full() {
                let whole = self.body.is_end_stream() && !self.spool.has_overflowed();
                return Ok(if whole { None } else { Some(TruncationReason::Length) });
            }
            if Instant::now() >= patience.deadline {
                return Ok(Some(TruncationReason::Time));
            }
            // Only what was put down makes room for more. It fails on a stream that is gone, which
            // the next look tells.
            let _ = self.body.flow_control().release_capacity(data.len());
        }
    }
}
