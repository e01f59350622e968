//! Finds the links in the tags of a page.
//!
//! An anchor is held back until its text is complete. All other links are emitted at once.

use super::rules::{AttributeReading, is_image, reading, title_attributes};
use super::tag::{LinkAttribute, LinkTag, decode};
use crate::links::emit::{LinkEmitter, RawLink, is_web, trim};
use crate::links::javascript::{self, ImportMap};
use crate::links::json::{self, Dialect};
use crate::links::kind::is_javascript;
use crate::links::link::{LinkPlace, LinkRole};
use crate::links::relation::{Relation, looks_embedded};
use crate::links::{css, refresh, script, srcset};
use crate::metadata::MetadataCollector;
use crate::tokenizer::decode_references;
use encoding_rs::Encoding;
use std::borrow::Cow;
use varve_core::url::Base;

/// An element whose text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextContent {
    Script,
    /// A module, or a script of a less usual type. Strings in it are no guesses, as in Crystal.
    Module,
    ImportMap,
    LinkedData,
    Style,
    Title,
    /// `noscript` and `noframes`.
    Fallback,
}

/// The text of such an element, as written.
#[derive(Debug)]
struct PendingText {
    kind: TextContent,
    bytes: Vec<u8>,
    offset: Option<u64>,
}

/// An anchor that is held back. There is one at a time, and its buffers are reused.
#[derive(Debug, Default)]
struct PendingAnchor {
    /// Whether an anchor is held back.
    waits: bool,
    /// Whether its text is being read.
    is_open: bool,
    reference: String,
    offset: Option<u64>,
    nofollow: bool,
    text: Vec<u8>,
}

/// End tags that end the text of an anchor.
const ANCHOR_END_TAGS: [&str; 14] =
    ["a", "p", "div", "li", "ul", "ol", "td", "th", "tr", "table", "dd", "dt", "section", "body"];

/// The state of reading a page.
pub(super) struct PageLinks<'p, 's> {
    pub(super) emitter: &'p mut LinkEmitter<'s>,
    pub(super) metadata: &'p mut MetadataCollector,
    /// The offset of this document in the body, if offsets are known.
    pub(super) offset: Option<u64>,
    raw: Option<PendingText>,
    anchor: PendingAnchor,
    pub(super) has_base: bool,
    pub(super) has_icon: bool,
    /// The import maps of the page so far.
    imports: ImportMap,
    /// Whether the current form has another method than `GET`.
    posts: bool,
    /// Number of documents around this one.
    pub(super) depth: usize,
}

/// Whether a form method is `GET`, which is the default.
fn is_get(method: &str) -> bool {
    let method = method.trim();
    method.is_empty() || method.eq_ignore_ascii_case("get")
}

impl<'p, 's> PageLinks<'p, 's> {
    pub(super) fn new(
        emitter: &'p mut LinkEmitter<'s>,
        metadata: &'p mut MetadataCollector,
        offset: Option<u64>,
    ) -> Self {
        Self {
            emitter,
            metadata,
            offset,
            raw: None,
            anchor: PendingAnchor::default(),
            has_base: false,
            has_icon: false,
            imports: ImportMap::default(),
            posts: false,
            depth: 0,
        }
    }

    fn at(&self, offset: u64) -> Option<u64> {
        self.offset.map(|start| start + offset)
    }

    /// Takes a start tag.
    pub(super) fn start_tag(&mut self, tag: &LinkTag<'_>, in_svg: bool, encoding: &'static Encoding) {
        self.end_raw_text(encoding);
        self.emitter.report.cut += tag.skipped;
        self.metadata.tag(&tag.name, |name| tag.text(name));
        self.raw = raw_kind(tag, in_svg).map(|kind| PendingText { kind, bytes: Vec::new(), offset: None });
        match &*tag.name {
            "base" => return self.set_base(tag),
            "link" => self.link(tag),
            "meta" => self.meta(tag),
            "form" => self.form(tag),
            "button" | "input" => self.button(tag),
            "a" | "area" => self.anchor(tag, encoding),
            _ => {}
        }
        for value in &tag.values {
            self.value(tag, value);
        }
    }

