//! The seam through which the store touches local files that change: open silos and the index.
//!
//! It is the contract, its plain data and its error, nothing else; the real disk is [`LocalDisk`]. The seam exists so
//! that tests can fail, cut short or stop the world at every single call, which is the only way to believe a sentence
//! such as "a crash at any point leaves a correct index". It is small on purpose: what is not here, the store may not do.
//!
//! Sealed silos do not come through here; they are written once and may lie in a bucket.

mod local;
mod mapped;
mod source;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use local::LocalDisk;
pub use mapped::Mapped;
pub use source::FileSource;

/// A file system with folders, as far as the store needs one.
///
/// What callers may rely on:
///
/// - A name that was renamed over another always leads to the old file or to the new one, whole.
/// - A file that is open or mapped stays readable after its name is gone or leads elsewhere.
/// - Bytes survive a power cut once [`DiskFile::sync`] returned, names once [`Disk::sync_folder`] of their folder did.
///   Before that, any part of what was written may survive, in any order.
///
/// What callers must do: never write to one file from two threads at once, and never map a file that may still change.
pub trait Disk: Send + Sync {
    /// Opens an existing file for reading only.
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Opens an existing file for reading and writing, keeping its bytes.
    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Creates a file for reading and writing; fails when the name is taken.
    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError>;

    /// The whole of a file that no one will ever write to again, without reading it first where that is possible.
    fn map(&self, path: &Path) -> Result<Mapped, DiskError>;

    /// What is known of a name; `None` when nothing bears it.
    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError>;

    /// The names in a folder, in order.
    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError>;

    /// Makes a folder and those above it; fine when it is there already.
    fn make_folders(&self, folder: &Path) -> Result<(), DiskError>;

    /// Gives a file another name, replacing whatever bore it.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;

    /// Takes the permission to write away from a file.
    fn set_read_only(&self, path: &Path) -> Result<(), DiskError>;

    /// Waits until the names in a folder are safe from a power cut.
    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError>;
}

/// An open file of a [`Disk`].
///
/// There is no `append`: who appends knows the length of what is good, and writing exactly there means that whatever
/// a failed write left behind is overwritten instead of becoming the middle of the file.
pub trait DiskFile: Send + Sync {
    /// The length of the file now.
    fn length(&self) -> Result<u64, DiskError>;

    /// Reads at most a bufferful from `offset` and says how much; less than a bufferful only at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError>;

    /// Writes all bytes at `offset`. After an error any part of them may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;

    /// Cuts the file back, or fills it up with zeros, to `length`.
    fn truncate(&self, length: u64) -> Result<(), DiskError>;

    /// Waits until the bytes of the file are safe from a power cut.
    fn sync(&self) -> Result<(), DiskError>;
}

/// What is known of a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub length: u64,
    /// Nobody may write to it.
    pub read_only: bool,
    /// It is a folder.
    pub folder: bool,
}

/// What was being done when a [`DiskError`] happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening a file.
    Open,
    /// Creating a file.
    Create,
    /// Mapping a file.
    Map,
    /// Asking for length or permissions.
    Stat,
    /// Listing a folder.
    List,
    /// Making folders.
    MakeFolders,
    /// Renaming a file.
    Rename,
    /// Removing a file.
    Remove,
    /// Taking the permission to write away.
    SetReadOnly,
    /// Syncing a folder.
    SyncFolder,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Changing the length.
    Truncate,
    /// Syncing a file.
    Sync,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Open => "open",
            Self::Create => "create",
            Self::Map => "map",
            Self::Stat => "examine",
            Self::List => "list",
            Self::MakeFolders => "make folder",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::SetReadOnly => "make read-only",
            Self::SyncFolder => "sync folder",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Sync => "sync",
        })
    }
}

/// A file operation that did not succeed: which one, on what, and what the system said.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{}`", path.display())]
pub struct DiskError {
    /// What was being done.
    pub operation: Operation,
    /// The file or folder it was done to.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl DiskError {
    /// Pairs the system's word with what was being done.
    pub fn new(operation: Operation, path: &Path, source: io::Error) -> Self {
        Self { operation, path: path.to_path_buf(), source }
    }

    /// Nothing bears that name.
    pub fn is_absent(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}
