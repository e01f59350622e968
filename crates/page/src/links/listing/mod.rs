//! Lists of pages: sitemaps in XML and text, gzipped or not, RSS, Atom, RDF, OPML and JSON feeds.
//!
//! The first byte decides the format, because names and media types of sitemaps are often wrong.
//! Everything is read as a stream, so memory does not grow with the number of entries, and a gzip
//! bomb ends at [`LinkLimits::bytes`](super::LinkLimits::bytes).

mod item;
mod rules;
mod text;
mod xml;

use super::emit::LinkEmitter;
use super::json::{self, Dialect};
use super::link::LinkStop;
use super::source::{CappedReader, PeekedBody, Transcoder, is_utf_8};
use encoding_rs::{Encoding, UTF_8};
use flate2::read::MultiGzDecoder;
use std::io::{self, BufReader, Read};

/// What a listing may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingSyntax {
    /// Any format: it was declared as a listing.
    List,
    /// XML, which may be a listing.
    Xml,
}

/// Emits all links of a listing.
pub(super) fn links(
    reader: impl Read,
    charset: Option<&'static Encoding>,
    expected: ListingSyntax,
    emitter: &mut LinkEmitter<'_>,
) -> io::Result<()> {
    let source = PeekedBody::open(reader)?;
    if !source.is_gzip() {
        return plain(source, charset, expected, emitter);
    }
    let inflated = CappedReader::new(MultiGzDecoder::new(source.into_reader()), emitter.limits.bytes);
    let was_cut = inflated.was_cut();
    let read = PeekedBody::open(inflated).and_then(|source| plain(source, None, expected, emitter));
    if was_cut.get() {
        emitter.report.stopped.get_or_insert(LinkStop::Bytes);
    }
    if read.is_err() {
        // Links before the end of a cut gzip stream are kept.
        emitter.report.stopped.get_or_insert(LinkStop::Malformed);
    }
    Ok(())
}

/// Emits all links of an uncompressed listing.
fn plain(
    source: PeekedBody<impl Read>,
    charset: Option<&'static Encoding>,
    expected: ListingSyntax,
    emitter: &mut LinkEmitter<'_>,
) -> io::Result<()> {
    let encoding = source.mark().or_else(|| source.declared()).or(charset).unwrap_or(UTF_8);
    let first = first_sign(&source.head);
    let is_plain = is_utf_8(encoding) && first != Some(b'\0');
    // Offsets are those of the file only if it is not transcoded.
    let marked = source.head.starts_with(b"\xef\xbb\xbf");
    let reader = BufReader::with_capacity(64 << 10, Transcoder::new(source.into_reader(), encoding));
    let offset = is_plain.then_some(if marked { 3 } else { 0 });
    match first {
        Some(b'<') => xml::links(reader, offset, expected, emitter),
        Some(b'{' | b'[') => json::links(reader, Dialect::Feed, emitter),
        _ if expected == ListingSyntax::List => text::links(reader, offset, emitter),
        _ => Ok(()),
    }
}

/// The first byte that is not white space, a zero or a byte order mark.
fn first_sign(head: &[u8]) -> Option<u8> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xfe | 0xff);
    head.iter().copied().find(|byte| !is_blank(byte))
}
