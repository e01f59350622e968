//! Finding a body: where its project's version says, and then wherever an interrupted migration may
//! have left it.
//!
//! So a half-migrated project reads like a whole one. Migrations may run in another process
//! meanwhile: a body that was nowhere is looked for once more, since it may just have been moved.
//! No link is followed, neither in the place of a body nor on the way to it.

use std::cell::RefCell;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::place::replacing;
use super::{RevisionBody, flat_name, pack, pack_path, tree_path};
use crate::error::{Error, Result, io_at};
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
    /// The folder, and the path below it, of the file that would hold the body here.
    fn file(self, layout: &ProjectLayout, id: RevisionId) -> Option<(PathBuf, PathBuf)> {
        let root = |folder| match folder {
            BodyFolder::Revisions => layout.revisions(),
            BodyFolder::InProgress => layout.in_progress(),
            BodyFolder::Discarded => layout.discarded(),
        };
        match self {
            Self::Flat(folder) => Some((root(folder), flat_name(id)?.into())),
            Self::Tree(folder) => Some((root(folder), tree_path(id)?)),
            Self::Pack => Some((layout.revisions(), pack_path(id)?.0)),
            Self::ReplacedPack => Some((layout.revisions(), replacing(&pack_path(id)?.0))),
        }
    }

    const fn is_pack(self) -> bool {
        matches!(self, Self::Pack | Self::ReplacedPack)
    }
}

/// A plain file that was found, and whether it is a pack.
struct FoundBodyFile {
    path: PathBuf,
    meta: Metadata,
    is_pack: bool,
}

/// Finds the bodies of one project.
pub(crate) struct BodyFinder<'p> {
    pub(crate) layout: &'p ProjectLayout,
    pub(crate) version: MajorVersion,
    pub(crate) plain_folder: &'p PlainFolder,
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
                if found.is_pack { found.packed_length(id) } else { Ok(Some(found.meta.len())) }
            },
        )
    }

    fn look_twice<T>(
        &self,
        id: RevisionId,
        look: impl Fn(FoundBodyFile) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let spots = spots(self.version);
        let mut bad_pack = None;
        for spot in spots.iter().chain(spots) {
            let Some((root, below)) = spot.file(self.layout, id) else { continue };
            let Some((path, meta)) = self.plain_folder.file(&root, &below)? else { continue };
            match look(FoundBodyFile { path, meta, is_pack: spot.is_pack() }) {
                Ok(None) => {}
                // A body may be a file of its own beside a pack that cannot be read.
                Err(error @ Error::Pack { .. }) => bad_pack = Some(error),
                found => return found,
            }
        }
        bad_pack.map_or(Ok(None), Err)
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
        let Some(file) = open_file(&self.path)? else { return Ok(None) };
        Ok(Some(RevisionBody { reader: Box::new(file), length: self.meta.len(), path: self.path }))
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
        let (Some((_, name)), Some(mut file)) = (pack_path(id), open_file(&self.path)?) else {
            return Ok(None);
        };
        let found = pack::find_entry(&mut file, &name);
        let found = found.map_err(|source| Error::Pack { path: self.path.clone(), source })?;
        Ok(found.map(|entry| (file, entry)))
    }
}

/// The last folder to which no link led: neighbours are asked for one after the other, and each
/// would have to ask again for all the folders above it.
#[derive(Debug, Default)]
pub(crate) struct PlainFolder(RefCell<PathBuf>);

impl PlainFolder {
    /// A plain file below `root`, reached through plain folders. A link on the way, or in its
    /// place, is refused.
    fn file(&self, root: &Path, below: &Path) -> Result<Option<(PathBuf, Metadata)>> {
        let path = root.join(below);
        let meta = match path.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(io_at("look at", &path)(error)),
        };
        if meta.is_symlink() {
            return Err(Error::Link { path });
        }
        let parent = path.parent().unwrap_or(root);
        if self.0.borrow().as_path() != parent {
            let folders = path.ancestors().skip(1).take(below.iter().count());
            if let Some(link) = folders.into_iter().find(|folder| folder.is_symlink()) {
                return Err(Error::Link { path: link.to_owned() });
            }
            parent.clone_into(&mut self.0.borrow_mut());
        }
        Ok(meta.is_file().then_some((path, meta)))
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a file to read, not through a link even if one was put there since it was looked at.
/// Nothing, if it is not there any more.
fn open_file(path: &Path) -> Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    match options.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(io_at("open", path)(error)),
    }
}
