//! Derives changes from pairs of nodes.

use super::pairs::{NodePairs, is_visible};
use super::quote::MAX_QUOTED_BYTES;
use super::spaces::InlineSpaces;
use crate::text::ChunkKind;
use std::fmt;
use varve_page::dom::{HtmlTree, NodeData, Selectors};

/// Maximum length of the HTML that names a moved node, and of that of its neighbour.
const MAX_MOVED_BYTES: usize = 200;
const MAX_NEIGHBOUR_BYTES: usize = 60;

/// The kind of change of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeChangeKind {
    /// It was added.
    Added,
    /// It was removed.
    Removed,
    /// It moved.
    Moved,
    /// Its text changed.
    Text,
    /// The name of the element changed, and its content stayed.
    Tag,
    /// An attribute was added, removed or changed.
    Attribute(String),
}

impl NodeChangeKind {
    /// The kind of the chunk that reports it.
    pub const fn chunk_kind(&self) -> ChunkKind {
        match self {
            Self::Added => ChunkKind::Added,
            Self::Removed => ChunkKind::Removed,
            Self::Moved => ChunkKind::Moved,
            Self::Text | Self::Tag | Self::Attribute(_) => ChunkKind::Changed,
        }
    }
}

/// The sort of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeSort {
    /// An element.
    Element,
    /// A text, which has no selector.
    Text,
    /// A comment or the doctype, which have no selector either.
    Comment,
}

/// A change of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChange {
    /// The kind of change.
    pub what: NodeChangeKind,
    /// The sort of the node.
    pub sort: NodeSort,
    /// The CSS selector of the element in the head, or in the base if it was removed. For text, of
    /// the element around it.
    pub selector: String,
    /// The old text or value, or HTML up to a maximum. For a moved node, its old place.
    pub from: Option<String>,
    /// The new text, value or HTML. For a moved node, its new place.
    pub to: Option<String>,
    /// For a moved node, the beginning of its HTML.
    pub content: Option<String>,
    /// The node in the base.
    pub base: Option<usize>,
    /// The node in the head.
    pub head: Option<usize>,
    /// For an added or removed node, the partner of its parent on the other side.
    pub(crate) parent_there: Option<usize>,
}

impl NodeChange {
    /// The selector, with the part of the element that the change is about.
    pub fn place(&self) -> String {
        let selector = &self.selector;
        match (&self.what, self.sort) {
            (NodeChangeKind::Attribute(name), _) => format!("attribute {name} of {selector}"),
            (NodeChangeKind::Tag, _) => format!("tag of {selector}"),
            (NodeChangeKind::Text, _) | (_, NodeSort::Element) => selector.clone(),
            (_, NodeSort::Text) => format!("text in {selector}"),
            (_, NodeSort::Comment) => format!("comment in {selector}"),
        }
    }
}

impl fmt::Display for NodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, place) = (self.what.chunk_kind().word(), self.place());
        let side = |side: &'_ Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
        let (from, to) = (side(&self.from), side(&self.to));
        match self.what.chunk_kind() {
            ChunkKind::Added => write!(f, "{word} {place}: {to}"),
            ChunkKind::Removed => write!(f, "{word} {place}: {from}"),
            ChunkKind::Changed => write!(f, "{word} {place}: {from} -> {to}"),
            ChunkKind::Moved => {
                write!(
                    f,
                    "{word} {place}: from {from} to {to}: {}",
                    self.content.as_deref().unwrap_or_default()
                )
            }
        }
    }
}

/// The changes in the order of the head, removed nodes last, and at least `most` if there are more.
pub(super) fn report(base: &HtmlTree, head: &HtmlTree, pairs: &NodePairs, most: usize) -> Vec<NodeChange> {
    let mut moved = [vec![false; base.nodes().len()], vec![false; head.nodes().len()]];
    for (from, to) in &pairs.moved {
        (moved[0][*from], moved[1][*to]) = (true, true);
    }
    let mut reporter = NodeReporter {
        base,
        head,
        pairs,
        moved,
        base_paths: Selectors::of(base),
        head_paths: Selectors::of(head),
        base_spaces: InlineSpaces::of(base),
        head_spaces: InlineSpaces::of(head),
        changes: Vec::new(),
    };
    for place in 1..head.nodes().len() {
        reporter.head_node(place);
        if reporter.changes.len() >= most {
            return reporter.changes;
        }
    }
    for place in 1..base.nodes().len() {
        reporter.base_node(place);
        if reporter.changes.len() >= most {
            break;
        }
    }
    reporter.changes
}

