//! What two captures taken together teach: whatever differs between them is no edit.
//!
//! Places are remembered by selector and kind of change, lines and whatever runs by their skeleton: the parts that stayed,
//! with gaps that may hold anything but a tag. So a script that differs in one number between twins stays under watch for
//! everything else in it. A line of which too little stayed is known by [where it stands](super::placed) as well.

use super::nodes::{LEADING, is_active, is_active_attribute};
use super::placed::{Placed, Places};
use super::skeleton::{Skeleton, bare};
use crate::headers::{HeaderDiff, RedactedSide};
use crate::nodes::{NodeChange, What};
use crate::text::TextDiff;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use varve_page::dom::Tree;

/// Skeletons that are remembered. Pages with more are different each time, and nothing can be learned from them.
const MOST_SKELETONS: usize = 500;

/// Lines that are remembered by their place.
const MOST_PLACED: usize = 200;

/// The longest line that is held against all skeletons.
const LONGEST_NUMBERED: usize = 4 << 10;

/// Headers that are never learned: a change in them matters even if they always change.
const WATCHED: [&str; 18] = [
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "content-disposition",
    "content-security-policy",
    "content-security-policy-report-only",
    "content-type",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "location",
    "permissions-policy",
    "referrer-policy",
    "refresh",
    "set-cookie",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
    "x-robots-tag",
];

/// What differs each time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volatile {
    places: BTreeSet<(String, What)>,
    skeletons: BTreeSet<Skeleton>,
    placed: Vec<Placed>,
    headers: BTreeSet<String>,
}

impl Volatile {
    /// Learns from the lines of twins.
    pub fn learn_lines(&mut self, twins: &TextDiff<'_>) {
        let mut places = Places::of(twins);
        for change in
            twins.changes().iter().filter(|change| change.base_lines.len() == change.head_lines.len())
        {
            for (base, head) in change.base_lines.clone().zip(change.head_lines.clone()) {
                let (from, to) = (bare(twins.base().line(base)), bare(twins.head().line(head)));
                match Skeleton::of(from, to) {
                    Some(skeleton) if !skeleton.is_telling() => {
                        if self.placed.len() < MOST_PLACED {
                            self.placed.extend(places.place(skeleton, base, head));
                        }
                    }
                    skeleton => self.keep(skeleton),
                }
            }
        }
    }

    /// Learns from the nodes of twins.
    pub fn learn_nodes(&mut self, twins: &[NodeChange]) {
        for change in twins {
            if let (Some(from), Some(to)) = (&change.from, &change.to) {
                self.learn(from, to);
            }
            self.places.insert((change.selector.clone(), change.what.clone()));
        }
    }

    /// Learns from the headers of twins, and from those that are redacted.
    pub fn learn_headers(&mut self, twins: &HeaderDiff, redacted: &BTreeMap<String, RedactedSide>) {
        let names = twins.changed.keys().chain(twins.added.keys()).chain(twins.removed.keys());
        let redacted = redacted.iter().filter(|(_, side)| side.is_change()).map(|(name, _)| name);
        let names = names.chain(redacted);
        self.headers.extend(names.filter(|name| !WATCHED.contains(&name.as_str())).cloned());
    }

