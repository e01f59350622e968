//! Bodies: the bytes that downloads gave, beside the database.
//!
//! `place` names them, `find` finds them, `pack` reads those that are packed and `pack_writer` packs
//! them, `draft` writes new ones, and `walk` lists all of them, whether or not there is a row.

mod draft;
mod find;
mod pack;
mod pack_writer;
mod place;
mod walk;

pub use draft::BodyDraft;
pub use place::{MAX_TREE_ID, flat_name, pack_path, tree_path};

pub(crate) use draft::{DraftFile, SettledBody};
pub(crate) use find::{BodyFinder, BodyFolderCache};
pub(crate) use pack::{entry_names, find_entry, open_entry};
pub(crate) use pack_writer::{EntryWriteError, PackWriter};
pub(crate) use place::{id_of_flat_name, replacing, tree_digits};
pub(crate) use walk::{WalkedBody, walk_bodies};

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A body to read: the bytes with transfer codings removed and content codings left as they were.
pub struct RevisionBody {
    reader: Box<dyn Read + Send>,
    length: u64,
    path: PathBuf,
}

impl RevisionBody {
    /// How many bytes it has.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The file it is read from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl std::fmt::Debug for RevisionBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("path", &self.path).field("length", &self.length).finish_non_exhaustive()
    }
}

impl Read for RevisionBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

/// What a look for a revision's body found.
#[derive(Debug)]
pub enum BodyLookup {
    /// The body.
    Found(RevisionBody),
    /// The revision records an error and never had one.
    NeverHad,
    /// It should be there and is not.
    Missing {
        /// Where it should be.
        expected: PathBuf,
    },
}
