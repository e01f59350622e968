//! From a stored message to its payload and its body: transfer coding and content codings removed,
//! bombs stopped.
//!
//! A coding that is not known, or that the bytes plainly do not have, is not removed, and is named.
//! Many tools store decoded bodies under the old head. The output is limited, absolutely and in
//! proportion to the input: an archive holds what the web sent, and the web sends decompression
//! bombs.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chunked::{ChunkEnd, ChunkedDecoder};
use crate::headers::Headers;

/// Limits on the output of decoding.
#[derive(Clone, Copy, Debug)]
pub struct DecodeLimits {
    /// Maximum number of bytes of a body.
    pub max_bytes: u64,
    /// Maximum number of output bytes for one input byte, once `ratio_free_bytes` were written.
    /// Deflate reaches 1,032; text that people write reaches about 100.
    pub max_ratio: u64,
    /// The ratio does not matter below this number of output bytes.
    pub ratio_free_bytes: u64,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { max_bytes: 1 << 40, max_ratio: 500, ratio_free_bytes: 64 << 20 }
    }
}

/// More content codings than this on one body are not removed.
const MAX_CONTENT_CODINGS: usize = 4;
/// Maximum memory for a zstd window, as a power of two; RFC 9659 allows web content 8 MiB.
const MAX_WINDOW_LOG: u32 = 23;
/// Stored bytes are decoded from the chunked coding in steps of this size.
const CHUNKED_STEP_BYTES: usize = 64 << 10;
/// The buffer of the brotli decoder.
const BROTLI_BUFFER_BYTES: usize = 4096;

/// The decoded bytes of a message, as a reader.
pub struct DecodedBody<'a> {
    reader: Box<dyn Read + Send + 'a>,
    limits: DecodeLimits,
    written: u64,
    consumed: Arc<AtomicU64>,
    unremoved_coding: Option<String>,
}

impl<'a> DecodedBody<'a> {
    /// The bytes as they are, without limits.
    pub fn verbatim(block: impl Read + Send + 'a) -> Self {
        let limits = DecodeLimits { max_bytes: u64::MAX, max_ratio: u64::MAX, ratio_free_bytes: u64::MAX };
        Self { reader: Box::new(block), limits, written: 0, consumed: Arc::default(), unremoved_coding: None }
    }

    /// A content coding that the headers name and that was not removed.
    pub fn unremoved_coding(&self) -> Option<&str> {
        self.unremoved_coding.as_deref()
    }
}

/// Opens the payload of a message: `block` starts after the head, and the transfer coding is
/// removed.
pub fn open_payload<'a>(
    headers: &Headers,
    block: impl BufRead + Send + 'a,
    limits: DecodeLimits,
) -> io::Result<DecodedBody<'a>> {
    decode(headers.is_chunked(), &[], block, limits)
}

/// Opens the body of a message: `block` starts after the head, and transfer and content codings are
/// removed.
pub fn open_body<'a>(
    headers: &Headers,
    block: impl BufRead + Send + 'a,
    limits: DecodeLimits,
) -> io::Result<DecodedBody<'a>> {
    decode(headers.is_chunked(), &headers.content_codings(), block, limits)
}

fn decode<'a>(
    is_chunked: bool,
    codings: &[Vec<u8>],
    block: impl BufRead + Send + 'a,
    limits: DecodeLimits,
) -> io::Result<DecodedBody<'a>> {
    let consumed = Arc::new(AtomicU64::new(0));
    let counted = CountingReader { inner: block, consumed: Arc::clone(&consumed) };
    let mut reader: Box<dyn BufRead + Send + 'a> =
        if is_chunked { Box::new(BufReader::new(ChunkedReader::new(counted))) } else { Box::new(counted) };
    let mut unremoved_coding = None;
    if codings.len() > MAX_CONTENT_CODINGS {
        unremoved_coding = Some(format!("{} content codings", codings.len()));
    } else {
        for coding in codings.iter().rev() {
            match remove_coding(coding, reader)? {
                CodingRemoval::Removed(decoded) => reader = decoded,
                CodingRemoval::Refused(stored) => {
                    reader = stored;
                    unremoved_coding = Some(String::from_utf8_lossy(coding).into_owned());
                    break;
                }
            }
        }
    }
    Ok(DecodedBody { reader: Box::new(reader), limits, written: 0, consumed, unremoved_coding })
}

