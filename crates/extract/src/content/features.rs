//! The numbers by which the model knows a block: its text, its place, and what is around it.
//!
//! The order of the numbers is that of [`feature_names`], and the model repeats the names: a model
//! that was trained on other features is not loaded.

use super::blocks::{NO_ANCESTOR, SECTION_ELEMENTS, TextBlock, share};
use super::containers::Containers;
use super::page_signals::{self, PAGE_SIGNAL_COUNT, PAGE_SIGNAL_NAMES};
use super::vocabulary::{CLASS_WORD_GROUPS, PHRASE_GROUPS};
use std::collections::HashMap;
use varve_page::dom::HtmlTree;

/// Levels above a block of which sums are features.
const CONTAINER_LEVELS: [usize; 6] = [1, 2, 3, 4, 6, 8];

/// Shares of the prose of a page that the core elements contain.
const CORE_SHARES: [f32; 3] = [0.5, 0.75, 0.9];

/// Elements in the order of their number as a feature.
const BLOCK_ELEMENTS: [&str; 22] = [
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "td",
    "th",
    "div",
    "dd",
    "dt",
    "pre",
    "blockquote",
    "figcaption",
    "button",
    "label",
    "section",
    "article",
    "summary",
    "body",
];

/// A value for what is not there.
const ABSENT_VALUE: f32 = -1.0;

/// The features of one page, block by block.
pub(crate) struct PageFeatures<'a> {
    tree: &'a HtmlTree,
    blocks: &'a [TextBlock],
    containers: Containers<'a>,
    /// How often each text occurs.
    repeats: HashMap<u64, u32>,
    /// The cores, and the densest element.
    cores: [usize; 4],
    heading: Option<usize>,
    heading_block: Option<usize>,
    long_blocks: Option<(usize, usize)>,
    /// Words before each block.
    words_before: Vec<u32>,
    /// The number of the last heading at or before each block.
    last_headings: Vec<Option<usize>>,
    page: Vec<f32>,
}

impl<'a> PageFeatures<'a> {
    /// Reads a page with its blocks.
    pub(crate) fn of(tree: &'a HtmlTree, blocks: &'a [TextBlock], url: &str) -> Self {
        let containers = Containers::of(tree, blocks);
        let mut repeats: HashMap<u64, u32> = HashMap::new();
        blocks.iter().for_each(|block| *repeats.entry(block.hash).or_default() += 1);
        let [half, most, nearly_all] = CORE_SHARES.map(|part| containers.core(part));
        let heading = (0..tree.nodes().len())
            .find(|node| tree.nodes()[*node].name() == Some("h1") && containers.sums(*node).blocks > 0);
        let long = |block: &TextBlock| block.is_long();
        let first_long = blocks.iter().position(long);
        let mut features = Self {
            tree,
            blocks,
            repeats,
            cores: [half, most, nearly_all, containers.densest(blocks)],
            heading_block: heading.map(|node| containers.sums(node).first as usize),
            heading,
            long_blocks: first_long.zip(blocks.iter().rposition(long)),
            words_before: words_before(blocks),
            last_headings: last_headings(tree, blocks),
            page: Vec::new(),
            containers,
        };
        features.page = features.page_values(&page_signals::of(tree, url));
        features
    }

    /// The features of a block.
    pub(crate) fn row(&self, number: usize, row: &mut Vec<f32>) {
        row.clear();
        self.add_text(number, row);
        self.add_ancestors(number, row);
        self.add_place(number, row);
        self.add_containers(number, row);
        self.add_pattern(number, row);
        self.add_neighbours(number, row);
        self.add_headings(number, row);
        self.add_cores(number, row);
        row.extend(&self.page);
    }

    fn add_text(&self, number: usize, row: &mut Vec<f32>) {
        let block = &self.blocks[number];
        row.extend([
            block.words as f32,
            share(block.length, block.words),
            block.link_share(),
            share(block.stop_words, block.words),
            share(block.commas, block.words),
            share(block.sentence_marks, block.words),
            share(block.digits, block.length),
            f32::from(block.ends_sentence),
            self.repeats.get(&block.hash).map_or(1.0, |count| *count as f32),
            self.element_number(number),
        ]);
        row.extend((0..PHRASE_GROUPS.len()).map(|group| f32::from(block.phrases & 1 << group != 0)));
    }

