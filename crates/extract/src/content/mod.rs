//! Which text of a page is its main content.
//!
//! A page is divided into [`blocks`] of text. Each block becomes a row of [`features`], from which a
//! [`model`] computes the probability that it is content. The blocks are then chosen together, so
//! that the expected F1 of the words is greatest: a page that is hard to judge keeps more doubtful
//! blocks than one where the model is sure.

pub(crate) mod blocks;
mod containers;
pub(crate) mod features;
mod model;
mod page_signals;
mod vocabulary;

use blocks::{TextBlock, TextBlocks};
use std::borrow::Cow;
use varve_page::dom::{HtmlTree, NodeData, TreeLimits};

/// Minimum length of what a page has only for browsers without scripts, to be read at all.
const MIN_NOSCRIPT_BYTES: usize = 500;

/// Minimum number of words of what a page has only for browsers without scripts, to be the page.
const MIN_NOSCRIPT_WORDS: u32 = 100;

/// The main content of a page.
#[derive(Debug)]
pub(crate) struct MainContent<'a> {
    /// The tree that the blocks are in.
    pub(crate) tree: Cow<'a, HtmlTree>,
    /// The chosen blocks, in document order.
    pub(crate) blocks: Vec<TextBlock>,
    /// Whether the page has more blocks than are read.
    pub(crate) is_cut: bool,
}

/// Chooses the main content of a page.
pub(crate) fn choose<'a>(tree: &'a HtmlTree, url: &str, limits: TreeLimits) -> MainContent<'a> {
    let (tree, found) = readable(tree, limits);
    let probabilities = probabilities(&tree, &found.blocks, url);
    let least = least_probability(&found.blocks, &probabilities);
    let chosen = found.blocks.into_iter().zip(probabilities).filter(|(_, probability)| *probability >= least);
    let blocks = chosen.map(|(block, _)| block).collect();
    MainContent { tree, blocks, is_cut: found.is_cut }
}

/// The blocks of a page with their tree. Some applications serve their text only in `noscript`: if
/// that has more words than the rest, it is the page.
pub(crate) fn readable(tree: &HtmlTree, limits: TreeLimits) -> (Cow<'_, HtmlTree>, TextBlocks) {
    let found = blocks::divide(tree);
    let words: u32 = found.blocks.iter().map(|block| block.words).sum();
    let without_scripts = noscript_html(tree);
    if without_scripts.len() >= MIN_NOSCRIPT_BYTES.max(words as usize) {
        let other_tree = HtmlTree::parse_within(&without_scripts, limits);
        let other = blocks::divide(&other_tree);
        let other_words = other.blocks.iter().map(|block| block.words).sum::<u32>();
        if other_words > words.max(MIN_NOSCRIPT_WORDS) {
            return (Cow::Owned(other_tree), other);
        }
    }
    (Cow::Borrowed(tree), found)
}

/// The HTML in all `noscript` elements outside of the head.
fn noscript_html(tree: &HtmlTree) -> String {
    let is_noscript = |node: usize| {
        tree.nodes()[node].name() == Some("noscript")
            && tree.ancestors(node).all(|above| tree.nodes()[above].name() != Some("head"))
    };
    let texts = (1..tree.nodes().len()).filter_map(|node| match &tree.nodes()[node].data {
        NodeData::Text(text) if is_noscript(tree.nodes()[node].parent) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// The probability of each block that it is content.
fn probabilities(tree: &HtmlTree, blocks: &[TextBlock], url: &str) -> Vec<f32> {
    let features = features::PageFeatures::of(tree, blocks, url);
    let model = model::ContentModel::get();
    let mut row = Vec::new();
    let one = |number| {
        features.row(number, &mut row);
        model.probability(&row)
    };
    (0..blocks.len()).map(one).collect()
}

/// The probability from which blocks are chosen, so that the expected F1 of their words is greatest.
///
/// With the blocks in order of probability, the first `k` of them have the F1
/// `2 × expected words of content among them / (their words + expected words of content)`.
fn least_probability(blocks: &[TextBlock], probabilities: &[f32]) -> f32 {
    let mut order: Vec<(f32, f32)> = blocks
        .iter()
        .zip(probabilities)
        .map(|(block, probability)| (*probability, block.words as f32))
        .collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let expected: f32 = order.iter().map(|(probability, words)| probability * words).sum();
    let (mut content, mut chosen) = (0.0, 0.0);
    let (mut best, mut least) = (0.0, 1.0);
    for (probability, words) in order {
        content += probability * words;
        chosen += words;
        let f1 = 2.0 * content / (chosen + expected);
        if f1 > best {
            (best, least) = (f1, probability);
        }
    }
    least
}
