//! Pairs the nodes of two trees.
//!
//! The order of the steps is that of GumTree: first equal subtrees, then, from the leaves up, the
//! elements around them, then, from the root down, the [children](super::siblings) of paired nodes
//! that are left. Each step takes time in proportion to the trees, or from a budget.

use super::similarity::PairingBudget;
use crate::text::TokenBudget;
use crate::text::sequence;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use varve_page::dom::{HtmlTree, NodeData, TreeNode};

/// Maximum number of nodes of a subtree whose partners are looked for in another.
const MAX_INNER_NODES: usize = 64;
/// Maximum number of levels between the partner of an inner node and the element around it.
const MAX_SHARED_DEPTH: usize = 8;
/// Maximum weight of a text.
const MAX_TEXT_WEIGHT: usize = 1000;

/// The pairing of two trees.
pub(super) struct NodePairs {
    /// For each node of the base its partner.
    pub(super) of_base: Vec<Option<usize>>,
    /// For each node of the head its partner.
    pub(super) of_head: Vec<Option<usize>>,
    /// Roots of subtrees that moved: base, head.
    pub(super) moved: Vec<(usize, usize)>,
    /// Whether not everything was compared.
    pub(super) truncated: bool,
    /// For each node of the head, whether it was paired in any order of its siblings.
    pub(super) out_of_order: Vec<bool>,
}

/// One of two trees, with the values computed for each node.
pub(super) struct TreeSide<'t> {
    pub(super) tree: &'t HtmlTree,
    /// A hash of each subtree.
    pub(super) hashes: Vec<u64>,
    /// A hash of the role of each node: kind, name, id and class.
    pub(super) roles: Vec<u64>,
    /// The weight of all nodes before each node.
    weights: Vec<usize>,
}

/// Both trees.
pub(super) struct ComparedTrees<'t> {
    pub(super) base: TreeSide<'t>,
    pub(super) head: TreeSide<'t>,
}

impl<'t> TreeSide<'t> {
    fn of(tree: &'t HtmlTree) -> Self {
        let mut weights = vec![0; tree.nodes().len() + 1];
        for place in 0..tree.nodes().len() {
            weights[place + 1] = weights[place] + weight(tree, place);
        }
        Self { tree, hashes: hashes(tree), roles: roles(tree), weights }
    }

    /// The weight of all nodes below a node.
    pub(super) fn inner_weight(&self, place: usize) -> usize {
        self.weights[self.tree.nodes()[place].end] - self.weights[place + 1]
    }
}

impl NodePairs {
    pub(super) fn find(base: &HtmlTree, head: &HtmlTree) -> Self {
        let (of_base, of_head) = (vec![None; base.nodes().len()], vec![None; head.nodes().len()]);
        let out_of_order = vec![false; head.nodes().len()];
        let mut pairs = Self { of_base, of_head, moved: Vec::new(), truncated: false, out_of_order };
        pairs.join(0, 0);
        let trees = ComparedTrees { base: TreeSide::of(base), head: TreeSide::of(head) };
        let budget = &mut PairingBudget::default();
        pairs.by_sequence(&trees);
        pairs.by_contents(&trees);
        pairs.by_siblings(&trees, budget);
        pairs.part_strays(base, head);
        pairs.by_siblings(&trees, budget);
        if pairs.by_unique_id(&trees) {
            pairs.by_siblings(&trees, budget);
        }
        pairs.find_moves(&trees);
        pairs.keep_outer_moves(&trees);
        pairs.find_overtaken(&trees);
        pairs
    }

    pub(super) fn join(&mut self, base: usize, head: usize) {
        self.of_base[base] = Some(head);
        self.of_head[head] = Some(base);
    }

    /// Pairs subtrees that are the same, in document order.
    fn by_sequence(&mut self, trees: &ComparedTrees<'_>) {
        let (base, head) = (trees.base.tree, trees.head.tree);
        let (before, after) = (visible(base), visible(head));
        let from = before.iter().map(|place| trees.base.hashes[*place]);
        let to = after.iter().map(|place| trees.head.hashes[*place]);
        let found = sequence::compare(from, to, &mut TokenBudget::default());
        self.truncated = found.truncated;
        // Equal hashes may be made by a hostile page. Different content is reported of every pair,
        // but a text is never the partner of an element.
        let is_same_kind = |one: &TreeNode, other: &TreeNode| {
            std::mem::discriminant(&one.data) == std::mem::discriminant(&other.data)
        };
        let (mut at, mut other) = (0, 0);
        let end = (before.len()..before.len(), after.len()..after.len());
        for (from, to) in found.list.into_iter().chain(std::iter::once(end)) {
            for (one, two) in before[at..from.start].iter().zip(&after[other..to.start]) {
                if is_same_kind(&base.nodes()[*one], &head.nodes()[*two]) {
                    self.join(*one, *two);
                }
            }
            (at, other) = (from.end, to.end);
        }
    }

