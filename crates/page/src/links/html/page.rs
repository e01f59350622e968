//! What is known of a page while its tags go by.
//!
//! It decides what a tag means; the tags themselves are found by [`super`]. An anchor waits for its text until the
//! next one begins, because its text comes after it; everything else is handed over at once.

use super::rules::{Reading, is_image, reading, title_attributes};
use super::tag::{LinkAttribute, LinkTag, decode};
use crate::links::emit::{Emitter, Found, is_web, trim};
use crate::links::json::{self, Dialect};
use crate::links::link::{Place, Role};
use crate::links::relation::{Relation, looks_embedded};
use crate::links::{css, refresh, script, srcset};
use crate::metadata::Collector;
use crate::tokenizer::decode_references;
use encoding_rs::Encoding;
use std::borrow::Cow;
use varve_core::url::Base;

/// An element whose text is read as something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Raw {
    Script,
    LinkedData,
    Style,
    Title,
    /// What is shown where scripts or frames are not.
    Fallback,
}

/// The text of such an element, as it stands.
#[derive(Debug)]
struct RawText {
    kind: Raw,
    bytes: Vec<u8>,
    offset: Option<u64>,
}

/// An anchor that waits for its text. There is one at a time, and its room is used again.
#[derive(Debug, Default)]
struct Anchor {
    /// Whether one waits.
    waits: bool,
    /// Whether its text is going by.
    is_open: bool,
    reference: String,
    offset: Option<u64>,
    nofollow: bool,
    text: Vec<u8>,
}

/// End tags after which an anchor has no more text, whether it was closed or not.
const CLOSING: [&str; 14] =
    ["a", "p", "div", "li", "ul", "ol", "td", "th", "tr", "table", "dd", "dt", "section", "body"];

/// A page that is being read.
pub(super) struct PageLinks<'p, 's> {
    pub(super) emitter: &'p mut Emitter<'s>,
    pub(super) metadata: &'p mut Collector,
    /// Where the text of this page begins in the body, if positions can be told.
    pub(super) offset: Option<u64>,
    raw: Option<RawText>,
    anchor: Anchor,
    pub(super) has_base: bool,
    pub(super) has_icon: bool,
    /// Whether the form around what goes by is sent by another method than `GET`.
    posts: bool,
    /// How many documents are around this one.
    pub(super) depth: usize,
}

/// Whether that is what forms are sent by if nobody says otherwise.
fn is_get(method: &str) -> bool {
    let method = method.trim();
    method.is_empty() || method.eq_ignore_ascii_case("get")
}

