//! Trees, tiles and proofs: all small sizes, large ones by counted I/O, and every kind of forgery.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod support;

use proptest::prelude::*;
use support::{MemoryTiles, defined_root, entry, leaves};
use varve_tlog::{
    CompactRange, LogError, MAX_LEAVES, NoteSigner, SignedNote, TileName, TileTree, TreeCheckpoint, TreeHash,
    TreeWriter, hash_leaf, verify_consistency, verify_inclusion,
};

/// A log of this size with the partial tiles of its last size alone.
fn log_of(size: u64) -> (MemoryTiles, TreeCheckpoint) {
    let mut tiles = MemoryTiles::default();
    let mut writer = TreeWriter::empty(&mut tiles);
    (0..size).for_each(|index| writer.push(&entry(index)).unwrap());
    writer.write_partial_tiles(size).unwrap();
    let checkpoint = checkpoint(size, writer.root());
    (tiles, checkpoint)
}

fn checkpoint(size: u64, root: TreeHash) -> TreeCheckpoint {
    TreeCheckpoint { origin: "example.org/log".to_owned(), size, root, extensions: Vec::new() }
}

#[test]
fn all_small_trees_have_the_defined_roots_and_their_proofs_hold() {
    let (tiles, _) = log_of(70);
    let tree = TileTree::new(&tiles, 70).unwrap();
    let (leaves, mut range) = (leaves(70), CompactRange::default());
    let roots: Vec<TreeHash> = (0..=70).map(|size| defined_root(&leaves[..size])).collect();
    for size in 0..=70u64 {
        let root = roots[size as usize];
        assert_eq!((tree.root_at(size).unwrap(), range.root()), (root, root), "size {size}");
        for index in 0..size {
            let proof = tree.inclusion_proof(index, size).unwrap();
            verify_inclusion(leaves[index as usize], index, (size, root), &proof).unwrap();
        }
        for old in 0..=size {
            let proof = tree.consistency_proof(old, size).unwrap();
            verify_consistency((old, roots[old as usize]), (size, root), &proof).unwrap();
        }
        if let Some(leaf) = leaves.get(size as usize) {
            range.push(*leaf);
        }
    }
    assert!(tree.inclusion_proof(70, 70).is_err());
    assert!(tree.consistency_proof(1, 71).is_err());
    assert!(tree.consistency_proof(3, 2).is_err());
}

#[test]
fn no_proof_serves_for_another_leaf_position_size_or_root() {
    let (tiles, _) = log_of(33);
    let tree = TileTree::new(&tiles, 33).unwrap();
    let leaves = leaves(33);
    let root = |size: u64| defined_root(&leaves[..size as usize]);
    for size in 1..=33u64 {
        for index in 0..size {
            let proof = tree.inclusion_proof(index, size).unwrap();
            let holds = |leaf: TreeHash, at: u64, size: u64, root: TreeHash, proof: &[TreeHash]| {
                verify_inclusion(leaf, at, (size, root), proof).is_ok()
            };
            let leaf = leaves[index as usize];
            assert!(!holds(hash_leaf(b"other"), index, size, root(size), &proof));
            assert!(!holds(leaf, index, size, hash_leaf(b"other"), &proof));
            assert!((0..size).all(|at| at == index || !holds(leaf, at, size, root(size), &proof)));
            assert!(!holds(leaf, index, size, root(size), &[proof.clone(), vec![leaf]].concat()));
            if let [rest @ .., _] = &proof[..] {
                assert!(!holds(leaf, index, size, root(size), rest));
            }
        }
        for old in 1..size {
            let proof = tree.consistency_proof(old, size).unwrap();
            let holds = |old: (u64, TreeHash), new: (u64, TreeHash), proof: &[TreeHash]| {
                verify_consistency(old, new, proof).is_ok()
            };
            let (begin, end) = ((old, root(old)), (size, root(size)));
            assert!(!holds((old, hash_leaf(b"")), end, &proof));
            assert!(!holds(begin, (size, hash_leaf(b"")), &proof));
            assert!(!holds(begin, end, &[proof.clone(), vec![leaves[0]]].concat()));
            assert!(!holds(begin, end, &proof[..proof.len() - 1]));
            for at in 0..proof.len() {
                let mut changed = proof.clone();
                changed[at].0[7] ^= 1;
                assert!(!holds(begin, end, &changed));
            }
        }
    }
}

