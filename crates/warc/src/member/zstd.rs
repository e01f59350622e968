//! Zstandard frames as the IIPC draft for WARC defines them.
//!
//! A file may begin with a skippable frame that holds a dictionary, raw or itself compressed; every
//! other frame is part of a record. Window and dictionary are limited to 8 MiB, which the draft
//! asks readers to support. A file that wants more memory is refused.

use std::io;
use std::sync::Arc;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::{DCtx, DParameter};

use super::Dictionary;

/// First bytes of a frame.
pub(crate) const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// First bytes of the frame that holds a dictionary.
pub const DICTIONARY_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// Maximum size of a frame header.
pub(crate) const MAX_FRAME_HEADER_BYTES: usize = 18;
/// Maximum memory for a window, as a power of two.
const MAX_WINDOW_LOG: u32 = 23;
/// Maximum memory for a window.
pub(crate) const MAX_WINDOW_BYTES: u64 = 1 << MAX_WINDOW_LOG;
/// Maximum size of a dictionary.
pub(crate) const MAX_DICTIONARY_BYTES: usize = 8 << 20;

/// The length of the skippable frame that these bytes begin, with its header. None when they begin
/// none.
pub(crate) fn skippable_length(bytes: &[u8]) -> Option<u64> {
    let [low, 0x2a, 0x4d, 0x18, a, b, c, d] = *bytes.first_chunk::<8>()? else { return None };
    (low & 0xf0 == 0x50).then(|| 8 + u64::from(u32::from_le_bytes([a, b, c, d])))
}

/// Whether the header of a frame announces both content size and checksum.
pub(crate) fn is_checked(frame: &[u8]) -> bool {
    let Some(descriptor) = frame.get(4) else { return false };
    let has_size = descriptor >> 6 != 0 || descriptor & 0x20 != 0;
    has_size && descriptor & 0x04 != 0
}

/// The id of the dictionary that a frame needs, if it names one.
pub(crate) fn wanted_dictionary(frame: &[u8]) -> Option<u32> {
    let descriptor = *frame.get(4)?;
    let at = if descriptor & 0x20 == 0 { 6 } else { 5 };
    let length = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = frame.get(at..at + length)?;
    let number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    (number != 0).then_some(number)
}

/// The length of the header of a frame, and whether a checksum ends the frame.
pub(crate) fn header_length(frame: &[u8]) -> Option<(usize, bool)> {
    let descriptor = *frame.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    let size = match descriptor >> 6 {
        0 => usize::from(is_single),
        flag => 1 << flag,
    };
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    Some((5 + usize::from(!is_single) + dictionary + size, descriptor & 4 != 0))
}

/// The decompressed length of a frame, if its header gives it.
pub(crate) fn content_size(frame: &[u8]) -> Option<u64> {
    zstd::zstd_safe::get_frame_content_size(frame).ok().flatten()
}

/// A block of a frame.
pub(crate) struct FrameBlock {
    pub(crate) length: u64,
    pub(crate) is_last: bool,
}

/// Parses the header of a block. None when it is invalid.
pub(crate) fn parse_block([a, b, c]: [u8; 3]) -> Option<FrameBlock> {
    let bits = u32::from_le_bytes([a, b, c, 0]);
    let length = match bits >> 1 & 3 {
        // One byte, repeated.
        1 => 1,
        3 => return None,
        _ => u64::from(bits >> 3),
    };
    Some(FrameBlock { length, is_last: bits & 1 == 1 })
}

/// The size of the window that a frame needs. A frame in a single segment needs all of its content.
pub(crate) fn window_size(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.get(4)?;
    if descriptor & 0x20 == 0 {
        let (exponent, mantissa) = (frame.get(5)? >> 3, u64::from(frame.get(5)? & 7));
        let base = 1u64 << (10 + exponent);
        return Some(base + base / 8 * mantissa);
    }
    let at = 5 + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let bytes = frame.get(at..at + length)?;
    let size = bytes.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    Some(if length == 2 { size + 256 } else { size })
}