    fn add_ancestors(&self, number: usize, row: &mut Vec<f32>) {
        let ancestry = &self.blocks[number].ancestry;
        let distances = ancestry.class_groups.iter().chain(&ancestry.sections);
        row.extend(
            distances.map(|distance| if *distance == NO_ANCESTOR { 99.0 } else { f32::from(*distance) }),
        );
        row.push(f32::from(ancestry.hidden));
    }

    fn add_place(&self, number: usize, row: &mut Vec<f32>) {
        let count = self.blocks.len();
        let behind = |other: Option<usize>| other.map_or(-999.0, |other| number as f32 - other as f32);
        row.extend([
            number as f32 / count as f32,
            share(self.words_before[number], self.containers.page().words),
            (count - number) as f32,
            behind(self.heading_block),
            behind(self.long_blocks.map(|(first, _)| first)),
            behind(self.long_blocks.map(|(_, last)| last)),
        ]);
    }

    fn add_containers(&self, number: usize, row: &mut Vec<f32>) {
        let element = self.blocks[number].element;
        let page = self.containers.page();
        for levels in CONTAINER_LEVELS {
            let sums = self.containers.sums(self.containers.above(element, levels));
            row.extend([
                sums.words as f32,
                sums.link_share(),
                sums.words_per_block(),
                share(sums.long_words, page.long_words),
                share(sums.words, page.words),
            ]);
        }
        row.extend((0..4).map(|levels| {
            let container = self.containers.above(element, levels);
            self.containers.siblings(container) as f32
        }));
    }

    fn add_pattern(&self, number: usize, row: &mut Vec<f32>) {
        let pattern = self.containers.pattern(self.blocks[number].element);
        row.extend([
            pattern.blocks as f32,
            share(pattern.words, pattern.blocks),
            share(pattern.link_words, pattern.words),
            share(pattern.words, self.containers.page().words),
        ]);
    }

    fn add_neighbours(&self, number: usize, row: &mut Vec<f32>) {
        for other in [number.checked_sub(1), Some(number + 1)] {
            match other.and_then(|other| Some((other, self.blocks.get(other)?))) {
                Some((other, block)) => {
                    row.extend([block.words as f32, block.link_share(), self.element_number(other)]);
                }
                None => row.extend([ABSENT_VALUE; 3]),
            }
        }
    }

    fn add_headings(&self, number: usize, row: &mut Vec<f32>) {
        let level = |block: usize| f32::from(heading_level(self.tree, self.blocks[block].element));
        let last = self.last_headings[number];
        row.extend([
            level(number),
            last.map_or(ABSENT_VALUE, |last| (number - last) as f32),
            last.map_or(ABSENT_VALUE, level),
        ]);
        let phrases = last.map_or(0, |last| self.blocks[last].phrases);
        row.extend((0..PHRASE_GROUPS.len()).map(|group| f32::from(phrases & 1 << group != 0)));
        let to_title = self.heading.map(|heading| {
            let (down, up) = self.containers.levels_to_common(heading, self.blocks[number].element);
            [f32::from(down), f32::from(up)]
        });
        row.extend(to_title.unwrap_or([ABSENT_VALUE; 2]));
    }

    fn add_cores(&self, number: usize, row: &mut Vec<f32>) {
        let page_words = self.containers.page().words;
        for core in self.cores {
            let sums = self.containers.sums(core);
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let (levels, position) = match self
                .containers
                .levels_below(core, self.blocks[number as usize].element)
            {
                Some(levels) => (f32::from(levels), share(number.saturating_sub(sums.first), sums.blocks)),
                None if number < sums.first => (ABSENT_VALUE, ABSENT_VALUE),
                None => (ABSENT_VALUE, 2.0),
            };
            row.extend([levels, share(sums.words, page_words), position]);
        }
    }

    /// The values that all blocks of the page share.
    fn page_values(&self, signals: &[f32; PAGE_SIGNAL_COUNT]) -> Vec<f32> {
        let page = self.containers.page();
        let longest = |is: &dyn Fn(usize) -> bool| {
            let elements = (1..self.tree.nodes().len()).filter(|node| is(*node));
            elements.map(|node| self.containers.sums(node).words).max().unwrap_or(0)
        };
        let named = |node: usize, name| self.tree.nodes()[node].name() == Some(name);
        let main =
            longest(&|node| named(node, "main") || self.tree.nodes()[node].attribute("role") == Some("main"));
        let articles = (1..self.tree.nodes().len())
            .filter(|node| named(*node, "article") && self.containers.sums(*node).blocks > 0);
        let mut values = vec![
            page.words as f32,
            page.blocks as f32,
            page.link_share(),
            share(page.long_words, page.words),
            self.blocks.iter().filter(|block| block.is_long()).count() as f32,
            share(main, page.words),
            share(longest(&|node| named(node, "article")), page.words),
            articles.count() as f32,
        ];
        values.extend(signals);
        values
    }

