//! Rewrites the links of pages, as a stream.
//!
//! One tag and the text of one `<style>` are in memory at a time. A page that needs more memory is
//! rewritten up to that point and copied from there on: its relative links still work, and the
//! Content-Security-Policy of replay blocks the others.

use super::rules::{Treatment, may_speak, treatment};
use super::{LinkRewriter, css};
use crate::links::source::Transcoder;
use crate::tokenizer::decode_references;
use encoding_rs::{Encoding, UTF_8};
use lol_html::html_content::{ContentType, TextChunk};
use lol_html::send::{Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{AsciiCompatibleEncoding, MemorySettings, Selector};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum memory for one page: enough for a tag with an inlined image.
const MAX_PAGE_MEMORY: usize = 8 << 20;
/// Maximum length of the text of one `<style>`.
const MAX_STYLE_BYTES: usize = 4 << 20;
/// Maximum depth of documents in attributes.
const MAX_DOCUMENT_DEPTH: usize = 2;
/// Number of bytes that are read at a time.
const READ_BYTES: usize = 32 << 10;

/// Options of rewriting a page.
pub struct HtmlRewrite {
    /// Rewrites its links.
    pub links: LinkRewriter,
    /// Its encoding. An encoding that does not extend ASCII is converted to UTF-8.
    pub encoding: &'static Encoding,
    /// Markup that is inserted before everything else, also in documents inside attributes.
    pub first: Option<FirstMarkup>,
    /// Where the page is shown.
    pub shown_in: ShownIn,
}

/// Markup that comes first in a document.
#[derive(Debug, Clone)]
pub enum FirstMarkup {
    /// Inserted into the head of an HTML document, or before its first element.
    InHead(String),
    /// Inserted at the beginning of the root element, as an XML document needs it.
    InRoot(String),
}

/// Where a rewritten page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownIn {
    /// In replay, with links that are the same on every page.
    Replay,
    /// In a file, with links relative to it. It has no `<base>`, and no `crossorigin`, which no file
    /// can satisfy.
    File,
}

/// Writes the page in `input` with other links, and returns the encoding of the output.
pub fn html(input: impl Read, page: HtmlRewrite, output: &mut dyn Write) -> io::Result<&'static Encoding> {
    let written = if page.encoding.is_ascii_compatible() { page.encoding } else { UTF_8 };
    RewrittenHtml::new(input, page).try_for_each(|chunk| output.write_all(&chunk?))?;
    Ok(written)
}

/// A page with other links, as an iterator of chunks.
pub struct RewrittenHtml<R> {
    input: HtmlInput<R>,
    piece: Vec<u8>,
    /// `None` at the end of the page, or after the memory limit: the rest is copied.
    rewriter: Option<HtmlRewriter<'static, ChunkSink>>,
    /// Output of the rewriter that was not taken yet.
    output: Arc<Mutex<Vec<u8>>>,
    ended: bool,
}

type ChunkSink = Box<dyn FnMut(&[u8]) + Send>;

enum HtmlInput<R> {
    Plain(R),
    Transcoded(Transcoder<R>),
}

impl<R: Read> RewrittenHtml<R> {
    /// Starts to rewrite the page in `input`.
    pub fn new(input: R, page: HtmlRewrite) -> Self {
        let HtmlRewrite { links, encoding, first, shown_in } = page;
        let work = RewriteState {
            links,
            pending: first.clone(),
            first,
            style: String::new(),
            passing: false,
            has_base: false,
            depth: 0,
            shown_in,
        };
        match encoding.try_into() {
            Ok(compatible) => Self::start(HtmlInput::Plain(input), compatible, work),
            Err(()) => {
                let input = HtmlInput::Transcoded(Transcoder::new(input, encoding));
                Self::start(input, AsciiCompatibleEncoding::utf_8(), work)
            }
        }
    }

    fn start(input: HtmlInput<R>, encoding: AsciiCompatibleEncoding, work: RewriteState) -> Self {
        let output = Arc::new(Mutex::new(Vec::with_capacity(READ_BYTES)));
        let sink = Arc::clone(&output);
        let sink: ChunkSink = Box::new(move |bytes| lock(&sink).extend_from_slice(bytes));
        let rewriter = HtmlRewriter::new(settings(&Arc::new(Mutex::new(work)), encoding), sink);
        Self { input, piece: vec![0; READ_BYTES], rewriter: Some(rewriter), output, ended: false }
    }

