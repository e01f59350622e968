//! How similar the contents of two nodes are.
//!
//! A node has a bag of features: the words of its text, the pairs of letters of short texts, and
//! its attributes. The similarity of two nodes is the share of features that both have (the Dice
//! coefficient). Features that most siblings have are left out: that every item of a list says
//! "3 hours ago" does not make two items the same.
//!
//! Owns the features and the budget of the pairing. Does not know which nodes are paired.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use varve_page::dom::{HtmlTree, NodeData};

/// Maximum number of nodes of a subtree, and of features, that describe it.
const MAX_INNER_NODES: usize = 256;
const MAX_FEATURES: usize = 512;

/// Maximum number of bytes of a text that are split into words, and into pairs of letters.
const MAX_WORD_BYTES: usize = 4 << 10;
const MAX_PAIR_BYTES: usize = 128;

/// Maximum number of steps of all comparisons of a pairing: well below a second.
const MAX_PAIRING_STEPS: usize = 1 << 27;

/// The similarity of equal bags.
pub(super) const FULL_SIMILARITY: u32 = 1000;

/// Attributes of the appearance, which siblings share.
const SHARED_ATTRIBUTES: [&str; 2] = ["class", "style"];

/// The work that may still be done. When it is spent, nodes are paired without looking into them.
pub(super) struct PairingBudget(usize);

impl Default for PairingBudget {
    fn default() -> Self {
        Self(MAX_PAIRING_STEPS)
    }
}

impl PairingBudget {
    /// Takes steps from the budget. False if there are not enough left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.0.checked_sub(steps).map(|rest| self.0 = rest).is_some()
    }
}

/// The features of a node, sorted.
pub(super) type FeatureBag = Vec<u32>;

/// Frequencies of features among siblings.
#[derive(Default)]
pub(super) struct FeatureCounts {
    nodes: usize,
    counts: HashMap<u32, usize>,
}

impl FeatureCounts {
    /// Counts the features of a sibling.
    pub(super) fn add(&mut self, bag: &FeatureBag) {
        self.nodes += 1;
        for feature in bag.chunk_by(|one, other| one == other).map(|run| run[0]) {
            *self.counts.entry(feature).or_default() += 1;
        }
    }

    /// The features that distinguish a node from its siblings. Those of two nodes may be the ones
    /// that these have in common.
    pub(super) fn distinctive(&self, bag: FeatureBag) -> FeatureBag {
        let count = |feature: &u32| self.counts.get(feature).copied().unwrap_or(0);
        bag.into_iter().filter(|feature| count(feature) < 3 || count(feature) * 2 <= self.nodes).collect()
    }
}

/// The features of a subtree. None if the budget is spent.
pub(super) fn features(tree: &HtmlTree, place: usize, budget: &mut PairingBudget) -> FeatureBag {
    let mut bag = Vec::new();
    let end = tree.nodes()[place].end.min(place + MAX_INNER_NODES);
    for node in &tree.nodes()[place..end] {
        let before = bag.len();
        match &node.data {
            NodeData::Text(text) | NodeData::Comment(text) => add_words(&mut bag, text.trim()),
            NodeData::Element(_, attributes) => {
                let told = attributes.iter().filter(|(name, _)| !SHARED_ATTRIBUTES.contains(&name.as_str()));
                bag.extend(told.map(|(name, value)| hashed(&(name, shortened(value, MAX_WORD_BYTES)))));
            }
            NodeData::Document | NodeData::Doctype(_) => {}
        }
        if !budget.spend(1 + 4 * (bag.len() - before)) {
            return Vec::new();
        }
        if bag.len() >= MAX_FEATURES {
            break;
        }
    }
    bag.truncate(MAX_FEATURES);
    bag.sort_unstable();
    bag
}

fn add_words(bag: &mut FeatureBag, text: &str) {
    let words = |most: usize| {
        shortened(text, most).split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
    };
    for word in words(MAX_PAIR_BYTES) {
        let mut last = ' ';
        for letter in word.chars().chain([' ']) {
            bag.push(hashed(&(last, letter)));
            last = letter;
        }
    }
    bag.extend(words(MAX_WORD_BYTES).take(MAX_FEATURES).map(|word| hashed(&word)));
}

fn shortened(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
}

fn hashed(feature: &impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    feature.hash(&mut hasher);
    // The lower half of a hash is a hash.
    hasher.finish() as u32
}

/// The similarity of two bags in thousandths, and the number of features that both have.
pub(super) fn similarity(one: &FeatureBag, other: &FeatureBag, budget: &mut PairingBudget) -> (u32, usize) {
    let both = one.len() + other.len();
    if one.is_empty() || other.is_empty() || !budget.spend(both) {
        return (0, 0);
    }
    let (mut at, mut there, mut shared) = (0, 0, 0);
    while let (Some(left), Some(right)) = (one.get(at), other.get(there)) {
        shared += usize::from(left == right);
        at += usize::from(left <= right);
        there += usize::from(right <= left);
    }
    let share = shared * 2 * FULL_SIMILARITY as usize / both;
    (u32::try_from(share).unwrap_or(FULL_SIMILARITY), shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &str, other: &str) -> u32 {
        let bag = |text: &str| features(&HtmlTree::parse(text), 0, &mut PairingBudget::default());
        similarity(&bag(one), &bag(other), &mut PairingBudget::default()).0
    }

    #[test]
    fn similarity_follows_words_letters_and_attributes() {
        assert_eq!(alike("<p>one two", "<p>one two"), FULL_SIMILARITY);
        assert_eq!(alike("<p>one", "<p>"), 0);
        assert!(alike("<li>Contact", "<li>Contacts") > alike("<li>Contact", "<li>Blog"));
        assert!(
            alike("<a href=/a>x</a>", "<a href=/a>y</a>") > alike("<a href=/a>x</a>", "<a href=/b>y</a>")
        );
    }

    #[test]
    fn features_of_most_siblings_do_not_count() {
        let mut counts = FeatureCounts::default();
        [vec![1, 2], vec![1, 3], vec![1, 1, 3], vec![5]].iter().for_each(|bag| counts.add(bag));
        assert_eq!(counts.distinctive(vec![1, 1, 2, 3]), [2, 3]);
    }

    #[test]
    fn a_spent_budget_makes_nothing_similar() {
        let tree = HtmlTree::parse("<p>one two three");
        assert!(features(&tree, 0, &mut PairingBudget(3)).is_empty());
        assert_eq!(similarity(&vec![1], &vec![1], &mut PairingBudget(1)), (0, 0));
    }
}
