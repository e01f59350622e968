//! Dates that readers see: in elements marked as dates, and in the text beside the title.

use super::written::{WrittenDate, dates};
use super::{DateConfidence, DateContext, PublicationDate};
use crate::metadata::facts::PageFacts;
use crate::metadata::region::{PageLayout, Region};
use crate::metadata::text::{shown_text, text_below};
use chrono::NaiveDate;
use std::ops::Range;
use varve_page::dom::NodeData;

/// Maximum length of the text of an element that is a date with its label.
const MAX_DATE_LINE_BYTES: usize = 160;

/// Maximum length of the text between the title and its date.
const MAX_TITLE_DISTANCE_BYTES: usize = 1500;

/// Maximum number of nodes between the title and its date.
const MAX_TITLE_DISTANCE_NODES: usize = 4096;

/// Maximum length of the text between a date and the title behind it.
const MAX_DISTANCE_BEFORE_BYTES: usize = 300;

/// The date beside the title. In a thread, that of the first post.
pub(super) fn beside_title(
    facts: &PageFacts<'_>,
    layout: PageLayout<'_>,
    is_thread: bool,
    context: DateContext,
) -> Option<PublicationDate> {
    let search = DateSearch { facts, layout, is_thread, context };
    let found = |confidence| move |day| PublicationDate { day, confidence };
    search
        .near_marks()
        .or_else(|| search.only_time())
        .map(found(DateConfidence::Marked))
        .or_else(|| search.near_text().or_else(|| search.labelled_text()).map(found(DateConfidence::Text)))
}

/// Looks for the date that readers see.
#[derive(Debug, Clone, Copy)]
struct DateSearch<'f> {
    facts: &'f PageFacts<'f>,
    layout: PageLayout<'f>,
    is_thread: bool,
    context: DateContext,
}

impl DateSearch<'_> {
    /// The date in the first `time` element, or element with a class for dates, near the title.
    fn near_marks(&self) -> Option<NaiveDate> {
        let is_near = |node: &usize| self.is_near_title(*node) && self.is_of_page(*node);
        let times = self.facts.times.iter().copied().filter(is_near);
        let marks = self.facts.date_marks.iter().copied().filter(is_near);
        times.map(|node| self.in_time(node)).chain(marks.map(|node| self.in_mark(node))).find_map(|day| day)
    }

    /// The day of all `time` elements of the page, if they agree.
    fn only_time(&self) -> Option<NaiveDate> {
        let times = self.facts.times.iter().copied().filter(|node| self.is_of_page(*node));
        let mut days = times.filter_map(|node| self.in_time(node));
        let first = days.next()?;
        days.all(|day| day == first).then_some(first)
    }

    /// The first date in the text behind the title, or before it.
    fn near_text(&self) -> Option<NaiveDate> {
        let title = self.layout.title()?;
        let nodes = self.facts.tree.nodes();
        let behind = self.in_texts(nodes[title].end..nodes.len(), MAX_TITLE_DISTANCE_BYTES);
        behind.or_else(|| {
            let mut length = 0;
            let start = (0..title).rev().find(|place| {
                length += shown_text(self.facts.tree, *place).map_or(0, str::len);
                length > MAX_DISTANCE_BEFORE_BYTES
            });
            self.in_texts(start.map_or(0, |start| start + 1)..title, MAX_DISTANCE_BEFORE_BYTES)
        })
    }

    /// The first date that is labelled as that of publication, anywhere.
    fn labelled_text(&self) -> Option<NaiveDate> {
        let marks = self.facts.date_marks.iter().copied().filter(|node| self.is_of_page(*node));
        marks.take(MAX_LABELLED_MARKS).find_map(|node| {
            let text = text_below(self.facts.tree, node, MAX_DATE_LINE_BYTES + 1);
            let lower = text.to_lowercase();
            let is_labelled = PUBLICATION_WORDS.iter().any(|word| lower.contains(word));
            (is_labelled && text.len() <= MAX_DATE_LINE_BYTES).then(|| publication_in(&text, self.context))?
        })
    }

    fn in_time(&self, node: usize) -> Option<NaiveDate> {
        if is_modification(&label_before(self.facts, node)) {
            return None;
        }
        let given = self.facts.tree.nodes()[node].attribute("datetime");
        given.and_then(|value| self.context.machine(value)).or_else(|| self.in_mark(node))
    }

    fn in_mark(&self, node: usize) -> Option<NaiveDate> {
        let text = text_below(self.facts.tree, node, MAX_DATE_LINE_BYTES + 1);
        let is_line = text.len() <= MAX_DATE_LINE_BYTES && !is_modification(&label_before(self.facts, node));
        is_line.then(|| publication_in(&text, self.context))?
    }

    /// The first date in texts of the page.
    fn in_texts(&self, places: Range<usize>, most: usize) -> Option<NaiveDate> {
        let mut length = 0;
        let mut label = String::new();
        for place in places {
            let Some(text) = shown_text(self.facts.tree, place) else { continue };
            length += text.len();
            if length > most {
                return None;
            }
            if text.len() <= MAX_DATE_LINE_BYTES && !is_modification(&label) {
                let found = publication_in(text, self.context).filter(|_| self.is_of_page(place));
                if found.is_some() {
                    return found;
                }
            }
            label = last_words(text);
        }
        None
    }

    /// Whether a node is part of the page, and not of what is around it.
    fn is_of_page(&self, node: usize) -> bool {
        match self.layout.region(node) {
            Region::Main => self.is_thread || !self.layout.is_in_card(node),
            Region::Comments => self.is_thread,
            Region::Frame | Region::Related => false,
        }
    }

    fn is_near_title(&self, node: usize) -> bool {
        let Some(title) = self.layout.title() else { return true };
        let (start, end) = (title.min(node), title.max(node));
        let mut length = 0;
        end - start <= MAX_TITLE_DISTANCE_NODES
            && (start..end).all(|place| {
                length += shown_text(self.facts.tree, place).map_or(0, str::len);
                length <= MAX_TITLE_DISTANCE_BYTES
            })
    }
}

