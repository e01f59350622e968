//! Pairs the children of two paired nodes.
//!
//! Children that are equal come first, then those with the same id. The others are
//! [aligned](super::alignment) by their similarity, and only then do the remaining ones get partners
//! by their role and their name.
//!
//! Owns the order of these steps. Does not know subtrees at other places.

use super::alignment::AlignmentPass;
use super::pairs::{ComparedTrees, NodePairs, TreeSide, children, equal_nodes, free, is_telling};
use super::similarity::PairingBudget;
use crate::text::TokenBudget;
use crate::text::sequence;
use std::collections::{HashMap, HashSet};

/// Maximum number of pairs of children that repeat and are aligned.
const MAX_REPEATED_CELLS: usize = 1 << 14;

/// A child in the comparison of siblings.
#[derive(PartialEq, Eq, Hash)]
enum SiblingKey {
    /// Paired, by its index in the head.
    Paired(usize),
    /// Unpaired, by the hash that its partner must have.
    Alone(u64),
}

impl NodePairs {
    /// Pairs, from the root down, the unpaired children of paired nodes.
    pub(super) fn by_siblings(&mut self, trees: &ComparedTrees<'_>, budget: &mut PairingBudget) {
        for place in 0..trees.base.tree.nodes().len() {
            let Some(partner) = self.of_base[place] else { continue };
            if self.are_both_open(trees, (place, partner)) {
                self.pair_children(trees, (place, partner), budget);
            }
        }
    }

