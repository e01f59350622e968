//! Verifies inclusion and consistency proofs, as RFC 9162, sections 2.1.3.2 and 2.1.4.2, do.
//!
//! The verification follows the bits of the numbers and shares nothing with the making of proofs,
//! so that an error in one is found by the other.

use crate::{LogError, MAX_LEAVES, TreeHash, hash_node};

/// The error for proofs with a hash too many or too few.
const WRONG_LENGTH: LogError = LogError::Proof("the proof has a wrong number of hashes");

/// Verifies that the leaf with this hash is number `index` of the tree with this size and root.
pub fn verify_inclusion(
    leaf: TreeHash,
    index: u64,
    (size, root): (u64, TreeHash),
    path: &[TreeHash],
) -> Result<(), LogError> {
    if index >= size || size > MAX_LEAVES {
        return Err(LogError::Range(format!("leaf {index} is not in a tree of {size} leaves")));
    }
    let (mut position, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return Err(WRONG_LENGTH);
        }
        if position % 2 == 1 || position == last {
            hash = hash_node(sibling, &hash);
            while position % 2 == 0 && position != 0 {
                (position, last) = (position / 2, last / 2);
            }
        } else {
            hash = hash_node(&hash, sibling);
        }
        (position, last) = (position / 2, last / 2);
    }
    match last {
        0 if hash == root => Ok(()),
        0 => Err(LogError::Proof("the proof does not lead from the leaf to the root of the checkpoint")),
        _ => Err(WRONG_LENGTH),
    }
}

/// Verifies that the tree with the second size and root begins with the leaves of the first.
pub fn verify_consistency(
    (old_size, old_root): (u64, TreeHash),
    (new_size, new_root): (u64, TreeHash),
    path: &[TreeHash],
) -> Result<(), LogError> {
    if old_size > new_size || new_size > MAX_LEAVES {
        let message = format!("a log of {new_size} leaves cannot continue one of {old_size}");
        return Err(LogError::Range(message));
    }
    if old_size == new_size || old_size == 0 {
        let is_right = match old_size {
            0 => old_root == TreeHash::of_empty_tree(),
            _ => old_root == new_root,
        };
        return match (is_right, path.is_empty()) {
            (true, true) => Ok(()),
            (false, _) => Err(LogError::Proof("the two checkpoints have one size and different roots")),
            (true, false) => Err(WRONG_LENGTH),
        };
    }
    let (mut position, mut last) = (old_size - 1, new_size - 1);
    while position % 2 == 1 {
        (position, last) = (position / 2, last / 2);
    }
    let mut rest = path.iter();
    // A complete old tree is itself the first subtree, and is left out of the proof.
    let first = match old_size.is_power_of_two() {
        true => old_root,
        false => *rest.next().ok_or(WRONG_LENGTH)?,
    };
    let (mut old, mut new) = (first, first);
    for hash in rest {
        if last == 0 {
            return Err(WRONG_LENGTH);
        }
        if position % 2 == 1 || position == last {
            (old, new) = (hash_node(hash, &old), hash_node(hash, &new));
            while position % 2 == 0 && position != 0 {
                (position, last) = (position / 2, last / 2);
            }
        } else {
            new = hash_node(&new, hash);
        }
        (position, last) = (position / 2, last / 2);
    }
    match last {
        0 if old != old_root => {
            Err(LogError::Proof("the proof does not lead to the root of the older checkpoint"))
        }
        0 if new != new_root => {
            Err(LogError::Proof("the proof does not lead to the root of the newer checkpoint"))
        }
        0 => Ok(()),
        _ => Err(WRONG_LENGTH),
    }
}
