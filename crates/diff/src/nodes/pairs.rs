//! Pairs the nodes of two trees.

use crate::text::TokenBudget;
use crate::text::sequence;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use varve_page::dom::{HtmlTree, NodeData, TreeNode};

/// Maximum number of nodes of a subtree that are compared with another.
const MAX_INNER_NODES: usize = 64;
/// Maximum number of levels between a shared node and the child that it is in.
const MAX_SHARED_DEPTH: usize = 8;

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
    /// For each node of the head, whether it was paired out of the order of its siblings.
    out_of_order: Vec<bool>,
}

/// A child in the comparison of siblings.
#[derive(PartialEq, Eq, Hash)]
enum SiblingKey {
    /// Paired, by its index in the head.
    Paired(usize),
    /// Unpaired, by the hash that its partner must have.
    Alone(u64),
}

impl NodePairs {
    pub(super) fn find(base: &HtmlTree, head: &HtmlTree) -> Self {
        let (of_base, of_head) = (vec![None; base.nodes().len()], vec![None; head.nodes().len()]);
        let out_of_order = vec![false; head.nodes().len()];
        let mut pairs = Self { of_base, of_head, moved: Vec::new(), truncated: false, out_of_order };
        pairs.join(0, 0);
        let hashes = (hashes(base), hashes(head));
        pairs.by_sequence(base, head, &hashes);
        pairs.by_siblings(base, head, &hashes);
        pairs.part_strays(base, head);
        pairs.by_siblings(base, head, &hashes);
        pairs.find_moves(base, head, &hashes);
        pairs.find_overtaken(base, head);
        pairs.moved.sort_unstable_by_key(|(_, head)| *head);
        pairs
    }

    fn join(&mut self, base: usize, head: usize) {
        self.of_base[base] = Some(head);
        self.of_head[head] = Some(base);
    }