    /// Takes the name of an end tag.
    pub(super) fn end_tag(&mut self, name: &[u8], encoding: &'static Encoding) {
        self.end_raw_text(encoding);
        if self.anchor.is_open
            && ANCHOR_END_TAGS.iter().any(|closing| name.eq_ignore_ascii_case(closing.as_bytes()))
        {
            self.anchor.is_open = false;
        }
        if name.eq_ignore_ascii_case(b"form") {
            self.posts = false;
        }
    }

    /// Takes text between tags.
    pub(super) fn text(&mut self, bytes: &[u8], offset: u64) {
        if self.raw.is_some() {
            self.element_text(bytes, offset);
        } else if self.anchor.is_open {
            self.anchor_text(bytes);
        }
    }

    /// Ends the page.
    pub(super) fn end(&mut self, encoding: &'static Encoding) {
        self.end_raw_text(encoding);
        self.end_anchor(encoding);
    }

    /// Takes a `base`. Only the first counts, for the references behind it.
    fn set_base(&mut self, tag: &LinkTag<'_>) {
        let Some(href) = tag.value("href").filter(|_| !self.has_base) else { return };
        self.has_base = true;
        let resolved = self.emitter.base.resolve(trim(&href.text)).ok().filter(|url| is_web(url));
        if let Some(base) = resolved.and_then(|url| Base::parse(&url).ok()) {
            self.emitter.base = base;
        }
    }

    fn link(&mut self, tag: &LinkTag<'_>) {
        let Some(href) = tag.value("href") else { return };
        let relation = Relation {
            rel: tag.text("rel"),
            kind: trim(tag.text("type")),
            loaded_as: trim(tag.text("as")),
            reference: trim(&href.text),
        };
        self.has_icon |= relation.has_icon();
        let Some(role) = relation.role() else { return };
        let title = Some(tag.text("title"));
        let found = RawLink::new(&href.text, place(tag, href), role).titled(title).at(self.at(href.offset));
        self.emitter.emit(found);
    }

    fn meta(&mut self, tag: &LinkTag<'_>) {
        let Some(content) = tag.value("content") else { return };
        let name = if tag.text("property").is_empty() { tag.text("name") } else { tag.text("property") };
        let (reference, role) = if tag.text("http-equiv").trim().eq_ignore_ascii_case("refresh") {
            let Some(target) = refresh::target(&content.text) else { return };
            (target, LinkRole::Redirect)
        } else if is_image(name.trim()) {
            (&*content.text, LinkRole::Embed)
        } else if name.trim().eq_ignore_ascii_case("og:url") {
            (&*content.text, LinkRole::Canonical)
        } else if is_web(trim(&content.text)) {
            return self.absolute(tag, content);
        } else {
            return;
        };
        self.emitter.emit(RawLink::new(reference, place(tag, content), role).at(self.at(content.offset)));
    }

    /// A form with the method `GET` is a link; one with `POST` is not.
    fn form(&mut self, tag: &LinkTag<'_>) {
        self.posts = !is_get(tag.text("method"));
        let Some(action) = tag.value("action").filter(|_| !self.posts) else { return };
        if !trim(&action.text).is_empty() {
            let mut found =
                RawLink::new(&action.text, place(tag, action), LinkRole::Navigate).at(self.at(action.offset));
            found.nofollow = tag.has_word("rel", "nofollow");
            self.emitter.emit(found);
        }
    }

    /// A button may have another address and method than its form.
    fn button(&mut self, tag: &LinkTag<'_>) {
        let Some(action) = tag.value("formaction").filter(|action| !trim(&action.text).is_empty()) else {
            return;
        };
        let kind = trim(tag.text("type"));
        let sends = match &*tag.name {
            "button" => !["button", "reset"].iter().any(|other| kind.eq_ignore_ascii_case(other)),
            _ => ["submit", "image"].iter().any(|sending| kind.eq_ignore_ascii_case(sending)),
        };
        let method = tag.text("formmethod");
        let is_get = if trim(method).is_empty() { !self.posts } else { is_get(method) };
        if sends && is_get {
            let found = RawLink::new(&action.text, place(tag, action), LinkRole::Navigate);
            self.emitter.emit(found.at(self.at(action.offset)));
        }
    }

