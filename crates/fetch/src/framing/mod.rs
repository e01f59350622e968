//! Where an answer of HTTP/1 ends: a machine fed with bytes that gives back those that belong to it.
//!
//! Pure, so that it can be tested to the last byte without a socket. Every byte of the final answer is passed on as it
//! came: the head, the chunk sizes, the trailers. Interim answers (1xx) are taken out and counted. What cannot be read as
//! HTTP is passed on as well, up to the end of the connection, and said to be doubtful: an archive keeps what was
//! there, and never calls it whole when it cannot know.

mod body;
mod chunks;
mod head;

pub(crate) use head::HeadLimits;

use varve_core::exchange::{Truncated, head_end};

use body::Body;
use head::Head;

/// More interim answers than this are an attack.
const MOST_INTERIM: u32 = 100;

/// The machine for one answer.
pub(crate) struct Framing {
    limits: HeadLimits,
    /// Whether the request was a `HEAD`, whose answer has no body whatever it says.
    head_only: bool,
    stage: Stage,
    /// The beginning of a head whose end has not come.
    pending: Vec<u8>,
    interim: u32,
    /// Whether the connection could serve another request after this one.
    persistent: bool,
    /// Why the answer cannot be trusted to be whole, whatever its end.
    doubt: Option<Truncated>,
}

enum Stage {
    Head {
        searched: usize,
    },
    Body(Body),
    Done,
    /// Only interim answers, without end.
    Endless,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// Not whole.
    Cut(Truncated),
    /// Not one byte of a final answer came.
    Nothing,
}

impl Framing {
    pub(crate) fn new(head_only: bool, limits: HeadLimits) -> Self {
        let stage = Stage::Head { searched: 0 };
        Self { limits, head_only, stage, pending: Vec::new(), interim: 0, persistent: false, doubt: None }
    }

    /// Takes in what was received; passes on what belongs to the final answer.
    pub(crate) fn push(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) {
        if self.pending.is_empty() {
            let used = self.advance(input, sink);
            if matches!(self.stage, Stage::Head { .. }) {
                self.pending.extend_from_slice(&input[used..]);
            }
            return;
        }
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(input);
        let used = self.advance(&joined, sink);
        if matches!(self.stage, Stage::Head { .. }) {
            joined.drain(..used);
            self.pending = joined;
        }
    }

    /// Whether nothing more belongs to the answer.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done | Stage::Endless)
    }

    /// How many bytes are still to come, where that is known.
    pub(crate) fn expected(&self) -> Option<u64> {
        match &self.stage {
            Stage::Body(body) => body.expected(),
            _ => None,
        }
    }

    /// How many interim answers came.
    pub(crate) fn interim(&self) -> u32 {
        self.interim
    }

    /// Whether the connection may serve another request.
    pub(crate) fn is_reusable(&self) -> bool {
        matches!(self.stage, Stage::Done) && self.persistent && self.doubt.is_none()
    }

    /// The connection ended, properly or not, or nothing more is to be read. Passes on what was held back.
    pub(crate) fn end(&mut self, proper: bool, sink: &mut impl FnMut(&[u8])) -> Ending {
        match std::mem::replace(&mut self.stage, Stage::Endless) {
            Stage::Head { .. } if self.pending.is_empty() => Ending::Nothing,
            Stage::Head { .. } => {
                sink(&self.pending);
                Ending::Cut(Truncated::Disconnect)
            }
            Stage::Body(body) if !body.may_end_here() => {
                Ending::Cut(self.doubt.unwrap_or(Truncated::Disconnect))
            }
            Stage::Body(_) if !proper => Ending::Cut(Truncated::Unspecified),
            Stage::Body(_) => self.doubt.map_or(Ending::Whole, Ending::Cut),
            Stage::Done => {
                self.stage = Stage::Done;
                self.doubt.map_or(Ending::Whole, Ending::Cut)
            }
            Stage::Endless => Ending::Nothing,
        }
    }

    /// Goes as far as the input allows; says how much of it was used.
    fn advance(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let mut used = 0;
        while let Stage::Head { searched } = self.stage {
            match self.take_head(&input[used..], searched, sink) {
                Some(taken) => used += taken,
                None => return used,
            }
        }
        if let Stage::Body(body) = &mut self.stage {
            let taken = body.take(&input[used..]);
            sink(&input[used..used + taken]);
            used += taken;
            if body.is_broken() {
                self.doubt = Some(Truncated::Unspecified);
            }
            if body.is_done() {
                self.stage = Stage::Done;
            }
        }
        // The server said more than its answer: the next one on this connection would not be ours.
        if used < input.len() {
            self.persistent = false;
        }
        used
    }

    /// Takes one head off the input, interim or final. None when more is needed.
    fn take_head(&mut self, input: &[u8], searched: usize, sink: &mut impl FnMut(&[u8])) -> Option<usize> {
        if !head::may_be_http(input) {
            self.stage = Stage::Body(Body::until_close());
            self.doubt = Some(Truncated::Unspecified);
            return Some(0);
        }
        match head_end(input, searched.saturating_sub(3)) {
            Some(end) if end <= self.limits.bytes => Some(self.read_head(&input[..end], sink)),
            None if input.len() <= self.limits.bytes => {
                self.stage = Stage::Head { searched: input.len() };
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
        let Some(head) = Head::read(bytes) else {
            self.stage = Stage::Body(Body::until_close());
            self.doubt = Some(Truncated::Unspecified);
            return 0;
        };
        if head.is_interim() {
            self.interim += 1;
            self.stage =
                if self.interim > MOST_INTERIM { Stage::Endless } else { Stage::Head { searched: 0 } };
            return bytes.len();
        }
        sink(bytes);
        if head.lines > self.limits.lines {
            self.finish_cut();
        } else {
            self.begin_body(&head);
        }
        bytes.len()
    }

    fn begin_body(&mut self, head: &Head) {
        let body = if self.head_only { Body::none() } else { head.body(self.limits.bytes) };
        self.persistent = head.keeps_open() && !body.ends_with_connection();
        self.doubt = if self.head_only { None } else { head.doubt() };
        self.stage = if body.is_done() { Stage::Done } else { Stage::Body(body) };
    }

    fn finish_cut(&mut self) {
        self.stage = Stage::Done;
        self.doubt = Some(Truncated::Length);
    }
}

#[cfg(test)]
mod tests;
