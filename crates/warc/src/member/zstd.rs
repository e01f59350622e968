//! Zstandard frames as the IIPC draft for WARC has them.
//!
//! A file may begin with a skippable frame that holds a dictionary, raw or itself compressed; every other frame is
//! part of a record. Window and dictionary are held to 8 MiB, which is what the draft asks readers to support: a file
//! that wants more memory is refused rather than believed.

use std::io;
use std::sync::Arc;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::{DCtx, DParameter};

use super::Dictionary;

/// First bytes of a frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// First bytes of the frame that holds a dictionary.
pub const DICTIONARY_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// The longest frame header.
pub(crate) const LONGEST_HEADER: usize = 18;
/// Most memory for a window, as a power of two.
const LARGEST_WINDOW_LOG: u32 = 23;
/// Most memory for a window.
pub(crate) const LARGEST_WINDOW: u64 = 1 << LARGEST_WINDOW_LOG;
/// Most bytes of a dictionary.
pub(crate) const LARGEST_DICTIONARY: usize = 8 << 20;

/// Whether these bytes begin a skippable frame: its whole length with header.
pub(crate) fn skippable(bytes: &[u8]) -> Option<u64> {
    let [low, 0x2a, 0x4d, 0x18, a, b, c, d] = *bytes.first_chunk::<8>()? else { return None };
    (low & 0xf0 == 0x50).then(|| 8 + u64::from(u32::from_le_bytes([a, b, c, d])))
}

/// Whether a frame's header promises both content size and checksum.
pub(crate) fn is_checked(frame: &[u8]) -> bool {
    let Some(descriptor) = frame.get(4) else { return false };
    let has_size = descriptor >> 6 != 0 || descriptor & 0x20 != 0;
    has_size && descriptor & 0x04 != 0
}

/// The dictionary that a frame asks for, by its number; none when it asks for none.
pub(crate) fn wanted_dictionary(frame: &[u8]) -> Option<u32> {
    let descriptor = *frame.get(4)?;
    let at = if descriptor & 0x20 == 0 { 6 } else { 5 };
    let length = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = frame.get(at..at + length)?;
    let number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    (number != 0).then_some(number)
}

/// How long a frame's header is, and whether a checksum ends the frame.
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

/// How many plain bytes a frame holds, by its header; none when it does not say.
pub(crate) fn content_size(frame: &[u8]) -> Option<u64> {
    zstd::zstd_safe::get_frame_content_size(frame).ok().flatten()
}

/// A block of a frame.
pub(crate) struct Block {
    pub(crate) length: u64,
    pub(crate) is_last: bool,
}

/// What a block's header says; none when no block begins so.
pub(crate) fn block([a, b, c]: [u8; 3]) -> Option<Block> {
    let bits = u32::from_le_bytes([a, b, c, 0]);
    let length = match bits >> 1 & 3 {
        // One byte, repeated.
        1 => 1,
        3 => return None,
        _ => u64::from(bits >> 3),
    };
    Some(Block { length, is_last: bits & 1 == 1 })
}

/// The window that a frame asks for. One in a single segment asks for all of its content.
pub(crate) fn window(frame: &[u8]) -> Option<u64> {
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
pub(crate) struct Unframing {
    /// For those that are at hand from end to end.
    whole: DCtx<'static>,
    /// For the others, once there is one: it holds a copy of the dictionary.
    stream: Option<Decoder<'static>>,
    dictionary: Option<Arc<Dictionary>>,
}

/// What one step did: bytes taken, bytes given, and whether the frame ended.
pub(crate) type Step = (usize, usize, bool);

impl Unframing {
    pub(crate) fn new(dictionary: Option<Arc<Dictionary>>) -> io::Result<Self> {
        let whole = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        // One that zstd can make nothing of is none.
        let dictionary = dictionary.filter(|dictionary| dictionary.ready().is_some());
        Ok(Self { whole, stream: None, dictionary })
    }

    /// The number of the dictionary it unpacks with, nought where that has none; none without a dictionary.
    pub(crate) fn number(&self) -> Option<u32> {
        self.dictionary.as_ref().and_then(|dictionary| dictionary.number().ok())
    }

    /// Decompresses a frame that is at hand from end to end, if it is sound: how many bytes it gave.
    pub(crate) fn whole(&mut self, frame: &[u8], output: &mut [u8]) -> Option<usize> {
        let given = match self.dictionary.as_ref().and_then(|dictionary| dictionary.ready()) {
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
        stream.set_parameter(DParameter::WindowLogMax(LARGEST_WINDOW_LOG))?;
        Ok(stream)
    }

    /// Makes it ready to stream another frame, whatever became of the last.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        self.stream.as_mut().map_or(Ok(()), Operation::reinit)
    }

    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(output);
        let hint = self.stream()?.run(&mut source, &mut target)?;
        Ok((source.pos(), target.pos(), hint == 0))
    }

    /// The first bytes that a frame at the start of `packed` decompresses to, as far as they fit.
    pub(crate) fn beginning(&mut self, packed: &[u8], output: &mut [u8]) -> usize {
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
        assert_eq!(skippable(&[0x5d, 0x2a, 0x4d, 0x18, 5, 0, 0, 0]), Some(13));
        assert_eq!(skippable(&[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), Some(8));
        assert_eq!(skippable(&[0x60, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), None);
        assert_eq!(skippable(&MAGIC), None);
    }

    #[test]
    fn windows() {
        let single = |length: usize| window(&zstd::bulk::compress(&vec![7; length], 3).expect("compress"));
        assert_eq!([0, 1, 255, 256, 70_000].map(single), [0, 1, 255, 256, 70_000].map(Some));
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
        encoder.window_log(24).expect("a parameter");
        io::Write::write_all(&mut encoder, b"lake").expect("memory");
        assert_eq!(window(&encoder.finish().expect("memory")), Some(1 << 24));
        assert_eq!(window(&MAGIC), None);
        assert_eq!(window(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0xff]), Some((1 << 41) + (1 << 38) * 7));
    }

    #[test]
    fn frames_that_promise() {
        let plain = zstd::bulk::compress(b"hello hello hello", 3).expect("compress");
        assert!(!is_checked(&plain));
        let mut compressor = zstd::bulk::Compressor::new(3).expect("compressor");
        compressor.include_checksum(true).expect("parameter");
        assert!(is_checked(&compressor.compress(b"hello hello hello").expect("compress")));
    }
}