    fn anchor(&mut self, tag: &LinkTag<'_>, encoding: &'static Encoding) {
        self.end_anchor(encoding);
        let Some(href) = tag.value("href").or_else(|| tag.value("xlink:href")) else { return };
        let nofollow = tag.has_word("rel", "nofollow");
        if tag.name == "area" {
            let title = first_text(tag);
            let mut found = RawLink::new(&href.text, place(tag, href), LinkRole::Navigate).titled(title);
            found.nofollow = nofollow;
            self.emitter.emit(found.at(self.at(href.offset)));
            return;
        }
        let offset = self.at(href.offset);
        let anchor = &mut self.anchor;
        (anchor.waits, anchor.is_open, anchor.nofollow, anchor.offset) = (true, true, nofollow, offset);
        anchor.reference.clear();
        anchor.reference.push_str(&href.text);
        anchor.text.clear();
    }

    /// Emits the anchor that is held back.
    fn end_anchor(&mut self, encoding: &'static Encoding) {
        let anchor = &mut self.anchor;
        anchor.is_open = false;
        if !std::mem::take(&mut anchor.waits) {
            return;
        }
        let place = LinkPlace::Attribute { element: Cow::Borrowed("a"), attribute: Cow::Borrowed("href") };
        let text = decode(&anchor.text, encoding);
        let text = decode_references(&text);
        let mut found =
            RawLink::new(&anchor.reference, place, LinkRole::Navigate).titled(Some(&text)).at(anchor.offset);
        found.nofollow = anchor.nofollow;
        self.emitter.emit(found);
    }

