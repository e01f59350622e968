//! Visible white space: between the nodes of one line.
//!
//! White space at the ends of texts is not compared, because indentation changes often and is
//! invisible between blocks. Between two words, links or images of one line it is visible, in
//! whichever element it is. So each node of a line has its preceding node, and whether there is
//! white space between them.

use varve_page::dom::{HtmlTree, NodeData, TreeNode};

/// Elements that are part of a line with their content.
const INLINE_ELEMENTS: [&str; 41] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "ins", "kbd", "label", "map", "mark", "nobr", "output", "picture", "q", "ruby", "rb", "rp", "rt",
    "s", "samp", "slot", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
];

/// Elements that are part of a line without their content.
const ATOMIC_ELEMENTS: [&str; 17] = [
    "audio", "button", "canvas", "embed", "iframe", "image", "img", "input", "marquee", "math", "meter",
    "object", "progress", "select", "svg", "textarea", "video",
];

/// Elements that are not shown.
const HIDDEN_ELEMENTS: [&str; 12] = [
    "base", "datalist", "head", "link", "meta", "noscript", "param", "script", "source", "style", "template",
    "track",
];

/// Number of bytes that are quoted on each side of white space.
const MAX_QUOTED_BYTES: usize = 40;

/// The preceding node in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PrecedingNode {
    /// The node.
    last: u32,
    /// Whether there is white space between.
    pub(super) spaced: bool,
}

/// The preceding node of each node of a tree, unless it is the first of its line.
pub(super) struct InlineSpaces(Vec<Option<PrecedingNode>>);

/// A line that is being read.
#[derive(Default, Clone, Copy)]
struct InlineRun {
    last: Option<u32>,
    spaced: bool,
}

impl InlineRun {
    /// Appends a node.
    fn add(&mut self, place: usize) -> Option<PrecedingNode> {
        let before = self.last.map(|last| PrecedingNode { last, spaced: self.spaced });
        *self = Self { last: u32::try_from(place).ok(), spaced: false };
        before
    }
}

impl InlineSpaces {
    pub(super) fn of(tree: &HtmlTree) -> Self {
        let nodes = tree.nodes();
        let mut before = vec![None; nodes.len()];
        let mut line = InlineRun::default();
        // Open elements that are no part of the line around them: their end, and that line.
        let mut open: Vec<(usize, InlineRun)> = Vec::new();
        let mut place = 1;
        while place < nodes.len() {
            while let Some((_, around)) = open.pop_if(|(end, _)| *end <= place) {
                line = around;
            }
            let node = &nodes[place];
            place = match &node.data {
                NodeData::Text(text) => {
                    before[place] = read_text(&mut line, node, text, place);
                    place + 1
                }
                NodeData::Element(name, _) if is_unseen(name, node) => node.end,
                NodeData::Element(name, _) if ATOMIC_ELEMENTS.contains(&name.as_str()) => {
                    before[place] = line.add(place);
                    open.push((node.end, std::mem::take(&mut line)));
                    place + 1
                }
                NodeData::Element(name, _) if !is_inline(name) => {
                    open.push((node.end, InlineRun::default()));
                    line = InlineRun::default();
                    place + 1
                }
                _ => place + 1,
            };
        }
        Self(before)
    }

    pub(super) fn before(&self, place: usize) -> Option<PrecedingNode> {
        self.0[place]
    }
}

/// Appends a text to a line. Significant white space is part of the text.
fn read_text(line: &mut InlineRun, node: &TreeNode, text: &str, place: usize) -> Option<PrecedingNode> {
    let is_space = |letter: char| letter.is_whitespace() && !node.keeps_space;
    if text.trim_matches(is_space).is_empty() {
        line.spaced = true;
        return None;
    }
    line.spaced |= text.starts_with(is_space);
    let before = line.add(place);
    line.spaced = text.ends_with(is_space);
    before
}

fn is_unseen(name: &str, node: &TreeNode) -> bool {
    let is_hidden =
        || name == "input" && node.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
    HIDDEN_ELEMENTS.contains(&name) || is_hidden()
}

/// Custom elements are inline by default.
fn is_inline(name: &str) -> bool {
    INLINE_ELEMENTS.contains(&name) || name.contains('-')
}

impl PrecedingNode {
    /// The preceding node.
    pub(super) const fn last(self) -> usize {
        self.last as usize
    }

    /// The text of both nodes, with or without white space between.
    pub(super) fn quoted(self, tree: &HtmlTree, place: usize) -> String {
        let (one, other) = (&tree.nodes()[self.last()], &tree.nodes()[place]);
        let word = |node: &TreeNode| match (node.seen_text(), node.name()) {
            (Some(text), _) => text.to_owned(),
            (None, name) => format!("<{}>", name.unwrap_or_default()),
        };
        let (one, other) = (word(one), word(other));
        let start = one.ceil_char_boundary(one.len().saturating_sub(MAX_QUOTED_BYTES));
        let end = other.floor_char_boundary(MAX_QUOTED_BYTES.min(other.len()));
        format!("{}{}{}", &one[start..], if self.spaced { " " } else { "" }, &other[..end])
    }
}