    /// Reads the next piece of the page and rewrites it. The output may be empty.
    fn advance(&mut self) -> io::Result<Vec<u8>> {
        let length = match &mut self.input {
            HtmlInput::Plain(input) => input.read(&mut self.piece),
            HtmlInput::Transcoded(input) => input.read(&mut self.piece),
        };
        let length = match length {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        self.ended = length == 0;
        if self.ended {
            // The end fails only if the page reached its limit before.
            let _ = self.rewriter.take().map(HtmlRewriter::end);
            return Ok(self.take_output());
        }
        let Some(rewriter) = &mut self.rewriter else { return Ok(self.piece[..length].to_vec()) };
        if rewriter.write(&self.piece[..length]).is_err() {
            // The input so far was copied, and so is the rest.
            self.rewriter = None;
        }
        Ok(self.take_output())
    }

    fn take_output(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(&self.output))
    }
}

impl<R: Read> Iterator for RewrittenHtml<R> {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.advance() {
                Ok(chunk) if chunk.is_empty() => {}
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                chunk => return Some(chunk),
            }
        }
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of rewriting a page.
struct RewriteState {
    links: LinkRewriter,
    /// Markup that comes first in the document and in each document inside it.
    first: Option<FirstMarkup>,
    /// That markup, until it is inserted.
    pending: Option<FirstMarkup>,
    /// The text of the current `<style>`.
    style: String,
    /// Whether that text is too long and is copied.
    passing: bool,
    has_base: bool,
    depth: usize,
    shown_in: ShownIn,
}

fn settings(
    work: &Arc<Mutex<RewriteState>>,
    encoding: AsciiCompatibleEncoding,
) -> Settings<'static, 'static> {
    let memory = MemorySettings::new()
        .with_preallocated_parsing_buffer_size(1024)
        .with_max_allowed_memory_usage(MAX_PAGE_MEMORY);
    let [for_tags, for_styles, for_bailing] = [(); 3].map(|()| Arc::clone(work));
    let tags = move |element: &mut Element<'_, '_>| {
        lock(&for_tags).tag(element);
        Ok(())
    };
    let styles = move |text: &mut TextChunk<'_>| {
        lock(&for_styles).style_text(text);
        Ok(())
    };
    let bailing = move |_: &lol_html::errors::RewritingError,
                        out: &mut lol_html::html_content::BailOut<'_>| {
        out.append(&std::mem::take(&mut lock(&for_bailing).style), ContentType::Html);
    };
    Settings::new_send()
        .with_encoding(encoding)
        .with_strict(false)
        .with_memory_settings(memory.with_graceful_bail_out_on_memory_limit_exceeded(true))
        .append_bail_out_handler(bailing)
        .append_element_content_handler((selector("*"), ElementContentHandlers::default().element(tags)))
        .append_element_content_handler((selector("style"), ElementContentHandlers::default().text(styles)))
}

fn selector(text: &str) -> Cow<'static, Selector> {
    Cow::Owned(text.parse().expect("the selector is written here"))
}

impl RewriteState {
    fn tag(&mut self, element: &mut Element<'_, '_>) {
        let name = element.tag_name();
        self.put_first(&name, element);
        match name.as_str() {
            "base" => return self.base(element),
            "meta" => return self.meta(element),
            "script" => speculation(element),
            _ => {}
        }
        let mut changes: Vec<(String, Option<String>)> = Vec::new();
        for attribute in element.attributes() {
            let attribute_name = attribute.name();
            let how = match self.shown_in {
                ShownIn::File if attribute_name == "crossorigin" => Treatment::Gone,
                _ => treatment(&name, &attribute_name),
            };
            if how == Treatment::Kept {
                continue;
            }
            let value = attribute.value();
            match self.rewritten(how, &decode_references(&value)) {
                AttributeChange::None => {}
                AttributeChange::Gone => changes.push((attribute_name, None)),
                AttributeChange::Other(text) => changes.push((attribute_name, Some(text))),
            }
        }
        for (name, value) in changes {
            match value {
                Some(value) => set(element, &name, &value),
                None => element.remove_attribute(&name),
            }
        }
    }