struct NodeReporter<'t> {
    base: &'t HtmlTree,
    head: &'t HtmlTree,
    pairs: &'t NodePairs,
    /// For each node of the base and of the head, whether it is the root of a moved subtree.
    moved: [Vec<bool>; 2],
    base_paths: Selectors<'t>,
    head_paths: Selectors<'t>,
    base_spaces: InlineSpaces,
    head_spaces: InlineSpaces,
    changes: Vec<NodeChange>,
}

impl NodeReporter<'_> {
    fn head_node(&mut self, place: usize) {
        match self.pairs.of_head[place] {
            Some(partner) => self.pair(partner, place),
            None if is_visible(self.head, place) && self.is_top(self.head, &self.pairs.of_head, place) => {
                let to = Some(self.head_html(place));
                self.tell(NodeChangeKind::Added, None, Some(place), None, to);
            }
            None => {}
        }
    }

    fn base_node(&mut self, place: usize) {
        let gone = self.pairs.of_base[place].is_none() && is_visible(self.base, place);
        if gone && self.is_top(self.base, &self.pairs.of_base, place) {
            let from = Some(self.base_html(place));
            self.tell(NodeChangeKind::Removed, Some(place), None, from, None);
        }
    }

    fn base_html(&self, place: usize) -> String {
        outer_html(self.base, place, &self.pairs.of_base, &self.moved[0])
    }

    fn head_html(&self, place: usize) -> String {
        outer_html(self.head, place, &self.pairs.of_head, &self.moved[1])
    }

    /// Whether no node above was added or removed with it.
    fn is_top(&self, tree: &HtmlTree, partners: &[Option<usize>], place: usize) -> bool {
        partners[tree.nodes()[place].parent].is_some()
    }

    fn pair(&mut self, base: usize, head: usize) {
        if self.moved[1][head] {
            let [from, to] = self.places(base, head).map(Some);
            self.tell(NodeChangeKind::Moved, Some(base), Some(head), from, to);
        }
        let (from, to) = (&self.base.nodes()[base], &self.head.nodes()[head]);
        match (&from.data, &to.data) {
            (NodeData::Text(_), NodeData::Text(_)) if from.seen_text() != to.seen_text() => {
                self.text(base, head, from.seen_text(), to.seen_text());
                return;
            }
            // With its marks, so that it is not taken for text of the page.
            (NodeData::Comment(one), NodeData::Comment(other))
            | (NodeData::Doctype(one), NodeData::Doctype(other))
                if one != other =>
            {
                let (from, to) = (self.base_html(base), self.head_html(head));
                self.tell(NodeChangeKind::Text, Some(base), Some(head), Some(from), Some(to));
            }
            (NodeData::Element(name, from), NodeData::Element(other, to)) => {
                if name != other {
                    let [from, to] = [name, other].map(|name| Some(format!("<{name}>")));
                    self.tell(NodeChangeKind::Tag, Some(base), Some(head), from, to);
                }
                if from != to {
                    self.attributes(base, head, from, to);
                }
            }
            _ => {}
        }
        self.space(base, head);
    }

    /// The old and the new place of a moved node: by position, because an id moves with its
    /// element. If that is the same text, each place has its preceding sibling as well.
    fn places(&self, base: usize, head: usize) -> [String; 2] {
        let (from, to) = (self.base_paths.position(base), self.head_paths.position(head));
        if from != to {
            return [from, to];
        }
        [from + &preceding(self.base, base), to + &preceding(self.head, head)]
    }

    /// Reports white space that was added or removed before a node.
    fn space(&mut self, base: usize, head: usize) {
        let (Some(before), Some(after)) = (self.base_spaces.before(base), self.head_spaces.before(head))
        else {
            return;
        };
        if before.spaced != after.spaced && self.pairs.of_base[before.last()] == Some(after.last()) {
            let from = before.quoted(self.base, base);
            let to = after.quoted(self.head, head);
            self.tell(NodeChangeKind::Text, Some(base), Some(head), Some(from), Some(to));
        }
    }

    fn text(&mut self, base: usize, head: usize, from: Option<&str>, to: Option<&str>) {
        let [from, to] = [from, to].map(|text| text.map(str::to_owned));
        self.tell(NodeChangeKind::Text, Some(base), Some(head), from, to);
    }

    fn attributes(&mut self, base: usize, head: usize, from: &[(String, String)], to: &[(String, String)]) {
        let value = |of: &[(String, String)], name: &str| {
            of.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        let added = to.iter().filter(|(name, _)| value(from, name).is_none());
        for (name, _) in from.iter().chain(added) {
            let (before, after) = (value(from, name), value(to, name));
            if before != after {
                self.tell(NodeChangeKind::Attribute(name.clone()), Some(base), Some(head), before, after);
            }
        }
    }

    fn tell(
        &mut self,
        what: NodeChangeKind,
        base: Option<usize>,
        head: Option<usize>,
        from: Option<String>,
        to: Option<String>,
    ) {
        let (selector, data) = match (base, head) {
            (_, Some(head)) => (self.head_paths.path(head), &self.head.nodes()[head].data),
            (Some(base), None) => (self.base_paths.path(base), &self.base.nodes()[base].data),
            (None, None) => return,
        };
        let sort = match data {
            NodeData::Text(_) => NodeSort::Text,
            NodeData::Comment(_) | NodeData::Doctype(_) => NodeSort::Comment,
            NodeData::Element(..) | NodeData::Document => NodeSort::Element,
        };
        let parent_there = match (base, head) {
            (None, Some(head)) => self.pairs.of_head[self.head.nodes()[head].parent],
            (Some(base), None) => self.pairs.of_base[self.base.nodes()[base].parent],
            _ => None,
        };
        let is_moved = what == NodeChangeKind::Moved;
        let content = head.filter(|_| is_moved).map(|head| self.head.outer_html(head, MAX_MOVED_BYTES));
        let content = content.map(|html| html.trim().to_owned());
        self.changes.push(NodeChange { what, sort, selector, from, to, content, base, head, parent_there });
    }
}

