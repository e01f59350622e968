//! Chunked transfer coding, undone while the bytes stream by.
//!
//! Archives hold three kinds of bodies under a `chunked` head: chunked ones, ones that a tool has already undone, and
//! ones that were cut. The first size line tells the second kind; after that, bytes that are no chunk are passed on as
//! they are, so that nothing is lost, and the end says what was found.

/// How a chunked body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkEnd {
    /// With its last chunk.
    Complete,
    /// Before its last chunk.
    Cut,
    /// It was not chunked at all.
    NotChunked,
    /// A chunk was malformed; from there on the bytes are as stored.
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FirstSize,
    Size,
    Data(u64),
    DataEnd,
    Trailers,
    Done,
    NotChunked,
    Malformed,
}

/// A size line longer than this is none.
const LONGEST_LINE: usize = 4096;

/// Undoes chunked coding.
#[derive(Debug)]
pub struct Chunked {
    state: State,
    line: Vec<u8>,
}

impl Default for Chunked {
    fn default() -> Self {
        Self::new()
    }
}

impl Chunked {
    /// At the start of a body.
    pub fn new() -> Self {
        Self { state: State::FirstSize, line: Vec::new() }
    }

    /// Takes in stored bytes and gives payload bytes to `sink`.
    pub fn push(&mut self, mut input: &[u8], sink: &mut impl FnMut(&[u8])) {
        while !input.is_empty() {
            let taken = match self.state {
                State::FirstSize | State::Size | State::DataEnd | State::Trailers => {
                    self.take_line(input, sink)
                }
                State::Data(left) => self.take_data(left, input, sink),
                State::NotChunked | State::Malformed => {
                    sink(input);
                    input.len()
                }
                State::Done => input.len(),
            };
            input = &input[taken..];
        }
    }

    /// Whether the last chunk was seen.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Ends the body.
    pub fn finish(&mut self, sink: &mut impl FnMut(&[u8])) -> ChunkEnd {
        if self.state == State::FirstSize && !self.line.is_empty() {
            self.give_up(State::NotChunked, sink);
        }
        match self.state {
            State::Done => ChunkEnd::Complete,
            State::NotChunked => ChunkEnd::NotChunked,
            State::Malformed => ChunkEnd::Malformed,
            _ => ChunkEnd::Cut,
        }
    }

    fn take_data(&mut self, left: u64, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        sink(&input[..length]);
        let left = left - length as u64;
        self.state = if left == 0 { State::DataEnd } else { State::Data(left) };
        length
    }

    fn take_line(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let newline = memchr::memchr(b'\n', input);
        let taken = newline.map_or(input.len(), |at| at + 1);
        let room = LONGEST_LINE.saturating_sub(self.line.len());
        if taken > room {
            // Too long for a size line: give back what was held, the rest of the input is passed on by the new state.
            let bad = if self.state == State::FirstSize { State::NotChunked } else { State::Malformed };
            self.give_up(bad, sink);
            return 0;
        }
        self.line.extend_from_slice(&input[..taken]);
        if newline.is_some() {
            self.end_line(sink);
        }
        taken
    }

    fn end_line(&mut self, sink: &mut impl FnMut(&[u8])) {
        let text = self.line.trim_ascii();
        let next = match self.state {
            State::DataEnd => text.is_empty().then_some(State::Size),
            State::Trailers => Some(if text.is_empty() { State::Done } else { State::Trailers }),
            _ => size(text).map(|size| if size == 0 { State::Trailers } else { State::Data(size) }),
        };
        match next {
            Some(next) => {
                self.state = next;
                self.line.clear();
            }
            None if self.state == State::FirstSize => self.give_up(State::NotChunked, sink),
            None => self.give_up(State::Malformed, sink),
        }
    }

    fn give_up(&mut self, state: State, sink: &mut impl FnMut(&[u8])) {
        self.state = state;
        sink(&self.line);
        self.line.clear();
    }
}

/// The size at the start of a chunk's line; extensions are passed over.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = line[digits..].trim_ascii_start();
    if digits == 0 || digits > 16 || !(rest.is_empty() || rest.starts_with(b";")) {
        return None;
    }
    std::str::from_utf8(&line[..digits]).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn undone(stored: &[u8], piece: usize) -> (Vec<u8>, ChunkEnd) {
        let mut chunked = Chunked::new();
        let mut payload = Vec::new();
        for part in stored.chunks(piece) {
            chunked.push(part, &mut |bytes| payload.extend_from_slice(bytes));
        }
        let end = chunked.finish(&mut |bytes| payload.extend_from_slice(bytes));
        (payload, end)
    }

    #[test]
    fn bodies() {
        let cases: [(&[u8], &[u8], ChunkEnd); 9] = [
            (b"4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\n\r\n", b"Wikipedia", ChunkEnd::Complete),
            (b"4\nWiki\n0\nTrailer: x\n\n", b"Wiki", ChunkEnd::Complete),
            (b"0\r\n\r\n", b"", ChunkEnd::Complete),
            (b"4\r\nWi", b"Wi", ChunkEnd::Cut),
            (b"", b"", ChunkEnd::Cut),
            (b"<html>\n</html>", b"<html>\n</html>", ChunkEnd::NotChunked),
            (b"no newline", b"no newline", ChunkEnd::NotChunked),
            (b"4\r\nWiki!!\r\nrest", b"Wiki!!\r\nrest", ChunkEnd::Malformed),
            (b"11112222333344445\r\nx", b"11112222333344445\r\nx", ChunkEnd::NotChunked),
        ];
        for (stored, payload, end) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(undone(stored, piece), (payload.to_vec(), end), "{}", stored.escape_ascii());
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(stored in proptest::collection::vec(any::<u8>(), 0..200), piece in 1usize..20) {
            prop_assert_eq!(undone(&stored, piece), undone(&stored, 1000));
        }

        #[test]
        fn what_was_chunked_comes_back(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..50), 0..8)) {
            let mut stored = Vec::new();
            for part in &parts {
                stored.extend_from_slice(format!("{:X}\r\n", part.len()).as_bytes());
                stored.extend_from_slice(part);
                stored.extend_from_slice(b"\r\n");
            }
            stored.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(undone(&stored, 5), (parts.concat(), ChunkEnd::Complete));
        }
    }
}
