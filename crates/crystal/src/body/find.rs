//! Finding a body: where its project's version says, and then wherever an interrupted migration may
//! have left it.
//!
//! So a half-migrated project reads like a whole one. Migrations may run in another process
//! meanwhile: a body that was nowhere is looked for once more, since it may just have been moved.
//! No link is followed, neither in the place of a body nor on the way to it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use varve_file::{EntryKind, Folder, FolderError};

use super::place::replacing;
use super::{RevisionBody, flat_name, pack, pack_path, tree_path};
use crate::error::{Error, Result};
use crate::ids::RevisionId;
use crate::location::ProjectLayout;
use crate::version::MajorVersion;

/// A way to name a body, and the folder that it is named in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyPlace {
    Flat(BodyFolder),
    Tree(BodyFolder),
    Pack,
    /// A pack that another was about to replace.
    ReplacedPack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyFolder {
    Revisions,
    InProgress,
    Discarded,
}

/// Every place where a body may be, the likeliest first.
const fn spots(version: MajorVersion) -> &'static [BodyPlace] {
    use BodyFolder::{Discarded, InProgress, Revisions};
    use BodyPlace::{Flat, Pack, ReplacedPack, Tree};
    match version {
        MajorVersion::Flat => {
            &[Flat(Revisions), Tree(InProgress), Tree(Revisions), Flat(Discarded), Tree(Discarded)]
        }
        MajorVersion::Tree => {
            &[Tree(Revisions), Tree(InProgress), Flat(Revisions), Flat(Discarded), Tree(Discarded)]
        }
        MajorVersion::Packed => &[
            Pack,
            ReplacedPack,
            Tree(Revisions),
            Tree(InProgress),
            Flat(Revisions),
            Flat(Discarded),
            Tree(Discarded),
        ],
    }
}

impl BodyPlace {
    /// The name in the project's folder of the file that would hold the body here.
    fn file(self, id: RevisionId) -> Option<PathBuf> {
        let root = |folder| match folder {
            BodyFolder::Revisions => Path::new("revisions"),
            BodyFolder::InProgress => Path::new("revisions.inprogress"),
            BodyFolder::Discarded => Path::new("tmp/revisions"),
        };
        match self {
            Self::Flat(folder) => Some(root(folder).join(flat_name(id)?)),
            Self::Tree(folder) => Some(root(folder).join(tree_path(id)?)),
            Self::Pack => Some(root(BodyFolder::Revisions).join(pack_path(id)?.0)),
            Self::ReplacedPack => Some(root(BodyFolder::Revisions).join(replacing(&pack_path(id)?.0))),
        }
    }

    const fn is_pack(self) -> bool {
        matches!(self, Self::Pack | Self::ReplacedPack)
    }
}

/// A plain file that was found, and whether it is a pack.
struct FoundBodyFile {
    /// The folder that it is in.
    folder: Folder,
    path: PathBuf,
    length: u64,
    is_pack: bool,
}

/// Finds the bodies of one project.
pub(crate) struct BodyFinder<'p> {
    pub(crate) layout: &'p ProjectLayout,
    pub(crate) version: MajorVersion,
    pub(crate) folder_cache: &'p BodyFolderCache,
}

