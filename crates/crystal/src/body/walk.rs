//! Every file in the folders of bodies, one after the other: what it is by its name and place.
//!
//! Nothing is collected but the entries of one folder of the tree, which are at most a few
//! thousand; the flat folder, which may hold millions, is handed on as it is listed.

use std::fs::{self, DirEntry, File};
use std::path::{Path, PathBuf};

use super::pack::entry_names;
use super::place::{id_of_flat_name, pack_digits, tree_digits};
use crate::error::{Result, io_at};
use crate::format_error::BodyPackError;
use crate::ids::RevisionId;
use crate::location::ProjectLayout;
use crate::version::MajorVersion;

/// One thing in the folders of bodies.
#[derive(Debug)]
pub(crate) enum WalkedBody {
    /// A body, alone in its file or in a pack.
    Body {
        /// The id that its place says.
        id: RevisionId,
        /// Its file.
        path: PathBuf,
    },
    /// A file or folder that is none of a project.
    Stray(PathBuf),
    /// A pack whose directory cannot be read.
    BadPack(PathBuf, BodyPackError),
}

/// Folders above a body in the tree, the root included.
const TREE_LEVELS: usize = 5;

/// Hands every body and every stray file to `each`.
pub(crate) fn walk_bodies(
    layout: &ProjectLayout,
    version: MajorVersion,
    each: &mut dyn FnMut(WalkedBody) -> Result<()>,
) -> Result<()> {
    for root in [layout.revisions(), layout.in_progress(), layout.discarded()] {
        if root.is_dir() && !root.is_symlink() {
            walk_root(&root, version, each)?;
        }
    }
    Ok(())
}

fn walk_root(
    root: &Path,
    version: MajorVersion,
    each: &mut dyn FnMut(WalkedBody) -> Result<()>,
) -> Result<()> {
    for entry in fs::read_dir(root).map_err(io_at("list", root))? {
        let entry = entry.map_err(io_at("list", root))?;
        let name = entry.file_name();
        match name.to_str().and_then(id_of_flat_name).filter(|_| is_file(&entry)) {
            Some(id) => each(WalkedBody::Body { id, path: entry.path() })?,
            None => walk_tree(&entry, 1, 0, version, each)?,
        }
    }
    Ok(())
}

/// Reports an entry of the tree `levels` above the bodies, below folders whose names make up the
/// number `above`.
fn walk_tree(
    entry: &DirEntry,
    level: usize,
    above: i64,
    version: MajorVersion,
    each: &mut dyn FnMut(WalkedBody) -> Result<()>,
) -> Result<()> {
    let path = entry.path();
    let name = entry.file_name();
    let name = name.to_str().unwrap_or_default();
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    match tree_digits(name) {
        Some(digits) if is_folder && level < TREE_LEVELS => {
            for entry in sorted_entries(&path)? {
                walk_tree(&entry, level + 1, above << 12 | digits, version, each)?;
            }
            Ok(())
        }
        Some(digits) if level == TREE_LEVELS && is_file(entry) && above << 12 | digits > 0 => {
            each(WalkedBody::Body { id: RevisionId(above << 12 | digits), path })
        }
        _ if level == TREE_LEVELS && is_file(entry) && version == MajorVersion::Packed => {
            walk_pack(path, above, pack_digits(name), each)
        }
        _ => each(WalkedBody::Stray(path)),
    }
}

fn walk_pack(
    path: PathBuf,
    above: i64,
    digits: Option<i64>,
    each: &mut dyn FnMut(WalkedBody) -> Result<()>,
) -> Result<()> {
    let Some(digits) = digits else { return each(WalkedBody::Stray(path)) };
    let mut file = File::open(&path).map_err(io_at("open", &path))?;
    let names = match entry_names(&mut file) {
        Ok(names) => names,
        Err(error) => return each(WalkedBody::BadPack(path, error)),
    };
    for name in names {
        let id = std::str::from_utf8(&name).ok().and_then(tree_digits).filter(|id| id & !0xf == digits);
        each(match id {
            Some(id) => WalkedBody::Body { id: RevisionId(above << 12 | id), path: path.clone() },
            None => WalkedBody::Stray(path.join(String::from_utf8_lossy(&name).replace(['/', '\\'], "_"))),
        })?;
    }
    Ok(())
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_file())
}

fn sorted_entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = entries.map_err(io_at("list", folder))?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}
