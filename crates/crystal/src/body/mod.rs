//! Bodies: the bytes that downloads gave, beside the database.
//!
//! `place` names them, this finds and reads them, `pack` reads those that are packed, `draft` writes new ones.
//!
//! A body is looked for where its project's version says, and then in every other place where an interrupted
//! migration may have left it, so that a half-migrated project reads like a whole one. Migrations may run in
//! another process meanwhile: a body that was nowhere is looked for once more, since it may just have been moved.

mod draft;
mod pack;
mod place;
mod walk;

pub use draft::BodyDraft;
pub use pack::PackError;
pub use place::{LARGEST_TREE_ID, flat_name, pack_path, tree_path};

pub(crate) use draft::SettledBody;
pub(crate) use place::{id_of_flat_name, replacing, tree_digits};
pub(crate) use walk::{Walked, walk_bodies};

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, io_at};
use crate::ids::RevisionId;
use crate::location::Layout;
use crate::project::Project;
use crate::rows::Revision;
use crate::version::MajorVersion;

/// A body to read: the bytes with transfer codings removed and content codings left as they were.
pub struct Body {
    reader: Box<dyn Read + Send>,
    length: u64,
    path: PathBuf,
}

impl Body {
    /// How many bytes it has.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The file it is read from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("path", &self.path).field("length", &self.length).finish_non_exhaustive()
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

/// What a look for a revision's body found.
#[derive(Debug)]
pub enum BodyLookup {
    /// The body.
    Found(Body),
    /// The revision records an error and never had one.
    NeverHad,
    /// It should be there and is not.
    Missing {
        /// Where it should be.
        expected: PathBuf,
    },
}

/// Where a body may be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Loose { root: PathBuf, below: PathBuf },
    Packed { root: PathBuf, pack: PathBuf, entry: String },
}

impl Project {
    /// The body of a revision.
    pub fn body_of(&self, revision: &Revision) -> Result<BodyLookup> {
        if !revision.has_body() {
            return Ok(BodyLookup::NeverHad);
        }
        Ok(match self.body(revision.id)? {
            Some(body) => BodyLookup::Found(body),
            None => BodyLookup::Missing { expected: self.expected_place(revision.id) },
        })
    }

    /// The body with that id, whatever its row says.
    pub fn body(&self, id: RevisionId) -> Result<Option<Body>> {
        self.look_twice(id, Place::open)
    }

    /// The length of the body with that id, whatever its row says.
    pub fn body_length(&self, id: RevisionId) -> Result<Option<u64>> {
        self.look_twice(id, Place::length)
    }

    /// The file in which the body with that id is, alone, in whichever place it is.
    pub(crate) fn loose_body(&self, id: RevisionId) -> Result<Option<PathBuf>> {
        self.look_twice(id, |place| Ok(place.loose_file()?.map(|(path, _)| path)))
    }

    fn look_twice<T>(&self, id: RevisionId, look: impl Fn(&Place) -> Result<Option<T>>) -> Result<Option<T>> {
        let places = places(&self.layout, self.version, id);
        let mut bad_pack = None;
        for place in places.iter().chain(&places) {
            match look(place) {
                Ok(None) => {}
                // A body may lie loose beside a pack that cannot be read.
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

/// Every place where the body may be, the likeliest first.
fn places(layout: &Layout, version: MajorVersion, id: RevisionId) -> Vec<Place> {
    let (revisions, in_progress, discarded) = (layout.revisions(), layout.in_progress(), layout.discarded());
    let flat =
        |root: &Path| flat_name(id).map(|name| Place::Loose { root: root.to_owned(), below: name.into() });
    let tree = |root: &Path| tree_path(id).map(|below| Place::Loose { root: root.to_owned(), below });
    let pack = |renamed: fn(&Path) -> PathBuf| {
        let (pack, entry) = pack_path(id).filter(|_| version == MajorVersion::Packed)?;
        Some(Place::Packed { root: revisions.clone(), pack: renamed(&pack), entry })
    };
    let own = [pack(Path::to_owned), pack(replacing)];
    let loose = match version {
        MajorVersion::Flat => [flat(&revisions), tree(&in_progress), tree(&revisions)],
        MajorVersion::Tree | MajorVersion::Packed => [tree(&revisions), tree(&in_progress), flat(&revisions)],
    };
    own.into_iter().chain(loose).chain([flat(&discarded), tree(&discarded)]).flatten().collect()
}

impl Place {
    fn open(&self) -> Result<Option<Body>> {
        match self {
            Self::Loose { .. } => match self.loose_file()? {
                Some((path, meta)) => open_loose(path, meta.len()),
                None => Ok(None),
            },
            Self::Packed { root, pack, entry } => {
                let Some((mut file, path)) = open_pack(root, pack)? else { return Ok(None) };
                let failed = |source| Error::Pack { path: path.clone(), source };
                let Some(entry) = pack::find_entry(&mut file, entry).map_err(failed)? else {
                    return Ok(None);
                };
                let reader = Box::new(pack::open_entry(file, entry).map_err(failed)?);
                Ok(Some(Body { reader, length: entry.length, path }))
            }
        }
    }

    fn length(&self) -> Result<Option<u64>> {
        match self {
            Self::Loose { .. } => Ok(self.loose_file()?.map(|(_, meta)| meta.len())),
            Self::Packed { root, pack, entry } => {
                let Some((mut file, path)) = open_pack(root, pack)? else { return Ok(None) };
                let found = pack::find_entry(&mut file, entry);
                let found = found.map_err(|source| Error::Pack { path, source })?;
                Ok(found.map(|entry| entry.length))
            }
        }
    }

    fn loose_file(&self) -> Result<Option<(PathBuf, Metadata)>> {
        match self {
            Self::Loose { root, below } => plain_file(root, below),
            Self::Packed { .. } => Ok(None),
        }
    }
}

fn open_loose(path: PathBuf, length: u64) -> Result<Option<Body>> {
    match open_file(&path) {
        Ok(file) => Ok(Some(Body { reader: Box::new(file), length, path })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_at("open", &path)(error)),
    }
}

fn open_pack(root: &Path, pack: &Path) -> Result<Option<(File, PathBuf)>> {
    let Some((path, _)) = plain_file(root, pack)? else { return Ok(None) };
    match open_file(&path) {
        Ok(file) => Ok(Some((file, path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_at("open", &path)(error)),
    }
}

/// A plain file below `root`, reached through plain folders. A link on the way, or in its place, is refused.
pub(crate) fn plain_file(root: &Path, below: &Path) -> Result<Option<(PathBuf, Metadata)>> {
    let path = root.join(below);
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(io_at("look at", &path)(error)),
    };
    let folders = path.ancestors().skip(1).take(below.iter().count());
    if let Some(link) = std::iter::once(path.as_path()).chain(folders).find(|path| path.is_symlink()) {
        return Err(Error::Link { path: link.to_owned() });
    }
    Ok(meta.is_file().then_some((path, meta)))
}

pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a file to read, not through a link even if one was put there since it was looked at.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}
