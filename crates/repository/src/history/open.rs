//! Which layout is this, and how is it opened?

use std::path::Path;

use varve_core::history::Choice;
use varve_moku::MokuOptions;

use super::{
    ArchiveHistory, ArchiveHoldings, CrystalHoldings, HistoryWriter, Holdings, MokuHistory, MokuHoldings,
    MokuOpening,
};
use crate::error::RepositoryError;
use crate::layout::Layout;
use crate::writer::Opening;

/// A layout that varve opens in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A varve archive: it holds `varve.toml`.
    Archive,
    /// A Moku site: it holds `.moku`.
    Moku,
    /// A Crystal project: its name ends with `.crystalproj`, and it holds a database and bodies.
    Crystal,
    /// An AardWARC store: it holds `aardwarc.conf`, or `0/` with silos of its kind. It has objects and no history.
    Aardwarc,
}

/// What a folder is, if it is anything that varve knows. A Crystal project may also be named by the opener in it.
pub fn kind_of(root: &Path) -> Option<Kind> {
    if Layout::new(root).is_archive() {
        return Some(Kind::Archive);
    }
    if root.join(".moku").is_dir() {
        return Some(Kind::Moku);
    }
    if varve_crystal::is_project(root) {
        return Some(Kind::Crystal);
    }
    varve_store::aardwarc::is_store(root).then_some(Kind::Aardwarc)
}

/// Opens what is at `root` for reading.
pub fn open_holdings(root: &Path) -> Result<Box<dyn Holdings>, RepositoryError> {
    open_holdings_by(root, Choice::Newest)
}

/// Opens what is at `root` for reading. `choice` is for a Crystal project, where the newest revision of a page may record a
/// failure.
pub fn open_holdings_by(root: &Path, choice: Choice) -> Result<Box<dyn Holdings>, RepositoryError> {
    match kind_of(root) {
        Some(Kind::Archive) => Ok(Box::new(ArchiveHoldings::open(root)?)),
        Some(Kind::Moku) => Ok(Box::new(MokuHoldings::open(root)?)),
        Some(Kind::Crystal) => Ok(Box::new(CrystalHoldings::open(root)?.choosing(choice))),
        Some(Kind::Aardwarc) => Err(RepositoryError::OnlyObjects { path: root.to_owned() }),
        None if is_meant_as_project(root) => Ok(Box::new(CrystalHoldings::open(root)?.choosing(choice))),
        None => Err(RepositoryError::NotAnArchive { path: root.to_owned() }),
    }
}

/// Opens what is at `root` for adding to its history.
pub fn open_history(root: &Path, opening: Opening) -> Result<Box<dyn HistoryWriter>, RepositoryError> {
    open_history_of(root, None, opening)
}

/// Opens what is at `root` for adding to its history. A Moku site of another project than this is refused, and one that belongs
/// to none becomes this one's; other layouts have no project.
pub fn open_history_of(
    root: &Path,
    project: Option<&str>,
    opening: Opening,
) -> Result<Box<dyn HistoryWriter>, RepositoryError> {
    match kind_of(root) {
        Some(Kind::Archive) => Ok(Box::new(ArchiveHistory::open(root, opening)?)),
        Some(Kind::Moku) => {
            let options = MokuOptions { project_id: project.map(str::to_owned), ..MokuOptions::default() };
            let site_opening = MokuOpening { options, ..MokuOpening::default() };
            Ok(Box::new(MokuHistory::open(root, &site_opening, opening)?))
        }
        Some(Kind::Crystal) => Err(RepositoryError::NotForVersions { path: root.to_owned() }),
        Some(Kind::Aardwarc) => Err(RepositoryError::OnlyObjects { path: root.to_owned() }),
        None => Err(RepositoryError::NotAnArchive { path: root.to_owned() }),
    }
}

/// Whether a name says that this is a Crystal project: then what is wrong with it is worth more than that it is none.
fn is_meant_as_project(root: &Path) -> bool {
    let name = root.file_name().unwrap_or_default().as_encoded_bytes();
    [varve_crystal::PROJECT_SUFFIX, varve_crystal::PARTIAL_SUFFIX, varve_crystal::OPENER_SUFFIX]
        .iter()
        .any(|suffix| name.ends_with(suffix.as_bytes()))
}