    fn rewritten(&self, how: Treatment, value: &str) -> AttributeChange {
        let changed = |text: Cow<'_, str>| match text {
            Cow::Borrowed(_) => AttributeChange::None,
            Cow::Owned(text) => AttributeChange::Other(text),
        };
        match how {
            Treatment::One => self.links.leads(value).map_or(AttributeChange::None, AttributeChange::Other),
            Treatment::Set => changed(self.links.set(value)),
            Treatment::Style => changed(css(value, &self.links)),
            Treatment::Document => self.document(value).map_or(AttributeChange::None, AttributeChange::Other),
            Treatment::Gone => AttributeChange::Gone,
            Treatment::Kept => AttributeChange::None,
        }
    }

    /// A document inside an attribute.
    fn document(&self, text: &str) -> Option<String> {
        if self.depth >= MAX_DOCUMENT_DEPTH {
            return None;
        }
        let links = LinkRewriter { base: self.links.base.clone(), to: Arc::clone(&self.links.to) };
        let depth = self.depth + 1;
        // In a file it is about the encoding, which an attribute has not.
        let first = self.first.clone().filter(|_| self.shown_in == ShownIn::Replay);
        let inner = RewriteState {
            links,
            pending: first.clone(),
            first,
            style: String::new(),
            passing: false,
            has_base: false,
            depth,
            shown_in: self.shown_in,
        };
        let input = HtmlInput::Plain(text.as_bytes());
        let chunks = RewrittenHtml::start(input, AsciiCompatibleEncoding::utf_8(), inner);
        let output: Vec<Vec<u8>> = chunks.collect::<io::Result<_>>().ok()?;
        String::from_utf8(output.concat()).ok()
    }

    /// Inserts the markup that must come first.
    fn put_first(&mut self, name: &str, element: &mut Element<'_, '_>) {
        match &self.pending {
            None => return,
            Some(FirstMarkup::InHead(_)) if name == "html" => return,
            Some(FirstMarkup::InHead(markup)) if name != "head" => {
                element.before(markup, ContentType::Html);
            }
            Some(FirstMarkup::InHead(markup) | FirstMarkup::InRoot(markup)) => {
                element.prepend(markup, ContentType::Html);
            }
        }
        self.pending = None;
    }

    /// Only the first `base` counts.
    fn base(&mut self, element: &mut Element<'_, '_>) {
        let Some(href) = element.get_attribute("href") else { return };
        let href = decode_references(&href);
        if self.has_base {
            return element.remove_attribute("href");
        }
        self.has_base = true;
        match self.links.leads(&href).filter(|_| self.shown_in == ShownIn::Replay) {
            Some(link) => set(element, "href", &link),
            None => element.remove_attribute("href"),
        }
        self.links.set_base(&href);
    }

    fn meta(&self, element: &mut Element<'_, '_>) {
        let text = |element: &Element<'_, '_>, name: &str| {
            element
                .get_attribute(name)
                .map(|value| decode_references(&value).into_owned())
                .unwrap_or_default()
        };
        if text(element, "name").trim().eq_ignore_ascii_case("referrer") {
            return set(element, "content", "same-origin");
        }
        let equivalent = text(element, "http-equiv");
        let equivalent = equivalent.trim();
        if equivalent.eq_ignore_ascii_case("refresh") {
            if let Some(content) = self.links.refresh(&text(element, "content")) {
                set(element, "content", &content);
            }
        } else if !equivalent.is_empty() && !may_speak(equivalent) {
            set(element, "http-equiv", "x-archive-orig");
        }
    }

    fn style_text(&mut self, text: &mut TextChunk<'_>) {
        if self.passing {
            self.passing = !text.last_in_text_node();
            return;
        }
        self.style.push_str(text.as_str());
        if text.last_in_text_node() {
            let style = std::mem::take(&mut self.style);
            text.replace(&css(&style, &self.links), ContentType::Html);
        } else if self.style.len() > MAX_STYLE_BYTES {
            self.passing = true;
            text.replace(&std::mem::take(&mut self.style), ContentType::Html);
        } else {
            text.remove();
        }
    }
}

/// What is done with an attribute.
enum AttributeChange {
    None,
    Gone,
    Other(String),
}

/// Attributes that make a browser fetch in advance.
fn speculation(element: &mut Element<'_, '_>) {
    let kind = element.get_attribute("type").unwrap_or_default();
    if kind.trim().eq_ignore_ascii_case("speculationrules") {
        set(element, "type", "x-archive-orig");
    }
}

/// Sets an attribute to a text.
fn set(element: &mut Element<'_, '_>, name: &str, value: &str) {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    // A name that was read can be written. If it is refused, the attribute stays.
    let _ = element.set_attribute(name, &value);
}