    /// Whether both nodes have unpaired children.
    fn are_both_open(&self, trees: &ComparedTrees<'_>, (base, head): (usize, usize)) -> bool {
        let open = |side: &TreeSide<'_>, place, partners: &[Option<usize>]| {
            children(side.tree, place).any(|child: usize| partners[child].is_none())
        };
        open(&trees.base, base, &self.of_base) && open(&trees.head, head, &self.of_head)
    }

    fn pair_children(
        &mut self,
        trees: &ComparedTrees<'_>,
        parents: (usize, usize),
        budget: &mut PairingBudget,
    ) {
        self.in_order(trees, parents, (&trees.base.hashes, &trees.head.hashes));
        if self.part_repeated(trees, parents, budget) {
            let found = self.sibling_features(trees, parents, budget);
            self.align(trees, parents, &found, AlignmentPass::Repeated, budget);
        }
        self.by_likeness(trees, parents);
        self.by_id(trees, parents);
        if !self.are_both_open(trees, parents) {
            return;
        }
        let found = self.sibling_features(trees, parents, budget);
        self.by_wrapper(trees, parents, &found, budget);
        self.align(trees, parents, &found, AlignmentPass::Similar, budget);
        self.by_similarity(trees, &found, budget);
        self.align(trees, parents, &found, AlignmentPass::Remaining, budget);
        // For gaps that are too large to be aligned.
        self.in_order(trees, parents, (&trees.base.roles, &trees.head.roles));
        self.by_name(trees, parents);
    }

    /// Pairs children with equal hashes between the same siblings.
    fn in_order(&mut self, trees: &ComparedTrees<'_>, parents: (usize, usize), hashes: (&[u64], &[u64])) {
        let (base, head) = (trees.base.tree, trees.head.tree);
        let key = |paired: Option<usize>, other: Option<usize>, number: usize, hash: u64| match paired {
            None => Some(SiblingKey::Alone(hash)),
            Some(_) => other.map(|_| SiblingKey::Paired(number)),
        };
        let from: Vec<_> = children(base, parents.0)
            .filter_map(|child| {
                let paired = self.of_base[child];
                let within = paired.filter(|found| head.nodes()[*found].parent == parents.1);
                let key = key(paired, within, within.unwrap_or(0), hashes.0[child])?;
                Some((child, key))
            })
            .collect();
        let to: Vec<_> = children(head, parents.1)
            .filter_map(|child| {
                let paired = self.of_head[child];
                let within = paired.filter(|found| base.nodes()[*found].parent == parents.0);
                Some((child, key(paired, within, child, hashes.1[child])?))
            })
            .collect();
        let budget = &mut TokenBudget::of(1 << 20);
        let found = sequence::compare(from.iter().map(|(_, key)| key), to.iter().map(|(_, key)| key), budget);
        let (mut at, mut other) = (0, 0);
        let end = (from.len()..from.len(), to.len()..to.len());
        for (gone, come) in found.list.into_iter().chain(std::iter::once(end)) {
            for ((base, _), (head, _)) in from[at..gone.start].iter().zip(&to[other..come.start]) {
                self.join(*base, *head);
            }
            (at, other) = (gone.end, come.end);
        }
    }

    /// Parts equal children from each other if there are unpaired ones that equal them: which of
    /// several equal items was edited is known only when all are aligned at once. Those at both
    /// ends are paired again. Returns whether there are any.
    fn part_repeated(
        &mut self,
        trees: &ComparedTrees<'_>,
        parents: (usize, usize),
        budget: &mut PairingBudget,
    ) -> bool {
        let from: Vec<_> = children(trees.base.tree, parents.0).collect();
        let to: Vec<_> = children(trees.head.tree, parents.1).collect();
        let has_repeated =
            repeats(&trees.base, &from, &self.of_base) || repeats(&trees.head, &to, &self.of_head);
        let is_equal = |place: &usize| {
            self.of_base[*place].is_none_or(|other| {
                let is_child = trees.head.tree.nodes()[other].parent == parents.1;
                is_child && trees.base.hashes[*place] == trees.head.hashes[other]
            })
        };
        if !has_repeated || !from.iter().all(is_equal) {
            return false;
        }
        let same = |pair: &(&usize, &usize)| trees.base.hashes[*pair.0] == trees.head.hashes[*pair.1];
        let start = from.iter().zip(&to).take_while(same).count();
        let ends = from[start..].iter().rev().zip(to[start..].iter().rev()).take_while(same);
        let ends: Vec<_> = ends.map(|(from, to)| (*from, *to)).collect();
        let rest = [&from, &to].map(|side| side.len() - start - ends.len());
        let inner = parents.0 + 1..trees.base.tree.nodes()[parents.0].end;
        if rest[0].saturating_mul(rest[1]) > MAX_REPEATED_CELLS || !budget.spend(4 * inner.len()) {
            return false;
        }
        for place in inner {
            if let Some(partner) = self.of_base[place].take() {
                self.of_head[partner] = None;
            }
        }
        for (base, head) in from.iter().copied().zip(to.iter().copied()).take(start).chain(ends) {
            self.join_children(trees, base, head);
        }
        true
    }

    /// Pairs equal children in another order, if no other child is like them: an added copy must
    /// not be taken for them.
    fn by_likeness(&mut self, trees: &ComparedTrees<'_>, parents: (usize, usize)) {
        let (base, head) = (trees.base.tree, trees.head.tree);
        let to = single_children(&trees.head, parents.1, &self.of_head);
        for (hash, from) in single_children(&trees.base, parents.0, &self.of_base) {
            let (Some(from), Some(Some(to))) = (from, to.get(&hash)) else { continue };
            if let Some(nodes) = equal_nodes(base, from, head, *to) {
                nodes.into_iter().for_each(|(base, head)| self.join(base, head));
                self.out_of_order[*to] = true;
            }
        }
    }

    /// Pairs elements with the same name and id, in any order.
    fn by_id(&mut self, trees: &ComparedTrees<'_>, parents: (usize, usize)) {
        let to = children_by_id(&trees.head, parents.1, &self.of_head);
        for (id, from) in children_by_id(&trees.base, parents.0, &self.of_base) {
            if let (Some(from), Some(Some(to))) = (from, to.get(&id)) {
                self.join(from, *to);
                self.out_of_order[*to] = true;
            }
        }
    }

    /// Pairs elements that are the only unpaired ones of their name on both sides, if they are
    /// between the same siblings or are the only ones of their name. The first item of a list is
    /// not the one that fell off its end.
    fn by_name(&mut self, trees: &ComparedTrees<'_>, (place, partner): (usize, usize)) {
        let (base, head) = (trees.base.tree, trees.head.tree);
        let from =
            lone_children(&trees.base, place, &self.of_base, |found| head.nodes()[found].parent == partner);
        let to =
            lone_children(&trees.head, partner, &self.of_head, |found| base.nodes()[found].parent == place);
        for (name, one) in from {
            let Some(other) = to.get(name) else { continue };
            let same_place = one.behind == other.behind.and_then(|behind| self.of_head[behind]);
            if same_place || (one.is_single && other.is_single) {
                self.join(one.place, other.place);
            }
        }
    }
}

