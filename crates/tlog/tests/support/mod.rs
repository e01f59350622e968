//! A log in memory that counts what is read and written, and the definitions of RFC 6962 word by word.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;

use varve_tlog::{TileName, TileStorage, TreeHash, hash_leaf, hash_node};

/// Tiles by path.
#[derive(Default)]
pub(crate) struct MemoryTiles {
    pub(crate) tiles: BTreeMap<String, Vec<u8>>,
    pub(crate) reads: Cell<usize>,
    pub(crate) writes: usize,
}

impl TileStorage for MemoryTiles {
    fn read_tile(&self, name: &TileName, limit: usize) -> io::Result<Option<Vec<u8>>> {
        self.reads.set(self.reads.get() + 1);
        let found = self.tiles.get(&name.to_string());
        match found {
            Some(tile) if tile.len() > limit => Err(io::ErrorKind::FileTooLarge.into()),
            found => Ok(found.cloned()),
        }
    }

    fn write_tile(&mut self, name: &TileName, content: &[u8]) -> io::Result<()> {
        self.writes += 1;
        self.tiles.insert(name.to_string(), content.to_vec());
        Ok(())
    }

    fn remove_partial_tiles(&mut self, name: &TileName) -> io::Result<()> {
        let folder = format!("{}/", name.partial_folder());
        self.tiles.retain(|path, _| !path.starts_with(&folder));
        Ok(())
    }
}

/// The entry number `index` of the logs of these tests.
pub(crate) fn entry(index: u64) -> Vec<u8> {
    format!("entry {index}").into_bytes()
}

/// MTH of RFC 6962.
pub(crate) fn defined_root(leaves: &[TreeHash]) -> TreeHash {
    match leaves {
        [] => TreeHash::of_empty_tree(),
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(defined_split(leaves.len()));
            hash_node(&defined_root(left), &defined_root(right))
        }
    }
}

fn defined_split(length: usize) -> usize {
    (0..).map(|power| 1 << power).take_while(|power| *power < length).last().unwrap_or(1)
}

/// The leaf hashes of the first entries.
pub(crate) fn leaves(count: u64) -> Vec<TreeHash> {
    (0..count).map(|index| hash_leaf(&entry(index))).collect()
}