/// The preceding sibling of a node, as a comment behind its selector.
fn preceding(tree: &HtmlTree, place: usize) -> String {
    match sibling_before(tree, place) {
        Some(before) => {
            let html = tree.outer_html(before, MAX_NEIGHBOUR_BYTES);
            format!(" /* after {} */", html.trim().replace("*/", "* /"))
        }
        None => " /* first */".to_owned(),
    }
}

/// The visible sibling before a node: the child of its parent around the node before it.
fn sibling_before(tree: &HtmlTree, place: usize) -> Option<usize> {
    let (nodes, parent) = (tree.nodes(), tree.nodes()[place].parent);
    let mut before = place - 1;
    while before != parent {
        while nodes[before].parent != parent {
            before = nodes[before].parent;
        }
        if is_visible(tree, before) {
            return Some(before);
        }
        before -= 1;
    }
    None
}

/// A subtree as HTML, without the elements in it that are on both sides, and without what moved: a
/// new element around existing content does not add that content. An ellipsis at the end shows that
/// it was cut.
fn outer_html(tree: &HtmlTree, place: usize, partners: &[Option<usize>], moved: &[bool]) -> String {
    let stayed =
        |inner: usize| moved[inner] || partners[inner].is_some() && tree.nodes()[inner].name().is_some();
    let html = tree.outer_html_without(place, MAX_QUOTED_BYTES, stayed);
    if html.len() <= MAX_QUOTED_BYTES {
        html
    } else {
        format!("{html} and more, as {} KiB are quoted", MAX_QUOTED_BYTES >> 10)
    }
}
