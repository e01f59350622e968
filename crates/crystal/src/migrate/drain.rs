//! Emptying a folder of bodies: each entry is renamed to where it belongs, and nothing is ever
//! replaced.
//!
//! The folder is read and not the database, so that what no row names is not forgotten. It is read
//! in chunks that are sorted by id before they are moved: neighbours then go into the same folder
//! one after the other, which is kinder to a disk than the order of a hash, and memory stays small.
//! Since a system need not list what came or went while it was listing, the folder is listed again
//! until it is empty.

use std::path::{Path, PathBuf};
use varve_file::{EntryKind, Folder};

use crate::body::{flat_name, id_of_flat_name, tree_digits, tree_path};
use crate::disk::ProjectDisk;
use crate::error::{Error, Result};
use crate::ids::RevisionId;
use crate::location::ProjectLayout;
use crate::salvage::salvage;

/// Bodies that are sorted at a time.
const SORTED_BODIES: usize = 1 << 16;
/// Bodies between two calls of the progress callback.
const PROGRESS_INTERVAL_BODIES: u64 = 256;

/// The folder that bodies are moved to, and its layout.
#[derive(Debug, Clone)]
pub(crate) enum DrainTarget {
    /// Named by their decimal ids.
    Flat(PathBuf),
    /// In folders of folders.
    Tree(PathBuf),
}

impl DrainTarget {
    fn folder(&self) -> &Path {
        match self {
            Self::Flat(folder) | Self::Tree(folder) => folder,
        }
    }

    fn place(&self, id: RevisionId) -> Option<PathBuf> {
        match self {
            Self::Flat(folder) => flat_name(id).map(|name| folder.join(name)),
            Self::Tree(folder) => tree_path(id).map(|path| folder.join(path)),
        }
    }
}

/// Moves everything out of `from`: bodies to their place, folders of the tree into the tree, the
/// rest to `salvage`. Tells `each` how many bodies were moved, which may stop it.
pub(crate) fn drain(
    disk: &ProjectDisk,
    layout: &ProjectLayout,
    from: &Path,
    to: &DrainTarget,
    each: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let source = disk.open_folder(from)?;
    let mut work = Drain { disk, layout, from, source, to, into: None, moved: 0, each };
    (work.each)(0)?;
    while work.pass()? {}
    (work.each)(work.moved)?;
    Ok(work.moved)
}

struct Drain<'a> {
    disk: &'a ProjectDisk,
    layout: &'a ProjectLayout,
    from: &'a Path,
    source: Folder,
    to: &'a DrainTarget,
    /// The folder that the last body went into. The next one mostly goes there too.
    into: Option<Folder>,
    moved: u64,
    each: &'a mut dyn FnMut(u64) -> Result<()>,
}

impl Drain<'_> {
    /// Lists the folder once and moves what it lists. Says whether there was anything.
    fn pass(&mut self) -> Result<bool> {
        let mut chunk = Vec::new();
        let mut found = false;
        for entry in self.source.entries("")? {
            let entry = entry?;
            found = true;
            match entry.name.to_str().and_then(id_of_flat_name).filter(|_| entry.kind == EntryKind::File) {
                Some(id) => chunk.push(id),
                None => self.other(&self.from.join(&entry.name), entry.kind == EntryKind::Folder)?,
            }
            if chunk.len() == SORTED_BODIES {
                self.bodies(&mut chunk)?;
            }
        }
        self.bodies(&mut chunk)?;
        Ok(found)
    }

    fn bodies(&mut self, chunk: &mut Vec<RevisionId>) -> Result<()> {
        chunk.sort_unstable();
        for id in chunk.drain(..) {
            self.body(id)?;
        }
        Ok(())
    }

    fn body(&mut self, id: RevisionId) -> Result<()> {
        let name = id.to_string();
        let moved = match self.to.place(id) {
            Some(to) => self.move_body(&name, &to)?,
            None => false,
        };
        if !moved {
            let from = self.from.join(&name);
            salvage(self.disk, &self.layout.salvage(), &from, &format!("revision-{name}"))?;
        }
        self.moved += 1;
        if self.moved.is_multiple_of(PROGRESS_INTERVAL_BODIES) {
            (self.each)(self.moved)?;
        }
        Ok(())
    }

    fn other(&self, from: &Path, is_folder: bool) -> Result<()> {
        let name = from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let belongs_in_tree =
            is_folder && tree_digits(&name).is_some() && matches!(self.to, DrainTarget::Tree(_));
        if belongs_in_tree && self.from != self.to.folder() {
            return self.merge(from, &self.to.folder().join(&name), &name);
        }
        salvage(self.disk, &self.layout.salvage(), from, &name).map(drop)
    }

    /// Moves a folder into the tree; entry by entry if the tree has one of this name.
    fn merge(&self, from: &Path, to: &Path, name: &str) -> Result<()> {
        if self.disk.rename_new(from, to)? {
            return Ok(());
        }
        let is_folder = |path: &Path| Ok::<_, Error>(self.disk.kind(path)? == Some(EntryKind::Folder));
        if !is_folder(from)? || !is_folder(to)? {
            return salvage(self.disk, &self.layout.salvage(), from, name).map(drop);
        }
        for entry in self.disk.open_folder(from)?.entries("")? {
            let last = entry?.name;
            let name = format!("{name}-{}", last.to_string_lossy());
            self.merge(&from.join(&last), &to.join(&last), &name)?;
        }
        self.disk.remove_empty_folder(from)
    }

    /// Moves a body to its place. Returns false if the place is taken.
    fn move_body(&mut self, name: &str, to: &Path) -> Result<bool> {
        let (Some(parent), Some(new_name)) = (to.parent(), to.file_name().and_then(|name| name.to_str()))
        else {
            return Ok(false);
        };
        let into = match self.into.take().filter(|into| into.path() == parent) {
            Some(into) => into,
            None => self.open_target(parent)?,
        };
        let moved = self.disk.rename_between((&self.source, name), (&into, new_name));
        self.into = Some(into);
        moved
    }

    /// Opens a folder of the target, made if it is not there.
    fn open_target(&self, path: &Path) -> Result<Folder> {
        match self.disk.kind(path) {
            Ok(Some(EntryKind::Folder)) => self.disk.open_folder(path),
            _ => self.disk.make_folders(path),
        }
    }
}
