//! One exchange of HTTP/1 on an open connection.
//!
//! Bytes go from the socket through the framing, which says which of them belong to the answer, to the spool. Nothing in
//! between reads ahead, copies twice or waits on another task.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use varve_wire::{FramingEnd, HeadLimits, ResponseFramer, TruncationReason};

use crate::compose::Composed;
use crate::error::{FetchError, FetchErrorKind};
use crate::limits::Limits;
use crate::spool::Spool;
use crate::stream::Stream;

/// Size of the read buffer.
const READ_BUFFER_BYTES: usize = 32 << 10;

/// A connection that speaks HTTP/1, with the room it reads into: inside a future that room would be moved about.
pub(crate) struct Line {
    stream: Stream,
    buffer: Box<[u8]>,
}

impl Line {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, buffer: vec![0; READ_BUFFER_BYTES].into() }
    }

    /// Whether a request may be sent.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.stream.is_quiet()
    }
}

/// What came of asking.
pub(crate) struct Answer {
    pub(crate) spool: Spool,
    pub(crate) truncated: Option<TruncationReason>,
    pub(crate) interim: u32,
    /// Lines behind the body that are not in its bytes.
    pub(crate) trailers: Vec<String>,
    pub(crate) first_byte: Duration,
    /// Whether the connection may serve another request.
    pub(crate) reusable: bool,
}

/// Why there is no answer.
pub(crate) enum Silence {
    /// The connection was closed before the first byte. On a connection that had been idle this says nothing about the
    /// request: the server may never have seen it.
    Closed(Option<io::Error>),
    /// Something that asking again on another connection does not change.
    Failed(FetchError),
}

/// Until when, and for how long each step.
pub(crate) struct Patience<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) deadline: Instant,
    pub(crate) host: &'a str,
}

/// The end of a time that begins at an instant. Times that reach beyond all instants end in a year.
pub(crate) fn deadline(started: Instant, total: Duration) -> Instant {
    started.checked_add(total).unwrap_or_else(|| started + Duration::from_secs(365 * 86_400))
}

impl Patience<'_> {
    /// The timeout of a step: its own limit, or the time until the deadline if that is shorter.
    pub(crate) fn left(&self, step: Duration) -> Duration {
        step.min(self.deadline.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn too_long(&self) -> Silence {
        Silence::Failed(FetchError::timeout("waiting for an answer from", self.host))
    }
}

/// Why reading stopped.
enum Stop {
    /// The framing knows that this was all, or the spool is full.
    End,
    Closed {
        proper: bool,
    },
    TooLong,
}

/// Sends a request and takes in its answer.
pub(crate) async fn exchange(
    line: &mut Line,
    request: &Composed,
    spool: Spool,
    patience: &Patience<'_>,
) -> Result<Answer, Silence> {
    let started = Instant::now();
    let limits = patience.limits;
    let writing = timeout(patience.left(limits.first_byte), send(&mut line.stream, request.sent())).await;
    // A server may answer and close without reading all of the request, so a failure to send is not the end yet.
    let unsent = match writing {
        Ok(outcome) => outcome.err(),
        Err(_) => return Err(patience.too_long()),
    };
    let head = HeadLimits { bytes: limits.head_bytes, lines: limits.head_lines };
    let framing = ResponseFramer::new(request.is_head(), head);
    let mut reading = Reading { framing, spool, started, first_byte: None, lost: unsent };
    let stop =
        reading.run(line, patience).await.map_err(|error| Silence::Failed(FetchError::spool(error)))?;
    reading.finish(stop, patience)
}

async fn send(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// An answer on its way in.
struct Reading {
    framing: ResponseFramer,
    spool: Spool,
    started: Instant,
    first_byte: Option<Duration>,
    /// How the connection was lost.
    lost: Option<io::Error>,
}

impl Reading {
    async fn run(&mut self, line: &mut Line, patience: &Patience<'_>) -> io::Result<Stop> {
        loop {
            let step =
                if self.first_byte.is_none() { patience.limits.first_byte } else { patience.limits.idle };
            let count = match timeout(patience.left(step), line.stream.read(&mut line.buffer)).await {
                Err(_) => return Ok(Stop::TooLong),
                Ok(Ok(0)) => return Ok(Stop::Closed { proper: true }),
                Ok(Err(error)) => {
                    self.lost = Some(error);
                    return Ok(Stop::Closed { proper: false });
                }
                Ok(Ok(count)) => count,
            };
            if self.first_byte.is_none() {
                self.first_byte = Some(self.started.elapsed());
            }
            self.take_in(&line.buffer[..count]);
            self.spool.settle().await?;
            if self.framing.is_done() || self.spool.is_full() {
                return Ok(Stop::End);
            }
            // A body that never pauses would otherwise never look at the clock.
            if Instant::now() >= patience.deadline {
                return Ok(Stop::TooLong);
            }
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        let had_body = self.framing.expected().is_some();
        let spool = &mut self.spool;
        self.framing.push(bytes, &mut |bytes| spool.keep(bytes));
        if let Some(expected) = self.framing.expected().filter(|_| !had_body) {
            self.spool.expect(expected);
        }
    }

    fn finish(mut self, stop: Stop, patience: &Patience<'_>) -> Result<Answer, Silence> {
        let proper = !matches!(stop, Stop::Closed { proper: false });
        let overflowing = self.spool.has_overflowed() || (self.spool.is_full() && !self.framing.is_done());
        let reusable = matches!(stop, Stop::End) && self.framing.is_reusable() && self.lost.is_none();
        let interim = self.framing.interim_responses();
        let spool = &mut self.spool;
        let ending = self.framing.end(proper, &mut |bytes| spool.keep(bytes));
        let truncated = match (ending, &stop) {
            (FramingEnd::Nothing, Stop::TooLong) => return Err(patience.too_long()),
            (FramingEnd::Nothing, _) => return Err(self.nothing(interim)),
            (_, Stop::TooLong) => Some(TruncationReason::Time),
            _ if overflowing => Some(TruncationReason::Length),
            (FramingEnd::Truncated(why), _) => Some(why),
            (FramingEnd::Complete, _) => None,
        };
        let first_byte = self.first_byte.unwrap_or_default();
        Ok(Answer { spool: self.spool, truncated, interim, trailers: Vec::new(), first_byte, reusable })
    }

    fn nothing(self, interim: u32) -> Silence {
        if interim == 0 {
            return Silence::Closed(self.lost);
        }
        let answers = if interim == 1 { "an interim answer" } else { "interim answers" };
        let sentence = format!("the server sent {answers} and no final one");
        Silence::Failed(FetchError::new(FetchErrorKind::Protocol, sentence))
    }
}
