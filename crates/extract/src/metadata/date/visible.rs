//! Dates that readers see: in elements marked as dates, and in the text beside the title.

use super::written::{WrittenDate, dates};
use super::{DateConfidence, DateContext, PublicationDate};
use crate::metadata::facts::PageFacts;
use crate::metadata::region::{Region, region_of};
use crate::metadata::text::{comparable, text_below};
use chrono::NaiveDate;
use varve_page::dom::NodeData;

/// Maximum length of the text of an element that is a date with its label.
const MAX_DATE_LINE_BYTES: usize = 160;

/// Maximum length of the text between the title and its date.
const MAX_TITLE_DISTANCE_BYTES: usize = 1500;

/// The date beside the title.
pub(super) fn beside_title(
    facts: &PageFacts<'_>,
    title: Option<&str>,
    context: DateContext,
) -> Option<PublicationDate> {
    let start = title_node(facts, title);
    marked(facts, start, context)
        .map(|day| PublicationDate { day, confidence: DateConfidence::Marked })
        .or_else(|| {
            let day = in_text(facts, start?, context)?;
            Some(PublicationDate { day, confidence: DateConfidence::Text })
        })
}

/// The heading with the title, else the first.
fn title_node(facts: &PageFacts<'_>, title: Option<&str>) -> Option<usize> {
    let title = comparable(title.unwrap_or_default());
    let has_title = |node: &&usize| comparable(&text_below(facts.tree, **node, 512)) == title;
    facts.headings.iter().find(has_title).or_else(|| facts.headings.first()).copied()
}

/// The date in the first `time` element, or element with a class for dates, that is near the title.
fn marked(facts: &PageFacts<'_>, title: Option<usize>, context: DateContext) -> Option<NaiveDate> {
    let near =
        |node: &usize| title.is_none_or(|title| distance(facts, title, *node) <= MAX_TITLE_DISTANCE_BYTES);
    let in_page = |node: &usize| region_of(facts.tree, *node) == Region::Main;
    let times = facts.times.iter().copied().filter(near).filter(in_page);
    let in_time = |node: usize| {
        if is_modification(&label_before(facts, node)) {
            return None;
        }
        let given = facts.tree.nodes()[node].attribute("datetime").and_then(|value| context.machine(value));
        given.or_else(|| publication_in(&text_below(facts.tree, node, MAX_DATE_LINE_BYTES), context))
    };
    times.clone().find_map(in_time).or_else(|| {
        let marks = facts.date_marks.iter().copied().filter(near).filter(in_page);
        marks.into_iter().find_map(|node| {
            let text = text_below(facts.tree, node, MAX_DATE_LINE_BYTES + 1);
            if text.len() > MAX_DATE_LINE_BYTES || is_modification(&label_before(facts, node)) {
                return None;
            }
            publication_in(&text, context)
        })
    })
}

/// The length of the text between two nodes, up to the maximum distance.
fn distance(facts: &PageFacts<'_>, left: usize, right: usize) -> usize {
    let (start, end) = (left.min(right), left.max(right));
    let mut length = 0;
    for node in &facts.tree.nodes()[start..end] {
        if let NodeData::Text(text) = &node.data {
            length += text.trim().len();
            if length > MAX_TITLE_DISTANCE_BYTES {
                break;
            }
        }
    }
    length
}

/// The first date in the texts behind the title.
fn in_text(facts: &PageFacts<'_>, title: usize, context: DateContext) -> Option<NaiveDate> {
    let nodes = facts.tree.nodes();
    let mut length = 0;
    let mut label = String::new();
    for (place, node) in nodes.iter().enumerate().skip(nodes[title].end) {
        let NodeData::Text(text) = &node.data else { continue };
        let text = text.trim();
        let parent = nodes[node.parent].name().unwrap_or_default();
        if text.is_empty() || matches!(parent, "script" | "style" | "noscript" | "template") {
            continue;
        }
        length += text.len();
        if length > MAX_TITLE_DISTANCE_BYTES {
            return None;
        }
        if text.len() <= MAX_DATE_LINE_BYTES && region_of(facts.tree, place) == Region::Main {
            let found = publication_in(text, context).filter(|_| !is_modification(&label));
            if found.is_some() {
                return found;
            }
        }
        label = text[text.floor_char_boundary(text.len().saturating_sub(32))..].to_lowercase();
    }
    None
}

/// The text that stands before a node, in lower case: its label, if it has one.
fn label_before(facts: &PageFacts<'_>, node: usize) -> String {
    let nodes = facts.tree.nodes();
    let start = node.saturating_sub(6);
    let text = nodes[start..node].iter().rev().find_map(|node| match &node.data {
        NodeData::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    });
    let text = text.unwrap_or_default();
    text[text.floor_char_boundary(text.len().saturating_sub(32))..].to_lowercase()
}

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