#[test]
fn a_tree_written_in_steps_has_the_tiles_of_one_written_at_once() {
    let (mut tiles, mut last) = (MemoryTiles::default(), None::<TreeCheckpoint>);
    let mut sizes = Vec::new();
    for step in [1u64, 2, 250, 3, 1, 255, 256, 700, 1] {
        let mut writer = match &last {
            Some(last) => TreeWriter::resume(&mut tiles, last).unwrap(),
            None => TreeWriter::empty(&mut tiles),
        };
        let begin = writer.size();
        (begin..begin + step).for_each(|index| writer.push(&entry(index)).unwrap());
        writer.write_partial_tiles(begin + step).unwrap();
        sizes.push(writer.size());
        last = Some(checkpoint(writer.size(), writer.root()));
    }
    let size = *sizes.last().unwrap();
    let mut again = MemoryTiles::default();
    let mut writer = TreeWriter::empty(&mut again);
    for index in 0..size {
        writer.push(&entry(index)).unwrap();
        if sizes.contains(&(index + 1)) {
            writer.write_partial_tiles(size).unwrap();
        }
    }
    assert_eq!(writer.root(), last.unwrap().root);
    assert_eq!(tiles.tiles.keys().collect::<Vec<_>>(), again.tiles.keys().collect::<Vec<_>>());
    assert_eq!(tiles.tiles, again.tiles);
    // Proofs between all checkpoints come from the tiles of the last.
    let tree = TileTree::new(&again, size).unwrap();
    for old in sizes {
        let proof = tree.consistency_proof(old, size).unwrap();
        verify_consistency((old, tree.root_at(old).unwrap()), (size, tree.root().unwrap()), &proof).unwrap();
    }
}

#[test]
fn appending_to_a_large_log_and_proving_read_a_few_tiles() {
    let (mut tiles, last) = log_of(100_000);
    tiles.writes = 0;
    let mut writer = TreeWriter::resume(&mut tiles, &last).unwrap();
    writer.push(b"one more").unwrap();
    writer.write_partial_tiles(100_001).unwrap();
    let root = writer.root();
    // Three levels once to verify the checkpoint and once to resume, and the entry bundle.
    assert_eq!(tiles.reads.get(), 7);
    assert_eq!(tiles.writes, 4);
    tiles.reads.set(0);
    let tree = TileTree::new(&tiles, 100_001).unwrap();
    let proof = tree.inclusion_proof(12_345, 100_001).unwrap();
    verify_inclusion(hash_leaf(&entry(12_345)), 12_345, (100_001, root), &proof).unwrap();
    let proof = tree.consistency_proof(100_000, 100_001).unwrap();
    verify_consistency((100_000, last.root), (100_001, root), &proof).unwrap();
    assert!(tiles.reads.get() <= 5, "{}", tiles.reads.get());
}

#[test]
fn a_large_log_that_was_changed_is_refused() {
    let entries: Vec<Vec<u8>> = (0..100_000).map(entry).collect();
    let root_of = |entries: &mut dyn Iterator<Item = &Vec<u8>>| {
        let mut range = CompactRange::default();
        entries.for_each(|entry| range.push(hash_leaf(entry)));
        (range.size(), range.root())
    };
    let honest = root_of(&mut entries.iter());
    let removed =
        root_of(&mut entries.iter().enumerate().filter(|(at, _)| *at != 50_000).map(|(_, entry)| entry));
    let mut reordered = entries.clone();
    reordered.swap(10, 99_999);
    let mut backdated = entries.clone();
    backdated.insert(3, entry(100_000));
    for forged in [removed, root_of(&mut reordered.iter()), root_of(&mut backdated.iter())] {
        assert_ne!(forged.1, honest.1);
        // The forger has all of both logs, and no proof of either leads from one to the other.
        let mut tiles = MemoryTiles::default();
        let mut writer = TreeWriter::empty(&mut tiles);
        entries.iter().for_each(|entry| writer.push(entry).unwrap());
        writer.write_partial_tiles(100_000).unwrap();
        let tree = TileTree::new(&tiles, 100_000).unwrap();
        let (old, new) = if forged.0 <= honest.0 { (forged, honest) } else { (honest, forged) };
        let proof = tree.consistency_proof(old.0, 100_000).unwrap();
        assert!(verify_consistency(old, new, &proof).is_err());
    }
}

