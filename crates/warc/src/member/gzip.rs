//! One gzip member: its header, and two ways to decompress it.
//!
//! libdeflate decompresses a member whole when it is in view and its content fits a buffer. That is
//! nearly twice as fast as streaming, and most records are small. flate2 streams members of any
//! size, damaged ones (it gives the bytes before the damage) and those of which only the prefix is
//! wanted.

use std::ptr::NonNull;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflate_sys as sys;

/// First bytes of every gzip member that holds deflate data.
pub(crate) const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// The header of every gzip member that this crate writes: no name, no time, no level, Unix.
pub const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// Maximum size of a header: an extra field of 64 KiB, a name and a comment.
pub(crate) const MAX_GZIP_HEADER_BYTES: usize = 80 * 1024;

/// The header of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GzipHeader {
    pub(crate) length: usize,
    /// It has AardWARC's `Aa` extra field. AardWARC puts header and block of a record in separate
    /// members.
    pub(crate) aardwarc: bool,
    /// It is the header that the writer of this crate gives every member.
    pub(crate) ours: bool,
}

/// Parses the header of a member. None when it is no header, or is not complete.
pub(crate) fn parse_header(bytes: &[u8]) -> Option<GzipHeader> {
    if !bytes.starts_with(&GZIP_MAGIC) || bytes.len() < 10 {
        return None;
    }
    let flags = bytes[3];
    if flags & 0xe0 != 0 {
        return None;
    }
    let mut length = 10;
    let mut aardwarc = false;
    if flags & 4 != 0 {
        let size = usize::from(u16::from_le_bytes([*bytes.get(length)?, *bytes.get(length + 1)?]));
        let extra = bytes.get(length + 2..length + 2 + size)?;
        aardwarc = extra.starts_with(b"Aa");
        length += 2 + size;
    }
    for text in [8, 16] {
        if flags & text != 0 {
            length += memchr::memchr(0, bytes.get(length..)?)? + 1;
        }
    }
    if flags & 2 != 0 {
        length += 2;
    }
    (length <= bytes.len()).then_some(GzipHeader { length, aardwarc, ours: bytes.starts_with(&GZIP_HEADER) })
}

/// libdeflate's decompressor.
pub(crate) struct Inflater {
    raw: NonNull<sys::libdeflate_decompressor>,
}

// SAFETY: a libdeflate decompressor is plain memory without ties to a thread; it is used by one at
// a time, since every use needs `&mut self`.
unsafe impl Send for Inflater {}

/// Why a member was not decompressed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotWhole {
    /// The content is larger than the buffer.
    Larger,
    /// It is damaged. A member that is not completely in view may give either result.
    Unreadable,
}

impl Inflater {
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: takes no arguments; returns null when memory is short, which becomes `None`.
        NonNull::new(unsafe { sys::libdeflate_alloc_decompressor() }).map(|raw| Self { raw })
    }

    /// Decompresses the member at the start of `input` and checks its CRC and length. Returns the
    /// number of bytes taken and given.
    pub(crate) fn inflate_member(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), NotWhole> {
        let (mut taken, mut given) = (0, 0);
        // SAFETY: `raw` is a live decompressor, exclusively borrowed. Both pointers come from
        // slices and are passed with the slices' own lengths; libdeflate reads no more than the
        // one, writes no more than the other, and sets both counts to at most those lengths.
        let result = unsafe {
            sys::libdeflate_gzip_decompress_ex(
                self.raw.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                output.len(),
                &mut taken,
                &mut given,
            )
        };
        match result {
            sys::libdeflate_result_LIBDEFLATE_SUCCESS => Ok((taken, given)),
            sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Err(NotWhole::Larger),
            _ => Err(NotWhole::Unreadable),
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: allocated by `libdeflate_alloc_decompressor`, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.raw.as_ptr()) }
    }
}

/// A member that is decompressed in steps, after its header.
pub(crate) struct GzipStream {
    raw: Decompress,
    crc: crc32fast::Hasher,
    length: u32,
}