enum CodingRemoval<'a> {
    Removed(Box<dyn BufRead + Send + 'a>),
    Refused(Box<dyn BufRead + Send + 'a>),
}

fn remove_coding<'a>(
    coding: &[u8],
    mut reader: Box<dyn BufRead + Send + 'a>,
) -> io::Result<CodingRemoval<'a>> {
    let first = reader.fill_buf()?;
    if first.is_empty() {
        // Servers label empty bodies, too.
        return Ok(CodingRemoval::Removed(reader));
    }
    let (zero, one) = (first.first().copied().unwrap_or(0), first.get(1).copied());
    Ok(match coding {
        b"gzip" | b"x-gzip" if zero == 0x1f && one.is_none_or(|one| one == 0x8b) => {
            removed(flate2::bufread::MultiGzDecoder::new(reader))
        }
        b"deflate" if is_zlib(zero, one) => removed(flate2::bufread::ZlibDecoder::new(reader)),
        b"deflate" => removed(flate2::bufread::DeflateDecoder::new(reader)),
        b"br" => removed(brotli_decompressor::Decompressor::new(reader, BROTLI_BUFFER_BYTES)),
        b"zstd" if zero == 0x28 || zero & 0xf0 == 0x50 => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            decoder.window_log_max(MAX_WINDOW_LOG)?;
            removed(decoder)
        }
        _ => CodingRemoval::Refused(reader),
    })
}

fn removed<'a>(decoder: impl Read + Send + 'a) -> CodingRemoval<'a> {
    CodingRemoval::Removed(Box::new(BufReader::new(decoder)))
}

/// `deflate` means zlib by the standard, and raw deflate on some servers.
fn is_zlib(zero: u8, one: Option<u8>) -> bool {
    zero & 0x0f == 8 && one.is_none_or(|one| (u16::from(zero) << 8 | u16::from(one)).is_multiple_of(31))
}

impl Read for DecodedBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.written += count as u64;
        let consumed = self.consumed.load(Ordering::Relaxed);
        let exceeds_ratio = self.written > self.limits.ratio_free_bytes
            && self.written / self.limits.max_ratio.max(1) > consumed.max(1);
        if self.written > self.limits.max_bytes || exceeds_ratio {
            let message =
                format!("the body exceeds its limits: {consumed} stored bytes gave {} so far", self.written);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}

/// Counts the stored bytes that were consumed.
struct CountingReader<R> {
    inner: R,
    consumed: Arc<AtomicU64>,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}

/// The chunked coding removed, as a reader.
struct ChunkedReader<R> {
    inner: R,
    decoder: ChunkedDecoder,
    ready: Vec<u8>,
    read_bytes: usize,
    ended: bool,
}

