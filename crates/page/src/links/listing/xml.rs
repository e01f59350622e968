//! Reads a listing in XML, one event at a time.
//!
//! Mismatched names, bare ampersands, unknown entities and missing namespaces are accepted. Depth
//! and the length of a token are limited.

use super::ListingSyntax;
use super::item::{ListingItem, PendingLink};
use super::rules::{attribute_role, is_item, link_role, text_role};
use crate::links::emit::{LinkEmitter, RawLink, trim};
use crate::links::link::{LinkPlace, LinkRole, LinkStop};
use quick_xml::Reader;
use quick_xml::escape::resolve_html5_entity;
use quick_xml::events::{BytesPI, BytesRef, BytesStart, Event};
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Maximum depth of elements.
const MAX_XML_DEPTH: usize = 256;

/// Emits all links of the document. `offset` is its offset in the body, if offsets are known.
pub(super) fn links(
    reader: impl BufRead,
    offset: Option<u64>,
    expected: ListingSyntax,
    emitter: &mut LinkEmitter<'_>,
) -> io::Result<()> {
    let guard = TokenLimit { reader, since: Rc::default(), most: emitter.limits.inline };
    let since = Rc::clone(&guard.since);
    let mut reader = Reader::from_reader(guard);
    let settings = reader.config_mut();
    settings.check_end_names = false;
    settings.allow_unmatched_ends = true;
    settings.allow_dangling_amp = true;
    let mut document = ListingReader { expected, ..ListingReader::default() };
    let mut buffer = Vec::new();
    while !emitter.is_full() {
        since.set(0);
        buffer.clear();
        let at = offset.map(|offset| offset + reader.buffer_position());
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => break,
            Ok(event) if document.event(&event, at, emitter) => {}
            Err(quick_xml::Error::Io(error)) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(io::Error::new(error.kind(), error.to_string()));
            }
            Ok(_) | Err(_) => {
                emitter.report.stopped.get_or_insert(LinkStop::Malformed);
                break;
            }
        }
    }
    document.item.end(emitter);
    Ok(())
}

/// Fails when a token is too long.
struct TokenLimit<R> {
    reader: R,
    /// Number of bytes since the last token.
    since: Rc<Cell<usize>>,
    most: usize,
}

impl<R: BufRead> Read for TokenLimit<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for TokenLimit<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.since.get() > self.most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "token without end"));
        }
        self.reader.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.since.set(self.since.get() + length);
        self.reader.consume(length);
    }
}

/// The state of reading a document.
struct ListingReader {
    expected: ListingSyntax,
    /// The names of the elements around, outermost first, without prefix and in lower case.
    path: Vec<String>,
    /// The text of the innermost element, and its offset.
    text: String,
    text_at: Option<u64>,
    is_permalink: bool,
    item: ListingItem,
}

impl Default for ListingReader {
    fn default() -> Self {
        Self {
            expected: ListingSyntax::List,
            path: Vec::new(),
            text: String::new(),
            text_at: None,
            is_permalink: true,
            item: ListingItem::default(),
        }
    }
}

impl ListingReader {
    /// Takes one event, and returns whether to go on.
    fn event(&mut self, event: &Event<'_>, at: Option<u64>, emitter: &mut LinkEmitter<'_>) -> bool {
        match event {
            Event::Start(tag) => {
                let name = local_name(tag);
                self.attributes(&name, tag, at, emitter);
                return self.enter(name, emitter);
            }
            Event::Empty(tag) => self.attributes(&local_name(tag), tag, at, emitter),
            Event::End(_) => self.leave(emitter),
            Event::Text(text) => self.add_text(&String::from_utf8_lossy(text), at, emitter),
            Event::CData(text) => self.add_text(&String::from_utf8_lossy(text), at, emitter),
            Event::GeneralRef(reference) => self.add_text(&resolved(reference), at, emitter),
            Event::PI(instruction) => style_sheet(instruction, at, emitter),
            _ => {}
        }
        true
    }

