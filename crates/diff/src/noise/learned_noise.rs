//! Noise learned from two captures of a page taken together, which should differ only by noise.
//!
//! A node is remembered by selector and kind of change. A line, and a node that runs, is remembered
//! by its [skeleton](super::skeleton): the parts that stayed, with gaps that may hold anything but
//! a tag. So a script that differs in one number between them may differ in nothing else. A line
//! with a short skeleton is remembered by the [lines around it](super::line_places) as well.

use super::document::{BodySyntax, DocumentIndex, SourceDocument};
use super::line_places::{LinePlace, MAX_READ_LINES};
use super::nodes::{LINK_ATTRIBUTES, is_active, is_active_attribute};
use super::skeleton::{Skeleton, bare};
use crate::headers::{HeaderDiff, RedactedSide};
use crate::nodes::{NodeChange, NodeChangeKind};
use crate::text::{LineChange, TextDiff, TextLines};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use varve_page::dom::HtmlTree;

/// Maximum number of skeletons.
const MAX_SKELETONS: usize = 500;

/// Maximum number of lines that are remembered by their place.
const MAX_PLACED_LINES: usize = 200;

/// Maximum length of a line, and of a change of lines, that is compared with all skeletons.
const MAX_NUMBERED_LINE_BYTES: usize = 4 << 10;
const MAX_COMPARED_BYTES: usize = 64 << 10;

/// Headers that are never learned: a change of them matters even if they always change.
#[rustfmt::skip]
const WATCHED_HEADERS: [&str; 18] = [
    "access-control-allow-credentials", "access-control-allow-origin", "content-disposition",
    "content-security-policy", "content-security-policy-report-only", "content-type",
    "cross-origin-embedder-policy", "cross-origin-opener-policy", "cross-origin-resource-policy",
    "location", "permissions-policy", "referrer-policy", "refresh", "set-cookie",
    "strict-transport-security", "x-content-type-options", "x-frame-options", "x-robots-tag",
];

/// What differs in every capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volatile {
    places: BTreeSet<(String, NodeChangeKind)>,
    skeletons: BTreeSet<Skeleton>,
    placed: Vec<LinePlace>,
    headers: BTreeSet<String>,
}

impl Volatile {
    /// Learns from the lines of two captures taken together.
    pub fn learn_lines(&mut self, diff: &TextDiff<'_>, syntaxes: [BodySyntax; 2]) {
        let indexes = syntaxes.map(DocumentIndex::new);
        let side = |lines, index| (lines, SourceDocument { text: TextLines::text(lines), index });
        let sides = [side(diff.base(), &indexes[0]), side(diff.head(), &indexes[1])];
        let mut left = MAX_READ_LINES;
        let is_paired = |change: &&LineChange| change.base_lines.len() == change.head_lines.len();
        for change in diff.changes().iter().filter(is_paired) {
            for (base, head) in change.base_lines.clone().zip(change.head_lines.clone()) {
                let (from, to) = (bare(diff.base().line(base)), bare(diff.head().line(head)));
                let short = self.learn(from, to).filter(|_| self.placed.len() < MAX_PLACED_LINES);
                let place = |short| LinePlace::find(short, sides, [base, head], &mut left);
                self.placed.extend(short.and_then(place));
            }
        }
    }

    /// Learns from the nodes of two captures taken together.
    pub fn learn_nodes(&mut self, changes: &[NodeChange]) {
        for change in changes {
            if let Some((from, to)) = changed_values(change) {
                self.learn(from, to);
            }
            self.places.insert((change.selector.clone(), change.what.clone()));
        }
    }

    /// Learns from the headers of two captures taken together, and from those that are redacted.
    pub fn learn_headers(&mut self, diff: &HeaderDiff, redacted: &BTreeMap<String, RedactedSide>) {
        let names = diff.changed.keys().chain(diff.added.keys()).chain(diff.removed.keys());
        let redacted = redacted.iter().filter(|(_, side)| side.is_change()).map(|(name, _)| name);
        let names = names.chain(redacted);
        self.headers.extend(names.filter(|name| !WATCHED_HEADERS.contains(&name.as_str())).cloned());
    }