/// The result of one step of streaming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InflateStep {
    pub(crate) taken: usize,
    pub(crate) given: usize,
    pub(crate) state: InflateState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InflateState {
    /// More bytes follow.
    Going,
    /// The deflate data ended; the trailer follows.
    Ended,
    /// The deflate data is damaged.
    Damaged,
}

impl GzipStream {
    pub(crate) fn new() -> Self {
        Self { raw: Decompress::new(false), crc: crc32fast::Hasher::new(), length: 0 }
    }

    /// Prepares for another member.
    pub(crate) fn reset(&mut self) {
        self.raw.reset(false);
        self.crc = crc32fast::Hasher::new();
        self.length = 0;
    }

    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> InflateStep {
        let (before_in, before_out) = (self.raw.total_in(), self.raw.total_out());
        let result = self.raw.decompress(input, output, FlushDecompress::None);
        let taken = (self.raw.total_in() - before_in) as usize;
        let given = (self.raw.total_out() - before_out) as usize;
        self.crc.update(&output[..given]);
        self.length = self.length.wrapping_add(given as u32);
        let state = match result {
            Ok(Status::StreamEnd) => InflateState::Ended,
            Ok(_) => InflateState::Going,
            Err(_) => InflateState::Damaged,
        };
        InflateStep { taken, given, state }
    }

    /// Decompresses the first bytes of the member at the start of `packed`, as far as they fit.
    /// Returns the number of bytes taken and given. The state of a member that was being streamed
    /// is lost.
    pub(crate) fn inflate_prefix(&mut self, packed: &[u8], output: &mut [u8]) -> (usize, usize) {
        let Some(header) = parse_header(packed) else { return (0, 0) };
        self.reset();
        let step = self.step(&packed[header.length..], output);
        (step.taken, step.given)
    }

    /// Whether the eight bytes after the deflate data match the decompressed bytes.
    pub(crate) fn matches_trailer(&self, trailer: [u8; 8]) -> bool {
        let [a, b, c, d, e, f, g, h] = trailer;
        u32::from_le_bytes([a, b, c, d]) == self.crc.clone().finalize()
            && u32::from_le_bytes([e, f, g, h]) == self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn member(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::GzBuilder::new()
            .filename("name")
            .comment("text")
            .extra(b"xy".to_vec())
            .write(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn headers() {
        let packed = member(b"content");
        let found = parse_header(&packed).expect("a header");
        assert_eq!((found.length, found.aardwarc), (10 + 2 + 2 + 5 + 5, false));
        for cut in 0..found.length {
            assert_eq!(parse_header(&packed[..cut]), None);
        }
        assert_eq!(parse_header(&[0x1f, 0x8b, 8, 0xff, 0, 0, 0, 0, 0, 0]), None);
        let aardwarc = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 2, 3, 12, 0, b'A', b'a', 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(parse_header(&aardwarc), Some(GzipHeader { length: 24, aardwarc: true, ours: false }));
    }

    #[test]
    fn whole_and_streamed_agree() {
        let content: Vec<u8> = (0..100_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let mut packed = member(&content);
        let length = packed.len();
        packed.extend_from_slice(b"behind");
        let mut output = vec![0; content.len()];
        let mut inflater = Inflater::new().expect("memory");
        assert_eq!(inflater.inflate_member(&packed, &mut output), Ok((length, content.len())));
        assert_eq!(output, content);
        assert_eq!(inflater.inflate_member(&packed, &mut output[1..]), Err(NotWhole::Larger));
        assert!(inflater.inflate_member(&packed[..length - 1], &mut output).is_err());

        let mut inflating = GzipStream::new();
        let mut rest = &packed[parse_header(&packed).expect("header").length..];
        let mut streamed = Vec::new();
        let mut chunk = [0; 777];
        loop {
            let step = inflating.step(&rest[..rest.len().min(333)], &mut chunk);
            streamed.extend_from_slice(&chunk[..step.given]);
            rest = &rest[step.taken..];
            match step.state {
                InflateState::Going => {}
                InflateState::Ended => break,
                InflateState::Damaged => panic!("damaged"),
            }
        }
        assert_eq!(streamed, content);
        assert!(inflating.matches_trailer(rest[..8].try_into().expect("trailer")));
    }
}