    /// Pairs, from the leaves up, elements that are around the same content: most of the weight in
    /// one has its partner in the other, and neither has twice the weight of the other.
    fn by_contents(&mut self, trees: &ComparedTrees<'_>) {
        let base = trees.base.tree;
        for place in (1..base.nodes().len()).rev() {
            let node = &base.nodes()[place];
            let is_open = self.of_base[place].is_none() && node.name().is_some() && node.end > place + 1;
            if let Some(found) = is_open.then(|| self.element_around(trees, place)).flatten() {
                self.join(place, found);
            }
        }
    }

    /// The best partner of an element by its content.
    fn element_around(&self, trees: &ComparedTrees<'_>, place: usize) -> Option<usize> {
        let (base, head) = (trees.base.tree, trees.head.tree);
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        let mut looked = 0;
        let inner = place + 1..base.nodes()[place].end.min(place + 1 + MAX_INNER_NODES);
        for inner in inner {
            let weight = weight(base, inner);
            looked += weight;
            let Some(partner) = self.of_base[inner] else { continue };
            for above in head.ancestors(partner).take(MAX_SHARED_DEPTH) {
                if self.of_head[above].is_none() && head.nodes()[above].name() == base.nodes()[place].name() {
                    *shared.entry(above).or_default() += weight;
                }
            }
        }
        let own = trees.base.inner_weight(place);
        let fits = |(above, shared): &(usize, usize)| {
            let other = trees.head.inner_weight(*above);
            shared * 10 >= looked * 6
                && own.max(other) <= 2 * own.min(other)
                && !have_other_ids(&base.nodes()[place], &head.nodes()[*above])
        };
        let role = trees.base.roles[place];
        let rank = |(above, shared): &(usize, usize)| {
            let difference = trees.head.inner_weight(*above).abs_diff(own);
            (trees.head.roles[*above] == role, *shared, std::cmp::Reverse(difference))
        };
        shared.into_iter().filter(fits).max_by_key(rank).map(|(above, _)| above)
    }

    /// Removes pairs whose nearest paired parents are not a pair: such nodes are only similar.
    fn part_strays(&mut self, base: &HtmlTree, head: &HtmlTree) {
        let mut above_head = vec![0; head.nodes().len()];
        for place in 1..head.nodes().len() {
            let parent = head.nodes()[place].parent;
            above_head[place] = if self.of_head[parent].is_some() { parent } else { above_head[parent] };
        }
        let mut above_base = vec![0; base.nodes().len()];
        for place in 1..base.nodes().len() {
            let parent = base.nodes()[place].parent;
            above_base[place] = if self.of_base[parent].is_some() { parent } else { above_base[parent] };
            let Some(partner) = self.of_base[place] else { continue };
            // The pair of a parent may have been removed before.
            let mut above = head.nodes()[partner].parent;
            while self.of_head[above].is_none() {
                above = if above_head[above] == above { 0 } else { above_head[above] };
            }
            if self.of_base[above_base[place]] != Some(above) {
                self.of_base[place] = None;
                self.of_head[partner] = None;
            }
        }
    }

    /// Pairs elements that have the same name and id at different places, which moved. Returns
    /// whether there are any.
    fn by_unique_id(&mut self, trees: &ComparedTrees<'_>) -> bool {
        let from = unique_ids(trees.base.tree);
        let to = unique_ids(trees.head.tree);
        let mut found = Vec::new();
        for (id, base) in from {
            let (Some(base), Some(Some(head))) = (base, to.get(id)) else { continue };
            let names = (trees.base.tree.nodes()[base].name(), trees.head.tree.nodes()[*head].name());
            if self.of_base[base].is_none() && self.of_head[*head].is_none() && names.0 == names.1 {
                found.push((base, *head));
            }
        }
        for (base, head) in &found {
            self.join(*base, *head);
        }
        self.moved.extend(&found);
        !found.is_empty()
    }

