//! Where an HTTP/1 response ends: a state machine that is fed received bytes and passes on those of
//! the final response.
//!
//! It is pure, so that it is tested to the last byte without a socket. Every byte of the final
//! response is passed on as received: the head, the chunk sizes, the trailers. Interim responses
//! (1xx) are dropped and counted. Bytes that are not HTTP are passed on as well, up to the end of
//! the connection, and reported as truncated for an unspecified reason: the archive keeps all
//! received bytes and never calls them complete when it cannot know.

mod body;
mod message_length;

use std::fmt;

use crate::head::MessageHead;
use crate::headers::end_of_lines;
use body::FramedBody;
use message_length::MessageLength;

/// More interim responses than this are an attack.
const MAX_INTERIM_RESPONSES: u32 = 100;

/// The first bytes of every response of HTTP/1.
const HTTP_PREFIX: &[u8] = b"HTTP/";

/// How large a head may be.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Maximum number of bytes.
    pub bytes: usize,
    /// Maximum number of header lines.
    pub lines: usize,
}

/// Why a response is not complete: the values of `WARC-Truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TruncationReason {
    /// It exceeded a size limit.
    Length,
    /// It exceeded a time limit.
    Time,
    /// The connection ended too early.
    Disconnect,
    /// Unknown: its framing is contradictory or cannot be parsed.
    Unspecified,
}

impl TruncationReason {
    /// The word that WARC has for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

impl fmt::Display for TruncationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingEnd {
    /// It is complete.
    Complete,
    /// It is not complete, or cannot be known to be.
    Truncated(TruncationReason),
    /// Not one byte of a final response was received.
    Nothing,
}

/// The state machine for one response.
pub struct ResponseFramer {
    limits: HeadLimits,
    /// Whether the request was a `HEAD`. Its response has no body, even if the headers announce
    /// one.
    is_head_request: bool,
    stage: FramingStage,
    /// The start of a head whose end has not been received.
    pending: Vec<u8>,
    interim_responses: u32,
    /// The head of the final response.
    head: Option<MessageHead>,
    /// Whether the connection could serve another request after this one.
    persistent: bool,
    /// Why the response cannot be called complete, even if it ends properly.
    doubt: Option<TruncationReason>,
}

enum FramingStage {
    Head {
        /// The start of the first line that was not searched for the end of the head.
        line_start: usize,
    },
    Body(FramedBody),
    Done,
    /// More interim responses than are accepted.
    TooManyInterim,
}

impl ResponseFramer {
    /// A machine that waits for the first byte.
    pub fn new(is_head_request: bool, limits: HeadLimits) -> Self {
        let stage = FramingStage::Head { line_start: 0 };
        Self {
            limits,
            is_head_request,
            stage,
            pending: Vec::new(),
            interim_responses: 0,
            head: None,
            persistent: false,
            doubt: None,
        }
    }

    /// Takes received bytes and passes those of the final response to `sink`.
    pub fn push(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) {
        if self.pending.is_empty() {
            let used = self.advance(input, sink);
            if matches!(self.stage, FramingStage::Head { .. }) {
                self.pending.extend_from_slice(&input[used..]);
            }
            return;
        }
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(input);
        let used = self.advance(&joined, sink);
        if matches!(self.stage, FramingStage::Head { .. }) {
            joined.drain(..used);
            self.pending = joined;
        }
    }

    /// Whether no further byte belongs to the response.
    pub fn is_done(&self) -> bool {
        matches!(self.stage, FramingStage::Done | FramingStage::TooManyInterim)
    }

    /// The number of bytes still to come, if it is known.
    pub fn expected(&self) -> Option<u64> {
        match &self.stage {
            FramingStage::Body(body) => body.expected(),
            _ => None,
        }
    }

    /// The number of interim responses received.
    pub fn interim_responses(&self) -> u32 {
        self.interim_responses
    }

    /// The head of the final response, once. `None` if it is not complete or not HTTP.
    pub fn take_parsed_head(&mut self) -> Option<MessageHead> {
        self.head.take()
    }

    /// Whether the connection may serve another request.
    pub fn is_reusable(&self) -> bool {
        matches!(self.stage, FramingStage::Done) && self.persistent && self.doubt.is_none()
    }

    /// Ends the response: the connection was closed, properly or not, or the caller stops reading.
    /// Passes held bytes on.
    pub fn end(&mut self, proper: bool, sink: &mut impl FnMut(&[u8])) -> FramingEnd {
        match std::mem::replace(&mut self.stage, FramingStage::TooManyInterim) {
            FramingStage::Head { .. } if self.pending.is_empty() => FramingEnd::Nothing,
            FramingStage::Head { .. } => {
                sink(&self.pending);
                FramingEnd::Truncated(TruncationReason::Disconnect)
            }
            FramingStage::Body(body) if !body.may_end_here() => {
                FramingEnd::Truncated(self.doubt.unwrap_or(TruncationReason::Disconnect))
            }
            FramingStage::Body(_) if !proper => FramingEnd::Truncated(TruncationReason::Unspecified),
            FramingStage::Body(_) => self.doubt.map_or(FramingEnd::Complete, FramingEnd::Truncated),
            FramingStage::Done => {
                self.stage = FramingStage::Done;
                self.doubt.map_or(FramingEnd::Complete, FramingEnd::Truncated)
            }
            FramingStage::TooManyInterim => FramingEnd::Nothing,
        }
    }