    /// Whether a header differs each time.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.contains(name)
    }

    /// Whether each of these lines, which stand opposite each other, is one that differs each time. `is_raw` says of two of them
    /// whether either stands in a script or a style.
    pub(super) fn explains_lines(
        &self,
        diff: &TextDiff<'_>,
        (base, head): (Range<usize>, Range<usize>),
        is_raw: &dyn Fn(usize, usize) -> bool,
    ) -> bool {
        let length = diff.base().range(&base).len().max(diff.head().range(&head).len());
        let by_place = |base: usize, head: usize| {
            let fits = |placed: &Placed| placed.fits(diff.base(), base) && placed.fits(diff.head(), head);
            self.placed.iter().any(fits) && !is_raw(base, head)
        };
        let is_known = |(base, head): (usize, usize)| {
            let (from, to) = (bare(diff.base().line(base)), bare(diff.head().line(head)));
            from == to || self.explains(from, to) || by_place(base, head)
        };
        (!self.skeletons.is_empty() || !self.placed.is_empty())
            && length <= 64 << 10
            && base.zip(head).all(is_known)
    }

    /// How much more a text costs that is held against all that is known, as a factor.
    pub(super) fn weight(&self) -> usize {
        1 + (self.skeletons.len() + self.placed.len()) / 64
    }

    /// Which of the lines that differ each time this is, if it is one. Two of the same number are partners.
    pub(super) fn number_of_line(&self, line: &str) -> Option<usize> {
        let line = bare(line);
        (line.len() <= LONGEST_NUMBERED)
            .then(|| self.skeletons.iter().position(|skeleton| skeleton.fits(line)))?
    }

    /// Whether a changed node is one that differs each time.
    pub(super) fn explains_node(&self, base: &Tree, head: &Tree, change: &NodeChange) -> bool {
        let by_skeleton =
            || matches!((&change.from, &change.to), (Some(from), Some(to)) if self.explains(from, to));
        let known = self.places.contains(&(change.selector.clone(), change.what.clone()));
        known && (!runs(base, head, change) || by_skeleton())
    }

    fn explains(&self, from: &str, to: &str) -> bool {
        self.skeletons.iter().any(|skeleton| skeleton.fits(from) && skeleton.fits(to))
    }

    fn learn(&mut self, from: &str, to: &str) {
        self.keep(Skeleton::of(from, to).filter(Skeleton::is_telling));
    }

    fn keep(&mut self, skeleton: Option<Skeleton>) {
        if self.skeletons.len() < MOST_SKELETONS {
            self.skeletons.extend(skeleton);
        }
    }
}

/// Whether what changed runs, loads or sends something.
fn runs(base: &Tree, head: &Tree, change: &NodeChange) -> bool {
    let (tree, node) = match (change.head, change.base) {
        (Some(node), _) => (head, node),
        (None, Some(node)) => (base, node),
        (None, None) => return true,
    };
    match &change.what {
        What::Attribute(name) => {
            LEADING.contains(&name.as_str())
                || is_active_attribute(name, tree.nodes()[node].attribute(name).unwrap_or_default())
        }
        What::Text => is_active(tree, tree.nodes()[node].parent, tree.nodes()[node].parent + 1),
        What::Inserted | What::Removed | What::Moved => is_active(tree, node, tree.nodes()[node].end),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NoiseRule, classify_lines, classify_nodes};
    use super::*;
    use crate::nodes::DomDiff;
    use crate::text::Options;

    #[test]
    fn lines_are_learned_by_what_stays_in_them() {
        let twins = |text: &str| format!("<div class=visits>Visits today: {text}</div>\n<p>same</p>\n");
        let lines = |base: &str, head: &str, volatile: &Volatile| {
            classify_lines(&TextDiff::between(base, head, Options::default()), volatile)
        };
        let mut volatile = Volatile::default();
        volatile.learn_lines(&TextDiff::between(twins("17"), twins("18"), Options::default()));
        assert_eq!(lines(&twins("5"), &twins("900"), &volatile), [Some(NoiseRule::Twins)]);
        assert_eq!(lines(&twins("5"), &twins("<script>evil()</script>"), &volatile), [None]);
        assert_eq!(lines(&twins("5"), &twins("5").replace("Visits", "Hits"), &volatile), [None]);
    }

    #[test]
    fn nodes_are_learned_by_place_and_scripts_by_their_skeleton() {
        let page = |number: &str, script: &str| {
            format!("<p>{number}</p><script>var seed = {number}; run({script})</script>")
        };
        let rules = |base: &str, head: &str, volatile: &Volatile| {
            let (base, head) = (Tree::parse(base), Tree::parse(head));
            let diff = DomDiff::between(&base, &head);
            classify_nodes(&base, &head, &diff.changes, volatile)
        };
        let (one, other) = (Tree::parse(&page("17", "x")), Tree::parse(&page("18", "x")));
        let mut volatile = Volatile::default();
        volatile.learn_nodes(&DomDiff::between(&one, &other).changes);
        let twins = Some(NoiseRule::Twins);
        assert_eq!(rules(&page("1", "x"), &page("2", "x"), &volatile), [twins, twins]);
        assert_eq!(rules(&page("1", "x"), &page("2", "evil"), &volatile), [twins, None]);
    }
}
