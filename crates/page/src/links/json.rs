//! JSON: addresses in any document, web manifests, JSON feeds, and the linked data inside pages.
//!
//! The document is walked while it is read; no tree of it is ever built. The parser's own limit on depth ends
//! hostile nesting, and whatever was found before an error stays found.

use super::emit::{Emitter, Found, is_web};
use super::link::{Place, Role, Stop};
use super::relation::looks_embedded;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufReader, Read};

/// Which members of a document are links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Whatever is wholly an absolute address, names of members too; and the pictures of a manifest.
    Any,
    /// `application/ld+json`: as any, without the names of vocabularies; what is known to name pages and pictures is no guess.
    LinkedData,
    /// A web app manifest.
    Manifest,
    /// A JSON feed, if it says so; otherwise as any.
    Feed,
}

/// Hands over all links of a document.
pub(super) fn links(reader: impl Read, dialect: Dialect, emitter: &mut Emitter<'_>) -> io::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(reader));
    match read(&mut deserializer, dialect, emitter, None) {
        Err(error) if error.is_io() => return Err(error.into()),
        Err(_) => emitter.report.stopped.get_or_insert(Stop::Malformed),
        Ok(()) => return Ok(()),
    };
    Ok(())
}

/// Hands over all links of a document that stands in a page. A broken one does not break the page.
pub(super) fn inline_links(text: &str, dialect: Dialect, emitter: &mut Emitter<'_>, offset: Option<u64>) {
    let _ = read(&mut serde_json::Deserializer::from_str(text), dialect, emitter, offset);
}

/// Reads a document as far as it is one.
fn read<'de, R: serde_json::de::Read<'de>>(
    deserializer: &mut serde_json::Deserializer<R>,
    dialect: Dialect,
    emitter: &mut Emitter<'_>,
    offset: Option<u64>,
) -> serde_json::Result<()> {
    let mut walker = Walker { dialect, emitter, offset };
    Value { walker: &mut walker, parent: "", name: "" }.deserialize(deserializer)
}

struct Walker<'w, 's> {
    dialect: Dialect,
    emitter: &'w mut Emitter<'s>,
    offset: Option<u64>,
}

impl Walker<'_, '_> {
    /// A text, with the names of the nearest member around it and of the one around that.
    fn text(&mut self, parent: &str, name: &str, text: &str) {
        let Some((role, guessed)) = self.role(parent, name, text) else { return };
        let place = Place::Member { name: Cow::Borrowed(name) };
        let mut found = Found::new(text, place, role).at(self.offset);
        found.guessed = guessed;
        self.emitter.emit(found);
    }

    fn role(&self, parent: &str, name: &str, text: &str) -> Option<(Role, bool)> {
        let known = match self.dialect {
            Dialect::Manifest => return manifest_role(parent, name).map(|role| (role, false)),
            Dialect::Feed => feed_role(parent, name),
            Dialect::LinkedData if matches!(name, "@context" | "@type" | "@vocab") => return None,
            Dialect::LinkedData => linked_data_role(parent, name).filter(|_| is_web(text)),
            // A manifest is mostly called mere JSON by its server.
            Dialect::Any => icon_role(parent, name),
        };
        if let Some(role) = known {
            return Some((role, false));
        }
        let guess = if looks_embedded(text) { Role::Embed } else { Role::Navigate };
        (self.dialect != Dialect::Feed && is_web(text)).then_some((guess, true))
    }

    /// The name of a member may be an address, too.
    fn name(&mut self, name: &str) {
        if self.dialect == Dialect::Any && is_web(name) {
            self.text("", name, name);
        }
    }
}

fn manifest_role(parent: &str, name: &str) -> Option<Role> {
    match (parent, name) {
        (_, "start_url") | ("shortcuts", "url") => Some(Role::Navigate),
        _ => icon_role(parent, name),
    }
}

/// The pictures of a manifest.
fn icon_role(parent: &str, name: &str) -> Option<Role> {
    (matches!(parent, "icons" | "screenshots") && name == "src").then_some(Role::Embed)
}

