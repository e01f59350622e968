//! The names of tiles and entry bundles, as paths below the folder of a log.

use std::fmt;

use crate::MAX_LEAVES;

/// Number of hashes in a full tile, and of entries in a full bundle.
pub const TILE_WIDTH: u16 = 256;

/// What a tile contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TileKind {
    /// Hashes of this level; level 0 has those of the leaves, and each hash of a level above is that
    /// of a full tile below.
    Hashes(u8),
    /// The entries themselves.
    Entries,
}

/// The name of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileName {
    /// What it contains.
    pub kind: TileKind,
    /// Its position in the level.
    pub index: u64,
    /// Its number of hashes or entries, from 1 to [`TILE_WIDTH`].
    pub width: u16,
}

impl TileName {
    /// The number of hashes that a level has in a tree.
    pub fn hashes_in_level(level: u8, size: u64) -> u64 {
        size.checked_shr(8 * u32::from(level)).unwrap_or(0)
    }

    /// The tile of a tree of this size; `None` if the tree has no such tile.
    pub fn in_tree(kind: TileKind, index: u64, size: u64) -> Option<Self> {
        let level = match kind {
            TileKind::Hashes(level) => level,
            TileKind::Entries => 0,
        };
        let rest = Self::hashes_in_level(level, size).checked_sub(index.checked_mul(TILE_WIDTH.into())?)?;
        let width = u16::try_from(rest).unwrap_or(TILE_WIDTH).min(TILE_WIDTH);
        (width > 0).then_some(Self { kind, index, width })
    }

    /// Whether it has all the hashes or entries that fit.
    pub fn is_full(&self) -> bool {
        self.width == TILE_WIDTH
    }

    /// The path of the full tile of this position.
    pub fn full_path(&self) -> String {
        let Self { kind, index, .. } = self;
        let mut path = match kind {
            TileKind::Hashes(level) => format!("tile/{level}/"),
            TileKind::Entries => "tile/entries/".to_owned(),
        };
        let mut groups = vec![index % 1000];
        let mut rest = index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for group in groups[1..].iter().rev() {
            path.push_str(&format!("x{group:03}/"));
        }
        path.push_str(&format!("{:03}", groups[0]));
        path
    }

    /// The folder with the partial tiles of this position.
    pub fn partial_folder(&self) -> String {
        format!("{}.p", self.full_path())
    }

    /// All names of tiles of a tree that a checkpoint of size `size` needs, in a log of `log_size`
    /// leaves which keeps partial tiles until the full ones exist: only the partial ones.
    pub fn partial_tiles_at(size: u64, log_size: u64) -> impl Iterator<Item = Self> {
        let levels = (0..).take_while(move |level| Self::hashes_in_level(*level, size) > 0);
        let kinds = levels.map(TileKind::Hashes).chain((size > 0).then_some(TileKind::Entries));
        kinds.filter_map(move |kind| {
            let level = if let TileKind::Hashes(level) = kind { level } else { 0 };
            let index = Self::hashes_in_level(level, size) / u64::from(TILE_WIDTH);
            let name = Self::in_tree(kind, index, size)?;
            let is_superseded = Self::in_tree(kind, index, log_size).is_some_and(|later| later.is_full());
            (!is_superseded).then_some(name)
        })
    }

    /// All full tiles of a tree, level by level.
    pub fn full_tiles(size: u64) -> impl Iterator<Item = Self> {
        let size = size.min(MAX_LEAVES);
        let levels = (0..).take_while(move |level| Self::hashes_in_level(*level, size) > 0);
        let kinds = levels.map(TileKind::Hashes).chain([TileKind::Entries]);
        kinds.flat_map(move |kind| {
            let level = if let TileKind::Hashes(level) = kind { level } else { 0 };
            let count = Self::hashes_in_level(level, size) / u64::from(TILE_WIDTH);
            (0..count).map(move |index| Self { kind, index, width: TILE_WIDTH })
        })
    }
}

impl fmt::Display for TileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_full() {
            true => formatter.write_str(&self.full_path()),
            false => write!(formatter, "{}/{}", self.partial_folder(), self.width),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_specification() {
        let path = |kind, index, width| TileName { kind, index, width }.to_string();
        assert_eq!(path(TileKind::Hashes(0), 1_234_067, 256), "tile/0/x001/x234/067");
        assert_eq!(path(TileKind::Hashes(2), 0, 1), "tile/2/000.p/1");
        assert_eq!(path(TileKind::Entries, 273, 112), "tile/entries/273.p/112");
    }

    #[test]
    fn a_tree_of_70000_has_the_tiles_of_the_specification() {
        let count = |level| TileName::full_tiles(70_000).filter(|name| name.kind == level).count();
        assert_eq!(count(TileKind::Hashes(0)), 273);
        assert_eq!(count(TileKind::Hashes(1)), 1);
        let partial: Vec<String> =
            TileName::partial_tiles_at(70_000, 70_000).map(|name| name.to_string()).collect();
        let expected = ["tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1", "tile/entries/273.p/112"];
        assert_eq!(partial, expected);
        let at_256: Vec<String> = TileName::partial_tiles_at(256, 256).map(|name| name.to_string()).collect();
        assert_eq!(at_256, ["tile/1/000.p/1"]);
    }

    #[test]
    fn partial_tiles_are_superseded_by_full_ones() {
        let later: Vec<String> = TileName::partial_tiles_at(5, 300).map(|name| name.to_string()).collect();
        assert!(later.is_empty(), "{later:?}");
        assert_eq!(TileName::partial_tiles_at(300, 301).count(), 3);
    }
}
