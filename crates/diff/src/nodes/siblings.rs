//! Pairs the children of two paired nodes.
//!
//! Children that are equal come first, then those with the same id. The others are aligned in the
//! gaps between paired siblings, so that the sum of similarities is largest: an edited paragraph is
//! not taken for the new one before it. Only then do the remaining ones get partners by their role.
//!
//! Owns the order of these steps and the alignment. Does not know subtrees at other places.

use super::pairs::{ComparedTrees, NodePairs, TreeSide, children, equal_nodes, free, is_telling};
use super::similarity::{FULL_SIMILARITY, FeatureBag, FeatureCounts, PairingBudget, features, similarity};
use crate::text::TokenBudget;
use crate::text::sequence;
use std::collections::{HashMap, HashSet};
use varve_page::dom::NodeData;

/// Maximum number of pairs of children of a gap that are compared.
const MAX_GAP_CELLS: usize = 1 << 20;

/// The same for children that repeat, and for children that may have been wrapped.
const MAX_REPEATED_CELLS: usize = 1 << 14;
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
enum AlignmentPass {
    /// Equal ones first, then all that have the same name.
    Repeated,
    /// Similar ones.
    Similar,
    /// All that have the same name.
    Remaining,
}

/// A child in the comparison of siblings.
#[derive(PartialEq, Eq, Hash)]
enum SiblingKey {
    /// Paired, by its index in the head.
    Paired(usize),
    /// Unpaired, by the hash that its partner must have.
    Alone(u64),
}

/// The distinctive features of unpaired children.
struct SiblingFeatures {
    base: HashMap<usize, FeatureBag>,
    head: HashMap<usize, FeatureBag>,
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
    /// several equal items was edited is known only when all are aligned at once. Those at both ends
    /// are paired again. Returns whether there are any.
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

    /// The features of unpaired children that distinguish them from their siblings.
    fn sibling_features(
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
    fn align(
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
    fn join_children(&mut self, trees: &ComparedTrees<'_>, from: usize, to: usize) {
        let is_equal = trees.base.hashes[from] == trees.head.hashes[to];
        let nodes = is_equal.then(|| equal_nodes(trees.base.tree, from, trees.head.tree, to)).flatten();
        self.join(from, to);
        nodes.into_iter().flatten().for_each(|(base, head)| self.join(base, head));
    }

    /// Pairs a child with an element of the same role that is most of another child: a new element
    /// was put around it, or one was removed.
    fn by_wrapper(
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
    fn by_similarity(
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
