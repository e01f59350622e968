//! Links of an HTML page, read as a stream.
//!
//! At most one tag is kept in memory. A tag that needs more than its share, such as one with an
//! attribute of megabytes, is skipped, and the page is read on behind it.
//!
//! | file | does |
//! | --- | --- |
//! | `scan` | feeds the tokens of the [tokenizer](crate::tokenizer) |
//! | `tag` | decodes the attributes of a tag |
//! | `page`, `rules` | find the links in them |

#[cfg(test)]
mod differential;
mod page;
mod rules;
mod scan;
mod tag;

use super::emit::{LinkEmitter, RawLink};
use super::link::{LinkPlace, LinkRole};
use super::source::{PeekedBody, Transcoder};
use crate::metadata::MetadataCollector;
use encoding_rs::{Encoding, UTF_8};
use page::PageLinks;
use scan::LinkScanner;
use std::io::{self, Read};

/// Number of bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Maximum depth of documents inside documents: `noscript`, `noframes` and `srcdoc`.
const MAX_DOCUMENT_DEPTH: usize = 2;

/// What is known of a page besides its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtmlContext {
    /// The encoding that the header names.
    pub(super) charset: Option<&'static Encoding>,
    /// Whether browsers request an icon if the page names none: on the front page of a site.
    pub(super) wants_icon: bool,
}

/// Emits all links of a page.
pub(super) fn links(
    reader: impl Read,
    surroundings: HtmlContext,
    emitter: &mut LinkEmitter<'_>,
    metadata: &mut MetadataCollector,
) -> io::Result<()> {
    let source = PeekedBody::open(reader)?;
    let known = source.mark().or(surroundings.charset);
    let mut page = PageLinks::new(emitter, metadata, Some(0));
    let encoding = known.unwrap_or(UTF_8);
    if encoding.is_ascii_compatible() {
        stream(source.into_reader(), LinkScanner::new(encoding, known.is_none()), &mut page)?;
    } else {
        page.offset = None;
        stream(Transcoder::new(source.into_reader(), encoding), LinkScanner::new(UTF_8, false), &mut page)?;
    }
    let has_icon = page.has_icon;
    if surroundings.wants_icon && !has_icon {
        emitter.emit(RawLink::new("/favicon.ico", LinkPlace::Implied, LinkRole::Embed));
    }
    Ok(())
}

/// Reads a document inside a page, with the base of that page.
fn inner_document(
    text: &str,
    offset: Option<u64>,
    depth: usize,
    emitter: &mut LinkEmitter<'_>,
    metadata: &mut MetadataCollector,
) {
    if depth > MAX_DOCUMENT_DEPTH {
        emitter.report.cut += 1;
        return;
    }
    let mut page = PageLinks::new(emitter, metadata, offset);
    page.has_base = true;
    page.depth = depth;
    LinkScanner::new(UTF_8, false).feed(text.as_bytes(), 0, true, &mut page);
    page.end(UTF_8);
}

/// Reads all of a page.
fn stream(mut reader: impl Read, mut scanner: LinkScanner, page: &mut PageLinks<'_, '_>) -> io::Result<()> {
    let most = page.emitter.limits.memory.max(READ_BYTES);
    let mut buffer = Vec::with_capacity(READ_BYTES);
    let mut at = 0;
    loop {
        // An unfinished token is read again with twice as many bytes.
        let wanted = (buffer.len() * 2).clamp(READ_BYTES, most) - buffer.len();
        let read = reader.by_ref().take(wanted as u64).read_to_end(&mut buffer)?;
        let last = read < wanted;
        let taken = scanner.feed(&buffer, at, last, page);
        at += taken as u64;
        buffer.drain(..taken);
        if last || page.emitter.is_full() {
            page.end(scanner.encoding());
            return Ok(());
        }
        if buffer.len() >= most {
            page.emitter.report.cut += 1;
            at += buffer.len() as u64;
            buffer.clear();
            scanner.skip_unfinished();
        }
    }
}
