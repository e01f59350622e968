//! The root of a growing tree from leaf hashes in sequence, in constant memory.

use crate::{TreeHash, hash_node};

/// The complete subtrees that a prefix of the leaves consists of, largest first. Appending leaves and
/// asking for roots in between shows all checkpoints of a log in one pass.
#[derive(Clone, Debug, Default)]
pub struct CompactRange {
    size: u64,
    subtrees: Vec<TreeHash>,
}

impl CompactRange {
    /// Appends a leaf.
    pub fn push(&mut self, leaf: TreeHash) {
        let mut hash = leaf;
        // Each trailing one bit of the size is a subtree that the new leaf completes.
        for _ in 0..self.size.trailing_ones() {
            let left = self.subtrees.pop().expect("one subtree for each one bit of the size");
            hash = hash_node(&left, &hash);
        }
        self.subtrees.push(hash);
        self.size += 1;
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of the tree of all leaves so far.
    pub fn root(&self) -> TreeHash {
        let mut smallest_first = self.subtrees.iter().rev();
        match smallest_first.next() {
            None => TreeHash::of_empty_tree(),
            Some(last) => smallest_first.fold(*last, |right, left| hash_node(left, &right)),
        }
    }
}