#[test]
fn damaged_tiles_are_errors_that_name_them() {
    let damaged = |change: &dyn Fn(&mut MemoryTiles)| {
        let (mut tiles, last) = log_of(300);
        change(&mut tiles);
        TreeWriter::resume(&mut tiles, &last).map(|_| ()).unwrap_err()
    };
    let partial = "tile/0/001.p/44";
    let error = damaged(&|tiles| drop(tiles.tiles.remove(partial)));
    assert!(matches!(&error, LogError::NoTile { tile } if tile == partial), "{error}");
    let error = damaged(&|tiles| tiles.tiles.get_mut(partial).unwrap().truncate(100));
    assert!(matches!(&error, LogError::TileLength { found: 100, .. }), "{error}");
    let error = damaged(&|tiles| tiles.tiles.get_mut(partial).unwrap().push(0));
    assert!(matches!(&error, LogError::Storage { .. }), "{error}");
    let error = damaged(&|tiles| tiles.tiles.get_mut(partial).unwrap()[3] ^= 1);
    assert!(matches!(&error, LogError::OtherRoot { size: 300, .. }), "{error}");
    let error = damaged(&|tiles| tiles.tiles.get_mut("tile/entries/001.p/44").unwrap()[3] ^= 1);
    assert!(matches!(&error, LogError::Proof(_)), "{error}");
    assert!(TileTree::new(&MemoryTiles::default(), MAX_LEAVES + 1).is_err());
    let mut tiles = MemoryTiles::default();
    let mut writer = TreeWriter::empty(&mut tiles);
    assert!(matches!(writer.push(&[0; 65_536]), Err(LogError::EntryLength(65_536))));
    assert_eq!(writer.size(), 0);
}

#[test]
fn all_tiles_of_a_log_are_named() {
    let (tiles, _) = log_of(70_000);
    let names = TileName::full_tiles(70_000).chain(TileName::partial_tiles_at(70_000, 70_000));
    let mut names: Vec<String> = names.map(|name| name.to_string()).collect();
    names.sort();
    assert_eq!(names, tiles.tiles.keys().cloned().collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn notes_and_checkpoints_of_any_bytes_do_not_panic(bytes: Vec<u8>) {
        if let Ok((note, checkpoint)) = TreeCheckpoint::of_note(&bytes) {
            prop_assert_eq!(checkpoint.to_string(), note.text());
        }
    }

    #[test]
    fn a_changed_note_is_refused(at in 0usize..10_000, bit in 0u8..8) {
        let signer = NoteSigner::from_seed("example.org/log", [9; 32]).unwrap();
        let note = SignedNote::sign(&checkpoint(7, hash_leaf(b"")).to_string(), std::slice::from_ref(&signer)).unwrap();
        let mut bytes = note.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let verified = SignedNote::parse(&bytes).and_then(|note| note.verify(signer.verifier()));
        prop_assert!(verified.is_err());
    }

    #[test]
    fn random_sizes_are_consistent(old in 0u64..2_000, new in 0u64..2_000) {
        let (old, new) = (old.min(new), old.max(new));
        let (tiles, last) = log_of(new);
        let tree = TileTree::new(&tiles, new).unwrap();
        let proof = tree.consistency_proof(old, new).unwrap();
        verify_consistency((old, tree.root_at(old).unwrap()), (new, last.root), &proof).unwrap();
    }
}
