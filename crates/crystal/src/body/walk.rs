//! Every file in the folders of bodies, one after the other: what it is by its name and place.
//!
//! Nothing is collected but the entries of one folder of the tree, which are at most a few
//! thousand; the flat folder, which may hold millions, is handed on as it is listed.

use std::path::{Path, PathBuf};
use varve_file::{EntryKind, FolderEntry};

use super::pack::entry_names;
use super::place::{id_of_flat_name, pack_digits, tree_digits};
use crate::error::Result;
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

/// Receives what is found.
type OnWalked<'a> = &'a mut dyn FnMut(WalkedBody) -> Result<()>;

/// Hands every body and every stray file to `each`.
pub(crate) fn walk_bodies(layout: &ProjectLayout, version: MajorVersion, each: OnWalked<'_>) -> Result<()> {
    let walk = BodyWalk { layout, version };
    for root in [layout.revisions(), layout.in_progress(), layout.discarded()] {
        if layout.has_folder(&root)? {
            walk.root(&root, each)?;
        }
    }
    Ok(())
}

struct BodyWalk<'p> {
    layout: &'p ProjectLayout,
    version: MajorVersion,
}

impl BodyWalk<'_> {
    fn root(&self, root: &Path, each: OnWalked<'_>) -> Result<()> {
        for entry in self.layout.folder().entries(self.layout.name(root))? {
            let entry = entry?;
            let path = root.join(&entry.name);
            match entry.name.to_str().and_then(id_of_flat_name).filter(|_| is_file(&entry)) {
                Some(id) => each(WalkedBody::Body { id, path })?,
                None => self.tree(&entry, path, (1, 0), each)?,
            }
        }
        Ok(())
    }

    /// Reports an entry of the tree, `level` folders below its root, in folders whose names make up
    /// the number `above`.
    fn tree(
        &self,
        entry: &FolderEntry,
        path: PathBuf,
        (level, above): (usize, i64),
        each: OnWalked<'_>,
    ) -> Result<()> {
        let name = entry.name.to_str().unwrap_or_default();
        match tree_digits(name) {
            Some(digits) if entry.kind == EntryKind::Folder && level < TREE_LEVELS => {
                for entry in self.layout.folder().list(self.layout.name(&path))? {
                    let path = path.join(&entry.name);
                    self.tree(&entry, path, (level + 1, above << 12 | digits), each)?;
                }
                Ok(())
            }
            Some(digits) if level == TREE_LEVELS && is_file(entry) && above << 12 | digits > 0 => {
                each(WalkedBody::Body { id: RevisionId(above << 12 | digits), path })
            }
            _ if level == TREE_LEVELS && is_file(entry) && self.version == MajorVersion::Packed => {
                self.pack(path, above, pack_digits(name), each)
            }
            _ => each(WalkedBody::Stray(path)),
        }
    }

    fn pack(&self, path: PathBuf, above: i64, digits: Option<i64>, each: OnWalked<'_>) -> Result<()> {
        let Some(digits) = digits else { return each(WalkedBody::Stray(path)) };
        let mut file = self.layout.folder().open_to_read(self.layout.name(&path))?;
        let names = match entry_names(&mut file) {
            Ok(names) => names,
            Err(error) => return each(WalkedBody::BadPack(path, error)),
        };
        for name in names {
            let id = std::str::from_utf8(&name).ok().and_then(tree_digits).filter(|id| id & !0xf == digits);
            each(match id {
                Some(id) => WalkedBody::Body { id: RevisionId(above << 12 | id), path: path.clone() },
                None => {
                    WalkedBody::Stray(path.join(String::from_utf8_lossy(&name).replace(['/', '\\'], "_")))
                }
            })?;
        }
        Ok(())
    }
}

fn is_file(entry: &FolderEntry) -> bool {
    entry.kind == EntryKind::File
}