    /// Whether a header differs in every capture.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.contains(name)
    }

    /// Whether each pair of these lines, taken in order, is one that differs in every capture.
    pub(super) fn explains_lines(
        &self,
        diff: &TextDiff<'_>,
        documents: [SourceDocument<'_>; 2],
        (base, head): (Range<usize>, Range<usize>),
    ) -> bool {
        let length = diff.base().range(&base).len().max(diff.head().range(&head).len());
        let sides = [(diff.base(), documents[0]), (diff.head(), documents[1])];
        let by_place = |base: usize, head: usize| {
            self.placed.iter().any(|placed| placed.fits(sides[0], base) && placed.fits(sides[1], head))
        };
        let is_known = |(base, head): (usize, usize)| {
            let (from, to) = (bare(diff.base().line(base)), bare(diff.head().line(head)));
            from == to || self.explains(from, to) || by_place(base, head)
        };
        (!self.skeletons.is_empty() || !self.placed.is_empty())
            && length <= MAX_COMPARED_BYTES
            && base.zip(head).all(is_known)
    }

    /// The cost of comparing a text with everything that is learned, as a factor.
    pub(super) fn weight(&self) -> usize {
        1 + (self.skeletons.len() + self.placed.len()) / 64
    }

    /// The number of the skeleton that a line fits. Two lines of the same number are partners.
    pub(super) fn number_of_line(&self, line: &str) -> Option<usize> {
        let line = bare(line);
        let mut skeletons = self.skeletons.iter().filter(|_| line.len() <= MAX_NUMBERED_LINE_BYTES);
        skeletons.position(|skeleton| skeleton.gaps(line).is_some())
    }

    /// Whether a changed node is one that differs in every capture.
    pub(super) fn explains_node(&self, base: &HtmlTree, head: &HtmlTree, change: &NodeChange) -> bool {
        let by_skeleton = || changed_values(change).is_some_and(|(from, to)| self.explains(from, to));
        let known = self.places.contains(&(change.selector.clone(), change.what.clone()));
        known && (!runs(base, head, change) || by_skeleton())
    }

    fn explains(&self, from: &str, to: &str) -> bool {
        self.skeletons.iter().any(|skeleton| [from, to].iter().all(|text| skeleton.gaps(text).is_some()))
    }

    /// Learns the skeleton of two texts, or returns it if it does not identify them.
    fn learn(&mut self, from: &str, to: &str) -> Option<Skeleton> {
        let skeleton = Skeleton::of(from, to)?;
        if !skeleton.is_distinctive() {
            return Some(skeleton);
        }
        self.skeletons.extend(Some(skeleton).filter(|_| self.skeletons.len() < MAX_SKELETONS));
        None
    }
}

/// The old and the new value of a text or an attribute. A moved node has places instead of values.
fn changed_values(change: &NodeChange) -> Option<(&str, &str)> {
    match &change.what {
        NodeChangeKind::Text | NodeChangeKind::Attribute(_) => {
            Some((change.from.as_deref()?, change.to.as_deref()?))
        }
        NodeChangeKind::Added | NodeChangeKind::Removed | NodeChangeKind::Moved | NodeChangeKind::Tag => None,
    }
}

/// Whether the changed content runs, loads or sends something.
fn runs(base: &HtmlTree, head: &HtmlTree, change: &NodeChange) -> bool {
    let (tree, node) = match (change.head, change.base) {
        (Some(node), _) => (head, node),
        (None, Some(node)) => (base, node),
        (None, None) => return true,
    };
    match &change.what {
        NodeChangeKind::Attribute(name) => {
            LINK_ATTRIBUTES.contains(&name.as_str())
                || is_active_attribute(name, tree.nodes()[node].attribute(name).unwrap_or_default())
        }
        NodeChangeKind::Text => is_active(tree, tree.nodes()[node].parent, tree.nodes()[node].parent + 1),
        NodeChangeKind::Added | NodeChangeKind::Removed | NodeChangeKind::Moved | NodeChangeKind::Tag => {
            is_active(tree, node, tree.nodes()[node].end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NoiseRule, classify_lines, classify_nodes};
    use super::*;
    use crate::nodes::DomDiff;
    use crate::text::LineOptions;

    const HTML: [BodySyntax; 2] = [BodySyntax::Html; 2];

    #[test]
    fn lines_are_learned_by_their_skeleton() {
        let page = |text: &str| format!("<div class=visits>Visits today: {text}</div>\n<p>same</p>\n");
        let lines = |base: &str, head: &str, volatile: &Volatile| {
            classify_lines(&mut TextDiff::between(base, head, LineOptions::default()), HTML, volatile)
        };
        let mut volatile = Volatile::default();
        volatile.learn_lines(&TextDiff::between(page("17"), page("18"), LineOptions::default()), HTML);
        assert_eq!(lines(&page("5"), &page("900"), &volatile), [Some(NoiseRule::Learned)]);
        assert_eq!(lines(&page("5"), &page("<script>evil()</script>"), &volatile), [None]);
        assert_eq!(lines(&page("5"), &page("5").replace("Visits", "Hits"), &volatile), [None]);
    }

    #[test]
    fn nodes_are_learned_by_place_and_scripts_by_their_skeleton() {
        let page = |number: &str, script: &str| {
            format!("<p>{number}</p><script>var seed = {number}; run({script})</script>")
        };
        let rules = |base: &str, head: &str, volatile: &Volatile| {
            let (base, head) = (HtmlTree::parse(base), HtmlTree::parse(head));
            let diff = DomDiff::between(&base, &head);
            classify_nodes(&base, &head, &diff.changes, volatile)
        };
        let (one, other) = (HtmlTree::parse(&page("17", "x")), HtmlTree::parse(&page("18", "x")));
        let mut volatile = Volatile::default();
        volatile.learn_nodes(&DomDiff::between(&one, &other).changes);
        let learned = Some(NoiseRule::Learned);
        assert_eq!(rules(&page("1", "x"), &page("2", "x"), &volatile), [learned, learned]);
        assert_eq!(rules(&page("1", "x"), &page("2", "evil"), &volatile), [learned, None]);
    }
}
