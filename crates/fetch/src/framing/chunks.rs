//! Chunked bodies, followed without undoing them.
//!
//! Only the places of the boundaries matter: all bytes are kept. Once a boundary is not where it should be, nothing
//! can be told any more, and all that comes belongs to the body.

use memchr::memchr;

/// A size line longer than this, extensions included, is none.
const LONGEST_LINE: usize = 4096;

/// A chunked body on its way.
pub(super) struct Chunks {
    state: State,
    /// A line whose end has not come.
    line: Vec<u8>,
    trailer_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Data(u64),
    DataEnd,
    Trailers { bytes: usize },
    Done,
    Broken,
}

impl Chunks {
    pub(super) fn new(trailer_bytes: usize) -> Self {
        Self { state: State::Size, line: Vec::new(), trailer_bytes }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// How many bytes of the input belong to the body.
    pub(super) fn take(&mut self, input: &[u8]) -> usize {
        let mut at = 0;
        while at < input.len() {
            at += match self.state {
                State::Data(left) => self.take_data(left, input.len() - at),
                State::Done => return at,
                State::Broken => return input.len(),
                State::Size | State::DataEnd | State::Trailers { .. } => self.take_line(&input[at..]),
            };
        }
        at
    }

    fn take_data(&mut self, left: u64, there: usize) -> usize {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        let left = left - taken as u64;
        self.state = if left == 0 { State::DataEnd } else { State::Data(left) };
        taken
    }

    fn take_line(&mut self, input: &[u8]) -> usize {
        let end = memchr(b'\n', input);
        let taken = end.map_or(input.len(), |end| end + 1);
        let room = LONGEST_LINE.saturating_sub(self.line.len());
        if taken > room {
            self.state = State::Broken;
            return taken;
        }
        self.line.extend_from_slice(&input[..taken]);
        if end.is_some() {
            let line = std::mem::take(&mut self.line);
            self.state = self.after_line(line.trim_ascii(), line.len());
            self.line = line;
            self.line.clear();
        } else if self.state == State::DataEnd && self.line != b"\r" {
            self.state = State::Broken;
        }
        taken
    }

    fn after_line(&self, line: &[u8], length: usize) -> State {
        match self.state {
            State::Size => match chunk_size(line) {
                Some(0) => State::Trailers { bytes: 0 },
                Some(size) => State::Data(size),
                None => State::Broken,
            },
            State::DataEnd if line.is_empty() => State::Size,
            State::Trailers { .. } if line.is_empty() => State::Done,
            State::Trailers { bytes } if bytes + length <= self.trailer_bytes => {
                State::Trailers { bytes: bytes + length }
            }
            _ => State::Broken,
        }
    }
}

/// The size that a line gives, whatever extension is behind it.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |size, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        (size >> 60 == 0).then(|| size << 4 | u64::from(digit))
    })
}
