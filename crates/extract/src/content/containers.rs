//! Sums over the elements that contain blocks, and what repeats among them.
//!
//! One pass from the last node to the first adds each element to its parent, so the cost does not
//! grow with depth.

use super::blocks::{TextBlock, share};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use varve_page::dom::HtmlTree;

/// What the blocks in an element add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ContainerSums {
    pub(crate) words: u32,
    pub(crate) link_words: u32,
    pub(crate) blocks: u32,
    /// Words in long blocks.
    pub(crate) long_words: u32,
    /// The first and the last block in it.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Sums of blocks that are at the same place of a repeated structure.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatternSums {
    pub(crate) blocks: u32,
    pub(crate) words: u32,
    pub(crate) link_words: u32,
}

/// The elements of a page that contain text.
pub(crate) struct Containers<'a> {
    tree: &'a HtmlTree,
    /// By node.
    sums: Vec<ContainerSums>,
    depths: Vec<u16>,
    /// Name and classes of each element that contains text, as a hash.
    kinds: Vec<u64>,
    /// The number of children of one kind, by parent and kind.
    siblings: HashMap<(usize, u64), u32>,
    patterns: HashMap<u64, PatternSums>,
}

impl<'a> Containers<'a> {
    pub(crate) fn of(tree: &'a HtmlTree, blocks: &[TextBlock]) -> Self {
        let count = tree.nodes().len();
        let mut containers = Self {
            tree,
            sums: vec![ContainerSums { first: u32::MAX, ..ContainerSums::default() }; count],
            depths: vec![0; count],
            kinds: vec![0; count],
            siblings: HashMap::new(),
            patterns: HashMap::new(),
        };
        containers.add_blocks(blocks);
        containers.add_up();
        containers.add_kinds();
        for block in blocks {
            let pattern = containers.pattern_of(block.element);
            let sums = containers.patterns.entry(pattern).or_default();
            sums.blocks += 1;
            sums.words += block.words;
            sums.link_words += block.link_words;
        }
        containers
    }

    fn add_blocks(&mut self, blocks: &[TextBlock]) {
        for (number, block) in (0u32..).zip(blocks) {
            let sums = &mut self.sums[block.element];
            sums.words += block.words;
            sums.link_words += block.link_words;
            sums.blocks += 1;
            sums.long_words += if block.is_long() { block.words } else { 0 };
            sums.first = sums.first.min(number);
            sums.last = number;
        }
    }

    /// Adds each element to its parent. Children follow their parent in the tree.
    fn add_up(&mut self) {
        for node in (1..self.sums.len()).rev() {
            let from = self.sums[node];
            if from.blocks == 0 {
                continue;
            }
            let to = &mut self.sums[self.tree.nodes()[node].parent];
            to.words += from.words;
            to.link_words += from.link_words;
            to.blocks += from.blocks;
            to.long_words += from.long_words;
            to.first = to.first.min(from.first);
            to.last = to.last.max(from.last);
        }
    }

    fn add_kinds(&mut self) {
        for node in 1..self.sums.len() {
            let parent = self.tree.nodes()[node].parent;
            self.depths[node] = self.depths[parent] + 1;
            if self.sums[node].blocks > 0 {
                let kind = kind_of(self.tree, node);
                self.kinds[node] = kind;
                *self.siblings.entry((parent, kind)).or_default() += 1;
            }
        }
    }

    pub(crate) fn sums(&self, element: usize) -> &ContainerSums {
        &self.sums[element]
    }

    /// The sums of the whole page.
    pub(crate) fn page(&self) -> &ContainerSums {
        &self.sums[0]
    }

    /// The element that is `levels` levels above another one. The root is above all.
    pub(crate) fn above(&self, element: usize, levels: usize) -> usize {
        (0..levels).fold(element, |element, _| self.tree.nodes()[element].parent)
    }

    /// How many levels an element is below a container, or `None` if it is not in it.
    pub(crate) fn levels_below(&self, container: usize, element: usize) -> Option<u16> {
        let is_in = container <= element && element < self.tree.nodes()[container].end;
        is_in.then(|| self.depths[element] - self.depths[container])
    }

    /// The number of elements of the same kind beside an element, with itself.
    pub(crate) fn siblings(&self, element: usize) -> u32 {
        let key = (self.tree.nodes()[element].parent, self.kinds[element]);
        self.siblings.get(&key).copied().unwrap_or(1)
    }

    /// The sums of all blocks whose element and the two above are of the same kinds.
    pub(crate) fn pattern(&self, element: usize) -> PatternSums {
        self.patterns.get(&self.pattern_of(element)).copied().unwrap_or_default()
    }

    fn pattern_of(&self, element: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (0..3).for_each(|levels| self.kinds[self.above(element, levels)].hash(&mut hasher));
        hasher.finish()
    }

    /// The smallest element that has at least this share of the words in long blocks.
    pub(crate) fn core(&self, least_share: f32) -> usize {
        let least = least_share * self.page().long_words as f32;
        let has_enough = |child: &usize| self.sums[*child].long_words as f32 >= least;
        let mut core = 0;
        while self.page().long_words > 0
            && let Some(child) = self.tree.children(core).find(has_enough)
        {
            core = child;
        }
        core
    }

    /// The element whose children and grandchildren have most prose: the candidate of readability
    /// rules.
    pub(crate) fn densest(&self, blocks: &[TextBlock]) -> usize {
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for block in blocks.iter().filter(|block| block.words >= 10 && block.link_share() < 0.3) {
            let score = 1.0 + block.commas as f32 + (block.length / 100).min(3) as f32;
            for levels in 1..4u8 {
                let element = self.above(block.element, usize::from(levels));
                *scores.entry(element).or_default() += score / f32::from(levels);
            }
        }
        let best = scores.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        best.map_or(0, |(element, _)| element)
    }

    /// How far the lowest element that has both is above the heading, and above the element.
    pub(crate) fn levels_to_common(&self, heading: usize, element: usize) -> (u16, u16) {
        let mut common = element;
        while self.levels_below(common, heading).is_none() {
            common = self.tree.nodes()[common].parent;
        }
        (self.depths[heading] - self.depths[common], self.depths[element] - self.depths[common])
    }
}

impl ContainerSums {
    pub(crate) fn link_share(&self) -> f32 {
        share(self.link_words, self.words)
    }

    pub(crate) fn words_per_block(&self) -> f32 {
        share(self.words, self.blocks)
    }
}

/// Name and first two classes of an element.
fn kind_of(tree: &HtmlTree, element: usize) -> u64 {
    let node = &tree.nodes()[element];
    let mut hasher = DefaultHasher::new();
    node.name().hash(&mut hasher);
    let mut classes: Vec<&str> =
        node.attribute("class").unwrap_or_default().split_ascii_whitespace().take(8).collect();
    classes.sort_unstable();
    classes.iter().take(2).for_each(|class| class.hash(&mut hasher));
    hasher.finish()
}
