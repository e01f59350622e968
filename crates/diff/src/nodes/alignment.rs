//! Aligns the unpaired children of two paired nodes by their similarity.
//!
//! In each gap between paired siblings the sum of similarities is made as large as possible, so that
//! an edited paragraph is not taken for the new one before it. Elements that were wrapped, and
//! similar ones in another order, are found here as well.
//!
//! Owns the scores and the alignment. Does not know when which children are aligned.

use super::pairs::{ComparedTrees, NodePairs, TreeSide, children, equal_nodes};
use super::similarity::{FULL_SIMILARITY, FeatureBag, FeatureCounts, PairingBudget, features, similarity};
use crate::text::sequence;
use std::collections::HashMap;
use varve_page::dom::NodeData;

/// Maximum number of pairs of children of a gap that are compared.
const MAX_GAP_CELLS: usize = 1 << 20;

/// The same for children that may have been wrapped.
const MAX_WRAPPER_CELLS: usize = 1 << 10;

/// Maximum number of nodes of a wrapper in which its content is looked for.
const MAX_WRAPPER_NODES: usize = 16;

/// Maximum number of siblings of each side whose features are counted, unpaired and paired.
const MAX_UNPAIRED_SIBLINGS: usize = 64;
const MAX_PAIRED_SIBLINGS: usize = 32;

/// Similarity from which children are partners at the same place, with another name or id, and in
/// another order.
const SIMILAR_ENOUGH: u32 = 500;
const SIMILAR_RENAMED: u32 = 700;
const SIMILAR_MOVED: u32 = 600;

/// Number of distinctive features that two children must share in another order.
const MIN_MOVED_FEATURES: usize = 8;

/// Scores of children at the same place: equal ones, and of the remaining ones those with the same
/// role, and those with only the same name.
const EQUAL_SCORE: u32 = 2000;
const ROLE_SCORE: u32 = 20;
const NAME_SCORE: u32 = 10;

/// Maximum number of nodes that are searched for the other name of a renamed element.
const MAX_RENAMED_NODES: usize = 64;

/// Elements whose name decides what they do. They are never renamed, but replaced.
#[rustfmt::skip]
const FIXED_ELEMENTS: [&str; 29] = [
    "a", "audio", "base", "body", "button", "embed", "form", "frame", "frameset", "head", "html", "iframe", "img", "input",
    "link", "math", "meta", "noscript", "object", "option", "script", "select", "source", "style", "svg", "template",
    "textarea", "title", "video",
];

/// Unpaired children between the same paired siblings.
struct SiblingGap {
    base: Vec<usize>,
    head: Vec<usize>,
}

/// Which children of a gap may become partners.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AlignmentPass {
    /// Equal ones first, then all that have the same name.
    Repeated,
    /// Similar ones.
    Similar,
    /// All that have the same name.
    Remaining,
}

/// The distinctive features of unpaired children.
pub(super) struct SiblingFeatures {
    base: HashMap<usize, FeatureBag>,
    head: HashMap<usize, FeatureBag>,
}

