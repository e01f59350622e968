//! From a stored message to its body: transfer coding and content codings undone, bombs stopped.
//!
//! A coding that is not known, or that the bytes plainly do not have (many tools store decoded bodies under the old
//! head), is left alone and named. Output is bounded, absolutely and in proportion to input: an archive holds what
//! the web sent, and the web sends bombs.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunked::{ChunkEnd, Chunked};
use super::head::Head;

/// Bounds on undoing codings.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Most bytes of a body.
    pub most: u64,
    /// Most bytes given for each byte taken, once `ratio_from` bytes were given. Deflating gives no more than 1,032, and of
    /// what people write about 100.
    pub ratio: u64,
    /// Below this, any ratio will do.
    pub ratio_from: u64,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { most: 1 << 40, ratio: 500, ratio_from: 64 << 20 }
    }
}

/// Codings beyond this many on one body are not undone.
const MOST_CODINGS: usize = 4;
/// Most memory for a zstd window, as a power of two; RFC 9659 allows web content 8 MiB.
const LARGEST_WINDOW: u32 = 23;

/// The body of a message.
pub struct Body<'a> {
    reader: Box<dyn Read + Send + 'a>,
    limits: BodyLimits,
    given: u64,
    taken: Arc<AtomicU64>,
    left_alone: Option<String>,
}

impl Body<'_> {
    /// A coding that was named in the head but not undone.
    pub fn coding_left_alone(&self) -> Option<&str> {
        self.left_alone.as_deref()
    }
}

/// Opens the body of a message whose head was read from `block` already.
pub fn open_body<'a>(
    head: &Head,
    block: impl BufRead + Send + 'a,
    limits: BodyLimits,
) -> io::Result<Body<'a>> {
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: block, taken: Arc::clone(&taken) };
    let mut reader: Box<dyn BufRead + Send + 'a> =
        if head.is_chunked() { Box::new(BufReader::new(Unchunked::new(counted))) } else { Box::new(counted) };
    let mut left_alone = None;
    let codings = head.content_codings();
    if codings.len() > MOST_CODINGS {
        left_alone = Some(format!("{} content codings", codings.len()));
    } else {
        for coding in codings.iter().rev() {
            reader = match undo(coding, reader)? {
                Undone::Yes(reader) => reader,
                Undone::No(reader) => {
                    left_alone = Some(String::from_utf8_lossy(coding).into_owned());
                    reader
                }
            };
            if left_alone.is_some() {
                break;
            }
        }
    }
    Ok(Body { reader: Box::new(reader), limits, given: 0, taken, left_alone })
}

/// The body of a block that holds no message: the block itself.
pub fn whole_block<'a>(block: impl Read + Send + 'a) -> Body<'a> {
    let limits = BodyLimits { most: u64::MAX, ratio: u64::MAX, ratio_from: u64::MAX };
    Body { reader: Box::new(block), limits, given: 0, taken: Arc::default(), left_alone: None }
}

enum Undone<'a> {
    Yes(Box<dyn BufRead + Send + 'a>),
    No(Box<dyn BufRead + Send + 'a>),
}

fn undo<'a>(coding: &[u8], mut reader: Box<dyn BufRead + Send + 'a>) -> io::Result<Undone<'a>> {
    let first = reader.fill_buf()?;
    let (zero, one) = (first.first().copied().unwrap_or(0), first.get(1).copied());
    Ok(match coding {
        b"gzip" | b"x-gzip" if zero == 0x1f && one.is_none_or(|one| one == 0x8b) => {
            Undone::Yes(Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(reader))))
        }
        b"deflate" if is_zlib(zero, one) => {
            Undone::Yes(Box::new(BufReader::new(flate2::bufread::ZlibDecoder::new(reader))))
        }
        b"deflate" => Undone::Yes(Box::new(BufReader::new(flate2::bufread::DeflateDecoder::new(reader)))),
        b"br" => Undone::Yes(Box::new(BufReader::new(brotli_decompressor::Decompressor::new(reader, 4096)))),
        b"zstd" if zero == 0x28 || zero & 0xf0 == 0x50 => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            decoder.window_log_max(LARGEST_WINDOW)?;
            Undone::Yes(Box::new(BufReader::new(decoder)))
        }
        _ => Undone::No(reader),
    })
}

