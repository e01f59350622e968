//! The chunked transfer coding, removed or followed while the bytes stream by.
//!
//! One state machine serves two users. The fetcher needs to know where a body ends and passes all
//! bytes on. Readers of archives need the payload. Archives hold three kinds of bodies under a
//! `chunked` head: chunked ones, ones that a tool has already decoded, and ones that were cut. The
//! first size line tells the second kind. After that, bytes that are no chunk are passed on as they
//! are, so that nothing is lost, and the end reports what was found.

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
enum ChunkState {
    FirstSize,
    Size,
    Data(u64),
    DataEnd,
    Trailers { bytes: usize },
    Done,
    NotChunked,
    Malformed,
}

/// A longer size line, with its extensions, is malformed.
const MAX_SIZE_LINE_BYTES: usize = 4096;

/// Removes the chunked coding.
#[derive(Debug)]
pub struct ChunkedDecoder {
    state: ChunkState,
    line: Vec<u8>,
    max_trailer_bytes: usize,
}

impl Default for ChunkedDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl ChunkedDecoder {
    /// A decoder at the start of a body, with any number of trailers.
    pub fn new() -> Self {
        Self::with_trailer_limit(usize::MAX)
    }

    /// A decoder that takes a body with more bytes of trailers for malformed.
    pub fn with_trailer_limit(max_trailer_bytes: usize) -> Self {
        Self { state: ChunkState::FirstSize, line: Vec::new(), max_trailer_bytes }
    }

    /// Takes stored bytes and passes payload bytes to `sink`. Returns how many bytes belong to the
    /// body: all, unless its last chunk ended before.
    pub fn push(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            at += match self.state {
                ChunkState::Data(left) => self.take_data(left, rest, sink),
                ChunkState::NotChunked | ChunkState::Malformed => {
                    sink(rest);
                    rest.len()
                }
                ChunkState::Done => return at,
                _ => self.take_line(rest, sink),
            };
        }
        at
    }

    /// Whether the last chunk was seen.
    pub fn is_done(&self) -> bool {
        self.state == ChunkState::Done
    }

    /// Whether the bytes are not chunked from some place on, so that the body has no end of its
    /// own.
    pub fn is_broken(&self) -> bool {
        matches!(self.state, ChunkState::NotChunked | ChunkState::Malformed)
    }

    /// Ends the body.
    pub fn finish(&mut self, sink: &mut impl FnMut(&[u8])) -> ChunkEnd {
        if self.state == ChunkState::FirstSize && !self.line.is_empty() {
            self.give_up(sink);
        }
        match self.state {
            ChunkState::Done => ChunkEnd::Complete,
            ChunkState::NotChunked => ChunkEnd::NotChunked,
            ChunkState::Malformed => ChunkEnd::Malformed,
            _ => ChunkEnd::Cut,
        }
    }

    fn take_data(&mut self, left: u64, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        sink(&input[..length]);
        let left = left - length as u64;
        self.state = if left == 0 { ChunkState::DataEnd } else { ChunkState::Data(left) };
        length
    }

    fn take_line(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let newline = memchr::memchr(b'\n', input);
        let taken = newline.map_or(input.len(), |at| at + 1);
        if taken > MAX_SIZE_LINE_BYTES.saturating_sub(self.line.len()) {
            // The new state passes the rest of the input on.
            self.give_up(sink);
            return 0;
        }
        self.line.extend_from_slice(&input[..taken]);
        let next = match newline {
            Some(_) => self.state_after_line(),
            None if self.state == ChunkState::DataEnd && !self.line.trim_ascii().is_empty() => None,
            None => return taken,
        };
        match next {
            Some(next) => {
                self.state = next;
                self.line.clear();
            }
            None => self.give_up(sink),
        }
        taken
    }

    /// The state after a complete line; none when the line is malformed.
    fn state_after_line(&self) -> Option<ChunkState> {
        let text = self.line.trim_ascii();
        match self.state {
            ChunkState::DataEnd => text.is_empty().then_some(ChunkState::Size),
            ChunkState::Trailers { .. } if text.is_empty() => Some(ChunkState::Done),
            ChunkState::Trailers { bytes } => {
                let bytes = bytes.saturating_add(self.line.len());
                (bytes <= self.max_trailer_bytes).then_some(ChunkState::Trailers { bytes })
            }
            _ => Some(match chunk_size(text)? {
                0 => ChunkState::Trailers { bytes: 0 },
                size => ChunkState::Data(size),
            }),
        }
    }

    /// Takes the held line and everything after it for bytes that are not chunked.
    fn give_up(&mut self, sink: &mut impl FnMut(&[u8])) {
        let is_first = self.state == ChunkState::FirstSize;
        self.state = if is_first { ChunkState::NotChunked } else { ChunkState::Malformed };
        sink(&self.line);
        self.line.clear();
    }
}