    /// Pairs subtrees that are the same, in document order.
    fn by_sequence(&mut self, base: &HtmlTree, head: &HtmlTree, hashes: &(Vec<u64>, Vec<u64>)) {
        let (before, after) = (visible(base), visible(head));
        let from = before.iter().map(|place| hashes.0[*place]);
        let to = after.iter().map(|place| hashes.1[*place]);
        let found = sequence::compare(from, to, &mut TokenBudget::default());
        self.truncated = found.truncated;
        let (mut at, mut other) = (0, 0);
        let end = (before.len()..before.len(), after.len()..after.len());
        for (from, to) in found.list.into_iter().chain(std::iter::once(end)) {
            for (base, head) in before[at..from.start].iter().zip(&after[other..to.start]) {
                self.join(*base, *head);
            }
            (at, other) = (from.end, to.end);
        }
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

    /// Pairs, from the root down, the unpaired children of paired nodes.
    fn by_siblings(&mut self, base: &HtmlTree, head: &HtmlTree, hashes: &(Vec<u64>, Vec<u64>)) {
        let roles = (roles(base), roles(head));
        for place in 0..base.nodes().len() {
            let Some(partner) = self.of_base[place] else { continue };
            let alone = |tree, place, partners: &[Option<usize>]| {
                children(tree, place).any(|child: usize| partners[child].is_none())
            };
            if alone(base, place, &self.of_base) && alone(head, partner, &self.of_head) {
                self.in_order(base, head, (place, partner), hashes);
                self.by_likeness(base, head, (place, partner), hashes);
                // Content comes before role, because all items of a list have one role.
                self.by_content(base, head, place, partner);
                self.in_order(base, head, (place, partner), &roles);
                self.by_name(base, head, place, partner);
            }
        }
    }

    /// Pairs children with equal hashes between the same siblings.
    fn in_order(
        &mut self,
        base: &HtmlTree,
        head: &HtmlTree,
        parents: (usize, usize),
        hashes: &(Vec<u64>, Vec<u64>),
    ) {
        let slot = |child, paired: Option<usize>, other: &HtmlTree, parent, hash, of_head| match paired {
            None => Some((child, SiblingKey::Alone(hash))),
            Some(found) if other.nodes()[found].parent == parent => {
                Some((child, SiblingKey::Paired(if of_head { child } else { found })))
            }
            Some(_) => None,
        };
        let from: Vec<_> = children(base, parents.0)
            .filter_map(|child| slot(child, self.of_base[child], head, parents.1, hashes.0[child], false))
            .collect();
        let to: Vec<_> = children(head, parents.1)
            .filter_map(|child| slot(child, self.of_head[child], base, parents.0, hashes.1[child], true))
            .collect();
        let budget = &mut TokenBudget::of(1 << 20);
        let found =
            sequence::compare(from.iter().map(|(_, slot)| slot), to.iter().map(|(_, slot)| slot), budget);
        let mut joined = Vec::new();
        let (mut at, mut other) = (0, 0);
        for (gone, come) in
            found.list.into_iter().chain(std::iter::once((from.len()..from.len(), to.len()..to.len())))
        {
            joined.extend(
                from[at..gone.start].iter().zip(&to[other..come.start]).map(|(from, to)| (from.0, to.0)),
            );
            (at, other) = (gone.end, come.end);
        }
        for (base, head) in joined {
            self.join(base, head);
        }
    }

    /// Pairs equal children in another order, if no other child is like them: an inserted copy must
    /// not be taken for them.
    fn by_likeness(
        &mut self,
        base: &HtmlTree,
        head: &HtmlTree,
        parents: (usize, usize),
        hashes: &(Vec<u64>, Vec<u64>),
    ) {
        let to = single_children(head, parents.1, &self.of_head, &hashes.1);
        for (hash, from) in single_children(base, parents.0, &self.of_base, &hashes.0) {
            let (Some(from), Some(Some(to))) = (from, to.get(&hash)) else { continue };
            if equal(base, from, head, *to) {
                (0..base.nodes()[from].end - from).for_each(|step| self.join(from + step, to + step));
                self.out_of_order[*to] = true;
            }
        }
    }

    /// Pairs children of one name that share subtrees, those with the most in common first.
    fn by_content(&mut self, base: &HtmlTree, head: &HtmlTree, place: usize, partner: usize) {
        for child in children(base, place) {
            if self.of_base[child].is_some() {
                continue;
            }
            let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
            let inner = child + 1..base.nodes()[child].end.min(child + 1 + MAX_INNER_NODES);
            for inner in inner.filter(|inner| is_visible(base, *inner)) {
                let Some(found) = self.of_base[inner] else { continue };
                if let Some(holder) = child_above(head, found, partner) {
                    *shared.entry(holder).or_default() += weight(base, inner);
                }
            }
            let fits = |holder: &usize| {
                self.of_head[*holder].is_none() && head.nodes()[*holder].name() == base.nodes()[child].name()
            };
            let best = shared.into_iter().filter(|(holder, _)| fits(holder));
            // The first of equal ones, which `max_by_key` sees last.
            if let Some((found, _)) = best.rev().max_by_key(|(_, weight)| *weight) {
                self.join(child, found);
            }
        }
    }

    /// Pairs elements that are the only unpaired ones of their name on both sides, if they are
    /// between the same siblings, have the same id, or are the only ones of their name. The first
    /// item of a list is not the one that fell off its end.
    fn by_name(&mut self, base: &HtmlTree, head: &HtmlTree, place: usize, partner: usize) {
        let from = lone_children(base, place, &self.of_base, |found| head.nodes()[found].parent == partner);
        let to = lone_children(head, partner, &self.of_head, |found| base.nodes()[found].parent == place);
        for (name, one) in from {
            let Some(other) = to.get(name) else { continue };
            let same_place = one.behind == other.behind.and_then(|behind| self.of_head[behind]);
            let id = base.nodes()[one.place].attribute("id").filter(|id| !id.is_empty());
            let same_id = id.is_some() && id == head.nodes()[other.place].attribute("id");
            if same_place || same_id || (one.is_single && other.is_single) {
                self.join(one.place, other.place);
            }
        }
    }

    /// Finds unpaired subtrees that are equal to one of the other side.
    fn find_moves(&mut self, base: &HtmlTree, head: &HtmlTree, hashes: &(Vec<u64>, Vec<u64>)) {
        let mut gone: HashMap<u64, Vec<usize>> = HashMap::new();
        for place in (1..base.nodes().len()).rev().filter(|place| is_telling(base, *place)) {
            if free(&self.of_base[place..base.nodes()[place].end]) {
                gone.entry(hashes.0[place]).or_default().push(place);
            }
        }
        let mut place = 1;
        while place < head.nodes().len() {
            let end = head.nodes()[place].end;
            let source = (is_telling(head, place) && free(&self.of_head[place..end]))
                .then(|| gone.get_mut(&hashes.1[place]).and_then(Vec::pop))
                .flatten()
                .filter(|source| {
                    free(&self.of_base[*source..base.nodes()[*source].end])
                        && equal(base, *source, head, place)
                });
            if let Some(source) = source {
                self.moved.push((source, place));
                for step in 0..end - place {
                    self.join(source + step, place + step);
                }
                place = end;
            } else {
                place += 1;
            }
        }
    }

    /// Finds children that changed their order among their siblings.
    fn find_overtaken(&mut self, base: &HtmlTree, head: &HtmlTree) {
        for place in 0..head.nodes().len() {
            let Some(partner) = self.of_head[place] else { continue };
            let kept: Vec<_> = children(head, place)
                .filter_map(|child| Some((self.of_head[child]?, child)))
                .filter(|(source, _)| base.nodes()[*source].parent == partner)
                .collect();
            if kept.is_sorted() {
                continue;
            }
            // Children that were paired in order stay, and the others moved; else as few as
            // possible move.
            let steady: Vec<_> =
                kept.iter().copied().filter(|(_, child)| !self.out_of_order[*child]).collect();
            let in_order = if steady.is_sorted() { steady } else { sequence::longest_rising(kept.clone()) };
            self.moved.extend(
                kept.into_iter()
                    .filter(|pair| in_order.binary_search_by_key(&pair.1, |kept| kept.1).is_err()),
            );
        }
    }
}

/// Distinctive children without any pair in them, by their hashes. Children with the same hash are
/// left out.
fn single_children(
    tree: &HtmlTree,
    place: usize,
    partners: &[Option<usize>],
    hashes: &[u64],
) -> HashMap<u64, Option<usize>> {
    let mut found: HashMap<u64, Option<usize>> = HashMap::new();
    for child in children(tree, place) {
        if is_telling(tree, child) && free(&partners[child..tree.nodes()[child].end]) {
            found.entry(hashes[child]).and_modify(|one| *one = None).or_insert(Some(child));
        }
    }
    found
}

/// The only unpaired child of its name.
struct Lone {
    place: usize,
    /// The last paired sibling before it.
    behind: Option<usize>,
    /// Whether none of its siblings has its name.
    is_single: bool,
}

/// Such children by name. `stayed` returns whether the partner of a child has the right parent.
fn lone_children<'t>(
    tree: &'t HtmlTree,
    place: usize,
    partners: &[Option<usize>],
    stayed: impl Fn(usize) -> bool,
) -> HashMap<&'t str, Lone> {
    let mut found: HashMap<&str, (Option<Lone>, usize, usize)> = HashMap::new();
    let mut behind = None;
    for child in children(tree, place) {
        let is_alone = partners[child].is_none();
        if let Some(name) = tree.nodes()[child].name() {
            let (lone, alone, all) = found.entry(name).or_default();
            *all += 1;
            if is_alone {
                *alone += 1;
                *lone = Some(Lone { place: child, behind, is_single: false });
            }
        }
        if partners[child].is_some_and(&stayed) {
            behind = Some(child);
        }
    }
    let only = |(name, (lone, alone, all)): (&'t str, (Option<Lone>, usize, usize))| {
        lone.filter(|_| alone == 1).map(|lone| (name, Lone { is_single: all == 1, ..lone }))
    };
    found.into_iter().filter_map(only).collect()
}

