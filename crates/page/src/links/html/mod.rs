//! Links of an HTML page, found while it streams by.
//!
//! No more than one tag is kept in memory. Where a page needs more than its share, say for an attribute of megabytes
//! without end, it is taken up again behind that place: what is lost is that tag. Markup that a browser would read in two
//! ways is read in one, and never refused.
//!
//! The scanner is our own because a page is scanned for each capture: libraries that read HTML also build trees, match
//! selectors or prepare to rewrite, which costs several times what finding the tags does.
//!
//! | file | knows |
//! | --- | --- |
//! | `scan` | where tags and texts begin and end |
//! | `raw`, `foreign` | texts without tags, and drawings, in which other rules hold |
//! | `tag` | what stands in a tag |
//! | `page`, `rules` | what it means |

#[cfg(test)]
mod differential;
mod foreign;
mod page;
mod raw;
mod rules;
mod scan;
mod tag;

use super::emit::{Emitter, Found};
use super::link::{Place, Role};
use super::source::{Source, Transcoder};
use crate::metadata::Collector;
use encoding_rs::{Encoding, UTF_8};
use page::Page;
use scan::Scanner;
use std::io::{self, Read};

/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// How deep documents inside documents are read: `noscript`, `noframes` and `srcdoc`.
const DEEPEST: usize = 2;

/// What a page says by being there, besides its tags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    /// The encoding that the header names.
    pub(super) charset: Option<&'static Encoding>,
    /// Whether browsers would ask for an icon if the page names none: for the front page of a site.
    pub(super) wants_icon: bool,
}

/// Hands over all links of a page.
pub(super) fn links(
    reader: impl Read,
    surroundings: Surroundings,
    emitter: &mut Emitter<'_>,
    metadata: &mut Collector,
) -> io::Result<()> {
    let source = Source::open(reader)?;
    let known = source.mark().or(surroundings.charset);
    let mut page = Page::new(emitter, metadata, Some(0));
    let encoding = known.unwrap_or(UTF_8);
    if encoding.is_ascii_compatible() {
        stream(source.into_reader(), Scanner::new(encoding, known.is_none()), &mut page)?;
    } else {
        page.offset = None;
        stream(Transcoder::new(source.into_reader(), encoding), Scanner::new(UTF_8, false), &mut page)?;
    }
    let has_icon = page.has_icon;
    if surroundings.wants_icon && !has_icon {
        emitter.emit(Found::new("/favicon.ico", Place::Implied, Role::Embed));
    }
    Ok(())
}

/// Reads a document that stands inside a page, and those inside it. It has the base of the page around it.
fn inner_document(
    text: &str,
    offset: Option<u64>,
    depth: usize,
    emitter: &mut Emitter<'_>,
    metadata: &mut Collector,
) {
    if depth > DEEPEST {
        emitter.report.cut += 1;
        return;
    }
    let mut page = Page::new(emitter, metadata, offset);
    page.has_base = true;
    page.depth = depth;
    Scanner::new(UTF_8, false).feed(text.as_bytes(), 0, true, &mut page);
    page.end(UTF_8);
}

/// Reads all of a page.
fn stream(mut reader: impl Read, mut scanner: Scanner, page: &mut Page<'_, '_>) -> io::Result<()> {
    let most = page.emitter.limits.memory.max(PIECE);
    let mut buffer = Vec::with_capacity(PIECE);
    let mut at = 0;
    loop {
        // What makes no sense yet is looked at again when there is twice as much of it.
        let wanted = (buffer.len() * 2).clamp(PIECE, most) - buffer.len();
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
            scanner.give_up();
        }
    }
}