impl<R: BufRead> ChunkedReader<R> {
    fn new(inner: R) -> Self {
        Self { inner, decoder: ChunkedDecoder::new(), ready: Vec::new(), read_bytes: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.read_bytes = 0;
        while self.ready.is_empty() && !self.ended {
            let ready = &mut self.ready;
            let mut sink = |bytes: &[u8]| ready.extend_from_slice(bytes);
            let stored = self.inner.fill_buf()?;
            let length = stored.len().min(CHUNKED_STEP_BYTES);
            if length == 0 {
                self.ended = true;
                let _end: ChunkEnd = self.decoder.finish(&mut sink);
            } else {
                self.decoder.push(&stored[..length], &mut sink);
                self.inner.consume(length);
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ChunkedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read_bytes == self.ready.len() {
            self.refill()?;
        }
        let length = (self.ready.len() - self.read_bytes).min(buffer.len());
        buffer[..length].copy_from_slice(&self.ready[self.read_bytes..self.read_bytes + length]);
        self.read_bytes += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn body_of(fields: &str, stored: &[u8], limits: DecodeLimits) -> io::Result<(Vec<u8>, Option<String>)> {
        let headers = Headers::parse(fields.as_bytes(), |_, _| {});
        let mut body = open_body(&headers, stored, limits)?;
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes)?;
        Ok((bytes, body.unremoved_coding().map(str::to_owned)))
    }

    fn plain(fields: &str, stored: &[u8]) -> (Vec<u8>, Option<String>) {
        body_of(fields, stored, DecodeLimits::default()).expect("a body")
    }

    #[test]
    fn every_coding() {
        let text = b"The lake lays down one layer each year. ".repeat(50);
        let zlib = {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&text).expect("memory");
            encoder.finish().expect("memory")
        };
        let raw = {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&text).expect("memory");
            encoder.finish().expect("memory")
        };
        let zstd = zstd::bulk::compress(&text, 3).expect("zstd");
        assert_eq!(plain("Content-Encoding: gzip\r\n", &gzip(&text)), (text.clone(), None));
        assert_eq!(plain("Content-Encoding: deflate\r\n", &zlib), (text.clone(), None));
        assert_eq!(plain("Content-Encoding: deflate\r\n", &raw), (text.clone(), None));
        assert_eq!(plain("Content-Encoding: zstd\r\n", &zstd), (text.clone(), None));
        assert_eq!(plain("Content-Encoding: gzip, zstd\r\n", &zstd_of(&gzip(&text))), (text.clone(), None));
        assert_eq!(plain("", &text), (text, None));
    }

    fn zstd_of(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 3).expect("zstd")
    }

    #[test]
    fn brotli() {
        // `hello` as a stored brotli stream, from RFC 7932's uncompressed meta-block form.
        let stored = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
        assert_eq!(plain("Content-Encoding: br\r\n", &stored), (b"hello".to_vec(), None));
    }

    #[test]
    fn chunked_and_gzipped() {
        let packed = gzip(b"body");
        let mut stored = format!("{:x}\r\n", packed.len()).into_bytes();
        stored.extend_from_slice(&packed);
        stored.extend_from_slice(b"\r\n0\r\n\r\n");
        let fields = "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n";
        assert_eq!(plain(fields, &stored), (b"body".to_vec(), None));
        assert_eq!(plain(fields, &packed), (b"body".to_vec(), None), "a body that was unchunked already");
    }

    #[test]
    fn unknown_and_absent_codings_are_not_removed() {
        assert_eq!(plain("Content-Encoding: gzip\r\n", b"<p>"), (b"<p>".to_vec(), Some("gzip".into())));
        assert_eq!(plain("Content-Encoding: sdch\r\n", b"x"), (b"x".to_vec(), Some("sdch".into())));
        let many = format!("Content-Encoding: {}\r\n", "gzip,".repeat(20));
        assert_eq!(plain(&many, b"x").0, b"x");
    }

    /// Deflate gives at most 1,032 bytes for one: a limit above that would stop nothing.
    #[test]
    fn the_default_limits_stop_a_bomb_of_one_coding() {
        let tight = DecodeLimits { ratio_free_bytes: 1 << 20, ..DecodeLimits::default() };
        let bomb = gzip(&vec![0; 4 << 20]);
        assert!(body_of("Content-Encoding: gzip\r\n", &bomb, tight).is_err());
        let text = gzip(&b"<tr><td>0</td></tr>\n".repeat(1 << 14));
        let lenient = DecodeLimits { ratio_free_bytes: 0, ..DecodeLimits::default() };
        assert!(body_of("Content-Encoding: gzip\r\n", &text, lenient).is_ok());
    }

    #[test]
    fn bombs_are_stopped() {
        let bomb = gzip(&vec![0; 1 << 20]);
        let fields = "Content-Encoding: gzip\r\n";
        let tight = DecodeLimits { max_bytes: 1000, ..DecodeLimits::default() };
        assert!(body_of(fields, &bomb, tight).is_err());
        let proportion = DecodeLimits { max_bytes: u64::MAX, max_ratio: 100, ratio_free_bytes: 1000 };
        assert!(body_of(fields, &bomb, proportion).is_err());
    }
}