    /// Finds unpaired subtrees that are equal to one of the other side. A text that was removed
    /// once and added twice was copied, and did not move.
    fn find_moves(&mut self, trees: &ComparedTrees<'_>) {
        let (base, head) = (trees.base.tree, trees.head.tree);
        let mut gone = free_subtrees(&trees.base, &self.of_base);
        let come = free_subtrees(&trees.head, &self.of_head);
        gone.retain(|hash, places| come.get(hash).is_some_and(|others| others.len() == places.len()));
        let mut place = 1;
        while place < head.nodes().len() {
            let end = head.nodes()[place].end;
            let source = (is_telling(head, place) && free(&self.of_head[place..end]))
                .then(|| gone.get_mut(&trees.head.hashes[place]).and_then(Vec::pop))
                .flatten()
                .filter(|source| free(&self.of_base[*source..base.nodes()[*source].end]));
            let moved = source.and_then(|source| equal_nodes(base, source, head, place));
            if let Some(moved) = moved {
                self.moved.push(moved[0]);
                moved.into_iter().for_each(|(base, head)| self.join(base, head));
                place = end;
            } else {
                place += 1;
            }
        }
    }

    /// Removes the moves of nodes that are still children of the same node. It may have moved with
    /// them, and their order is looked at next.
    fn keep_outer_moves(&mut self, trees: &ComparedTrees<'_>) {
        let (base, head) = (trees.base.tree.nodes(), trees.head.tree.nodes());
        let of_base = &self.of_base;
        self.moved.retain(|(from, to)| of_base[base[*from].parent] != Some(head[*to].parent));
    }

    /// Finds children that changed their order among their siblings.
    fn find_overtaken(&mut self, trees: &ComparedTrees<'_>) {
        for place in 0..trees.head.tree.nodes().len() {
            let Some(partner) = self.of_head[place] else { continue };
            let kept = self.kept_children(trees, (partner, place));
            if kept.is_sorted() {
                continue;
            }
            let in_order = self.steady_children(&kept);
            self.moved.extend(
                kept.into_iter()
                    .filter(|pair| in_order.binary_search_by_key(&pair.1, |kept| kept.1).is_err()),
            );
        }
    }

    /// The pairs of children of two paired nodes, in the order of the head.
    pub(super) fn kept_children(
        &self,
        trees: &ComparedTrees<'_>,
        (base, head): (usize, usize),
    ) -> Vec<(usize, usize)> {
        children(trees.head.tree, head)
            .filter_map(|child| Some((self.of_head[child]?, child)))
            .filter(|(source, _)| trees.base.tree.nodes()[*source].parent == base)
            .collect()
    }

    /// The pairs that did not move: those that were paired in order, and as many of the others as
    /// fit between them.
    fn steady_children(&self, kept: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let is_steady = |pair: &(usize, usize)| !self.out_of_order[pair.1];
        let steady: Vec<_> = kept.iter().copied().filter(is_steady).collect();
        if !steady.is_sorted() {
            return sequence::longest_rising(kept.to_vec());
        }
        let mut all = Vec::with_capacity(kept.len());
        let mut last = 0;
        for run in kept.split_inclusive(is_steady) {
            let (others, end) = match run.split_last() {
                Some((end, others)) if is_steady(end) => (others, Some(*end)),
                _ => (run, None),
            };
            let bound = end.map_or(usize::MAX, |end| end.0);
            let fits = others.iter().copied().filter(|pair| (last..bound).contains(&pair.0)).collect();
            all.extend(sequence::longest_rising(fits));
            all.extend(end);
            last = end.map_or(last, |end| end.0);
        }
        all
    }
}

/// The distinctive subtrees without any pair in them, by their hashes, the last first.
fn free_subtrees(side: &TreeSide<'_>, partners: &[Option<usize>]) -> HashMap<u64, Vec<usize>> {
    let mut found: HashMap<u64, Vec<usize>> = HashMap::new();
    for place in (1..side.tree.nodes().len()).rev().filter(|place| is_telling(side.tree, *place)) {
        if free(&partners[place..side.tree.nodes()[place].end]) {
            found.entry(side.hashes[place]).or_default().push(place);
        }
    }
    found
}

/// Whether both elements have an id, and not the same.
fn have_other_ids(one: &TreeNode, other: &TreeNode) -> bool {
    let id = |node: &TreeNode| node.attribute("id").filter(|id| !id.is_empty()).map(str::to_owned);
    matches!((id(one), id(other)), (Some(one), Some(other)) if one != other)
}

/// The elements with an id, by their ids. `None` if several have it.
fn unique_ids(tree: &HtmlTree) -> BTreeMap<&str, Option<usize>> {
    let mut found: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for (place, node) in tree.nodes().iter().enumerate() {
        if let Some(id) = node.attribute("id").filter(|id| !id.is_empty()) {
            found.entry(id).and_modify(|one| *one = None).or_insert(Some(place));
        }
    }
    found
}