/// The members by which the vocabulary of schema.org names pages and pictures.
fn linked_data_role(parent: &str, name: &str) -> Option<Role> {
    let is_picture = |name: &str| matches!(name, "image" | "logo" | "thumbnail" | "photo");
    match name {
        "contentUrl" | "thumbnailUrl" => Some(Role::Embed),
        "url" if is_picture(parent) => Some(Role::Embed),
        name if is_picture(name) => Some(Role::Embed),
        "url" | "mainEntityOfPage" | "item" => Some(Role::Navigate),
        _ => None,
    }
}

fn feed_role(parent: &str, name: &str) -> Option<Role> {
    match name {
        "url" if parent == "attachments" => Some(Role::Embed),
        "url" | "external_url" | "home_page_url" => Some(Role::Navigate),
        "feed_url" | "next_url" => Some(Role::Feed),
        "image" | "banner_image" | "icon" | "favicon" => Some(Role::Embed),
        _ => None,
    }
}

/// One value of the document.
struct Value<'v, 'w, 's> {
    walker: &'v mut Walker<'w, 's>,
    parent: &'v str,
    name: &'v str,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.walker.text(self.parent, self.name, text);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let item = Value { walker: &mut *self.walker, parent: self.parent, name: self.name };
            if items.next_element_seed(item)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.walker.name(&name);
            members.next_value_seed(Value { walker: &mut *self.walker, parent: self.name, name: &name })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::link::{Limits, Link, Report};
    use varve_core::url::Base;

    fn found(dialect: Dialect, text: &str) -> (Vec<(String, Role)>, Report) {
        let mut found = Vec::new();
        let mut sink = |link: Link<'_>| found.push((link.target, link.role));
        let mut emitter = Emitter::new(Base::parse("http://h/a/").unwrap(), Limits::default(), &mut sink);
        links(text.as_bytes(), dialect, &mut emitter).unwrap();
        let report = emitter.report.clone();
        (found, report)
    }

    fn urls(dialect: Dialect, text: &str) -> Vec<String> {
        found(dialect, text).0.into_iter().map(|(url, _)| url).collect()
    }

    #[test]
    fn addresses_anywhere() {
        let text = r#"{"http://k/":1,"a":["http://l/x.png",{"b":"https:\/\/m/"},null,true,1.5,-1],"c":"no http://n/"}"#;
        assert_eq!(urls(Dialect::Any, text), ["http://k/", "http://l/x.png", "https://m/"]);
        let linked = r#"{"@context":"https://schema.org","@id":"http://h/1","sameAs":["http://s/"]}"#;
        assert_eq!(urls(Dialect::LinkedData, linked), ["http://h/1", "http://s/"]);
    }

    #[test]
    fn manifests() {
        let text = r#"{"id":"/x","start_url":"../?pwa","scope":"/","icons":[{"src":"i.png"}],
            "shortcuts":[{"url":"/s","icons":[{"src":"j.png"}]}],"related_applications":[{"url":"http://store/"}]}"#;
        let expected = [
            ("http://h/?pwa", Role::Navigate),
            ("http://h/a/i.png", Role::Embed),
            ("http://h/s", Role::Navigate),
            ("http://h/a/j.png", Role::Embed),
        ];
        assert_eq!(found(Dialect::Manifest, text).0, expected.map(|(url, role)| (url.to_owned(), role)));
    }

    #[test]
    fn feeds() {
        let text = r#"{"version":"https://jsonfeed.org/version/1.1","home_page_url":"http://h/","feed_url":"f",
            "items":[{"id":"1","url":"p","image":"i.jpg","content_text":"http://no/","attachments":[{"url":"m.mp3"}]}]}"#;
        let expected = [
            ("http://h/", Role::Navigate),
            ("http://h/a/f", Role::Feed),
            ("http://h/a/p", Role::Navigate),
            ("http://h/a/i.jpg", Role::Embed),
            ("http://h/a/m.mp3", Role::Embed),
        ];
        assert_eq!(found(Dialect::Feed, text).0, expected.map(|(url, role)| (url.to_owned(), role)));
    }

    #[test]
    fn what_was_found_before_an_error_stays() {
        let (links, report) = found(Dialect::Any, r#"["http://k/", oops"#);
        assert_eq!(links.len(), 1);
        assert_eq!(report.stopped, Some(Stop::Malformed));
        let deep = found(Dialect::Any, &"[".repeat(1_000_000)).1;
        assert_eq!(deep.stopped, Some(Stop::Malformed));
    }
}
