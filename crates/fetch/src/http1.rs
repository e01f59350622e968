//! One exchange of HTTP/1 on an open connection.
//!
//! Bytes go from the socket through the framing, which finds the end of the response, to the spool.
//! Nothing in between reads ahead, copies twice or waits for another task.

use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;
use varve_wire::{FramingEnd, HeadLimits, MessageHead, ResponseFramer, TruncationReason};

use crate::error::{FetchError, FetchErrorKind};
use crate::limits::FetchLimits;
use crate::request_bytes::PreparedRequest;
use crate::response_spool::ResponseSpool;

/// Size of the read buffer.
const READ_BUFFER_BYTES: usize = 32 << 10;

/// A connection to a server, with or without TLS.
pub trait ServerStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ServerStream for T {}

/// An HTTP/1 connection with its read buffer. Inside a future the buffer would be moved.
pub(crate) struct Http1Connection {
    stream: Box<dyn ServerStream>,
    buffer: Box<[u8]>,
}

impl Http1Connection {
    pub(crate) fn new(stream: Box<dyn ServerStream>) -> Self {
        Self { stream, buffer: vec![0; READ_BUFFER_BYTES].into() }
    }

    /// The connection, for another protocol.
    pub(crate) fn into_stream(self) -> Box<dyn ServerStream> {
        self.stream
    }

    /// Whether the server is silent and has not closed: the only state in which a request may be
    /// sent. Unrequested bytes would be taken for the response.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut byte = [0; 1];
        let mut buffer = ReadBuf::new(&mut byte);
        Pin::new(&mut self.stream)
            .poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer)
            .is_pending()
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }
}

/// A response that was received.
pub(crate) struct ReceivedResponse {
    pub(crate) spool: ResponseSpool,
    /// Its head, if it was parsed to find the end of the response.
    pub(crate) head: Option<MessageHead>,
    pub(crate) truncated: Option<TruncationReason>,
    pub(crate) interim: u32,
    /// Trailers that are not part of the recorded bytes.
    pub(crate) trailers: Vec<String>,
    pub(crate) first_byte: Duration,
    /// Bytes that were received after the response.
    pub(crate) surplus: Vec<u8>,
    /// Whether the connection may serve another request.
    pub(crate) reusable: bool,
}

/// Why there is no response.
pub(crate) enum ExchangeFailure {
    /// The connection was closed before the first byte. On a connection that had been idle this
    /// says nothing about the request: the server may never have seen it.
    Closed(Option<io::Error>),
    /// A failure that another connection would not avoid.
    Failed(FetchError),
}

/// The limits of one exchange, and its deadline.
pub(crate) struct ExchangeDeadlines<'a> {
    pub(crate) limits: &'a FetchLimits,
    pub(crate) deadline: Instant,
    pub(crate) host: &'a str,
}

/// The deadline after `total`. A duration that overflows becomes one year.
pub(crate) fn deadline(started: Instant, total: Duration) -> Instant {
    started.checked_add(total).unwrap_or_else(|| started + Duration::from_secs(365 * 86_400))
}