/// Whether an unpaired child equals a paired sibling.
fn repeats(side: &TreeSide<'_>, places: &[usize], partners: &[Option<usize>]) -> bool {
    let open = places.iter().filter(|place| partners[**place].is_none());
    let open: HashSet<_> = open.map(|place| side.hashes[*place]).collect();
    places.iter().any(|place| partners[*place].is_some() && open.contains(&side.hashes[*place]))
}

/// Distinctive children without any pair in them, by their hashes. Children with the same hash are
/// left out.
fn single_children(
    side: &TreeSide<'_>,
    place: usize,
    partners: &[Option<usize>],
) -> HashMap<u64, Option<usize>> {
    let mut found: HashMap<u64, Option<usize>> = HashMap::new();
    for child in children(side.tree, place) {
        if is_telling(side.tree, child) && free(&partners[child..side.tree.nodes()[child].end]) {
            found.entry(side.hashes[child]).and_modify(|one| *one = None).or_insert(Some(child));
        }
    }
    found
}

/// Unpaired elements by name and id. Those with the same id are left out.
fn children_by_id<'t>(
    side: &TreeSide<'t>,
    place: usize,
    partners: &[Option<usize>],
) -> HashMap<(&'t str, &'t str), Option<usize>> {
    let mut found: HashMap<(&str, &str), Option<usize>> = HashMap::new();
    for child in children(side.tree, place).filter(|child| partners[*child].is_none()) {
        let node = &side.tree.nodes()[child];
        if let (Some(name), Some(id)) = (node.name(), node.attribute("id").filter(|id| !id.is_empty())) {
            found.entry((name, id)).and_modify(|one| *one = None).or_insert(Some(child));
        }
    }
    found
}

/// The only unpaired child of its name.
struct LoneChild {
    place: usize,
    /// The last paired sibling before it.
    behind: Option<usize>,
    /// Whether none of its siblings has its name.
    is_single: bool,
}

/// Such children by name. `stayed` returns whether the partner of a child has the right parent.
fn lone_children<'t>(
    side: &TreeSide<'t>,
    place: usize,
    partners: &[Option<usize>],
    stayed: impl Fn(usize) -> bool,
) -> HashMap<&'t str, LoneChild> {
    let mut found: HashMap<&str, (Option<LoneChild>, usize, usize)> = HashMap::new();
    let mut behind = None;
    for child in children(side.tree, place) {
        let is_alone = partners[child].is_none();
        if let Some(name) = side.tree.nodes()[child].name() {
            let (lone, alone, all) = found.entry(name).or_default();
            *all += 1;
            if is_alone {
                *alone += 1;
                *lone = Some(LoneChild { place: child, behind, is_single: false });
            }
        }
        if partners[child].is_some_and(&stayed) {
            behind = Some(child);
        }
    }
    let only = |(name, (lone, alone, all)): (&'t str, (Option<LoneChild>, usize, usize))| {
        lone.filter(|_| alone == 1).map(|lone| (name, LoneChild { is_single: all == 1, ..lone }))
    };
    found.into_iter().filter_map(only).collect()
}
