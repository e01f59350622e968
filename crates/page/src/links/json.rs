//! JSON: addresses in any document, web manifests, JSON feeds, and the linked data inside pages.
//!
//! The document is read as a stream without building a tree. The depth limit of the parser ends
//! hostile nesting. Links before an error are kept.

use super::emit::{LinkEmitter, RawLink, is_web};
use super::link::{LinkPlace, LinkRole, LinkStop};
use super::relation::looks_embedded;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufReader, Read};

/// Which members of a document are links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Every value and member name that is an absolute address, and the images of a manifest.
    Any,
    /// `application/ld+json`: as any, without names of vocabularies. Members of schema.org for
    /// pages and images are no guess.
    LinkedData,
    /// A web app manifest.
    Manifest,
    /// A JSON feed, if it says so; otherwise as any.
    Feed,
}

/// Emits all links of a document.
pub(super) fn links(reader: impl Read, dialect: Dialect, emitter: &mut LinkEmitter<'_>) -> io::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(reader));
    match read(&mut deserializer, dialect, emitter, None) {
        Err(error) if error.is_io() => return Err(error.into()),
        Err(_) => emitter.report.stopped.get_or_insert(LinkStop::Malformed),
        Ok(()) => return Ok(()),
    };
    Ok(())
}

/// Emits all links of a document inside a page. A malformed document does not affect the page.
pub(super) fn inline_links(text: &str, dialect: Dialect, emitter: &mut LinkEmitter<'_>, offset: Option<u64>) {
    let _ = read(&mut serde_json::Deserializer::from_str(text), dialect, emitter, offset);
}

/// Reads a document up to the first error.
fn read<'de, R: serde_json::de::Read<'de>>(
    deserializer: &mut serde_json::Deserializer<R>,
    dialect: Dialect,
    emitter: &mut LinkEmitter<'_>,
    offset: Option<u64>,
) -> serde_json::Result<()> {
    let mut walker = JsonLinkWalker { dialect, emitter, offset };
    JsonValueSeed { walker: &mut walker, parent: "", name: "" }.deserialize(deserializer)
}

struct JsonLinkWalker<'w, 's> {
    dialect: Dialect,
    emitter: &'w mut LinkEmitter<'s>,
    offset: Option<u64>,
}

impl JsonLinkWalker<'_, '_> {
    /// Takes a text with the names of the nearest two members around it.
    fn text(&mut self, parent: &str, name: &str, text: &str) {
        let Some((role, guessed)) = self.role(parent, name, text) else { return };
        let place = LinkPlace::Member { name: Cow::Borrowed(name) };
        let mut found = RawLink::new(text, place, role).at(self.offset);
        found.guessed = guessed;
        self.emitter.emit(found);
    }

    fn role(&self, parent: &str, name: &str, text: &str) -> Option<(LinkRole, bool)> {
        let known = match self.dialect {
            Dialect::Manifest => return manifest_role(parent, name).map(|role| (role, false)),
            Dialect::Feed => feed_role(parent, name),
            Dialect::LinkedData if matches!(name, "@context" | "@type" | "@vocab") => return None,
            Dialect::LinkedData => linked_data_role(parent, name).filter(|_| is_web(text)),
            // Servers usually declare a manifest as JSON.
            Dialect::Any => icon_role(parent, name),
        };
        if let Some(role) = known {
            return Some((role, false));
        }
        let guess = if looks_embedded(text) { LinkRole::Embed } else { LinkRole::Navigate };
        (self.dialect != Dialect::Feed && is_web(text)).then_some((guess, true))
    }

    /// Takes the name of a member, which may be an address.
    fn name(&mut self, name: &str) {
        if self.dialect == Dialect::Any && is_web(name) {
            self.text("", name, name);
        }
    }
}

fn manifest_role(parent: &str, name: &str) -> Option<LinkRole> {
    match (parent, name) {
        (_, "start_url") | ("shortcuts", "url") => Some(LinkRole::Navigate),
        _ => icon_role(parent, name),
    }
}