impl ExchangeDeadlines<'_> {
    /// The timeout of a step: its own limit, or the time until the deadline if that is shorter.
    pub(crate) fn left(&self, step: Duration) -> Duration {
        step.min(self.deadline.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn too_long(&self) -> ExchangeFailure {
        ExchangeFailure::Failed(FetchError::timeout("waiting for an answer from", self.host))
    }
}

/// Why reading stopped.
enum ReadStop {
    /// The response is complete, or the spool is full.
    End,
    Closed {
        proper: bool,
    },
    TooLong,
}

/// Sends a request and receives its response.
pub(crate) async fn exchange(
    connection: &mut Http1Connection,
    request: &PreparedRequest,
    spool: ResponseSpool,
    deadlines: &ExchangeDeadlines<'_>,
) -> Result<ReceivedResponse, ExchangeFailure> {
    let started = Instant::now();
    let limits = deadlines.limits;
    let writing = timeout(deadlines.left(limits.first_byte), connection.send(request.sent())).await;
    // A server may respond and close without reading the whole request, so a failure to send is not
    // final.
    let unsent = match writing {
        Ok(outcome) => outcome.err(),
        Err(_) => return Err(deadlines.too_long()),
    };
    let head = HeadLimits { bytes: limits.head_bytes, lines: limits.head_lines };
    let framing = ResponseFramer::new(request.is_head(), head);
    let mut reading = Http1ResponseReader {
        framing,
        spool,
        started,
        first_byte: None,
        lost: unsent,
        received: 0,
        passed_on: 0,
        surplus: Vec::new(),
    };
    let stop = reading
        .run(connection, deadlines)
        .await
        .map_err(|error| ExchangeFailure::Failed(FetchError::spool(error)))?;
    reading.finish(stop, deadlines)
}

/// A response that is being received.
struct Http1ResponseReader {
    framing: ResponseFramer,
    spool: ResponseSpool,
    started: Instant,
    first_byte: Option<Duration>,
    /// How the connection was lost.
    lost: Option<io::Error>,
    /// The number of bytes received, interim responses included.
    received: usize,
    /// The number of bytes of the final response.
    passed_on: usize,
    /// Bytes after the response.
    surplus: Vec<u8>,
}

impl Http1ResponseReader {
    async fn run(
        &mut self,
        connection: &mut Http1Connection,
        deadlines: &ExchangeDeadlines<'_>,
    ) -> io::Result<ReadStop> {
        loop {
            let step =
                if self.first_byte.is_none() { deadlines.limits.first_byte } else { deadlines.limits.idle };
            let count =
                match timeout(deadlines.left(step), connection.stream.read(&mut connection.buffer)).await {
                    Err(_) => return Ok(ReadStop::TooLong),
                    Ok(Ok(0)) => return Ok(ReadStop::Closed { proper: true }),
                    Ok(Err(error)) => {
                        self.lost = Some(error);
                        return Ok(ReadStop::Closed { proper: false });
                    }
                    Ok(Ok(count)) => count,
                };
            if self.first_byte.is_none() {
                self.first_byte = Some(self.started.elapsed());
            }
            self.push(&connection.buffer[..count]);
            self.spool.spill().await?;
            if self.framing.is_done() || self.spool.is_full() {
                return Ok(ReadStop::End);
            }
            // Without this check a body that never pauses would have no deadline.
            if Instant::now() >= deadlines.deadline {
                return Ok(ReadStop::TooLong);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let had_body = self.framing.expected().is_some();
        let (spool, passed_on) = (&mut self.spool, &mut self.passed_on);
        self.framing.push(bytes, &mut |bytes| {
            *passed_on += bytes.len();
            spool.push(bytes);
        });
        self.received += bytes.len();
        if self.framing.is_done() && self.framing.interim_responses() == 0 {
            let surplus = (self.received - self.passed_on).min(bytes.len());
            self.surplus = bytes[bytes.len() - surplus..].to_vec();
        }
        if let Some(expected) = self.framing.expected().filter(|_| !had_body) {
            self.spool.expect(expected);
        }
    }

    fn finish(
        mut self,
        stop: ReadStop,
        deadlines: &ExchangeDeadlines<'_>,
    ) -> Result<ReceivedResponse, ExchangeFailure> {
        let proper = !matches!(stop, ReadStop::Closed { proper: false });
        let overflowing = self.spool.has_overflowed() || (self.spool.is_full() && !self.framing.is_done());
        let reusable = matches!(stop, ReadStop::End) && self.framing.is_reusable() && self.lost.is_none();
        let interim = self.framing.interim_responses();
        let spool = &mut self.spool;
        let ending = self.framing.end(proper, &mut |bytes| spool.push(bytes));
        let truncated = match (ending, &stop) {
            (FramingEnd::Nothing, ReadStop::TooLong) => return Err(deadlines.too_long()),
            (FramingEnd::Nothing, _) => return Err(self.no_response(interim)),
            (_, ReadStop::TooLong) => Some(TruncationReason::Time),
            _ if overflowing => Some(self.spool.full_reason()),
            (FramingEnd::Truncated(why), _) => Some(why),
            (FramingEnd::Complete, _) => None,
        };
        let first_byte = self.first_byte.unwrap_or_default();
        Ok(ReceivedResponse {
            spool: self.spool,
            head: self.framing.take_parsed_head(),
            truncated,
            interim,
            trailers: Vec::new(),
            first_byte,
            surplus: self.surplus,
            reusable,
        })
    }

    fn no_response(self, interim: u32) -> ExchangeFailure {
        if interim == 0 {
            return ExchangeFailure::Closed(self.lost);
        }
        let answers = if interim == 1 { "an interim answer" } else { "interim answers" };
        let sentence = format!("the server sent {answers} and no final one");
        ExchangeFailure::Failed(FetchError::new(FetchErrorKind::Protocol, sentence))
    }
}