impl NodePairs {
    /// The features of unpaired children that distinguish them from their siblings.
    pub(super) fn sibling_features(
        &self,
        trees: &ComparedTrees<'_>,
        parents: (usize, usize),
        budget: &mut PairingBudget,
    ) -> SiblingFeatures {
        let mut counts = FeatureCounts::default();
        let mut collect = |side: &TreeSide<'_>, place: usize, partners: &[Option<usize>]| {
            let (mut bags, mut paired) = (HashMap::new(), 0);
            for child in children(side.tree, place) {
                if partners[child].is_some() {
                    paired += 1;
                    if paired <= MAX_PAIRED_SIBLINGS {
                        counts.add(&features(side.tree, child, budget));
                    }
                    continue;
                }
                let bag = features(side.tree, child, budget);
                if bags.len() < MAX_UNPAIRED_SIBLINGS {
                    counts.add(&bag);
                }
                bags.insert(child, bag);
            }
            bags
        };
        let base = collect(&trees.base, parents.0, &self.of_base);
        let head = collect(&trees.head, parents.1, &self.of_head);
        let distinctive = |bags: HashMap<usize, FeatureBag>| {
            bags.into_iter().map(|(child, bag)| (child, counts.distinctive(bag))).collect()
        };
        SiblingFeatures { base: distinctive(base), head: distinctive(head) }
    }

    /// The gaps between siblings that are paired in order.
    fn gaps(&self, trees: &ComparedTrees<'_>, (base, head): (usize, usize)) -> Vec<SiblingGap> {
        let kept = self.kept_children(trees, (base, head));
        let anchors = if kept.is_sorted() { kept } else { sequence::longest_rising(kept) };
        let open = |side: &TreeSide<'_>, place, partners: &[Option<usize>]| -> Vec<usize> {
            children(side.tree, place).filter(|child: &usize| partners[*child].is_none()).collect()
        };
        let from = open(&trees.base, base, &self.of_base);
        let to = open(&trees.head, head, &self.of_head);
        let (mut from, mut to) = (&from[..], &to[..]);
        let mut gaps = Vec::new();
        for anchor in anchors.into_iter().chain(std::iter::once((usize::MAX, usize::MAX))) {
            let before = from.partition_point(|child| *child < anchor.0);
            let after = to.partition_point(|child| *child < anchor.1);
            if before > 0 && after > 0 {
                gaps.push(SiblingGap { base: from[..before].to_vec(), head: to[..after].to_vec() });
            }
            (from, to) = (&from[before..], &to[after..]);
        }
        gaps
    }

    /// Pairs the children of each gap so that the sum of scores is largest.
    pub(super) fn align(
        &mut self,
        trees: &ComparedTrees<'_>,
        parents: (usize, usize),
        found: &SiblingFeatures,
        pass: AlignmentPass,
        budget: &mut PairingBudget,
    ) {
        for gap in self.gaps(trees, parents) {
            let cells = gap.base.len().saturating_mul(gap.head.len());
            if cells > MAX_GAP_CELLS || !budget.spend(2 * cells) {
                continue;
            }
            let mut scores = Vec::with_capacity(cells);
            for from in &gap.base {
                for to in &gap.head {
                    let (similar, _) = similarity(&found.base[from], &found.head[to], budget);
                    scores.push(score(trees, (*from, *to), similar, pass));
                }
            }
            for (row, column) in best_alignment(&scores, gap.base.len(), gap.head.len()) {
                self.join_children(trees, gap.base[row], gap.head[column]);
            }
        }
    }

    /// Pairs two children, and all nodes in them if they are equal.
    pub(super) fn join_children(&mut self, trees: &ComparedTrees<'_>, from: usize, to: usize) {
        let is_equal = trees.base.hashes[from] == trees.head.hashes[to];
        let nodes = is_equal.then(|| equal_nodes(trees.base.tree, from, trees.head.tree, to)).flatten();
        self.join(from, to);
        nodes.into_iter().flatten().for_each(|(base, head)| self.join(base, head));
    }

    /// Pairs a child with an element of the same role that is most of another child: a new element
    /// was put around it, or one was removed.
    pub(super) fn by_wrapper(
        &mut self,
        trees: &ComparedTrees<'_>,
        parents: (usize, usize),
        found: &SiblingFeatures,
        budget: &mut PairingBudget,
    ) {
        for gap in self.gaps(trees, parents) {
            let cells = gap.base.len() * gap.head.len();
            if cells > MAX_WRAPPER_CELLS || !budget.spend(cells * MAX_WRAPPER_NODES) {
                continue;
            }
            for (from, to) in gap.base.iter().flat_map(|from| gap.head.iter().map(move |to| (*from, *to))) {
                let is_open = self.of_base[from].is_none() && self.of_head[to].is_none();
                if !is_open || similarity(&found.base[&from], &found.head[&to], budget).0 < SIMILAR_ENOUGH {
                    continue;
                }
                let is_free = |place: &usize, partners: &[Option<usize>]| partners[*place].is_none();
                let inner = element_within(&trees.head, to, (&trees.base, from));
                if let Some(inner) = inner.filter(|inner| is_free(inner, &self.of_head)) {
                    self.join(from, inner);
                    continue;
                }
                let inner = element_within(&trees.base, from, (&trees.head, to));
                if let Some(inner) = inner.filter(|inner| is_free(inner, &self.of_base)) {
                    self.join(inner, to);
                }
            }
        }
    }

    /// Pairs remaining elements of one name that are very similar, in any order, the most similar
    /// first.
    pub(super) fn by_similarity(
        &mut self,
        trees: &ComparedTrees<'_>,
        found: &SiblingFeatures,
        budget: &mut PairingBudget,
    ) {
        let is_open = |side: &TreeSide<'_>, partners: &[Option<usize>], place: usize| {
            partners[place].is_none() && side.tree.nodes()[place].name().is_some()
        };
        let open = |bags: &HashMap<usize, FeatureBag>, side: &TreeSide<'_>, partners: &[Option<usize>]| {
            let mut open: Vec<_> =
                bags.keys().copied().filter(|place| is_open(side, partners, *place)).collect();
            open.sort_unstable();
            open
        };
        let from = open(&found.base, &trees.base, &self.of_base);
        let to = open(&found.head, &trees.head, &self.of_head);
        if from.len().saturating_mul(to.len()) > MAX_GAP_CELLS || !budget.spend(from.len() * to.len()) {
            return;
        }
        let mut alike = Vec::new();
        for base in from {
            for head in &to {
                let (one, other) = (&trees.base.tree.nodes()[base], &trees.head.tree.nodes()[*head]);
                if one.name() != other.name() {
                    continue;
                }
                let (similar, shared) = similarity(&found.base[&base], &found.head[head], budget);
                if similar >= SIMILAR_MOVED && shared >= MIN_MOVED_FEATURES {
                    alike.push((std::cmp::Reverse(similar), base, *head));
                }
            }
        }
        alike.sort_unstable();
        for (_, base, head) in alike {
            if self.of_base[base].is_none() && self.of_head[head].is_none() {
                self.join(base, head);
                self.out_of_order[head] = true;
            }
        }
    }
}