/// The weight of a node: text by its length, an element by its attributes.
fn weight(tree: &HtmlTree, place: usize) -> usize {
    match &tree.nodes()[place].data {
        NodeData::Text(text) => text.trim().len().min(MAX_TEXT_WEIGHT),
        NodeData::Element(_, attributes) => 1 + attributes.len(),
        _ => 1,
    }
}

pub(super) fn free(partners: &[Option<usize>]) -> bool {
    partners.iter().all(Option::is_none)
}

/// The nodes that are compared: all but white space, which [`InlineSpaces`](super::spaces)
/// compares.
fn visible(tree: &HtmlTree) -> Vec<usize> {
    (1..tree.nodes().len()).filter(|place| is_visible(tree, *place)).collect()
}

pub(super) fn is_visible(tree: &HtmlTree, place: usize) -> bool {
    tree.nodes()[place].seen_text() != Some("")
}

pub(super) fn children(tree: &HtmlTree, place: usize) -> impl Iterator<Item = usize> + '_ {
    tree.children(place).filter(|child| is_visible(tree, *child))
}

/// Whether a subtree is distinctive: a `<br>` or a comma is not.
pub(super) fn is_telling(tree: &HtmlTree, place: usize) -> bool {
    let node = &tree.nodes()[place];
    match &node.data {
        NodeData::Element(_, attributes) => node.end > place + 1 || !attributes.is_empty(),
        NodeData::Text(text) | NodeData::Comment(text) => text.trim().len() >= 20,
        NodeData::Document | NodeData::Doctype(_) => false,
    }
}

/// A hash of each subtree, in which the order of attributes does not count. Subtrees with equal
/// hashes are still compared, because a hostile page can collide them.
fn hashes(tree: &HtmlTree) -> Vec<u64> {
    let mut hashes = vec![0; tree.nodes().len()];
    for place in (0..tree.nodes().len()).rev() {
        let mut hasher = DefaultHasher::new();
        let node = &tree.nodes()[place];
        std::mem::discriminant(&node.data).hash(&mut hasher);
        match (&node.data, node.seen_text()) {
            (_, Some(text)) => text.hash(&mut hasher),
            (NodeData::Element(name, attributes), _) => {
                name.hash(&mut hasher);
                attributes.iter().fold(0, |sum: u64, pair| sum.wrapping_add(hash_of(pair))).hash(&mut hasher);
            }
            (data, _) => data.hash(&mut hasher),
        }
        for child in children(tree, place) {
            hashes[child].hash(&mut hasher);
        }
        hashes[place] = hasher.finish();
    }
    hashes
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The nodes of two equal subtrees, pair by pair. `None` if they are not equal. The order of
/// attributes and white space that is not seen do not count.
pub(super) fn equal_nodes(
    base: &HtmlTree,
    from: usize,
    head: &HtmlTree,
    to: usize,
) -> Option<Vec<(usize, usize)>> {
    let nodes = |tree: &HtmlTree, place: usize| -> Vec<usize> {
        (place..tree.nodes()[place].end).filter(|inner| is_visible(tree, *inner)).collect()
    };
    let (one, other) = (nodes(base, from), nodes(head, to));
    if one.len() != other.len() {
        return None;
    }
    let mut partners = vec![0; base.nodes()[from].end - from];
    for (left, right) in one.iter().zip(&other) {
        let (old, new) = (&base.nodes()[*left], &head.nodes()[*right]);
        let is_root = *left == from;
        if !same_node(old, new) || (!is_root && partners[old.parent - from] != new.parent) {
            return None;
        }
        partners[left - from] = *right;
    }
    Some(one.into_iter().zip(other).collect())
}

fn same_node(one: &TreeNode, other: &TreeNode) -> bool {
    match (&one.data, &other.data) {
        (NodeData::Element(name, some), NodeData::Element(other_name, others)) => {
            let has = |attribute: &(String, String)| other.attribute(&attribute.0) == Some(&attribute.1);
            name == other_name && some.len() == others.len() && (some == others || some.iter().all(has))
        }
        (NodeData::Text(_), NodeData::Text(_)) => one.seen_text() == other.seen_text(),
        (one, other) => one == other,
    }
}

fn roles(tree: &HtmlTree) -> Vec<u64> {
    let role = |node: &TreeNode| {
        let kind = std::mem::discriminant(&node.data);
        hash_of(&(kind, node.name(), node.attribute("id"), node.attribute("class")))
    };
    tree.nodes().iter().map(role).collect()
}
