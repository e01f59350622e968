//! The trait through which the store uses local files that change: the open silo and the index.
//!
//! Contains the trait, its data types and its error; the real disk is [`LocalDisk`]. The trait lets
//! tests fail, shorten or stop every single call, which proves sentences such as "a crash at any
//! point leaves a correct index". It is small on purpose: the store uses no other file operation.
//!
//! Silos are read through `medium`: a sealed one may be in a bucket.

mod file_source;
mod local_disk;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use varve_file::TemporaryFolder;

pub use file_source::FileSource;
pub use local_disk::LocalDisk;

/// The file system operations that the store needs. Paths are absolute or relative, as the user
/// named the archive; a real disk refuses those outside the folder that it was opened for.
///
/// Guarantees:
///
/// - After a rename over an existing name, that name refers to the old or the new file, never to a
///   mixture.
/// - An open file stays readable after its name was removed or replaced.
/// - Bytes survive a power cut once [`DiskFile::sync`] returned, names once [`Disk::sync_folder`]
///   of their folder did. Before that, any subset of the writes may survive.
///
/// Duty of the caller: never write to one file from two threads at once.
pub trait Disk: Send + Sync {
    /// Opens an existing file for reading only.
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Opens an existing file for reading and writing, keeping its bytes.
    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Creates a file for reading and writing; fails when the name is taken.
    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError>;

    /// The metadata of a file or folder; `None` when it does not exist.
    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError>;

    /// The names in a folder, in order.
    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError>;

    /// Creates a folder and its parents. Succeeds when the folder exists.
    fn make_folders(&self, folder: &Path) -> Result<(), DiskError>;

    /// Renames a file, replacing an existing one, or a folder.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Exchanges two folders in one step.
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), DiskError>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;

    /// Removes a folder and everything in it. Succeeds when it does not exist.
    fn remove_tree(&self, folder: &Path) -> Result<(), DiskError>;

    /// Removes write permission from a file.
    fn set_read_only(&self, path: &Path) -> Result<(), DiskError>;

    /// Waits until the names in a folder survive a power cut.
    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError>;

    /// The folder for files without a name, which is opened when the first is made.
    fn temporary_folder(&self, folder: &Path) -> TemporaryFolder;
}

/// An open file of a [`Disk`].
///
/// There is no `append`: the caller knows the length of the valid content and writes there, so that
/// the remains of a failed write are overwritten.
pub trait DiskFile: Send + Sync {
    /// The current length of the file.
    fn length(&self) -> Result<u64, DiskError>;

    /// Reads into `buffer` from `offset` and returns the number of bytes, which is less than the
    /// buffer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError>;

    /// Writes all bytes at `offset`. After an error any part of them may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError>;

    /// Truncates or zero-extends the file to `length`.
    fn truncate(&self, length: u64) -> Result<(), DiskError>;

    /// Waits until the bytes of the file survive a power cut.
    fn sync(&self) -> Result<(), DiskError>;
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub length: u64,
    /// It has no write permission.
    pub read_only: bool,
    /// It is a folder.
    pub folder: bool,
}

/// The operation that failed with a [`DiskError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening a file.
    Open,
    /// Creating a file.
    Create,
    /// Reading length or permissions.
    Stat,
    /// Listing a folder.
    List,
    /// Making folders.
    MakeFolders,
    /// Renaming a file.
    Rename,
    /// Exchanging two folders.
    Exchange,
    /// Removing a file.
    Remove,
    /// Removing a folder with its content.
    RemoveTree,
    /// Removing write permission.
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
            Self::Stat => "examine",
            Self::List => "list",
            Self::MakeFolders => "make folder",
            Self::Rename => "rename",
            Self::Exchange => "exchange",
            Self::Remove => "remove",
            Self::RemoveTree => "remove folder",
            Self::SetReadOnly => "make read-only",
            Self::SyncFolder => "sync folder",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Sync => "sync",
        })
    }
}

/// A failed file operation, with the path and the system's error.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{}`", path.display())]
pub struct DiskError {
    /// The operation.
    pub operation: Operation,
    /// The file or folder.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl DiskError {
    /// Adds operation and path to a system error.
    pub fn new(operation: Operation, path: &Path, source: io::Error) -> Self {
        Self { operation, path: path.to_path_buf(), source }
    }

    /// Whether the file does not exist.
    pub fn is_absent(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}