impl BodyFinder<'_> {
    /// The body with that id, independently of its row.
    pub(crate) fn body(&self, id: RevisionId) -> Result<Option<RevisionBody>> {
        self.look_twice(id, |found| if found.is_pack { found.open_packed(id) } else { found.open_loose() })
    }

    /// The length of the body with that id, independently of its row.
    pub(crate) fn body_length(&self, id: RevisionId) -> Result<Option<u64>> {
        self.look_twice(
            id,
            |found| {
                if found.is_pack { found.packed_length(id) } else { Ok(Some(found.length)) }
            },
        )
    }

    /// Whether there is a pack that the body with this id belongs in.
    pub(crate) fn has_pack(&self, id: RevisionId) -> Result<bool> {
        Ok(self.find_at(BodyPlace::Pack, id)?.is_some())
    }

    fn look_twice<T>(
        &self,
        id: RevisionId,
        look: impl Fn(FoundBodyFile) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut bad_pack = None;
        for look_number in 0..2 {
            if look_number > 0 {
                self.folder_cache.forget();
            }
            for spot in spots(self.version) {
                let Some(found) = self.find_at(*spot, id)? else { continue };
                match look(found) {
                    Ok(None) => {}
                    // A body may be a file of its own beside a pack that cannot be read.
                    Err(error @ Error::Pack { .. }) => bad_pack = Some(error),
                    found => return found,
                }
            }
        }
        bad_pack.map_or(Ok(None), Err)
    }

    /// The plain file at a place. A link on the way, or in its place, is refused.
    fn find_at(&self, spot: BodyPlace, id: RevisionId) -> Result<Option<FoundBodyFile>> {
        let Some(name) = spot.file(id) else { return Ok(None) };
        let (Some(parent), Some(last)) = (name.parent(), name.file_name()) else { return Ok(None) };
        let Some(folder) = self.folder_cache.open(self.layout, parent)? else { return Ok(None) };
        let Some(found) = folder.entry(last)? else { return Ok(None) };
        let path = self.layout.dir.join(&name);
        match found.kind {
            EntryKind::SymbolicLink => Err(Error::Link { path }),
            EntryKind::File => {
                Ok(Some(FoundBodyFile { folder, path, length: found.length, is_pack: spot.is_pack() }))
            }
            _ => Ok(None),
        }
    }

    /// Where the body with that id belongs. An id without a place is shown as the folder of all.
    pub(crate) fn expected_place(&self, id: RevisionId) -> PathBuf {
        let below = match self.version {
            MajorVersion::Flat => flat_name(id).map(PathBuf::from),
            MajorVersion::Tree | MajorVersion::Packed => tree_path(id),
        };
        self.layout.revisions().join(below.unwrap_or_default())
    }
}

impl FoundBodyFile {
    fn open_loose(self) -> Result<Option<RevisionBody>> {
        let Some(file) = self.open()? else { return Ok(None) };
        Ok(Some(RevisionBody { reader: Box::new(file), length: self.length, path: self.path }))
    }

    fn open_packed(self, id: RevisionId) -> Result<Option<RevisionBody>> {
        let Some((file, entry)) = self.entry(id)? else { return Ok(None) };
        let opened = pack::open_entry(file, entry);
        let reader = Box::new(opened.map_err(|source| Error::Pack { path: self.path.clone(), source })?);
        Ok(Some(RevisionBody { reader, length: entry.length, path: self.path }))
    }

    fn packed_length(&self, id: RevisionId) -> Result<Option<u64>> {
        Ok(self.entry(id)?.map(|(_, entry)| entry.length))
    }

    fn entry(&self, id: RevisionId) -> Result<Option<(File, pack::PackEntry)>> {
        let (Some((_, name)), Some(mut file)) = (pack_path(id), self.open()?) else {
            return Ok(None);
        };
        let found = pack::find_entry(&mut file, &name);
        let found = found.map_err(|source| Error::Pack { path: self.path.clone(), source })?;
        Ok(found.map(|entry| (file, entry)))
    }

    /// Opens the file to read. Nothing, if it is not there any more.
    fn open(&self) -> Result<Option<File>> {
        present(self.folder.open_to_read(self.path.file_name().unwrap_or_default()))
    }
}

/// Folders that stay open. Bodies are asked for in the order of URLs, and those of neighbours are in
/// many folders, each with thousands of bodies.
const MAX_OPEN_FOLDERS: usize = 64;

/// The folders that bodies were looked for in last. The system need not resolve the way to them
/// again.
#[derive(Debug, Default)]
pub(crate) struct BodyFolderCache(RefCell<HashMap<PathBuf, Folder>>);

impl BodyFolderCache {
    /// Opens a folder, unless it is open. A link on the way is refused.
    fn open(&self, layout: &ProjectLayout, name: &Path) -> Result<Option<Folder>> {
        if let Some(folder) = self.0.borrow().get(name) {
            return Ok(Some(folder.clone()));
        }
        if self.0.borrow().len() >= MAX_OPEN_FOLDERS {
            self.forget();
        }
        let opened = match present(layout.folder().subfolder(name)) {
            // The process may have too many files open.
            Err(_) if !self.0.borrow().is_empty() => {
                self.forget();
                present(layout.folder().subfolder(name))?
            }
            opened => opened?,
        };
        if let Some(folder) = &opened {
            self.0.borrow_mut().insert(name.to_owned(), folder.clone());
        }
        Ok(opened)
    }

    /// Resolves the next name again: a migration may have moved the folder.
    fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

/// Something that was opened. Nothing, if it is not there or of another kind, but for a link.
fn present<T>(opened: Result<T, FolderError>) -> Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.is_absent() => Ok(None),
        Err(FolderError::WrongKind { found, .. }) if found != EntryKind::SymbolicLink => Ok(None),
        Err(error) => Err(error.into()),
    }
}
