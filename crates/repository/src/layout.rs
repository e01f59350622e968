//! The layouts that varve opens in place, how a folder shows its layout, and how the nearest archive
//! is found.
//!
//! Looks at names and files only. Readers and writers of each layout are in `history`.

use std::path::{Path, PathBuf};

use varve_file::{EntryKind, RootedFiles};

use crate::archive_paths::ArchivePaths;

/// A layout that varve opens in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A varve archive: it contains `varve.toml`.
    Archive,
    /// A Moku site: it contains `.moku`.
    Moku,
    /// A Crystal project: its name ends with `.crystalproj`, and it contains a database and bodies.
    Crystal,
    /// An AardWARC store: it contains `aardwarc.conf`, or `0/` with silos of its kind. It has
    /// objects but no history.
    Aardwarc,
    /// A WARC, ARC or WACZ file, or a folder of them. It is read in place, and nothing is added.
    WebArchive,
}

/// Detects the layout of a folder. A Crystal project may also be given by the path of its opener
/// file, and a web archive by that of a file.
pub fn detect_layout(root: &Path) -> Option<Layout> {
    detect_own_layout(root).or_else(|| varve_webarchive::is_web_archive(root).then_some(Layout::WebArchive))
}

/// As [`detect_layout`], without web archives. Any folder may have such files somewhere below it, so
/// they are opened only where the user names them.
pub fn detect_own_layout(root: &Path) -> Option<Layout> {
    if ArchivePaths::new(root).is_archive() {
        return Some(Layout::Archive);
    }
    if is_moku_site(root) {
        return Some(Layout::Moku);
    }
    if varve_crystal::is_project(root) {
        return Some(Layout::Crystal);
    }
    varve_store::aardwarc::is_store(root).then_some(Layout::Aardwarc)
}

/// Whether a folder contains `.moku`. A link there counts: opening the site then fails with the kind
/// that is there.
fn is_moku_site(root: &Path) -> bool {
    let found = RootedFiles::new(root).entry(&root.join(".moku"));
    let kind = found.ok().flatten().map(|found| found.kind);
    matches!(kind, Some(EntryKind::Folder | EntryKind::SymbolicLink))
}

/// The archive that contains `start`: the nearest folder, itself included, that is an archive or a
/// site of another layout.
pub fn find_root(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| detect_own_layout(folder).is_some()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_archive_upwards_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("outer/inner/deep");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(find_root(&deep), None);
        std::fs::write(folder.path().join("outer/varve.toml"), "").unwrap();
        assert_eq!(find_root(&deep), Some(folder.path().join("outer")));
        std::fs::write(folder.path().join("outer/inner/varve.toml"), "").unwrap();
        assert_eq!(find_root(&deep), Some(folder.path().join("outer/inner")));
        assert_eq!(find_root(&folder.path().join("outer")), Some(folder.path().join("outer")));
    }
}