    /// Takes text inside an anchor.
    fn anchor_text(&mut self, bytes: &[u8]) {
        let most = self.emitter.limits.title.saturating_mul(2);
        let text = &mut self.anchor.text;
        let bytes = if text.is_empty() { bytes.trim_ascii_start() } else { bytes };
        let room = most.saturating_sub(text.len());
        text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn value(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>) {
        let is_special = match &*tag.name {
            "link" => value.name == "href",
            "a" | "area" => matches!(&*value.name, "href" | "xlink:href"),
            "meta" => value.name == "content",
            "form" => value.name == "action",
            "button" | "input" => value.name == "formaction",
            _ => false,
        };
        if is_special {
            return;
        }
        let offset = self.at(value.offset);
        match reading(&tag.name, &value.name) {
            AttributeReading::One(role) => self.one(tag, value, role, false),
            AttributeReading::Guess(role) if looks_like_path(&value.text) => self.one(tag, value, role, true),
            AttributeReading::Words(role) => {
                for word in value.text.split_ascii_whitespace().filter(|word| is_web(word)) {
                    self.emitter.emit(RawLink::new(word, place(tag, value), role).at(offset));
                }
            }
            AttributeReading::Set => self.set(tag, value, false),
            AttributeReading::GuessedSet => self.set(tag, value, true),
            AttributeReading::Style => css::links(&value.text, None, |_| place(tag, value), self.emitter),
            AttributeReading::Click => self.click(tag, value),
            AttributeReading::Document => self.inner_document(&value.text, None),
            AttributeReading::Absolute => self.absolute(tag, value),
            AttributeReading::Guess(_) | AttributeReading::Nothing => {}
        }
    }

    fn one(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>, role: LinkRole, guessed: bool) {
        let mut found = RawLink::new(&value.text, place(tag, value), role).titled(first_text(tag));
        found.guessed = guessed;
        self.emitter.emit(found.at(self.at(value.offset)));
    }

    fn set(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>, guessed: bool) {
        for (_, url) in srcset::candidates(&value.text) {
            let mut found = RawLink::new(url, place(tag, value), LinkRole::Embed).titled(first_text(tag));
            found.guessed = guessed;
            self.emitter.emit(found.at(self.at(value.offset)));
        }
    }

    fn click(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>) {
        if let Some(target) = script::click_target(&value.text) {
            let found =
                RawLink::new(target, place(tag, value), LinkRole::Navigate).titled(first_text(tag)).guess();
            self.emitter.emit(found.at(self.at(value.offset)));
        }
    }

    /// Any attribute whose whole value is an address.
    fn absolute(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>) {
        let text = trim(&value.text);
        if is_web(text) && !text.contains(char::is_whitespace) {
            let role = if looks_embedded(text) { LinkRole::Embed } else { LinkRole::Navigate };
            let found = RawLink::new(text, place(tag, value), role).guess();
            self.emitter.emit(found.at(self.at(value.offset)));
        }
    }

    /// Takes text of an element whose text is read.
    pub(super) fn element_text(&mut self, bytes: &[u8], offset: u64) {
        let at = self.at(offset);
        let most = self.emitter.limits.inline;
        let Some(raw) = &mut self.raw else { return };
        raw.offset = raw.offset.or(at);
        let room = most.saturating_sub(raw.bytes.len());
        if room < bytes.len() {
            self.emitter.report.cut += 1;
        }
        raw.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Ends an element whose text is read.
    fn end_raw_text(&mut self, encoding: &'static Encoding) {
        let Some(raw) = self.raw.take().filter(|raw| !raw.bytes.is_empty()) else { return };
        let (text, offset) = (decode(&raw.bytes, encoding), raw.offset);
        match raw.kind {
            TextContent::Script => self.script(&text, offset),
            TextContent::Module => self.module(&text, offset),
            TextContent::ImportMap => self.imports.read(&text, offset, &text_of("script"), self.emitter),
            TextContent::LinkedData => json::inline_links(&text, Dialect::LinkedData, self.emitter, offset),
            TextContent::Style => css::links(&text, offset, |_| text_of("style"), self.emitter),
            TextContent::Title => self.metadata.title(&decode_references(&text)),
            TextContent::Fallback => self.inner_document(&text, offset),
        }
    }

    fn inner_document(&mut self, text: &str, offset: Option<u64>) {
        super::inner_document(text, offset, self.depth + 1, self.emitter, self.metadata);
    }

    fn module(&mut self, text: &str, offset: Option<u64>) {
        javascript::links(text, offset, &text_of("script"), &self.imports, self.emitter);
    }

    fn script(&mut self, text: &str, offset: Option<u64>) {
        self.module(text, offset);
        for (at, address) in script::addresses(text, self.emitter.limits.reference) {
            let role = if looks_embedded(&address) { LinkRole::Embed } else { LinkRole::Navigate };
            let offset = offset.map(|offset| offset + at as u64);
            self.emitter.emit(RawLink::new(&address, text_of("script"), role).guess().at(offset));
        }
    }
}

fn text_of(element: &'static str) -> LinkPlace<'static> {
    LinkPlace::Text { element: Cow::Borrowed(element) }
}

/// The kind of text of an element, if it is read.
fn raw_kind(tag: &LinkTag<'_>, in_svg: bool) -> Option<TextContent> {
    match &*tag.name {
        "style" => Some(TextContent::Style),
        "noscript" | "noframes" => Some(TextContent::Fallback),
        "title" if !in_svg => Some(TextContent::Title),
        "script" => match tag.text("type").split(';').next().unwrap_or("").trim() {
            "" => Some(TextContent::Script),
            kind if kind.eq_ignore_ascii_case("text/javascript") => Some(TextContent::Script),
            kind if is_javascript(kind) || kind.eq_ignore_ascii_case("module") => Some(TextContent::Module),
            kind if kind.eq_ignore_ascii_case("importmap") => Some(TextContent::ImportMap),
            kind if kind.eq_ignore_ascii_case("application/ld+json") => Some(TextContent::LinkedData),
            _ => None,
        },
        _ => None,
    }
}

fn place<'a>(tag: &'a LinkTag, value: &'a LinkAttribute) -> LinkPlace<'a> {
    LinkPlace::Attribute { element: Cow::Borrowed(&tag.name), attribute: Cow::Borrowed(&value.name) }
}

fn first_text<'t>(tag: &'t LinkTag<'_>) -> Option<&'t str> {
    let mut names = title_attributes(&tag.name).iter();
    names.find_map(|name| tag.value(name)).map(|value| &*value.text)
}

/// Whether the value of a non-standard attribute may be a path, and not a number or a word.
fn looks_like_path(text: &str) -> bool {
    let text = trim(text);
    let is_odd = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '<' | '>' | '(' | ')' | '"' | '\'');
    (text.contains('/') || looks_embedded(text)) && !text.contains(is_odd)
}
