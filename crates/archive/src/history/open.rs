//! Which layout is this, and how is it opened?

use std::path::Path;

use super::{
    ArchiveHistory, ArchiveHoldings, HistoryWriter, Holdings, MokuHistory, MokuHoldings, MokuOpening,
};
use crate::error::ArchiveError;
use crate::layout::Layout;
use crate::writer::Opening;

/// A layout that varve opens in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A varve archive: it holds `varve.toml`.
    Archive,
    /// A Moku site: it holds `.moku`.
    Moku,
}

/// What a folder is, if it is anything that varve knows.
pub fn kind_of(root: &Path) -> Option<Kind> {
    if Layout::new(root).is_archive() {
        return Some(Kind::Archive);
    }
    root.join(".moku").is_dir().then_some(Kind::Moku)
}

/// Opens what is at `root` for reading.
pub fn open_holdings(root: &Path) -> Result<Box<dyn Holdings>, ArchiveError> {
    match kind_of(root) {
        Some(Kind::Archive) => Ok(Box::new(ArchiveHoldings::open(root)?)),
        Some(Kind::Moku) => Ok(Box::new(MokuHoldings::open(root)?)),
        None => Err(ArchiveError::NotAnArchive { path: root.to_owned() }),
    }
}

/// Opens what is at `root` for adding to its history.
pub fn open_history(root: &Path, opening: Opening) -> Result<Box<dyn HistoryWriter>, ArchiveError> {
    match kind_of(root) {
        Some(Kind::Archive) => Ok(Box::new(ArchiveHistory::open(root, opening)?)),
        Some(Kind::Moku) => Ok(Box::new(MokuHistory::open(root, &MokuOpening::default(), opening)?)),
        None => Err(ArchiveError::NotAnArchive { path: root.to_owned() }),
    }
}
