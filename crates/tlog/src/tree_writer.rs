//! Appends entries to a tree and writes the tiles that change.
//!
//! The writer holds the rightmost tile of each level. It resumes from the tiles of a checkpoint,
//! which it verifies first: an append to damaged tiles would sign their damage.

use crate::tile_tree::{read_hashes, read_tile};
use crate::{
    LogError, MAX_LEAVES, TILE_WIDTH, TileKind, TileName, TileStorage, TileTree, TreeCheckpoint, TreeHash,
    hash_leaf, hash_node,
};

/// Maximum length of an entry, which has a length of 16 bits in an entry bundle.
pub const MAX_ENTRY_BYTES: usize = u16::MAX as usize;

/// Appends to a tree.
pub struct TreeWriter<'a> {
    storage: &'a mut dyn TileStorage,
    size: u64,
    /// The hashes of the rightmost tile of each level, if it is not full.
    levels: Vec<Vec<TreeHash>>,
    /// The entries of the rightmost bundle, as in the bundle.
    entries: Vec<u8>,
}

impl<'a> TreeWriter<'a> {
    /// Begins an empty tree.
    pub fn empty(storage: &'a mut dyn TileStorage) -> Self {
        Self { storage, size: 0, levels: Vec::new(), entries: Vec::new() }
    }

    /// Continues the tree of a checkpoint, after verifying that the tiles have its root.
    pub fn resume(storage: &'a mut dyn TileStorage, checkpoint: &TreeCheckpoint) -> Result<Self, LogError> {
        let size = checkpoint.size;
        let found = TileTree::new(storage, size)?.root()?;
        if found != checkpoint.root {
            let (found, expected) = (found.to_string(), checkpoint.root.to_string());
            return Err(LogError::OtherRoot { size, found, expected });
        }
        let mut writer = Self::empty(storage);
        writer.size = size;
        let mut level = 0;
        while TileName::hashes_in_level(level, size) > 0 {
            let index = TileName::hashes_in_level(level, size) / u64::from(TILE_WIDTH);
            let hashes = match TileName::in_tree(TileKind::Hashes(level), index, size) {
                Some(name) => read_hashes(writer.storage, &name)?,
                None => Vec::new(),
            };
            writer.levels.push(hashes);
            level += 1;
        }
        writer.entries = writer.read_entries()?;
        Ok(writer)
    }

    /// The rightmost entry bundle, checked against the leaf hashes.
    fn read_entries(&self) -> Result<Vec<u8>, LogError> {
        let index = self.size / u64::from(TILE_WIDTH);
        let Some(name) = TileName::in_tree(TileKind::Entries, index, self.size) else {
            return Ok(Vec::new());
        };
        let mut bytes = read_tile(self.storage, &name)?;
        let mut at = 0;
        for leaf in self.levels.first().map_or(&[][..], Vec::as_slice) {
            let found =
                bytes.get(at..at + 2).map(|length| usize::from(u16::from_be_bytes([length[0], length[1]])));
            let entry = found.and_then(|length| bytes.get(at + 2..at + 2 + length));
            let entry = entry.filter(|entry| hash_leaf(entry) == *leaf);
            let wrong = LogError::Proof("an entry bundle does not have the entries of the leaf hashes");
            at += 2 + entry.ok_or(wrong)?.len();
        }
        bytes.truncate(at);
        Ok(bytes)
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry. A tile that becomes full is written, and replaces its partial tiles.
    pub fn push(&mut self, entry: &[u8]) -> Result<(), LogError> {
        let length = u16::try_from(entry.len()).map_err(|_| LogError::EntryLength(entry.len()))?;
        if self.size >= MAX_LEAVES {
            return Err(LogError::Range(format!("a log has at most {MAX_LEAVES} leaves")));
        }
        self.entries.extend_from_slice(&length.to_be_bytes());
        self.entries.extend_from_slice(entry);
        self.size += 1;
        let mut hash = hash_leaf(entry);
        for level in 0.. {
            if self.levels.len() <= level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(hash);
            if self.levels[level].len() < usize::from(TILE_WIDTH) {
                return Ok(());
            }
            if level == 0 {
                let entries = std::mem::take(&mut self.entries);
                self.write_full(TileKind::Entries, 0, &entries)?;
            }
            let full = std::mem::take(&mut self.levels[level]);
            let level = u8::try_from(level).unwrap_or(u8::MAX);
            self.write_full(TileKind::Hashes(level), level, &joined(&full))?;
            hash = complete_root(full);
        }
        Ok(())
    }

    /// Writes the tile that the newest leaf made full.
    fn write_full(&mut self, kind: TileKind, level: u8, content: &[u8]) -> Result<(), LogError> {
        let index = TileName::hashes_in_level(level, self.size) / u64::from(TILE_WIDTH) - 1;
        let name = TileName { kind, index, width: TILE_WIDTH };
        let failed = |source| LogError::Storage { tile: name.to_string(), source };
        self.storage.write_tile(&name, content).map_err(failed)?;
        self.storage.remove_partial_tiles(&name).map_err(failed)
    }

    /// Writes the partial tiles that a checkpoint of the current size needs. Leaves out those that
    /// are full in the tree of `log_size` leaves, which this one is about to become.
    pub fn write_partial_tiles(&mut self, log_size: u64) -> Result<(), LogError> {
        for name in TileName::partial_tiles_at(self.size, log_size) {
            let content = match name.kind {
                TileKind::Entries => self.entries.clone(),
                TileKind::Hashes(level) => joined(&self.levels[usize::from(level)]),
            };
            let failed = |source| LogError::Storage { tile: name.to_string(), source };
            self.storage.write_tile(&name, &content).map_err(failed)?;
        }
        Ok(())
    }

    /// The root of the tree.
    pub fn root(&self) -> TreeHash {
        let mut root: Option<TreeHash> = None;
        for hashes in &self.levels {
            let mut row: Vec<TreeHash> = hashes.iter().copied().chain(root).collect();
            while row.len() > 1 {
                row = row.chunks(2).map(pair_or_single).collect();
            }
            root = row.first().copied().or(root);
        }
        root.unwrap_or_else(TreeHash::of_empty_tree)
    }
}

/// The hash of two nodes, or the node that has no sibling.
fn pair_or_single(pair: &[TreeHash]) -> TreeHash {
    match pair {
        [left, right] => hash_node(left, right),
        _ => pair[0],
    }
}

fn joined(hashes: &[TreeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

fn complete_root(mut row: Vec<TreeHash>) -> TreeHash {
    while row.len() > 1 {
        row = row.chunks(2).map(pair_or_single).collect();
    }
    row[0]
}
