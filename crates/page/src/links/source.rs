//! Readers between a body and a parser: a size limit, gzip, and transcoding to UTF-8 if the parser
//! needs it.
//!
//! The encoding in which a page is shown is decided by [`charset`](crate::charset).

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::cell::Cell;
use std::io::{self, Chain, Cursor, Read};
use std::rc::Rc;

/// Number of bytes at the beginning that are inspected.
const PROLOG_BYTES: usize = 1024;

/// A body whose first bytes were read.
pub(super) struct PeekedBody<R> {
    pub(super) head: Vec<u8>,
    reader: R,
}

impl<R: Read> PeekedBody<R> {
    /// Reads the first bytes.
    pub(super) fn open(mut reader: R) -> io::Result<Self> {
        let mut head = Vec::with_capacity(PROLOG_BYTES);
        reader.by_ref().take(PROLOG_BYTES as u64).read_to_end(&mut head)?;
        Ok(Self { head, reader })
    }

    /// Whether it is a gzip file.
    pub(super) fn is_gzip(&self) -> bool {
        self.head.starts_with(&[0x1f, 0x8b, 8])
    }

    /// The whole body, from its first byte.
    pub(super) fn into_reader(self) -> Chain<Cursor<Vec<u8>>, R> {
        Cursor::new(self.head).chain(self.reader)
    }

    /// The encoding by the byte order mark.
    pub(super) fn mark(&self) -> Option<&'static Encoding> {
        let by_zeros = || match self.head.get(..2)? {
            [b'<', 0] => Some(UTF_16LE),
            [0, b'<'] => Some(UTF_16BE),
            _ => None,
        };
        Encoding::for_bom(&self.head).map(|(encoding, _)| encoding).or_else(by_zeros)
    }

    /// The encoding that an XML declaration names.
    pub(super) fn declared(&self) -> Option<&'static Encoding> {
        let head = self.head.get(..self.head.len().min(256))?;
        let text = String::from_utf8_lossy(head);
        let declaration = text.trim_start().strip_prefix("<?xml")?.split_once("?>")?.0;
        let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        Encoding::for_label(value[1..].split(quote).next()?.as_bytes())
    }
}

/// The encoding that a `Content-Type` names.
pub(super) fn charset(content_type: &str) -> Option<&'static Encoding> {
    let value = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Encoding::for_label(value.trim().trim_matches(['"', '\'']).as_bytes())
}

/// Ends at a number of bytes, and remembers whether there were more.
pub(super) struct CappedReader<R> {
    reader: R,
    left: u64,
    was_cut: Rc<Cell<bool>>,
}

impl<R: Read> CappedReader<R> {
    pub(super) fn new(reader: R, most: u64) -> Self {
        Self { reader, left: most, was_cut: Rc::default() }
    }

    /// A flag that is set when bytes are cut off.
    pub(super) fn was_cut(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.was_cut)
    }
}

impl<R: Read> Read for CappedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if !self.was_cut.get() && !buffer.is_empty() {
                self.was_cut.set(self.reader.read(&mut [0])? > 0);
            }
            return Ok(0);
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let length = self.reader.read(&mut buffer[..most])?;
        self.left -= length as u64;
        Ok(length)
    }
}

/// Transcodes any encoding to UTF-8, without byte order mark and with replacement characters for
/// invalid bytes.
pub(crate) struct Transcoder<R> {
    reader: R,
    decoder: Decoder,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Number of bytes of the output that were read.
    taken: usize,
    ended: bool,
}

impl<R: Read> Transcoder<R> {
    pub(crate) fn new(reader: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        Self { reader, decoder, input: vec![0; 16 << 10], output: Vec::new(), taken: 0, ended: false }
    }

    /// Decodes the next piece.
    fn fill(&mut self) -> io::Result<()> {
        let length = self.reader.read(&mut self.input)?;
        self.ended = length == 0;
        let most = self.decoder.max_utf8_buffer_length(length).unwrap_or(length * 3 + 16);
        self.output.resize(most, 0);
        self.taken = 0;
        let (_, _, written, _) =
            self.decoder.decode_to_utf8(&self.input[..length], &mut self.output, self.ended);
        self.output.truncate(written);
        Ok(())
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.output.len() && !self.ended {
            self.fill()?;
        }
        let length = buffer.len().min(self.output.len() - self.taken);
        buffer[..length].copy_from_slice(&self.output[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}

/// Whether a parser for UTF-8 can read this encoding.
pub(super) fn is_utf_8(encoding: &'static Encoding) -> bool {
    encoding == UTF_8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(reader: impl Read, encoding: &'static Encoding) -> String {
        let mut text = String::new();
        Transcoder::new(reader, encoding).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn encodings_are_found() {
        let source = |bytes: &[u8]| PeekedBody::open(Cursor::new(bytes.to_vec())).unwrap();
        assert_eq!(source(b"\xff\xfe<\0").mark(), Some(UTF_16LE));
        assert_eq!(source(b"\0<\0h").mark(), Some(UTF_16BE));
        assert_eq!(source(b"<html>").mark(), None);
        let declared = source(b"<?xml version='1.0' encoding='ISO-8859-1' ?>").declared();
        assert_eq!(declared.map(Encoding::name), Some("windows-1252"));
        assert_eq!(source(b"<?xml version='1.0'?>").declared(), None);
        assert_eq!(charset("text/html; a=b; Charset=\"utf-16be\"").map(Encoding::name), Some("UTF-16BE"));
        assert_eq!(charset("text/html"), None);
    }

    #[test]
    fn a_cap_knows_whether_it_cut() {
        for (most, expected, cut) in [(3, "abc", true), (5, "abcde", false), (9, "abcde", false)] {
            let mut capped = CappedReader::new(&b"abcde"[..], most);
            let was_cut = capped.was_cut();
            let mut text = String::new();
            capped.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), was_cut.get()), (expected, cut));
        }
    }

    proptest! {
        #[test]
        fn utf_16_is_read_whole(original in "\\PC{0,300}") {
            let bytes: Vec<u8> = original.encode_utf16().flat_map(u16::to_le_bytes).collect();
            prop_assert_eq!(text(&bytes[..], UTF_16LE), original.trim_start_matches('\u{feff}'));
        }

        #[test]
        fn any_bytes_become_text(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            text(&bytes[..], UTF_16BE);
            text(&bytes[..], UTF_8);
        }
    }
}
