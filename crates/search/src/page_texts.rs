//! All texts of a page. A passage that several texts share is stored once.
//!
//! Texts are known by the bodies that they were read from. Which version shows which body is known
//! to the catalog, so a branch, a page that is gone or a purge changes nothing here.

use std::collections::HashMap;

use varve_core::BodyId;

use crate::page_text::{PageText, Passage, TextKind};

/// The first eight bytes of the id of a body. It distinguishes the few bodies of one page.
pub type TextKey = [u8; 8];

/// Number of passages in all texts of a page from which on no text should be added: its record could
/// be too long to be read. A text that has the passages of another one in a new order costs some
/// bytes for each of them.
pub const MAX_PART_PASSAGES: usize = 4 << 20;

/// One text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredText {
    /// The body that it was read from.
    pub key: TextKey,
    /// The kind of document.
    pub kind: TextKind,
    /// Its passages, as places in the list of passages.
    pub passages: Vec<u32>,
}

/// The texts of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTexts {
    /// The different passages.
    pub(crate) passages: Vec<Passage>,
    /// The texts, in the order in which they were added.
    pub(crate) texts: Vec<StoredText>,
}

impl PageTexts {
    /// The key of a body.
    pub fn key_of(body: &BodyId) -> TextKey {
        let mut key = TextKey::default();
        key.iter_mut().zip(body.as_bytes()).for_each(|(to, from)| *to = *from);
        key
    }

    /// The texts.
    pub fn texts(&self) -> &[StoredText] {
        &self.texts
    }

    /// The text of a body.
    pub fn text_of(&self, key: TextKey) -> Option<&StoredText> {
        self.texts.iter().find(|text| text.key == key)
    }

    /// The passages of a text.
    pub fn passages_of<'a>(&'a self, text: &'a StoredText) -> impl Iterator<Item = &'a Passage> + Clone {
        text.passages.iter().map(|passage| &self.passages[*passage as usize])
    }

    /// The number of bytes of the different passages.
    pub fn passage_bytes(&self) -> usize {
        self.passages.iter().map(|passage| passage.text.len()).sum()
    }

    /// The number of passages of all texts together, repeated ones included.
    pub fn count_passages(&self) -> usize {
        self.texts.iter().map(|text| text.passages.len()).sum()
    }

    /// Adds texts. Those of known bodies are left out. Returns whether any was added.
    pub fn add(&mut self, texts: impl IntoIterator<Item = (TextKey, PageText)>) -> bool {
        let mut places: HashMap<Passage, u32> =
            (0..).zip(&self.passages).map(|(place, passage)| (passage.clone(), place)).collect();
        let before = self.texts.len();
        for (key, PageText { kind, passages }) in texts {
            if self.text_of(key).is_some() {
                continue;
            }
            let place = |passage: Passage| {
                *places.entry(passage).or_insert_with_key(|passage| {
                    self.passages.push(passage.clone());
                    u32::try_from(self.passages.len() - 1).unwrap_or(u32::MAX)
                })
            };
            let passages = passages.into_iter().map(place).collect();
            self.texts.push(StoredText { key, kind, passages });
        }
        self.texts.len() > before
    }
}
