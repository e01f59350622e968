//! From pairs to changes.

use super::pairs::{Pairs, is_visible};
use super::quote::MOST_QUOTED;
use super::spaces::Spaces;
use std::fmt;
use varve_page::dom::{Data, Selectors, Tree};

/// What happened to a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// It is new.
    Inserted,
    /// It is gone.
    Removed,
    /// It is elsewhere.
    Moved,
    /// Its text changed.
    Text,
    /// An attribute came, went or changed.
    Attribute(String),
}

/// A change of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChange {
    /// What happened.
    pub what: What,
    /// To which element, as a CSS selector for the head; for the base, if it is gone. Of text, the element it is in.
    pub selector: String,
    /// What was there: text and value whole, HTML up to a bound; for what moved, the selector that it had.
    pub from: Option<String>,
    /// What is there now.
    pub to: Option<String>,
    /// The node in the base.
    pub base: Option<usize>,
    /// The node in the head.
    pub head: Option<usize>,
    /// Of what came or went, the partner of its parent on the other side: where it was not yet, or is no longer.
    pub(crate) parent_there: Option<usize>,
}

impl NodeChange {
    /// The word for what happened, as people are told it.
    pub const fn word(&self) -> &'static str {
        match self.what {
            What::Inserted => "added",
            What::Removed => "removed",
            What::Moved => "moved",
            What::Text | What::Attribute(_) => "changed",
        }
    }
}

impl fmt::Display for NodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, selector, from, to, .. } = self;
        let (from, to) = (from.as_deref().unwrap_or("nothing"), to.as_deref().unwrap_or("nothing"));
        match what {
            What::Inserted => write!(f, "inserted {selector}: {to}"),
            What::Removed => write!(f, "removed {selector}: {from}"),
            What::Moved => write!(f, "moved {selector}: from {from}"),
            What::Text => write!(f, "text {selector}: {from} -> {to}"),
            What::Attribute(name) => write!(f, "attribute {selector} {name}: {from} -> {to}"),
        }
    }
}

/// All changes that pairs mean, with those of the head in its order and what went last.
pub(super) fn report(base: &Tree, head: &Tree, pairs: &Pairs) -> Vec<NodeChange> {
    let mut reporter = Reporter {
        base,
        head,
        pairs,
        base_paths: Selectors::of(base),
        head_paths: Selectors::of(head),
        base_spaces: Spaces::of(base),
        head_spaces: Spaces::of(head),
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

struct Reporter<'t> {
    base: &'t Tree,
    head: &'t Tree,
    pairs: &'t Pairs,
    base_paths: Selectors<'t>,
    head_paths: Selectors<'t>,
    base_spaces: Spaces,
    head_spaces: Spaces,
    changes: Vec<NodeChange>,
}

impl Reporter<'_> {
    fn head_node(&mut self, place: usize) {
        match self.pairs.of_head[place] {
            Some(partner) => self.pair(partner, place),
            None if is_visible(self.head, place) && self.is_top(self.head, &self.pairs.of_head, place) => {
                let to = Some(outer_html(self.head, place, &self.pairs.of_head));
                self.tell(What::Inserted, None, Some(place), None, to);
            }
            None => {}
        }
    }

    fn base_node(&mut self, place: usize) {
        let gone = self.pairs.of_base[place].is_none() && is_visible(self.base, place);
        if gone && self.is_top(self.base, &self.pairs.of_base, place) {
            let from = Some(outer_html(self.base, place, &self.pairs.of_base));
            self.tell(What::Removed, Some(place), None, from, None);
        }
    }

    /// Whether nothing above the node has come or gone with it.
    fn is_top(&self, tree: &Tree, partners: &[Option<usize>], place: usize) -> bool {
        partners[tree.nodes()[place].parent].is_some()
    }

    fn pair(&mut self, base: usize, head: usize) {
        if self.pairs.moved.binary_search_by_key(&head, |(_, head)| *head).is_ok() {
            let from = Some(self.base_paths.path(base));
            self.tell(What::Moved, Some(base), Some(head), from, None);
        }
        let (from, to) = (&self.base.nodes()[base], &self.head.nodes()[head]);
        match (&from.data, &to.data) {
            (Data::Text(_), Data::Text(_)) if from.seen_text() != to.seen_text() => {
                self.text(base, head, from.seen_text(), to.seen_text());
                return;
            }
            // With its marks, so that nobody takes it for what the page says.
            (Data::Comment(one), Data::Comment(other)) | (Data::Doctype(one), Data::Doctype(other))
                if one != other =>
            {
                let (from, to) = (
                    outer_html(self.base, base, &self.pairs.of_base),
                    outer_html(self.head, head, &self.pairs.of_head),
                );
                self.tell(What::Text, Some(base), Some(head), Some(from), Some(to));
            }
            (Data::Element(_, from), Data::Element(_, to)) if from != to => {
                self.attributes(base, head, from, to)
            }
            _ => {}
        }
        self.space(base, head);
    }

    /// Tells if white space before what is otherwise the same came or went.
    fn space(&mut self, base: usize, head: usize) {
        let (Some(before), Some(after)) = (self.base_spaces.before(base), self.head_spaces.before(head))
        else {
            return;
        };
        if before.spaced != after.spaced && self.pairs.of_base[before.last()] == Some(after.last()) {
            let from = before.quoted(self.base, base);
            let to = after.quoted(self.head, head);
            self.tell(What::Text, Some(base), Some(head), Some(from), Some(to));
        }
    }

    fn text(&mut self, base: usize, head: usize, from: Option<&str>, to: Option<&str>) {
        let [from, to] = [from, to].map(|text| text.map(str::to_owned));
        self.tell(What::Text, Some(base), Some(head), from, to);
    }

    fn attributes(&mut self, base: usize, head: usize, from: &[(String, String)], to: &[(String, String)]) {
        let value = |of: &[(String, String)], name: &str| {
            of.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        let added = to.iter().filter(|(name, _)| value(from, name).is_none());
        for (name, _) in from.iter().chain(added) {
            let (before, after) = (value(from, name), value(to, name));
            if before != after {
                self.tell(What::Attribute(name.clone()), Some(base), Some(head), before, after);
            }
        }
    }

    fn tell(
        &mut self,
        what: What,
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

/// A subtree as HTML, without the elements in it that are on both sides: who puts a frame around what is there, or takes it away, has
/// neither written nor deleted it. Where it is too long, that is said at its end: the rest was not even written down to be counted.
fn outer_html(tree: &Tree, place: usize, partners: &[Option<usize>]) -> String {
    let stayed = |inner: usize| partners[inner].is_some() && tree.nodes()[inner].name().is_some();
    let html = tree.outer_html_without(place, MOST_QUOTED, stayed);
    if html.len() <= MOST_QUOTED {
        html
    } else {
        format!("{html} and more, as {} KiB are quoted", MOST_QUOTED >> 10)
    }
}