    fn element_number(&self, number: usize) -> f32 {
        let name = self.tree.nodes()[self.blocks[number].element].name();
        let place = BLOCK_ELEMENTS.iter().position(|other| Some(*other) == name);
        place.map_or(ABSENT_VALUE, |place| place as f32)
    }
}

/// The names of the features, in their order.
pub fn feature_names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |group: &str, of: &[&str]| {
        names.extend(of.iter().map(|name| format!("{group}{name}")));
    };
    let phrases = PHRASE_GROUPS.map(|(name, _)| name);
    add(
        "text.",
        &[
            "words",
            "word_length",
            "links",
            "stop_words",
            "commas",
            "sentences",
            "digits",
            "ends_sentence",
            "repeats",
            "element",
        ],
    );
    add("text.phrase.", &phrases);
    add("above.class.", &CLASS_WORD_GROUPS.map(|(name, _)| name));
    add("above.", &SECTION_ELEMENTS);
    add("", &["hidden"]);
    add("place.", &["block", "word", "blocks_left", "behind_h1", "behind_first_long", "behind_last_long"]);
    for levels in CONTAINER_LEVELS {
        add(&format!("container{levels}."), &["words", "links", "words_per_block", "prose", "page"]);
    }
    add("siblings.", &["0", "1", "2", "3"]);
    add("pattern.", &["blocks", "words_per_block", "links", "page"]);
    add("before.", &["words", "links", "element"]);
    add("after.", &["words", "links", "element"]);
    add("heading.", &["level", "distance", "last_level"]);
    add("heading.phrase.", &phrases);
    add("h1.", &["down", "up"]);
    for core in ["core50.", "core75.", "core90.", "densest."] {
        add(core, &["levels", "page", "position"]);
    }
    add("page.", &["words", "blocks", "links", "prose", "long_blocks", "main", "article", "articles"]);
    add("", &PAGE_SIGNAL_NAMES);
    names
}

/// The level of a heading; 0 if the element is none. Headings that wrap the element count too.
fn heading_level(tree: &HtmlTree, element: usize) -> u8 {
    let above = std::iter::once(element).chain(tree.ancestors(element)).take(3);
    above.filter_map(|node| tree.nodes()[node].name()).find_map(level_of).unwrap_or(0)
}

/// The level of the heading with this name.
pub(crate) fn level_of(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

fn words_before(blocks: &[TextBlock]) -> Vec<u32> {
    let sums = blocks.iter().scan(0u32, |sum, block| {
        let before = *sum;
        *sum = sum.saturating_add(block.words);
        Some(before)
    });
    sums.collect()
}

fn last_headings(tree: &HtmlTree, blocks: &[TextBlock]) -> Vec<Option<usize>> {
    let numbered = blocks.iter().enumerate().scan(None, |last, (number, block)| {
        if heading_level(tree, block.element) > 0 {
            *last = Some(number);
        }
        Some(*last)
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::blocks;
    use proptest::prelude::*;

    #[test]
    fn every_feature_has_a_name() {
        let tree = HtmlTree::parse("<h1>Title</h1><p>Some text, and more.");
        let found = blocks::divide(&tree);
        let features = PageFeatures::of(&tree, &found.blocks, "https://a.example/");
        let mut row = Vec::new();
        features.row(1, &mut row);
        assert_eq!(row.len(), feature_names().len());
        let value =
            |name: &str| row[feature_names().iter().position(|other| other == name).expect("a feature")];
        assert_eq!((value("text.words"), value("place.behind_h1"), value("page.words")), (4.0, 1.0, 5.0));
        assert_eq!((value("heading.distance"), value("heading.last_level"), value("h1.up")), (1.0, 1.0, 1.0));
    }

    proptest! {
        #[test]
        fn features_are_numbers(text in "(<(/?(p|b|table|td|h1|article|li|a|nav|pre))( class=nav)?>|x y z, |&|.){0,60}") {
            let tree = HtmlTree::parse(&text);
            let found = blocks::divide(&tree);
            let features = PageFeatures::of(&tree, &found.blocks, &text);
            let mut row = Vec::new();
            for number in 0..found.blocks.len() {
                features.row(number, &mut row);
                prop_assert!(row.iter().all(|value| value.is_finite()));
            }
        }
    }
}