/// The score of two children as partners; 0 if they must not be.
fn score(trees: &ComparedTrees<'_>, (from, to): (usize, usize), similar: u32, pass: AlignmentPass) -> u32 {
    let (one, other) = (&trees.base.tree.nodes()[from], &trees.head.tree.nodes()[to]);
    // The third power prefers one good partner to two poor ones.
    let value = similar.pow(3) / FULL_SIMILARITY.pow(2);
    let required = match (&one.data, &other.data) {
        (NodeData::Element(name, _), NodeData::Element(other_name, _)) if name == other_name => {
            let ids = (one.attribute("id").unwrap_or_default(), other.attribute("id").unwrap_or_default());
            if ids.0.is_empty() || ids.1.is_empty() || ids.0 == ids.1 {
                SIMILAR_ENOUGH
            } else {
                SIMILAR_RENAMED
            }
        }
        (NodeData::Element(..), NodeData::Element(..)) => {
            let is_renamed = similar >= SIMILAR_RENAMED && may_be_renamed(trees, from, to);
            return if is_renamed { value } else { 0 };
        }
        (one, other) if std::mem::discriminant(one) == std::mem::discriminant(other) => SIMILAR_ENOUGH,
        _ => return 0,
    };
    let is_same_role = trees.base.roles[from] == trees.head.roles[to];
    let same = if is_same_role { ROLE_SCORE } else { NAME_SCORE };
    match pass {
        AlignmentPass::Repeated if trees.base.hashes[from] == trees.head.hashes[to] => EQUAL_SCORE,
        AlignmentPass::Similar if similar < required => 0,
        // Another id is another element, unless the content says otherwise.
        _ if required == SIMILAR_RENAMED && similar < required => 0,
        AlignmentPass::Repeated | AlignmentPass::Similar | AlignmentPass::Remaining => value + same,
    }
}

/// Whether two elements with different names may be one: neither is in the other's place because of
/// a new element around it.
fn may_be_renamed(trees: &ComparedTrees<'_>, from: usize, to: usize) -> bool {
    let name =
        |side: &TreeSide<'_>, place: usize| side.tree.nodes()[place].name().unwrap_or_default().to_owned();
    let names = (name(&trees.base, from), name(&trees.head, to));
    let has = |side: &TreeSide<'_>, place: usize, name: &str| {
        let end = side.tree.nodes()[place].end.min(place + 1 + MAX_RENAMED_NODES);
        side.tree.nodes()[place + 1..end].iter().any(|node| node.name() == Some(name))
    };
    !FIXED_ELEMENTS.contains(&&*names.0)
        && !FIXED_ELEMENTS.contains(&&*names.1)
        && !has(&trees.base, from, &names.1)
        && !has(&trees.head, to, &names.0)
}

/// The element in a child that has the role of another child, which the child itself does not have,
/// and most of the weight.
fn element_within(
    side: &TreeSide<'_>,
    place: usize,
    (other, wanted): (&TreeSide<'_>, usize),
) -> Option<usize> {
    let role = other.roles[wanted];
    let is_element = other.tree.nodes()[wanted].name().is_some() && side.tree.nodes()[place].name().is_some();
    if !is_element || side.roles[place] == role {
        return None;
    }
    let end = side.tree.nodes()[place].end.min(place + 1 + MAX_WRAPPER_NODES);
    let whole = side.inner_weight(place);
    (place + 1..end).find(|inner| side.roles[*inner] == role && side.inner_weight(*inner) * 10 >= whole * 6)
}

/// The pairs of rows and columns, in order, with the largest sum of scores.
fn best_alignment(scores: &[u32], rows: usize, columns: usize) -> Vec<(usize, usize)> {
    let width = columns + 1;
    let mut best = vec![0_u32; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let score = scores[row * columns + column];
            let paired = if score > 0 { score + best[(row + 1) * width + column + 1] } else { 0 };
            best[row * width + column] =
                paired.max(best[(row + 1) * width + column]).max(best[row * width + column + 1]);
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows && column < columns {
        let (score, sum) = (scores[row * columns + column], best[row * width + column]);
        if score > 0 && sum == score + best[(row + 1) * width + column + 1] {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if sum == best[(row + 1) * width + column] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_has_the_largest_sum() {
        assert_eq!(best_alignment(&[1, 5, 0, 2], 2, 2), [(0, 1)]);
        assert_eq!(best_alignment(&[3, 5, 0, 4], 2, 2), [(0, 0), (1, 1)]);
        assert_eq!(best_alignment(&[0, 0, 7], 1, 3), [(0, 2)]);
        assert_eq!(best_alignment(&[2, 2, 2], 1, 3), [(0, 0)]);
        assert_eq!(best_alignment(&[0, 0, 0, 0], 2, 2), []);
    }
}
