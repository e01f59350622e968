//! Links of an HTML page, found while it streams by.
//!
//! The tokenizer keeps no more than one tag in memory, and the depth of what is open. Where a page needs more than
//! its share, say for an attribute of megabytes without end, it is taken up again behind that place: what is lost
//! is that tag. Markup that a browser would read in two ways is read in one, and never refused.

mod page;
mod rules;
mod tag;

use super::emit::{Emitter, Found};
use super::link::{Place, Role};
use super::source::{Source, Transcoder};
use crate::metadata::Collector;
use encoding_rs::{Encoding, UTF_8};
use lol_html::html_content::{Element, TextChunk};
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HtmlRewriter, MemorySettings, Selector, Settings,
};
use page::Page;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Read};
use tag::Tag;

/// How deep documents inside documents are read: `noscript` and `srcdoc`.
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
    match known.unwrap_or(UTF_8).try_into() {
        Ok(encoding) => stream(source.into_reader(), encoding, known.is_none(), &mut page)?,
        Err(()) => {
            let reader = Transcoder::new(source.into_reader(), known.unwrap_or(UTF_8));
            page.offset = None;
            stream(reader, AsciiCompatibleEncoding::utf_8(), false, &mut page)?;
        }
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
    let read = stream(text.as_bytes(), AsciiCompatibleEncoding::utf_8(), false, &mut page);
    debug_assert!(read.is_ok(), "a text in memory can be read");
}

/// Reads all of a page.
fn stream(
    reader: impl Read,
    encoding: AsciiCompatibleEncoding,
    adjust: bool,
    page: &mut Page<'_, '_>,
) -> io::Result<()> {
    let buffer = vec![0; if page.depth == 0 { 32 << 10 } else { 4 << 10 }];
    let mut pieces = Pieces { reader, buffer, held: 0, total: 0 };
    let start = page.offset;
    loop {
        // Positions count from where this attempt began.
        page.offset = start.map(|start| start + pieces.total);
        let ended = attempt(&mut pieces, encoding, adjust, page)?;
        page.end_raw_text();
        page.end_anchor();
        if ended || page.emitter.is_full() {
            return Ok(());
        }
        page.emitter.report.cut += 1;
    }
}

/// A body in pieces, of which the last can be read once more.
struct Pieces<R> {
    reader: R,
    buffer: Vec<u8>,
    /// How much of the buffer is to be read once more.
    held: usize,
    /// How much was read for good.
    total: u64,
}

impl<R: Read> Pieces<R> {
    fn next(&mut self) -> io::Result<&[u8]> {
        let length = match std::mem::take(&mut self.held) {
            0 => self.reader.read(&mut self.buffer)?,
            held => held,
        };
        self.total += length as u64;
        Ok(&self.buffer[..length])
    }

    /// Gives back a piece, to be read once more.
    fn hold(&mut self, length: usize) {
        self.held = length;
        self.total -= length as u64;
    }
}

/// Reads a page to its end, or to where it needs too much memory. Says whether that was the end.
fn attempt(
    pieces: &mut Pieces<impl Read>,
    encoding: AsciiCompatibleEncoding,
    adjust: bool,
    page: &mut Page<'_, '_>,
) -> io::Result<bool> {
    let shared = RefCell::new(page);
    let mut rewriter = HtmlRewriter::new(settings(&shared, encoding, adjust), |_: &[u8]| {});
    let mut is_first = true;
    loop {
        let piece = pieces.next()?;
        if piece.is_empty() {
            // The end can only fail by what was cut before; nothing more is to be read either way.
            let _ = rewriter.end();
            return Ok(true);
        }
        let length = piece.len();
        if rewriter.write(piece).is_err() {
            // The endless tag may have ended in this piece: the next attempt begins with it, unless this one did.
            if !is_first {
                pieces.hold(length);
            }
            return Ok(false);
        }
        is_first = false;
    }
}

/// The page was handed over as far as anybody wants.
#[derive(Debug, thiserror::Error)]
#[error("enough links")]
struct Enough;

fn settings<'h, 'q: 'h, 'p: 'q, 's: 'p>(
    page: &'h RefCell<&'q mut Page<'p, 's>>,
    encoding: AsciiCompatibleEncoding,
    adjust: bool,
) -> Settings<'h, 'static> {
    let limits = page.borrow().emitter.limits;
    let memory = MemorySettings::new()
        .with_preallocated_parsing_buffer_size(1024.min(limits.memory))
        .with_max_allowed_memory_usage(limits.memory);
    let tags = move |element: &mut Element<'_, '_>| {
        let in_svg = element.namespace_uri().ends_with("svg");
        let mut page = page.borrow_mut();
        page.tag(&Tag::read(element, limits.inline), in_svg);
        if page.emitter.is_full() { Err(Enough.into()) } else { Ok(()) }
    };
    let raw = move |text: &mut TextChunk<'_>| {
        let mut page = page.borrow_mut();
        page.raw_text(text.as_str(), text.source_location().bytes().start as u64);
        if text.last_in_text_node() {
            page.end_raw_text();
        }
        Ok(())
    };
    let anchors = move |text: &mut TextChunk<'_>| {
        page.borrow_mut().anchor_text(text.as_str());
        Ok(())
    };
    Settings::new()
        .with_encoding(encoding)
        .with_adjust_charset_on_meta_tag(adjust)
        .with_strict(false)
        .with_memory_settings(memory)
        .append_element_content_handler((selector("*"), ElementContentHandlers::default().element(tags)))
        .append_element_content_handler((
            selector("script, style, noscript, title"),
            ElementContentHandlers::default().text(raw),
        ))
        .append_element_content_handler((selector("a"), ElementContentHandlers::default().text(anchors)))
}

fn selector(text: &str) -> Cow<'static, Selector> {
    Cow::Owned(text.parse().expect("the selector is written here"))
}
