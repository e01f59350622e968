//! The model: a sum of decision trees that turns the features of a block into a probability.
//!
//! `model.txt` is made by `bench/extract/train.py` and read once. Its lines are a version, the names
//! of the features, and a line for each tree: its splits, and the values of its leaves. A split is
//! `feature threshold low high`; a negative child is a leaf, counted from -1. Splits follow those
//! that lead to them, so a walk always ends.

use std::sync::LazyLock;

/// The first line of a model.
const MODEL_VERSION_LINE: &str = "varve content model 1";

/// The text of the model.
const MODEL_TEXT: &str = include_str!("model.txt");

/// A sum of decision trees.
#[derive(Debug)]
pub(crate) struct ContentModel {
    trees: Vec<DecisionTree>,
}

#[derive(Debug)]
struct DecisionTree {
    splits: Vec<Split>,
    leaves: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Split {
    feature: u16,
    threshold: f32,
    /// The next split if the feature is not above the threshold, else; negative for leaves.
    low: i16,
    high: i16,
}

impl ContentModel {
    /// The model of varve.
    pub(crate) fn get() -> &'static Self {
        static MODEL: LazyLock<ContentModel> = LazyLock::new(|| {
            let names = super::features::feature_names();
            ContentModel::parse(MODEL_TEXT, &names).expect("a test reads the model that is compiled in")
        });
        &MODEL
    }

    /// Reads a model. `None` if it is damaged or made for other features.
    fn parse(text: &str, feature_names: &[String]) -> Option<Self> {
        let mut lines = text.lines();
        let is_known = lines.next()? == MODEL_VERSION_LINE && lines.next()?.split(' ').eq(feature_names);
        let trees =
            lines.map(|line| DecisionTree::parse(line, feature_names.len())).collect::<Option<_>>()?;
        is_known.then_some(Self { trees })
    }

    /// The probability that the block with these features is content.
    pub(crate) fn probability(&self, row: &[f32]) -> f32 {
        let sum: f32 = self.trees.iter().map(|tree| tree.value(row)).sum();
        1.0 / (1.0 + (-sum).exp())
    }
}

impl DecisionTree {
    fn parse(line: &str, feature_count: usize) -> Option<Self> {
        let (splits, leaves) = line.split_once('|')?;
        let splits: Vec<Split> = splits.split(',').map(Split::parse).collect::<Option<_>>()?;
        let leaves: Vec<f32> = leaves.split(' ').map(|leaf| leaf.parse().ok()).collect::<Option<_>>()?;
        let is_sound = splits.iter().enumerate().all(|(number, split)| {
            usize::from(split.feature) < feature_count
                && [split.low, split.high].into_iter().all(|child| match usize::try_from(child) {
                    Ok(child) => number < child && child < splits.len(),
                    Err(_) => leaf_number(child) < leaves.len(),
                })
        });
        is_sound.then_some(Self { splits, leaves })
    }

    fn value(&self, row: &[f32]) -> f32 {
        let mut split = &self.splits[0];
        loop {
            let child =
                if row[usize::from(split.feature)] <= split.threshold { split.low } else { split.high };
            match usize::try_from(child) {
                Ok(child) => split = &self.splits[child],
                Err(_) => return self.leaves[leaf_number(child)],
            }
        }
    }
}

impl Split {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let split = Self {
            feature: parts.next()?.parse().ok()?,
            threshold: parts.next()?.parse().ok()?,
            low: parts.next()?.parse().ok()?,
            high: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(split)
    }
}

/// The number of the leaf that a negative child stands for.
fn leaf_number(child: i16) -> usize {
    usize::from((-1 - child).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(trees: &str) -> Option<ContentModel> {
        ContentModel::parse(&format!("{MODEL_VERSION_LINE}\na b\n{trees}"), &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn the_model_that_is_compiled_in_is_sound() {
        assert!(ContentModel::get().trees.len() > 10);
    }

    #[test]
    fn trees_add_up() {
        let model = parse("0 1.5 1 -1,1 0 -2 -3|1 2 3\n1 0 -1 -2|0.5 -4").expect("sound");
        assert_eq!(model.probability(&[2.0, 0.0]), 1.0 / (1.0 + (-1.5f32).exp()));
        assert_eq!(model.probability(&[1.5, 0.0]), 1.0 / (1.0 + (-2.5f32).exp()));
        assert_eq!(model.probability(&[1.5, 1.0]), 1.0 / (1.0 + 1.0f32.exp()));
    }

    #[test]
    fn unsound_models_are_refused() {
        for trees in ["0 1 0 -1|1", "0 1 1 -1|1 2", "2 1 -1 -2|1 2", "0 1 -1 -3|1 2", "0 1 -1|1", "x", ""] {
            assert!(parse(&format!("{trees}\n")).is_none(), "{trees}");
        }
        assert!(ContentModel::parse(&format!("{MODEL_VERSION_LINE}\na\n"), &["b".to_owned()]).is_none());
    }
}