/// Maximum number of elements that are searched for a label.
const MAX_LABELLED_MARKS: usize = 256;

/// Words before a date of publication, in lower case.
const PUBLICATION_WORDS: [&str; 12] = [
    "published",
    "posted on",
    "posted:",
    "publié le",
    "veröffentlicht",
    "publicado",
    "pubblicato",
    "gepubliceerd",
    "опубликовано",
    "opublikowano",
    "发布",
    "公開",
];

/// The text that stands before a node, in lower case: its label, if it has one.
fn label_before(facts: &PageFacts<'_>, node: usize) -> String {
    let nodes = facts.tree.nodes();
    let start = node.saturating_sub(6);
    let text = nodes[start..node].iter().rev().find_map(|node| match &node.data {
        NodeData::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    });
    last_words(text.unwrap_or_default())
}

/// The end of a text, where the label of what follows is, in lower case.
fn last_words(text: &str) -> String {
    text[text.floor_char_boundary(text.len().saturating_sub(MAX_LABEL_BYTES))..].to_lowercase()
}

/// Maximum length of a label.
const MAX_LABEL_BYTES: usize = 24;

/// The first date of publication in a line of text: a date that is labelled as one of modification
/// is passed over.
fn publication_in(text: &str, context: DateContext) -> Option<NaiveDate> {
    let mut start = 0;
    let found: Vec<WrittenDate> = dates(text, context.order).collect();
    for date in found {
        let label = text[start..date.start].to_lowercase();
        start = date.end;
        if context.bounds.contain(date.day) && !is_modification(&label) {
            return Some(date.day);
        }
    }
    None
}

/// Words before a date of modification, in lower case.
const MODIFICATION_WORDS: [&str; 22] = [
    "updated",
    "update",
    "modified",
    "revised",
    "reviewed",
    "edited",
    "last changed",
    "aktualisiert",
    "geändert",
    "mis à jour",
    "modifié",
    "actualizado",
    "actualización",
    "modificado",
    "aggiornato",
    "atualizado",
    "bijgewerkt",
    "обновлено",
    "изменено",
    "更新",
    "zaktualizowano",
    "uppdaterad",
];

fn is_modification(label: &str) -> bool {
    MODIFICATION_WORDS.iter().any(|word| label.contains(word))
}