/// Members of a manifest that are images.
fn icon_role(parent: &str, name: &str) -> Option<LinkRole> {
    (matches!(parent, "icons" | "screenshots") && name == "src").then_some(LinkRole::Embed)
}

/// Members of schema.org that are pages and images.
fn linked_data_role(parent: &str, name: &str) -> Option<LinkRole> {
    let is_picture = |name: &str| matches!(name, "image" | "logo" | "thumbnail" | "photo");
    match name {
        "contentUrl" | "thumbnailUrl" => Some(LinkRole::Embed),
        "url" if is_picture(parent) => Some(LinkRole::Embed),
        name if is_picture(name) => Some(LinkRole::Embed),
        "url" | "mainEntityOfPage" | "item" => Some(LinkRole::Navigate),
        _ => None,
    }
}

fn feed_role(parent: &str, name: &str) -> Option<LinkRole> {
    match name {
        "url" if parent == "attachments" => Some(LinkRole::Embed),
        "url" | "external_url" | "home_page_url" => Some(LinkRole::Navigate),
        "feed_url" | "next_url" => Some(LinkRole::Feed),
        "image" | "banner_image" | "icon" | "favicon" => Some(LinkRole::Embed),
        _ => None,
    }
}

/// One value of the document.
struct JsonValueSeed<'v, 'w, 's> {
    walker: &'v mut JsonLinkWalker<'w, 's>,
    parent: &'v str,
    name: &'v str,
}

impl<'de> DeserializeSeed<'de> for JsonValueSeed<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValueSeed<'_, '_, '_> {
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
            let item = JsonValueSeed { walker: &mut *self.walker, parent: self.parent, name: self.name };
            if items.next_element_seed(item)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.walker.name(&name);
            members.next_value_seed(JsonValueSeed {
                walker: &mut *self.walker,
                parent: self.name,
                name: &name,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::link::{LinkLimits, LinkReport, PageLink};
    use varve_core::url::Base;

    fn found(dialect: Dialect, text: &str) -> (Vec<(String, LinkRole)>, LinkReport) {
        let mut found = Vec::new();
        let mut sink = |link: PageLink<'_>| found.push((link.target, link.role));
        let mut emitter =
            LinkEmitter::new(Base::parse("http://h/a/").unwrap(), LinkLimits::default(), &mut sink);
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
            ("http://h/?pwa", LinkRole::Navigate),
            ("http://h/a/i.png", LinkRole::Embed),
            ("http://h/s", LinkRole::Navigate),
            ("http://h/a/j.png", LinkRole::Embed),
        ];
        assert_eq!(found(Dialect::Manifest, text).0, expected.map(|(url, role)| (url.to_owned(), role)));
    }

    #[test]
    fn feeds() {
        let text = r#"{"version":"https://jsonfeed.org/version/1.1","home_page_url":"http://h/","feed_url":"f",
            "items":[{"id":"1","url":"p","image":"i.jpg","content_text":"http://no/","attachments":[{"url":"m.mp3"}]}]}"#;
        let expected = [
            ("http://h/", LinkRole::Navigate),
            ("http://h/a/f", LinkRole::Feed),
            ("http://h/a/p", LinkRole::Navigate),
            ("http://h/a/i.jpg", LinkRole::Embed),
            ("http://h/a/m.mp3", LinkRole::Embed),
        ];
        assert_eq!(found(Dialect::Feed, text).0, expected.map(|(url, role)| (url.to_owned(), role)));
    }

    #[test]
    fn links_found_before_an_error_are_kept() {
        let (links, report) = found(Dialect::Any, r#"["http://k/", oops"#);
        assert_eq!(links.len(), 1);
        assert_eq!(report.stopped, Some(LinkStop::Malformed));
        let deep = found(Dialect::Any, &"[".repeat(1_000_000)).1;
        assert_eq!(deep.stopped, Some(LinkStop::Malformed));
    }
}
