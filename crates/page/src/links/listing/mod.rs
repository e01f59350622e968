//! Lists of pages: sitemaps in XML and text, gzipped or not, RSS, Atom, RDF, OPML and JSON feeds.
//!
//! What a file is is told by what it begins with; names and types of sitemaps are too often wrong. Everything is
//! read as a stream: an index of a million sitemaps costs as much memory as one of three, and a bomb is cut where
//! [`Limits::bytes`](super::Limits::bytes) ends.

mod item;
mod rules;
mod text;
mod xml;

use super::emit::Emitter;
use super::json::{self, Dialect};
use super::link::Stop;
use super::source::{Capped, Source, Transcoder, is_utf_8};
use encoding_rs::{Encoding, UTF_8};
use flate2::read::MultiGzDecoder;
use std::io::{self, BufReader, Read};

/// What a list may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Anything, since somebody named it as a list.
    List,
    /// Some XML, which may turn out to be a list.
    Xml,
}

/// Hands over all links of a list.
pub(super) fn links(
    reader: impl Read,
    charset: Option<&'static Encoding>,
    expected: Expected,
    emitter: &mut Emitter<'_>,
) -> io::Result<()> {
    let source = Source::open(reader)?;
    if !source.is_gzip() {
        return plain(source, charset, expected, emitter);
    }
    let inflated = Capped::new(MultiGzDecoder::new(source.into_reader()), emitter.limits.bytes);
    let was_cut = inflated.was_cut();
    let read = Source::open(inflated).and_then(|source| plain(source, None, expected, emitter));
    if was_cut.get() {
        emitter.report.stopped.get_or_insert(Stop::Bytes);
    }
    if read.is_err() {
        // Gzip that breaks off: what came before it counts.
        emitter.report.stopped.get_or_insert(Stop::Malformed);
    }
    Ok(())
}

/// Hands over all links of a list that is not compressed.
fn plain(
    source: Source<impl Read>,
    charset: Option<&'static Encoding>,
    expected: Expected,
    emitter: &mut Emitter<'_>,
) -> io::Result<()> {
    let encoding = source.mark().or_else(|| source.declared()).or(charset).unwrap_or(UTF_8);
    let first = first_sign(&source.head);
    let is_plain = is_utf_8(encoding) && first != Some(b'\0');
    // Positions are those of the file only where the file is read as it is.
    let marked = source.head.starts_with(b"\xef\xbb\xbf");
    let reader = BufReader::with_capacity(64 << 10, Transcoder::new(source.into_reader(), encoding));
    let offset = is_plain.then_some(if marked { 3 } else { 0 });
    match first {
        Some(b'<') => xml::links(reader, offset, expected, emitter),
        Some(b'{' | b'[') => json::links(reader, Dialect::Feed, emitter),
        _ if expected == Expected::List => text::links(reader, offset, emitter),
        _ => Ok(()),
    }
}

/// The first byte that is not white space, a zero or a byte order mark.
fn first_sign(head: &[u8]) -> Option<u8> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xfe | 0xff);
    head.iter().copied().find(|byte| !is_blank(byte))
}
