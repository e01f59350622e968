//! Roots and proofs compared with `pymerkle`, an implementation that shares nothing with this one.

use std::process::Command;

use varve_testkit::{Requirement, skip};
use varve_tlog::{CompactRange, TileTree, TreeWriter, hash_leaf, verify_consistency};

#[allow(dead_code, reason = "the tests of the tree use the rest")]
mod support;

use support::{MemoryTiles, entry};

/// Prints the root of each size, then the hashes of inclusion proofs. A path of pymerkle has the leaf as
/// well, and another order: hashes are compared as sets. It splits the trees of consistency proofs
/// otherwise than RFC 6962, so ours are verified against its roots.
const SCRIPT: &str = "
from pymerkle import InmemoryTree
tree = InmemoryTree(algorithm='sha256')
root = getattr(tree, 'get_root', None) or tree.get_state
for index in range(600):
    tree.append_entry(b'entry %d' % index)
    print('root', index + 1, root().hex())
for size in (1, 2, 3, 7, 8, 31, 32, 40, 256, 257, 511, 600):
    for index in range(0, size, 1 if size < 50 else 37):
        print('inclusion', index, size, *tree.prove_inclusion(index + 1, size).serialize()['path'])
";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn pymerkle_agrees() {
    let python = std::env::var("VARVE_CHECK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let Ok(output) = Command::new(python).args(["-W", "ignore", "-c", SCRIPT]).output() else {
        return skip(Requirement::Python, "Python is not installed");
    };
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("No module named 'pymerkle'"), "{message}");
        return skip(Requirement::Python, "pymerkle is not installed");
    }
    let mut tiles = MemoryTiles::default();
    let mut writer = TreeWriter::empty(&mut tiles);
    (0..600).for_each(|index| writer.push(&entry(index)).unwrap());
    writer.write_partial_tiles(600).unwrap();
    let tree = TileTree::new(&tiles, 600).unwrap();
    let (mut range, mut compared, mut roots) = (CompactRange::default(), 0, Vec::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        compared += 1;
        if words[0] == "root" {
            range.push(hash_leaf(&entry(number(1) - 1)));
            assert_eq!((range.size(), hex(&range.root().0)), (number(1), words[2].to_owned()));
            roots.push(range.root());
            continue;
        }
        let path = tree.inclusion_proof(number(1), number(2)).unwrap();
        assert_eq!(path.len() + 1, words.len() - 3, "{line}");
        for hash in path {
            assert!(words[3..].contains(&hex(&hash.0).as_str()), "{hash:?} is not in: {line}");
        }
    }
    assert!(compared > 700, "{compared} lines");
    for (old, new) in (1..=600).step_by(7).flat_map(|old| (old..=600).step_by(11).map(move |new| (old, new)))
    {
        let proof = tree.consistency_proof(old, new).unwrap();
        let root = |size: u64| (size, roots[size as usize - 1]);
        verify_consistency(root(old), root(new), &proof).unwrap();
    }
}
