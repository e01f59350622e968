//! The text of a node, bounded and with single spaces.

use varve_page::dom::{HtmlTree, NodeData};

/// Maximum length of a text field. Longer ones are cut at a character.
pub(crate) const MAX_FIELD_BYTES: usize = 4096;

/// Maximum number of nodes that are visited for one text.
const MAX_TEXT_NODES: usize = 512;

/// Elements whose text is not shown, or is not part of the text around it.
const HIDDEN_ELEMENTS: [&str; 7] = ["script", "style", "noscript", "template", "svg", "button", "select"];

/// Elements inside a line: their ends separate no words.
const INLINE_ELEMENTS: [&str; 18] = [
    "a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "mark", "q", "s", "small", "span", "strong",
    "sub", "sup", "u",
];

/// The text below a node, up to a length.
pub(crate) fn text_below(tree: &HtmlTree, node: usize, most: usize) -> String {
    let nodes = tree.nodes();
    let end = nodes[node].end.min(node + MAX_TEXT_NODES);
    let mut text = String::new();
    let mut place = node;
    while place < end && text.len() <= most {
        match &nodes[place].data {
            NodeData::Text(part) => text.push_str(&part[..part.floor_char_boundary(most.min(part.len()))]),
            NodeData::Element(name, _) if place > node && HIDDEN_ELEMENTS.contains(&name.as_str()) => {
                place = nodes[place].end;
                continue;
            }
            NodeData::Element(name, _) if !INLINE_ELEMENTS.contains(&name.as_str()) => text.push(' '),
            _ => {}
        }
        place += 1;
    }
    single_spaced(&text[..text.floor_char_boundary(most.min(text.len()))])
}

/// The text of a node that readers see, if it is one.
pub(crate) fn shown_text(tree: &HtmlTree, place: usize) -> Option<&str> {
    let node = &tree.nodes()[place];
    let NodeData::Text(text) = &node.data else { return None };
    let parent = tree.nodes()[node.parent].name().unwrap_or_default();
    let is_source = matches!(parent, "script" | "style" | "noscript" | "template" | "title");
    Some(text.trim()).filter(|text| !is_source && !text.is_empty())
}

/// A text with single spaces, without those at its ends and without invisible characters.
pub(crate) fn single_spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len().min(MAX_FIELD_BYTES));
    let is_separator = |letter: char| letter.is_whitespace() || letter.is_control();
    for word in text.split(is_separator).filter(|word| !word.is_empty()) {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.extend(word.chars().filter(|letter| !is_invisible(*letter)));
    }
    spaced.truncate(spaced.floor_char_boundary(MAX_FIELD_BYTES));
    spaced
}

fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

/// A text with single spaces, or nothing if it is empty.
pub(crate) fn field(text: &str) -> Option<String> {
    Some(single_spaced(text)).filter(|text| !text.is_empty())
}

/// A text for comparison: its letters and digits in lower case, words separated by one space.
pub(crate) fn comparable(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(word.chars().flat_map(char::to_lowercase));
    }
    plain
}