/// The size at the start of a chunk's line. Extensions are ignored.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(stored: &[u8], piece: usize) -> (Vec<u8>, ChunkEnd) {
        let mut decoder = ChunkedDecoder::new();
        let mut payload = Vec::new();
        for part in stored.chunks(piece) {
            decoder.push(part, &mut |bytes| payload.extend_from_slice(bytes));
        }
        let end = decoder.finish(&mut |bytes| payload.extend_from_slice(bytes));
        (payload, end)
    }

    #[test]
    fn bodies() {
        let cases: [(&[u8], &[u8], ChunkEnd); 12] = [
            (b"4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\n\r\n", b"Wikipedia", ChunkEnd::Complete),
            (b"4\nWiki\n0\nTrailer: x\n\n", b"Wiki", ChunkEnd::Complete),
            (b"0\r\n\r\n", b"", ChunkEnd::Complete),
            (b" 4 \r\nWiki\r\n00000000000000000000\r\n\r\n", b"Wiki", ChunkEnd::Complete),
            (b"4\r\nWi", b"Wi", ChunkEnd::Cut),
            (b"", b"", ChunkEnd::Cut),
            (b"<html>\n</html>", b"<html>\n</html>", ChunkEnd::NotChunked),
            (b"no newline", b"no newline", ChunkEnd::NotChunked),
            (b"4\r\nWiki!!\r\nrest", b"Wiki!!\r\nrest", ChunkEnd::Malformed),
            (b"4\r\nWiki!!", b"Wiki!!", ChunkEnd::Malformed),
            (b"4\r\nWiki\r\n-1\r\nrest", b"Wiki-1\r\nrest", ChunkEnd::Malformed),
            (b"11112222333344445\r\nx", b"11112222333344445\r\nx", ChunkEnd::NotChunked),
        ];
        for (stored, payload, end) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(decoded(stored, piece), (payload.to_vec(), end), "{}", stored.escape_ascii());
            }
        }
    }

    #[test]
    fn bytes_after_the_last_chunk_are_not_taken() {
        let mut decoder = ChunkedDecoder::new();
        assert_eq!(decoder.push(b"1\r\na\r\n0\r\n\r\nHTTP/1.1", &mut |_| {}), 11);
        assert!(decoder.is_done());
        assert_eq!(decoder.push(b"more", &mut |_| {}), 0);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(stored in proptest::collection::vec(any::<u8>(), 0..200), piece in 1usize..20) {
            prop_assert_eq!(decoded(&stored, piece), decoded(&stored, 1000));
        }

        #[test]
        fn chunked_bytes_come_back(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..50), 0..8)) {
            let mut stored = Vec::new();
            for part in &parts {
                stored.extend_from_slice(format!("{:X}\r\n", part.len()).as_bytes());
                stored.extend_from_slice(part);
                stored.extend_from_slice(b"\r\n");
            }
            stored.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(decoded(&stored, 5), (parts.concat(), ChunkEnd::Complete));
        }
    }
}
