//! One start tag: its name and attributes, decoded once.

use crate::links::entity;
use lol_html::html_content::{Attribute, Element};

/// Values longer than this are read only where length is normal: in styles, sets and documents inside attributes.
const LONG: usize = 64 << 10;
const MAY_BE_LONG: [&str; 5] = ["style", "srcset", "data-srcset", "imagesrcset", "srcdoc"];

/// Frequent, and neither a link nor a word about one.
const DULL: [&str; 8] = ["class", "id", "width", "height", "role", "tabindex", "colspan", "aria-hidden"];

/// An attribute with its references resolved.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) text: String,
    /// Where the value stands.
    pub(super) offset: u64,
}

/// A start tag.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) values: Vec<Value>,
    /// How many attributes were too long to be read.
    pub(super) cut: u64,
}

impl Tag {
    /// Reads a tag. Attributes longer than `most` are left out, wherever they stand.
    pub(super) fn read(element: &Element<'_, '_>, most: usize) -> Self {
        let mut tag = Self { name: element.tag_name(), values: Vec::new(), cut: 0 };
        for attribute in element.attributes() {
            tag.push(attribute, most);
        }
        tag
    }

    fn push(&mut self, attribute: &Attribute<'_>, most: usize) {
        let name = attribute.name();
        if DULL.contains(&name.as_str()) {
            return;
        }
        // An attribute without a value stands where its name does.
        let location = match attribute.value_source_location() {
            Some(location) => location.bytes(),
            None => attribute.name_source_location().map_or(0..0, |location| location.bytes()),
        };
        let most = if MAY_BE_LONG.contains(&name.as_str()) { most } else { most.min(LONG) };
        if location.len() > most {
            self.cut += 1;
        } else if self.value(&name).is_none() {
            let text = attribute.value();
            let text = if text.contains('&') { entity::decode(&text).into_owned() } else { text };
            self.values.push(Value { name, text, offset: location.start as u64 });
        }
    }

    /// The first attribute of that name.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.name == name)
    }

    /// The text of the first attribute of that name; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.value(name).map_or("", |value| value.text.as_str())
    }

    /// Whether an attribute of words has this one.
    pub(super) fn has_word(&self, name: &str, word: &str) -> bool {
        self.text(name).split_ascii_whitespace().any(|given| given.eq_ignore_ascii_case(word))
    }
}