impl<'p, 's> PageLinks<'p, 's> {
    pub(super) fn new(
        emitter: &'p mut Emitter<'s>,
        metadata: &'p mut Collector,
        offset: Option<u64>,
    ) -> Self {
        Self {
            emitter,
            metadata,
            offset,
            raw: None,
            anchor: Anchor::default(),
            has_base: false,
            has_icon: false,
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
        self.raw = raw_kind(tag, in_svg).map(|kind| RawText { kind, bytes: Vec::new(), offset: None });
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
        if self.anchor.is_open && CLOSING.iter().any(|closing| name.eq_ignore_ascii_case(closing.as_bytes()))
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

    /// The page is over.
    pub(super) fn end(&mut self, encoding: &'static Encoding) {
        self.end_raw_text(encoding);
        self.end_anchor(encoding);
    }

    /// The first base counts; what came before it was relative to the page.
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
        let found = Found::new(&href.text, place(tag, href), role).titled(title).at(self.at(href.offset));
        self.emitter.emit(found);
    }

    fn meta(&mut self, tag: &LinkTag<'_>) {
        let Some(content) = tag.value("content") else { return };
        let name = if tag.text("property").is_empty() { tag.text("name") } else { tag.text("property") };
        let (reference, role) = if tag.text("http-equiv").trim().eq_ignore_ascii_case("refresh") {
            let Some(target) = refresh::target(&content.text) else { return };
            (target, Role::Redirect)
        } else if is_image(name.trim()) {
            (&*content.text, Role::Embed)
        } else if name.trim().eq_ignore_ascii_case("og:url") {
            (&*content.text, Role::Canonical)
        } else if is_web(trim(&content.text)) {
            return self.absolute(tag, content);
        } else {
            return;
        };
        self.emitter.emit(Found::new(reference, place(tag, content), role).at(self.at(content.offset)));
    }

    /// A form that is sent by `GET` leads somewhere; one that posts does not.
    fn form(&mut self, tag: &LinkTag<'_>) {
        self.posts = !is_get(tag.text("method"));
        let Some(action) = tag.value("action").filter(|_| !self.posts) else { return };
        if !trim(&action.text).is_empty() {
            let mut found =
                Found::new(&action.text, place(tag, action), Role::Navigate).at(self.at(action.offset));
            found.nofollow = tag.has_word("rel", "nofollow");
            self.emitter.emit(found);
        }
    }

    /// A button may send its form elsewhere, and by another method.
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
            let found = Found::new(&action.text, place(tag, action), Role::Navigate);
            self.emitter.emit(found.at(self.at(action.offset)));
        }
    }

    fn anchor(&mut self, tag: &LinkTag<'_>, encoding: &'static Encoding) {
        self.end_anchor(encoding);
        let Some(href) = tag.value("href").or_else(|| tag.value("xlink:href")) else { return };
        let nofollow = tag.has_word("rel", "nofollow");
        if tag.name == "area" {
            let title = first_text(tag);
            let mut found = Found::new(&href.text, place(tag, href), Role::Navigate).titled(title);
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

    /// Hands over the anchor that waits.
    fn end_anchor(&mut self, encoding: &'static Encoding) {
        let anchor = &mut self.anchor;
        anchor.is_open = false;
        if !std::mem::take(&mut anchor.waits) {
            return;
        }
        let place = Place::Attribute { element: Cow::Borrowed("a"), attribute: Cow::Borrowed("href") };
        let text = decode(&anchor.text, encoding);
        let text = decode_references(&text);
        let mut found =
            Found::new(&anchor.reference, place, Role::Navigate).titled(Some(&text)).at(anchor.offset);
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
            Reading::One(role) => self.one(tag, value, role, false),
            Reading::Guess(role) if looks_like_path(&value.text) => self.one(tag, value, role, true),
            Reading::Words(role) => {
                for word in value.text.split_ascii_whitespace().filter(|word| is_web(word)) {
                    self.emitter.emit(Found::new(word, place(tag, value), role).at(offset));
                }
            }
            Reading::Set => self.set(tag, value, false),
            Reading::GuessedSet => self.set(tag, value, true),
            Reading::Style => css::links(&value.text, None, |_| place(tag, value), self.emitter),
            Reading::Click => self.click(tag, value),
            Reading::Document => self.inner_document(&value.text, None),
            Reading::Absolute => self.absolute(tag, value),
            Reading::Guess(_) | Reading::Nothing => {}
        }
    }

    fn one(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>, role: Role, guessed: bool) {
        let mut found = Found::new(&value.text, place(tag, value), role).titled(first_text(tag));
        found.guessed = guessed;
        self.emitter.emit(found.at(self.at(value.offset)));
    }

    fn set(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>, guessed: bool) {
        for (_, url) in srcset::candidates(&value.text) {
            let mut found = Found::new(url, place(tag, value), Role::Embed).titled(first_text(tag));
            found.guessed = guessed;
            self.emitter.emit(found.at(self.at(value.offset)));
        }
    }

    fn click(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>) {
        if let Some(target) = script::click_target(&value.text) {
            let found = Found::new(target, place(tag, value), Role::Navigate).titled(first_text(tag)).guess();
            self.emitter.emit(found.at(self.at(value.offset)));
        }
    }

    /// Any attribute whose whole value is an address.
    fn absolute(&mut self, tag: &LinkTag<'_>, value: &LinkAttribute<'_>) {
        let text = trim(&value.text);
        if is_web(text) && !text.contains(char::is_whitespace) {
            let role = if looks_embedded(text) { Role::Embed } else { Role::Navigate };
            let found = Found::new(text, place(tag, value), role).guess();
            self.emitter.emit(found.at(self.at(value.offset)));
        }
    }

    /// Takes text inside an element whose text is read as something else.
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

    /// The element whose text was read is over.
    fn end_raw_text(&mut self, encoding: &'static Encoding) {
        let Some(raw) = self.raw.take().filter(|raw| !raw.bytes.is_empty()) else { return };
        let (text, offset) = (decode(&raw.bytes, encoding), raw.offset);
        match raw.kind {
            Raw::Script => self.script(&text, offset),
            Raw::LinkedData => json::inline_links(&text, Dialect::LinkedData, self.emitter, offset),
            Raw::Style => css::links(&text, offset, |_| text_of("style"), self.emitter),
            Raw::Title => self.metadata.title(&decode_references(&text)),
            Raw::Fallback => self.inner_document(&text, offset),
        }
    }

    fn inner_document(&mut self, text: &str, offset: Option<u64>) {
        super::inner_document(text, offset, self.depth + 1, self.emitter, self.metadata);
    }

    fn script(&mut self, text: &str, offset: Option<u64>) {
        for (at, address) in script::addresses(text, self.emitter.limits.reference) {
            let role = if looks_embedded(&address) { Role::Embed } else { Role::Navigate };
            let offset = offset.map(|offset| offset + at as u64);
            self.emitter.emit(Found::new(&address, text_of("script"), role).guess().at(offset));
        }
    }
}

fn text_of(element: &'static str) -> Place<'static> {
    Place::Text { element: Cow::Borrowed(element) }
}

/// What kind of text an element holds, if it is one of those that are read.
fn raw_kind(tag: &LinkTag<'_>, in_svg: bool) -> Option<Raw> {
    match &*tag.name {
        "style" => Some(Raw::Style),
        "noscript" | "noframes" => Some(Raw::Fallback),
        "title" if !in_svg => Some(Raw::Title),
        "script" => match tag.text("type").split(';').next().unwrap_or("").trim() {
            "" => Some(Raw::Script),
            kind if kind.eq_ignore_ascii_case("text/javascript") => Some(Raw::Script),
            kind if kind.eq_ignore_ascii_case("application/ld+json") => Some(Raw::LinkedData),
            _ => None,
        },
        _ => None,
    }
}

fn place<'a>(tag: &'a LinkTag, value: &'a LinkAttribute) -> Place<'a> {
    Place::Attribute { element: Cow::Borrowed(&tag.name), attribute: Cow::Borrowed(&value.name) }
}

fn first_text<'t>(tag: &'t LinkTag<'_>) -> Option<&'t str> {
    let mut names = title_attributes(&tag.name).iter();
    names.find_map(|name| tag.value(name)).map(|value| &*value.text)
}

/// Whether the value of an attribute that only scripts read could be a path: not a number, not a word.
fn looks_like_path(text: &str) -> bool {
    let text = trim(text);
    let is_odd = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '<' | '>' | '(' | ')' | '"' | '\'');
    (text.contains('/') || looks_embedded(text)) && !text.contains(is_odd)
}
