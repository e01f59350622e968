//! Reads a tree from its tiles: roots, inclusion proofs and consistency proofs of any size up to its
//! own.
//!
//! Each operation reads the tiles on its path, a few for a tree of any size, and each of them once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use crate::{LogError, MAX_LEAVES, TILE_WIDTH, TileKind, TileName, TreeHash, hash_node};

/// Number of tiles that a tree remembers.
const MAX_CACHED_TILES: usize = 64;

/// Where tiles are.
pub trait TileStorage {
    /// Reads a tile of at most `limit` bytes; `None` if it does not exist.
    fn read_tile(&self, name: &TileName, limit: usize) -> io::Result<Option<Vec<u8>>>;

    /// Writes a tile, which replaces one with the same name. It need not be durable.
    fn write_tile(&mut self, name: &TileName, content: &[u8]) -> io::Result<()>;

    /// Removes the partial tiles of the position of this tile, if there are any.
    fn remove_partial_tiles(&mut self, name: &TileName) -> io::Result<()>;
}

/// A tree in tiles.
pub struct TileTree<'a> {
    storage: &'a dyn TileStorage,
    size: u64,
    cache: RefCell<HashMap<TileName, Vec<TreeHash>>>,
}

impl<'a> TileTree<'a> {
    /// The tree with this number of leaves.
    pub fn new(storage: &'a dyn TileStorage, size: u64) -> Result<Self, LogError> {
        if size > MAX_LEAVES {
            return Err(LogError::Range(format!("a log of {size} leaves is too large")));
        }
        Ok(Self { storage, size, cache: RefCell::default() })
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of the tree.
    pub fn root(&self) -> Result<TreeHash, LogError> {
        self.root_at(self.size)
    }

    /// The root of the tree when it had `size` leaves.
    pub fn root_at(&self, size: u64) -> Result<TreeHash, LogError> {
        self.check_size(size)?;
        if size == 0 { Ok(TreeHash::of_empty_tree()) } else { self.subtree(0, size) }
    }

    /// The hash of a leaf.
    pub fn leaf(&self, index: u64) -> Result<TreeHash, LogError> {
        self.check_size(index.saturating_add(1))?;
        self.complete_subtree(0, index)
    }

    /// The proof that leaf `index` is in the tree when it had `size` leaves.
    pub fn inclusion_proof(&self, index: u64, size: u64) -> Result<Vec<TreeHash>, LogError> {
        self.check_size(size)?;
        if index >= size {
            return Err(LogError::Range(format!("leaf {index} is not in a tree of {size} leaves")));
        }
        // From the root to the leaf; the proof is in the opposite order.
        let (mut start, mut end, mut path) = (0, size, Vec::new());
        while end - start > 1 {
            let middle = start + largest_power_below(end - start);
            if index < middle {
                path.push(self.subtree(middle, end)?);
                end = middle;
            } else {
                path.push(self.subtree(start, middle)?);
                start = middle;
            }
        }
        path.reverse();
        Ok(path)
    }

    /// The proof that the tree of `new_size` leaves continues the one of `old_size`.
    pub fn consistency_proof(&self, old_size: u64, new_size: u64) -> Result<Vec<TreeHash>, LogError> {
        self.check_size(new_size)?;
        if old_size > new_size {
            let message = format!("a log of {new_size} leaves cannot continue one of {old_size}");
            return Err(LogError::Range(message));
        }
        if old_size == 0 || old_size == new_size {
            return Ok(Vec::new());
        }
        let (mut start, mut end, mut path) = (0, new_size, Vec::new());
        while end != old_size {
            let middle = start + largest_power_below(end - start);
            if old_size <= middle {
                path.push(self.subtree(middle, end)?);
                end = middle;
            } else {
                path.push(self.subtree(start, middle)?);
                start = middle;
            }
        }
        if start != 0 {
            path.push(self.subtree(start, end)?);
        }
        path.reverse();
        Ok(path)
    }

    fn check_size(&self, size: u64) -> Result<(), LogError> {
        match size <= self.size {
            true => Ok(()),
            false => Err(LogError::Range(format!("the log has {} leaves, not {size}", self.size))),
        }
    }

    /// The hash of the leaves from `start` to `end`, where `start` is a multiple of the largest power
    /// of two below the length, as in all trees of RFC 6962.
    fn subtree(&self, start: u64, end: u64) -> Result<TreeHash, LogError> {
        let length = end - start;
        if length.is_power_of_two() {
            return self.complete_subtree(length.trailing_zeros(), start >> length.trailing_zeros());
        }
        let middle = start + largest_power_below(length);
        Ok(hash_node(&self.subtree(start, middle)?, &self.subtree(middle, end)?))
    }

    /// The hash of the complete subtree of this height at this position among those of its height.
    fn complete_subtree(&self, height: u32, position: u64) -> Result<TreeHash, LogError> {
        let (level, above) = (u8::try_from(height / 8).unwrap_or(u8::MAX), height % 8);
        // Its leaves within the level of the tile.
        let first = position << above;
        let (index, offset) = (first / u64::from(TILE_WIDTH), (first % u64::from(TILE_WIDTH)) as usize);
        self.with_tile(level, index, |hashes| {
            let mut row = hashes.get(offset..offset + (1 << above))?.to_vec();
            while row.len() > 1 {
                row = row.chunks(2).map(|pair| hash_node(&pair[0], &pair[1])).collect();
            }
            row.first().copied()
        })
    }

    /// Calls `read` with the hashes of a tile, which must have what `read` asks for.
    fn with_tile(
        &self,
        level: u8,
        index: u64,
        read: impl FnOnce(&[TreeHash]) -> Option<TreeHash>,
    ) -> Result<TreeHash, LogError> {
        let outside = || LogError::Range(format!("a log of {} leaves has no such hash", self.size));
        let name = TileName::in_tree(TileKind::Hashes(level), index, self.size).ok_or_else(outside)?;
        if let Some(hashes) = self.cache.borrow().get(&name) {
            return read(hashes).ok_or_else(outside);
        }
        let hashes = read_hashes(self.storage, &name)?;
        let found = read(&hashes).ok_or_else(outside);
        let mut cache = self.cache.borrow_mut();
        if cache.len() >= MAX_CACHED_TILES {
            cache.clear();
        }
        cache.insert(name, hashes);
        found
    }
}

/// Reads the hashes of a tile. Where the partial tile is gone, the full one has them.
pub(crate) fn read_hashes(storage: &dyn TileStorage, name: &TileName) -> Result<Vec<TreeHash>, LogError> {
    let bytes = read_tile(storage, name)?;
    let wanted = usize::from(name.width) * 32;
    let length = bytes.len();
    let too_short = || LogError::TileLength { tile: name.to_string(), found: length, expected: wanted };
    let wanted_bytes = bytes.get(..wanted).ok_or_else(too_short)?;
    Ok(wanted_bytes.as_chunks::<32>().0.iter().map(|hash| TreeHash(*hash)).collect())
}

/// Reads a tile by its name, or the full tile of its position.
pub(crate) fn read_tile(storage: &dyn TileStorage, name: &TileName) -> Result<Vec<u8>, LogError> {
    let full = TileName { width: TILE_WIDTH, ..*name };
    let names = if name.is_full() { vec![*name] } else { vec![*name, full] };
    for name in names {
        let (tile, hashes) = (name.to_string(), matches!(name.kind, TileKind::Hashes(_)));
        let limit = usize::from(name.width) * if hashes { 32 } else { 2 + usize::from(u16::MAX) };
        let read = storage.read_tile(&name, limit);
        match read.map_err(|source| LogError::Storage { tile: tile.clone(), source })? {
            Some(bytes) if hashes && bytes.len() != limit => {
                return Err(LogError::TileLength { tile, found: bytes.len(), expected: limit });
            }
            Some(bytes) => return Ok(bytes),
            None => {}
        }
    }
    Err(LogError::NoTile { tile: name.to_string() })
}

/// The largest power of two below a number greater than one.
fn largest_power_below(number: u64) -> u64 {
    1 << (u64::BITS - 1 - (number - 1).leading_zeros())
}