    /// Advances as far as the input allows. Returns how much of it was used.
    fn advance(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let mut used = 0;
        while let FramingStage::Head { line_start } = self.stage {
            match self.take_head(&input[used..], line_start, sink) {
                Some(taken) => used += taken,
                None => return used,
            }
        }
        if let FramingStage::Body(body) = &mut self.stage {
            let taken = body.take(&input[used..]);
            sink(&input[used..used + taken]);
            used += taken;
            if body.is_broken() {
                self.doubt = Some(TruncationReason::Unspecified);
            }
            if body.is_done() {
                self.stage = FramingStage::Done;
            }
        }
        // The server sent more than its response: the next one on this connection would not be
        // ours.
        if used < input.len() {
            self.persistent = false;
        }
        used
    }

    /// Takes one head off the input, interim or final. None when more bytes are needed.
    fn take_head(
        &mut self,
        input: &[u8],
        mut line_start: usize,
        sink: &mut impl FnMut(&[u8]),
    ) -> Option<usize> {
        if !may_be_http(input) {
            self.read_until_close();
            return Some(0);
        }
        match end_of_lines(input, &mut line_start) {
            Some(end) if end <= self.limits.bytes => Some(self.read_head(&input[..end], sink)),
            None if input.len() <= self.limits.bytes => {
                self.stage = FramingStage::Head { line_start };
                None
            }
            _ => {
                sink(&input[..self.limits.bytes]);
                self.finish_cut();
                Some(self.limits.bytes)
            }
        }
    }

    fn read_head(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let Some((status, head)) = MessageHead::parse(bytes).and_then(|head| Some((head.status()?, head)))
        else {
            self.read_until_close();
            return 0;
        };
        // 101 is final: it was not asked for, and HTTP ends there.
        if (100..200).contains(&status) && status != 101 {
            self.interim_responses += 1;
            self.stage = match self.interim_responses > MAX_INTERIM_RESPONSES {
                true => FramingStage::TooManyInterim,
                false => FramingStage::Head { line_start: 0 },
            };
            return bytes.len();
        }
        sink(bytes);
        if head.headers.len() > self.limits.lines {
            self.finish_cut();
        } else {
            self.begin_body(status, &head);
        }
        self.head = Some(head);
        bytes.len()
    }

    fn begin_body(&mut self, status: u16, head: &MessageHead) {
        let length = match self.is_head_request {
            true => MessageLength::NoBody,
            false => MessageLength::of(status, &head.headers),
        };
        let body = length.body(self.limits.bytes);
        self.persistent = keeps_open(status, head) && !body.ends_with_connection();
        self.doubt = length.is_doubtful().then_some(TruncationReason::Unspecified);
        self.stage = if body.is_done() { FramingStage::Done } else { FramingStage::Body(body) };
    }

    /// The bytes cannot be parsed as HTTP: all of them belong to the body.
    fn read_until_close(&mut self) {
        self.stage = FramingStage::Body(FramedBody::UntilClose);
        self.doubt = Some(TruncationReason::Unspecified);
    }

    fn finish_cut(&mut self) {
        self.stage = FramingStage::Done;
        self.doubt = Some(TruncationReason::Length);
    }
}

/// Whether bytes are the start of an HTTP/1 response, as far as they go.
fn may_be_http(bytes: &[u8]) -> bool {
    let seen = bytes.len().min(HTTP_PREFIX.len());
    bytes[..seen].eq_ignore_ascii_case(&HTTP_PREFIX[..seen])
}

/// Whether the server keeps the connection open after this response.
fn keeps_open(status: u16, head: &MessageHead) -> bool {
    let has_option = |option: &[u8]| {
        let mut options =
            head.headers.get_all("Connection").flat_map(|value| value.split(|byte| *byte == b','));
        options.any(|part| part.trim_ascii().eq_ignore_ascii_case(option))
    };
    let has_value = |name: &str| head.headers.get_all(name).any(|value| !value.is_empty());
    let is_ambiguous = has_value("Transfer-Encoding") && has_value("Content-Length");
    let is_kept = head.version().is_persistent() || has_option(b"keep-alive");
    status != 101 && !is_ambiguous && !has_option(b"close") && is_kept
}

#[cfg(test)]
mod tests;