    /// Enters an element. An HTML page is no listing.
    fn enter(&mut self, name: String, emitter: &mut LinkEmitter<'_>) -> bool {
        let is_page = self.path.is_empty() && name == "html" && self.expected == ListingSyntax::List;
        if is_page || self.path.len() >= MAX_XML_DEPTH {
            return false;
        }
        self.text.clear();
        self.text_at = None;
        if is_item(&name) {
            self.item.end(emitter);
        }
        self.path.push(name);
        true
    }

    fn leave(&mut self, emitter: &mut LinkEmitter<'_>) {
        let Some(name) = self.path.pop() else { return };
        let parent = self.path.last().map_or("", String::as_str);
        let text = std::mem::take(&mut self.text);
        match name.as_str() {
            _ if trim(&text).is_empty() => {}
            "title" if is_item(parent) => self.item.title = text,
            "guid" => self.item.guid = Some((text, self.is_permalink, self.text_at)),
            _ => {
                if let Some(role) = text_role(parent, &name) {
                    self.item.push(PendingLink::text(&text, &name, role, self.text_at), emitter);
                }
            }
        }
        self.text_at = None;
        if is_item(&name) {
            self.item.end(emitter);
        }
    }

    fn add_text(&mut self, text: &str, at: Option<u64>, emitter: &mut LinkEmitter<'_>) {
        let room = emitter.limits.reference.saturating_add(1).saturating_sub(self.text.len());
        if self.text.is_empty() {
            self.text_at = at;
        }
        // White space before an address does not count.
        let text = if self.text.is_empty() { text.trim_start() } else { text };
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn attributes(
        &mut self,
        name: &str,
        tag: &BytesStart<'_>,
        at: Option<u64>,
        emitter: &mut LinkEmitter<'_>,
    ) {
        let parent = self.path.last().map_or("", String::as_str).to_owned();
        if name == "guid" {
            let says = attribute(tag, "ispermalink");
            self.is_permalink = !says.is_some_and(|says| says.eq_ignore_ascii_case("false"));
        }
        if name == "link"
            && let Some(reference) = attribute(tag, "href")
            && let Some(role) = link_role(
                &parent,
                &attribute(tag, "rel").unwrap_or_default(),
                &attribute(tag, "type").unwrap_or_default(),
            )
        {
            self.item.push(PendingLink::attribute(&reference, (name, "href"), role, at), emitter);
        }
        for (attribute_name, role) in attribute_role(&parent, name) {
            if let Some(reference) = attribute(tag, attribute_name) {
                self.item
                    .push(PendingLink::attribute(&reference, (name, attribute_name), *role, at), emitter);
            }
        }
    }
}

/// The value of an attribute, compared without prefix and case.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.html_attributes();
    attributes.with_checks(false);
    let found = attributes
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref().eq_ignore_ascii_case(name.as_bytes()))?;
    let value = String::from_utf8_lossy(&found.value);
    Some(crate::tokenizer::decode_references(&value).into_owned())
}

fn local_name(tag: &BytesStart<'_>) -> String {
    String::from_utf8_lossy(tag.local_name().as_ref()).to_ascii_lowercase()
}

/// The text of an entity, or the entity itself if it is unknown.
fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    let name = String::from_utf8_lossy(reference);
    resolve_html5_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned)
}

/// `<?xml-stylesheet href="…"?>`
fn style_sheet(instruction: &BytesPI<'_>, at: Option<u64>, emitter: &mut LinkEmitter<'_>) {
    if instruction.target() != b"xml-stylesheet" {
        return;
    }
    for attribute in instruction.attributes().flatten().filter(|attribute| attribute.key.as_ref() == b"href")
    {
        let value = String::from_utf8_lossy(&attribute.value);
        let place = LinkPlace::Attribute { element: "?xml-stylesheet".into(), attribute: "href".into() };
        emitter
            .emit(RawLink::new(&crate::tokenizer::decode_references(&value), place, LinkRole::Embed).at(at));
    }
}