/// The child of `parent` around a node, unless the node is too deep in it.
fn child_above(tree: &HtmlTree, place: usize, parent: usize) -> Option<usize> {
    let mut at = place;
    for _ in 0..MAX_SHARED_DEPTH {
        let above = tree.nodes()[at].parent;
        if above == parent {
            return (at != place).then_some(at);
        }
        if above == 0 {
            return None;
        }
        at = above;
    }
    None
}

/// The weight of a shared node: text by its length, an element by one.
fn weight(tree: &HtmlTree, place: usize) -> usize {
    match &tree.nodes()[place].data {
        NodeData::Text(text) => 1 + text.trim().len(),
        NodeData::Element(_, attributes) => 1 + attributes.len(),
        _ => 1,
    }
}

fn free(partners: &[Option<usize>]) -> bool {
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

fn children(tree: &HtmlTree, place: usize) -> impl Iterator<Item = usize> + '_ {
    tree.children(place).filter(|child| is_visible(tree, *child))
}

/// Whether a subtree is distinctive: a `<br>` or a comma is not.
fn is_telling(tree: &HtmlTree, place: usize) -> bool {
    let node = &tree.nodes()[place];
    match &node.data {
        NodeData::Element(_, attributes) => node.end > place + 1 || !attributes.is_empty(),
        NodeData::Text(text) | NodeData::Comment(text) => text.trim().len() >= 20,
        NodeData::Document | NodeData::Doctype(_) => false,
    }
}

/// A hash of each subtree. Subtrees with equal hashes are still compared, because a hostile page
/// can collide them.
fn hashes(tree: &HtmlTree) -> Vec<u64> {
    let mut hashes = vec![0; tree.nodes().len()];
    for place in (0..tree.nodes().len()).rev() {
        let mut hasher = DefaultHasher::new();
        match tree.nodes()[place].seen_text() {
            Some(text) => text.hash(&mut hasher),
            None => tree.nodes()[place].data.hash(&mut hasher),
        }
        for child in children(tree, place) {
            hashes[child].hash(&mut hasher);
        }
        hashes[place] = hasher.finish();
    }
    hashes
}

fn equal(base: &HtmlTree, from: usize, head: &HtmlTree, to: usize) -> bool {
    let (one, other) = (&base.nodes()[from..base.nodes()[from].end], &head.nodes()[to..head.nodes()[to].end]);
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| a.data == b.data && a.end - from == b.end - to)
}

/// A hash of the role of each node: kind, name, id and class.
fn roles(tree: &HtmlTree) -> Vec<u64> {
    let role = |node: &TreeNode| {
        let mut hasher = DefaultHasher::new();
        std::mem::discriminant(&node.data).hash(&mut hasher);
        (node.name(), node.attribute("id"), node.attribute("class")).hash(&mut hasher);
        hasher.finish()
    };
    tree.nodes().iter().map(role).collect()
}
