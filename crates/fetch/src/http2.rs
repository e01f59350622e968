//! HTTP/2, for servers that support nothing else, recorded in the form of HTTP/1.1.
//!
//! Frames are not recorded: no reader of archives knows them. Records have the form that readers
//! expect: a status line without a reason, the headers in their order and lower case, no
//! pseudo-headers, the data as received. A connection has one request in flight at a time, as with
//! HTTP/1.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use varve_wire::TruncationReason;

use crate::error::{FetchError, FetchErrorKind};
use crate::http1::{ExchangeDeadlines, ExchangeFailure, ReceivedResponse};
use crate::request_bytes::PreparedRequest;
use crate::response_spool::ResponseSpool;

/// An HTTP/2 connection.
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
    pub(crate) async fn begin(stream: TlsStream<TcpStream>) -> Result<Self, FetchError> {
        let mut builder = h2::client::Builder::new();
        builder.enable_push(false).initial_window_size(1 << 20).initial_connection_window_size(1 << 20);
        builder.max_header_list_size(256 << 10);
        let (sender, connection) = builder.handshake(stream).await.map_err(|error| failed("begin", error))?;
        let driver = tokio::spawn(async move {
            // The exchange in flight gets the error of the connection.
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
        deadlines: &ExchangeDeadlines<'_>,
    ) -> Result<ReceivedResponse, ExchangeFailure> {
        let started = Instant::now();
        self.closed = true;
        let asking = self.ask(request, url);
        let response = match timeout(deadlines.left(deadlines.limits.first_byte), asking).await {
            Ok(response) => response.map_err(ExchangeFailure::Failed)?,
            Err(_) => return Err(deadlines.too_long()),
        };
        let first_byte = started.elapsed();
        let (head, body) = response.into_parts();
        let mut reader = Http2ResponseReader { spool, body, limit: deadlines.limits.head_bytes };
        let fits = reader.take_head(&head, deadlines.limits.head_lines);
        let truncated = if fits {
            reader.take_body(deadlines).await.map_err(ExchangeFailure::Failed)?
        } else {
            Some(TruncationReason::Length)
        };
        let trailers = if truncated.is_none() { reader.trailers(deadlines).await } else { Vec::new() };
        self.closed = truncated.is_some();
        let (spool, reusable) = (reader.spool, truncated.is_none());
        Ok(ReceivedResponse {
            spool,
            head: None,
            truncated,
            interim: 0,
            trailers,
            first_byte,
            surplus: Vec::new(),
            reusable,
        })
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

/// Maximum bytes of trailers that are recorded.
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// A response that is being received.
struct Http2ResponseReader {
    spool: ResponseSpool,
    body: RecvStream,
    limit: usize,
}

impl Http2ResponseReader {
    /// Records the head. Returns whether it is within the limits.
    fn take_head(&mut self, head: &http::response::Parts, max_lines: usize) -> bool {
        let mut text = format!("HTTP/1.1 {} \r\n", head.status.as_u16()).into_bytes();
        for (name, value) in &head.headers {
            text.extend_from_slice(name.as_str().as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"\r\n");
        let fits = text.len() <= self.limit && head.headers.len() <= max_lines;
        self.spool.push(&text[..text.len().min(self.limit)]);
        fits
    }

    /// The trailers of a complete body, as `name: value`, up to the limit.
    async fn trailers(&mut self, deadlines: &ExchangeDeadlines<'_>) -> Vec<String> {
        let waiting = poll_fn(|context| self.body.poll_trailers(context));
        let came = timeout(deadlines.left(deadlines.limits.idle), waiting).await;
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

    /// Receives the data. Returns why it is truncated, if it is.
    async fn take_body(
        &mut self,
        deadlines: &ExchangeDeadlines<'_>,
    ) -> Result<Option<TruncationReason>, FetchError> {
        loop {
            let idle: Duration = deadlines.left(deadlines.limits.idle);
            let data = match timeout(idle, poll_fn(|context| self.body.poll_data(context))).await {
                Err(_) => return Ok(Some(TruncationReason::Time)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Ok(Some(TruncationReason::Disconnect)),
                Ok(Some(Ok(data))) => data,
            };
            self.spool.push(&data);
            self.spool.spill().await.map_err(FetchError::spool)?;
            if self.spool.is_full() {
                let whole = self.body.is_end_stream() && !self.spool.has_overflowed();
                return Ok(if whole { None } else { Some(self.spool.full_reason()) });
            }
            if Instant::now() >= deadlines.deadline {
                return Ok(Some(TruncationReason::Time));
            }
            // The window grows by the spooled bytes. Fails on a closed stream, which the next read
            // reports.
            let _ = self.body.flow_control().release_capacity(data.len());
        }
    }
}