/// Decompresses frames one after another.
pub(crate) struct FrameDecoder {
    /// For frames that are completely in memory.
    whole: DCtx<'static>,
    /// For the others, made when needed: it holds a copy of the dictionary.
    stream: Option<Decoder<'static>>,
    dictionary: Option<Arc<Dictionary>>,
}

/// The result of one step: bytes taken, bytes given, and whether the frame ended.
pub(crate) type FrameStep = (usize, usize, bool);

impl FrameDecoder {
    pub(crate) fn new(dictionary: Option<Arc<Dictionary>>) -> io::Result<Self> {
        let whole = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        // A dictionary that zstd cannot use counts as none.
        let dictionary = dictionary.filter(|dictionary| dictionary.decoder().is_some());
        Ok(Self { whole, stream: None, dictionary })
    }

    /// The id of the dictionary, 0 when it has no id. None without a dictionary.
    pub(crate) fn dictionary_id(&self) -> Option<u32> {
        self.dictionary.as_ref().and_then(|dictionary| dictionary.id().ok())
    }

    /// Decompresses a frame that is completely in memory. Returns how many bytes it gave, or none
    /// when it is damaged.
    pub(crate) fn decode_whole(&mut self, frame: &[u8], output: &mut [u8]) -> Option<usize> {
        let given = match self.dictionary.as_ref().and_then(|dictionary| dictionary.decoder()) {
            Some(dictionary) => self.whole.decompress_using_ddict(output, frame, dictionary),
            None => self.whole.decompress(output, frame),
        };
        given.ok()
    }

    fn stream(&mut self) -> io::Result<&mut Decoder<'static>> {
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.new_stream()?,
        };
        Ok(self.stream.insert(stream))
    }

    fn new_stream(&self) -> io::Result<Decoder<'static>> {
        let mut stream = match &self.dictionary {
            Some(dictionary) => Decoder::with_dictionary(dictionary.plain()?)?,
            None => Decoder::new()?,
        };
        stream.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
        Ok(stream)
    }

    /// Prepares to stream another frame, even if the last one failed.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        self.stream.as_mut().map_or(Ok(()), Operation::reinit)
    }

    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<FrameStep> {
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(output);
        let hint = self.stream()?.run(&mut source, &mut target)?;
        Ok((source.pos(), target.pos(), hint == 0))
    }

    /// Decompresses the first bytes of the frame at the start of `packed`, as far as they fit.
    pub(crate) fn decode_prefix(&mut self, packed: &[u8], output: &mut [u8]) -> usize {
        if self.reset().is_err() {
            return 0;
        }
        self.step(packed, output).map_or(0, |(_, given, _)| given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skippable_frames() {
        assert_eq!(skippable_length(&[0x5d, 0x2a, 0x4d, 0x18, 5, 0, 0, 0]), Some(13));
        assert_eq!(skippable_length(&[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), Some(8));
        assert_eq!(skippable_length(&[0x60, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), None);
        assert_eq!(skippable_length(&FRAME_MAGIC), None);
    }

    #[test]
    fn windows() {
        let single =
            |length: usize| window_size(&zstd::bulk::compress(&vec![7; length], 3).expect("compress"));
        assert_eq!([0, 1, 255, 256, 70_000].map(single), [0, 1, 255, 256, 70_000].map(Some));
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
        encoder.window_log(24).expect("a parameter");
        io::Write::write_all(&mut encoder, b"lake").expect("memory");
        assert_eq!(window_size(&encoder.finish().expect("memory")), Some(1 << 24));
        assert_eq!(window_size(&FRAME_MAGIC), None);
        assert_eq!(window_size(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0xff]), Some((1 << 41) + (1 << 38) * 7));
    }

    #[test]
    fn frames_with_size_and_checksum() {
        let plain = zstd::bulk::compress(b"hello hello hello", 3).expect("compress");
        assert!(!is_checked(&plain));
        let mut compressor = zstd::bulk::Compressor::new(3).expect("compressor");
        compressor.include_checksum(true).expect("parameter");
        assert!(is_checked(&compressor.compress(b"hello hello hello").expect("compress")));
    }
}
