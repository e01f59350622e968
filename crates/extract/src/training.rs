//! The blocks of a page with their features, to train and to measure the model that chooses main
//! content. `bench/extract` is the only caller.

use crate::content::{features::PageFeatures, readable};
use varve_page::dom::{HtmlTree, TreeLimits};

pub use crate::content::features::feature_names;

/// A block of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingBlock {
    /// Its text.
    pub text: String,
    /// Its features, in the order of [`feature_names`].
    pub features: Vec<f32>,
}

/// The blocks of a page, in document order.
pub fn blocks(html: &str, url: &str) -> Vec<TrainingBlock> {
    let tree = HtmlTree::parse(html);
    let (tree, found) = readable(&tree, TreeLimits::default());
    let features = PageFeatures::of(&tree, &found.blocks, url);
    let one = |number: usize| {
        let mut row = Vec::new();
        features.row(number, &mut row);
        TrainingBlock { text: found.blocks[number].text.clone(), features: row }
    };
    (0..found.blocks.len()).map(one).collect()
}