/// `deflate` means zlib by the book, and raw deflate by some servers.
fn is_zlib(zero: u8, one: Option<u8>) -> bool {
    zero & 0x0f == 8 && one.is_none_or(|one| (u16::from(zero) << 8 | u16::from(one)).is_multiple_of(31))
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.given += count as u64;
        let taken = self.taken.load(Ordering::Relaxed);
        let out_of_proportion =
            self.given > self.limits.ratio_from && self.given / self.limits.ratio.max(1) > taken.max(1);
        if self.given > self.limits.most || out_of_proportion {
            let message =
                format!("the body grows beyond its limits: {taken} stored bytes gave {} so far", self.given);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}

/// Counts the stored bytes that were taken.
struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}

/// Chunked coding as a reader.
struct Unchunked<R> {
    inner: R,
    chunked: Chunked,
    ready: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: BufRead> Unchunked<R> {
    fn new(inner: R) -> Self {
        Self { inner, chunked: Chunked::new(), ready: Vec::new(), given: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        while self.ready.is_empty() && !self.ended {
            let ready = &mut self.ready;
            let mut sink = |bytes: &[u8]| ready.extend_from_slice(bytes);
            let stored = self.inner.fill_buf()?;
            let length = stored.len().min(64 << 10);
            if length == 0 {
                self.ended = true;
                let _end: ChunkEnd = self.chunked.finish(&mut sink);
            } else {
                self.chunked.push(&stored[..length], &mut sink);
                self.inner.consume(length);
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Unchunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.refill()?;
        }
        let length = (self.ready.len() - self.given).min(buffer.len());
        buffer[..length].copy_from_slice(&self.ready[self.given..self.given + length]);
        self.given += length;
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

    fn body_of(fields: &str, stored: &[u8], limits: BodyLimits) -> io::Result<(Vec<u8>, Option<String>)> {
        let head = Head::parse(format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes()).expect("a head");
        let mut body = open_body(&head, stored, limits)?;
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes)?;
        Ok((bytes, body.coding_left_alone().map(str::to_owned)))
    }

    fn plain(fields: &str, stored: &[u8]) -> (Vec<u8>, Option<String>) {
        body_of(fields, stored, BodyLimits::default()).expect("a body")
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
    fn what_cannot_be_undone_is_left_alone() {
        assert_eq!(plain("Content-Encoding: gzip\r\n", b"<p>"), (b"<p>".to_vec(), Some("gzip".into())));
        assert_eq!(plain("Content-Encoding: sdch\r\n", b"x"), (b"x".to_vec(), Some("sdch".into())));
        let many = format!("Content-Encoding: {}\r\n", "gzip,".repeat(20));
        assert_eq!(plain(&many, b"x").0, b"x");
    }

    /// Deflate gives at most 1,032 bytes for one: a limit above that would stop nothing.
    #[test]
    fn the_usual_limits_stop_a_bomb_of_one_coding() {
        let ratio = BodyLimits { ratio_from: 1 << 20, ..BodyLimits::default() };
        let bomb = gzip(&vec![0; 4 << 20]);
        assert!(body_of("Content-Encoding: gzip\r\n", &bomb, ratio).is_err());
        let text = gzip(&b"<tr><td>0</td></tr>\n".repeat(1 << 14));
        let lenient = BodyLimits { ratio_from: 0, ..BodyLimits::default() };
        assert!(body_of("Content-Encoding: gzip\r\n", &text, lenient).is_ok());
    }

    #[test]
    fn bombs_are_stopped() {
        let bomb = gzip(&vec![0; 1 << 20]);
        let fields = "Content-Encoding: gzip\r\n";
        let tight = BodyLimits { most: 1000, ..BodyLimits::default() };
        assert!(body_of(fields, &bomb, tight).is_err());
        let proportion = BodyLimits { most: u64::MAX, ratio: 100, ratio_from: 1000 };
        assert!(body_of(fields, &bomb, proportion).is_err());
    }
}
