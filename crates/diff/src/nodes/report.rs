//! Derives changes from pairs of nodes.

use super::pairs::{NodePairs, is_visible};
use super::quote::MAX_QUOTED_BYTES;
use super::spaces::InlineSpaces;
use std::fmt;
use varve_page::dom::{HtmlTree, NodeData, Selectors};

/// The kind of change of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeChangeKind {
    /// It was inserted.
    Inserted,
    /// It was removed.
    Removed,
    /// It moved.
    Moved,
    /// Its text changed.
    Text,
    /// An attribute was added, removed or changed.
    Attribute(String),
}

/// A change of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChange {
    /// The kind of change.
    pub what: NodeChangeKind,
    /// The CSS selector of the element in the head, or in the base if it was removed. For text, of
    /// the element around it.
    pub selector: String,
    /// The old text or value, or HTML up to a maximum. For a moved node, its old selector.
    pub from: Option<String>,
    /// The new text, value or HTML.
    pub to: Option<String>,
    /// The node in the base.
    pub base: Option<usize>,
    /// The node in the head.
    pub head: Option<usize>,
    /// For an inserted or removed node, the partner of its parent on the other side.
    pub(crate) parent_there: Option<usize>,
}

impl NodeChange {
    /// The word for the kind of change in reports.
    pub const fn word(&self) -> &'static str {
        match self.what {
            NodeChangeKind::Inserted => "added",
            NodeChangeKind::Removed => "removed",
            NodeChangeKind::Moved => "moved",
            NodeChangeKind::Text | NodeChangeKind::Attribute(_) => "changed",
        }
    }
}

impl fmt::Display for NodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, selector, from, to, .. } = self;
        let (from, to) = (from.as_deref().unwrap_or("nothing"), to.as_deref().unwrap_or("nothing"));
        match what {
            NodeChangeKind::Inserted => write!(f, "inserted {selector}: {to}"),
            NodeChangeKind::Removed => write!(f, "removed {selector}: {from}"),
            NodeChangeKind::Moved => write!(f, "moved {selector}: from {from}"),
            NodeChangeKind::Text => write!(f, "text {selector}: {from} -> {to}"),
            NodeChangeKind::Attribute(name) => write!(f, "attribute {selector} {name}: {from} -> {to}"),
        }
    }
}

/// All changes, in the order of the head, removed nodes last.
pub(super) fn report(base: &HtmlTree, head: &HtmlTree, pairs: &NodePairs) -> Vec<NodeChange> {
    let mut reporter = NodeReporter {
        base,
        head,
        pairs,
        base_paths: Selectors::of(base),
        head_paths: Selectors::of(head),
        base_spaces: InlineSpaces::of(base),
        head_spaces: InlineSpaces::of(head),
        changes: Vec::new(),
    };
    for place in 1..head.nodes().len() {
        reporter.head_node(place);
    }
    for place in 1..base.nodes().len() {
        reporter.base_node(place);
    }
    reporter.changes
}

struct NodeReporter<'t> {
    base: &'t HtmlTree,
    head: &'t HtmlTree,
    pairs: &'t NodePairs,
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
                let to = Some(outer_html(self.head, place, &self.pairs.of_head));
                self.tell(NodeChangeKind::Inserted, None, Some(place), None, to);
            }
            None => {}
        }
    }

    fn base_node(&mut self, place: usize) {
        let gone = self.pairs.of_base[place].is_none() && is_visible(self.base, place);
        if gone && self.is_top(self.base, &self.pairs.of_base, place) {
            let from = Some(outer_html(self.base, place, &self.pairs.of_base));
            self.tell(NodeChangeKind::Removed, Some(place), None, from, None);
        }
    }

    /// Whether no node above was inserted or removed with it.
    fn is_top(&self, tree: &HtmlTree, partners: &[Option<usize>], place: usize) -> bool {
        partners[tree.nodes()[place].parent].is_some()
    }

    fn pair(&mut self, base: usize, head: usize) {
        if self.pairs.moved.binary_search_by_key(&head, |(_, head)| *head).is_ok() {
            let from = Some(self.base_paths.path(base));
            self.tell(NodeChangeKind::Moved, Some(base), Some(head), from, None);
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
                let (from, to) = (
                    outer_html(self.base, base, &self.pairs.of_base),
                    outer_html(self.head, head, &self.pairs.of_head),
                );
                self.tell(NodeChangeKind::Text, Some(base), Some(head), Some(from), Some(to));
            }
            (NodeData::Element(_, from), NodeData::Element(_, to)) if from != to => {
                self.attributes(base, head, from, to)
            }
            _ => {}
        }
        self.space(base, head);
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
        let selector = match (base, head) {
            (_, Some(head)) => self.head_paths.path(head),
            (Some(base), None) => self.base_paths.path(base),
            (None, None) => String::new(),
        };
        let parent_there = match (base, head) {
            (None, Some(head)) => self.pairs.of_head[self.head.nodes()[head].parent],
            (Some(base), None) => self.pairs.of_base[self.base.nodes()[base].parent],
            _ => None,
        };
        self.changes.push(NodeChange { what, selector, from, to, base, head, parent_there });
    }
}

/// A subtree as HTML, without the elements in it that are on both sides: a new element around
/// existing content does not insert that content. An ellipsis at the end shows that it was cut.
fn outer_html(tree: &HtmlTree, place: usize, partners: &[Option<usize>]) -> String {
    let stayed = |inner: usize| partners[inner].is_some() && tree.nodes()[inner].name().is_some();
    let html = tree.outer_html_without(place, MAX_QUOTED_BYTES, stayed);
    if html.len() <= MAX_QUOTED_BYTES {
        html
    } else {
        format!("{html} and more, as {} KiB are quoted", MAX_QUOTED_BYTES >> 10)
    }
}
